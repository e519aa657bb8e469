"""Build the distributions of a release from a commit: the same commit and the same build tools give the same bytes.

python tools/build_distributions.py FOLDER [--commit HEAD] [--check]   (needs git, the `build` package, a package index)

FOLDER gets the sdist, wheels for Linux on x86-64 and on aarch64 with compiled code, and one without for all others. The
wheel's bill of materials names the versions of the build tools. `--check` builds twice, and compares.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]
PLATFORM = "manylinux_2_17"  # setup.py refuses it if the code calls what such a system may not have
PROCESSORS = "x86_64", "aarch64"


def main() -> None:
    """Build, and print the digest of each file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--commit", default="HEAD")
    parser.add_argument("--check", action="store_true", help="build twice, and compare")
    given = parser.parse_args()
    os.umask(0o022)
    found = build(given.folder, given.commit)
    for name, digest in found.items():
        print(f"{digest}  {name}")
    if given.check:
        with tempfile.TemporaryDirectory() as other:
            again = build(Path(other), given.commit)
            if again != found:
                kept = given.folder.with_name(f"{given.folder.name}-again")
                shutil.move(other, kept)
                Path(other).mkdir()
                sys.exit(
                    f"a second build differs: {', '.join(n for n in found if again.get(n) != found[n])}; see {kept}"
                )
        print("a second build has the same bytes")


def build(folder: Path, commit: str) -> dict[str, str]:
    """Build into a folder; the SHA-256 of each file by name."""
    folder.mkdir(parents=True, exist_ok=True)
    when = output("git", "-C", TREE, "log", "-1", "--format=%ct", commit).strip()
    environment = {**os.environ, "SOURCE_DATE_EPOCH": when, "PYTHONHASHSEED": "0"}
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        tree = unpacked(subprocess.check_output(["git", "-C", TREE, "archive", "--prefix=gasla/", commit]), work)
        run("--sdist", "--outdir", folder, tree, environment=environment)
        (sdist,) = folder.glob("*.tar.gz")
        sdist.write_bytes(normalized(sdist.read_bytes(), int(when)))
        source = unpacked(gzip.decompress(sdist.read_bytes()), work)
        no_code = {**environment, "GASLA_SHIP": "0"}
        run("--wheel", "--outdir", folder, source, environment=no_code)
        for processor in PROCESSORS:
            option = f"-C--build-option=--plat-name={PLATFORM}_{processor}"
            run("--wheel", option, "--outdir", folder, source, environment=environment | {"GASLA_SHIP_FOR": processor})
    wheels = {path.name for path in folder.glob("*.whl")}
    expected = {
        f"{sdist.name.removesuffix('.tar.gz')}-py3-none-{platform}.whl"
        for platform in ("any", *(f"{PLATFORM}_{processor}" for processor in PROCESSORS))
    }
    if wheels != expected:
        sys.exit(f"the wheels are {', '.join(sorted(wheels))}; expected {', '.join(sorted(expected))}")
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def unpacked(archive: bytes, folder: Path) -> Path:
    """Unpack a tar file; the folder that it contains."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        tar.extractall(folder, filter="data")
        return folder / tar.getnames()[0].split("/")[0]


def normalized(sdist: bytes, when: int) -> bytes:
    """The same files in order of their names, without the builder's name, times and modes."""
    with tarfile.open(fileobj=io.BytesIO(sdist)) as tar:
        files = {each.name: (each, tar.extractfile(each)) for each in tar.getmembers()}
        plain = io.BytesIO()
        with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as sorted_tar:
            for name in sorted(files):
                entry, content = files[name]
                entry.mtime, entry.pax_headers = when, {}
                entry.uid = entry.gid = 0
                entry.uname = entry.gname = ""
                entry.mode = 0o755 if entry.isdir() or entry.mode & 0o100 else 0o644
                sorted_tar.addfile(entry, content)
    return gzip.compress(plain.getvalue(), mtime=0)


def run(*options: str | Path, environment: dict[str, str]) -> None:
    """Run `python -m build`; exit with its output if it fails."""
    command = [sys.executable, "-m", "build", *map(str, options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


def output(*command: str | Path) -> str:
    """Run a command and return what it prints."""
    return subprocess.run([*map(str, command)], capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
