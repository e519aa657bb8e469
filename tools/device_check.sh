#!/usr/bin/env bash
# Everything that only a GPU can check, in one command from the repository's root: bash tools/device_check.sh
# Needs python3 with NumPy, CuPy and pytest (PYTHON=... picks another). Prints a short table last; fails if a row fails.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
rows=()
failed=0

check() { # check NAME COMMAND...: runs the command, keeps its verdict and its time for the table
    local name=$1 start=$SECONDS verdict=ok
    shift
    echo "=== $name"
    "$@" || { verdict="FAILED ($?)" failed=1; }
    rows+=("$(printf '%-24s %-12s %4d s' "$name" "$verdict" $((SECONDS - start)))")
}

# Only the files that have GPU tests are collected: the others may need packages that the machine lacks.
tests_marked() { grep -lE "pytest\.mark\.$1\b" tests/test_*.py; }
gpu_tests() { "$python" -m pytest -q -p no:cacheprovider -m gpu $(tests_marked gpu); }
sanitized() {
    compute-sanitizer --tool "$1" --error-exitcode 99 \
        "$python" -m pytest -q -p no:cacheprovider -m "gpu and sanitize" $(tests_marked sanitize)
}

"$python" -c 'import cupy; assert cupy.cuda.is_available(), "no GPU"; print(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())' || exit 1

check "gpu tests" gpu_tests
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do check "sanitizer $tool" sanitized "$tool"; done
else
    rows+=("$(printf '%-24s %-12s' "compute-sanitizer" "not found")")
fi

echo
printf '%s\n' "${rows[@]}"
exit $failed
