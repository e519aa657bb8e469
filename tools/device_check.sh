#!/usr/bin/env bash
# All checks that need a GPU, in one command from the root of the repository:
#
#     bash tools/device_check.sh [--only tests,slow,memcheck,racecheck,synccheck,benchmark] [options of benchmarks.gpu]
#
# Without --only, everything except the slow tests runs, in at most a quarter of an hour. Needs python3 with NumPy, CuPy,
# pytest, pytest-xdist and hypothesis (PYTHON=... selects another interpreter). Prints a short table at the end; fails if
# a row fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
parts=tests,memcheck,racecheck,synccheck,benchmark
if [[ ${1:-} == --only ]]; then
    parts=${2:?--only takes some of: tests,slow,memcheck,racecheck,synccheck,benchmark}
    shift 2
fi
table=$(mktemp)
rows=()
failed=0

wanted() { [[ ,$parts, == *,$1,* ]]; }
check() { # check NAME SECONDS COMMAND...: runs the command, and adds its verdict and its time to the table
    local name=$1 limit=$2 start=$SECONDS verdict=ok
    shift 2
    echo "=== $name"
    timeout "$limit" "$@" || { verdict="FAILED ($?)" failed=1; }
    row "$name" "$verdict" $((SECONDS - start))
}
row() { rows+=("$(printf '%-24s %-12s %4d s' "$@")"); }

# Collects only files with marked tests, because others may need packages that are not installed. Some have their marks from
# parameters of other files.
marked() { grep -rlE --include='test_*.py' "pytest\.mark\.$1\b|\bDEVICES\b|\branks\(" tests; }
# Tests spend most of their time compiling on the CPU, so they run in parallel (pytest-benchmark does not support that).
pytest() { echo "$python" -m pytest -q -p no:cacheprovider -p no:benchmark -o faulthandler_timeout=100; }
workers=$("$python" -c 'import xdist' 2>/dev/null && nproc | awk '{print "-n", ($1 < 12 ? $1 : 12)}')

"$python" -c 'import cupy
assert cupy.cuda.is_available(), "no GPU"
print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())' || exit 1

if wanted tests; then check "tests" 400 $(pytest) $workers -m "gpu and not slow" $(marked gpu); fi
if wanted slow; then check "slow tests" 300 $(pytest) -m "gpu and slow" $(marked gpu); fi
# All tools run concurrently, because the GPU is mostly idle. Kernels of CuPy are excluded. Tests are split over plain
# processes, because workers of pytest-xdist start too slowly under racecheck.
sanitize() { # sanitize TOOL PROCESSES FOLDER: writes one log per process, with its verdict, to FOLDER
    local start=$SECONDS
    mkdir "$3"
    $(pytest) --collect-only -m "gpu and sanitize" $(marked sanitize) | grep :: >"$3/tests"
    split --number=r/"$2" "$3/tests" "$3/share."
    for share in "$3"/share.*; do
        (
            timeout 400 compute-sanitizer --tool "$1" --error-exitcode 99 --kernel-name-exclude kns=cupy \
                --kernel-name-exclude kns=cub --kernel-name-exclude kns=thrust $(pytest) -m "gpu and sanitize" "@$share"
            echo "$? in $share"
        ) >"$share.log" 2>&1 &
    done
    wait
    echo $((SECONDS - start)) >"$3/seconds"
}
logs=$(mktemp -d)
tools=()
for tool in memcheck racecheck synccheck; do
    if ! wanted $tool; then continue; fi
    if command -v compute-sanitizer >/dev/null; then
        tools+=("$tool")
        sanitize $tool $([[ $tool == racecheck ]] && nproc || echo 3) "$logs/$tool" &
    else
        row "sanitizer $tool" "not found" 0
        failed=1
    fi
done
wait
for tool in "${tools[@]}"; do
    of=$logs/$tool verdict=ok
    tail -qn 3 "$of"/share.*.log
    failures=$(grep -L "^0 in" "$of"/share.*.log)
    if [[ -n $failures ]]; then tail -n 60 $failures && verdict=FAILED failed=1; fi
    row "sanitizer $tool" $verdict "$(<"$of/seconds")"
done

if wanted benchmark; then
    check "benchmark" 120 bash -o pipefail -c '"$@" | tee "$0"' "$table" "$python" -m benchmarks.gpu "$@"
fi

echo
cat "$table"
echo
printf '%s\n' "${rows[@]}"
rm -rf "$table" "$logs"
exit $failed
