#!/usr/bin/env bash
# Everything that only a GPU can check, in one command from the repository's root:
#
#     bash tools/device_check.sh [--only tests,slow,memcheck,racecheck,synccheck,benchmark] [options of benchmarks.gpu]
#
# Without --only all but the slow tests runs, in nine minutes at most. Needs python3 with NumPy, CuPy, pytest, pytest-xdist
# and hypothesis (PYTHON=... picks another). Prints a short table last; fails if a row fails.
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
check() { # check NAME SECONDS COMMAND...: runs the command, keeps its verdict and its time for the table
    local name=$1 limit=$2 start=$SECONDS verdict=ok
    shift 2
    echo "=== $name"
    timeout "$limit" "$@" || { verdict="FAILED ($?)" failed=1; }
    rows+=("$(printf '%-24s %-12s %4d s' "$name" "$verdict" $((SECONDS - start)))")
}
not_found() { rows+=("$(printf '%-24s %-12s' "$1" "not found")") failed=1; }

# Only the files that have such tests are collected: the others may need packages that the machine lacks.
marked() { grep -lE "pytest\.mark\.$1\b" tests/test_*.py; }
# Most of their time goes into compiling, on the CPU: with pytest-xdist they share it out (which pytest-benchmark minds).
pytest() { echo "$python" -m pytest -q -p no:cacheprovider -p no:benchmark -o faulthandler_timeout=100; }
workers=$("$python" -c 'import xdist' 2>/dev/null && nproc | awk '{print "-n", ($1 < 12 ? $1 : 12)}')

"$python" -c 'import cupy
assert cupy.cuda.is_available(), "no GPU"
print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())' || exit 1

if wanted tests; then check "tests" 180 $(pytest) $workers -m "gpu and not slow" $(marked gpu); fi
if wanted slow; then check "slow tests" 300 $(pytest) -m "gpu and slow" $(marked gpu); fi
for tool in memcheck racecheck synccheck; do
    wanted $tool || continue
    if command -v compute-sanitizer >/dev/null; then
        check "sanitizer $tool" 80 compute-sanitizer --tool $tool --error-exitcode 99 \
            $(pytest) -m "gpu and sanitize" $(marked sanitize)
    else
        not_found "compute-sanitizer $tool"
    fi
done
if wanted benchmark; then
    check "benchmark" 120 bash -o pipefail -c '"$@" | tee "$0"' "$table" "$python" -m benchmarks.gpu "$@"
fi

echo
cat "$table"
echo
printf '%s\n' "${rows[@]}"
rm -f "$table"
exit $failed
