#!/usr/bin/env bash
# Run gasla in an emulated Debian on ARM, as root on Linux on another processor.
#
# tools/try_aarch64.sh WHEEL [--tests]   (needs qemu-user-static, debootstrap, a Debian mirror and a package index)
#
# WHEEL is the one for aarch64 that tools/build_distributions.py makes. Every function that takes a graph is called with
# its defaults, without a compiler: all code must be in the wheel. The answers are compared with those of this machine.
# With --tests, the default tests of the compiler, the CPU engine, operations and algorithms
# run as well, which takes hours: they compile programs that the wheel does not have.
# AARCH64_SYSTEM is the folder of the emulated system, which is kept: by default in the cache folder.
set -euo pipefail
wheel=$(realpath "$1")
cd "$(dirname "${BASH_SOURCE[0]}")/.."
system=${AARCH64_SYSTEM:-${XDG_CACHE_HOME:-$HOME/.cache}/gasla-aarch64}
suite=${AARCH64_SUITE:-bookworm}
registered=/proc/sys/fs/binfmt_misc

if [ ! -e $registered/register ]; then mount -t binfmt_misc binfmt_misc $registered; fi
if [ ! -e $registered/qemu-aarch64 ]; then # F: opened now, so that it is found inside the system
    head='\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf ':qemu-aarch64:M::%s:%s:%s:F' "$head" "$mask" "$(command -v qemu-aarch64-static)" >$registered/register
fi

if [ ! -e "$system/ready" ]; then
    rm -rf "$system"
    mkdir -p "$system"
    debootstrap --arch=arm64 --variant=minbase --foreign --include=python3 "$suite" "$system" ${DEBIAN_MIRROR:+"$DEBIAN_MIRROR"}
    chroot "$system" /debootstrap/debootstrap --second-stage
    touch "$system/ready"
fi
mountpoint -q "$system/proc" || mount -t proc proc "$system/proc"
trap 'umount "$system/proc"' EXIT

# pip of this machine installs for that one: under emulation it would take minutes.
version=$(chroot "$system" python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])')
packages=$system/packages
rm -rf "$packages" "$system/gasla"
platforms=()
for glibc in 17 24 26 27 28 34; do platforms+=(--platform "manylinux_2_${glibc}_aarch64"); done
python3 -m pip install --quiet --target "$packages" --only-binary=:all: --python-version "$version" \
    --implementation cp "${platforms[@]}" --platform manylinux2014_aarch64 "$wheel" pytest pytest-timeout hypothesis networkx \
    pandas polars pyarrow

emulated() { # run Python there, beside the installed wheel
    chroot "$system" env PYTHONPATH=/packages:/gasla GASLA_CACHE_DIR=/tmp/gasla GASLA_QUIET=1 PYTHONSAFEPATH=1 \
        GASLA_NUM_THREADS=2 python3 "$@"
}
rm -rf "$system/tmp/gasla"
mkdir "$system/gasla"
cp -r tests tools benchmarks pyproject.toml README.md docs examples "$system/gasla"
emulated /gasla/tools/answers.py /there.npz --no-compiler
if [ -e "$system/tmp/gasla/kernels" ]; then
    echo "kernels were compiled, although the wheel should have them" >&2
    exit 1
fi
GASLA_NUM_THREADS=2 python3 tools/answers.py "$system/here.npz"
python3 tools/answers.py "$system/here.npz" "$system/there.npz"

if [ "${2:-}" = --tests ]; then
    emulated -m pytest -q -c /gasla/pyproject.toml --rootdir /gasla -p no:cacheprovider \
        /gasla/tests/compiler /gasla/tests/cpu /gasla/tests/operations /gasla/tests/algorithms
fi
