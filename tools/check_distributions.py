"""Build the sdist, and the wheel from it; check that all files are included; run the demo, the README and the recipes
from the installed wheel, without a network.

python tools/check_distributions.py (needs the `build` package, and a package index)
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from try_wheel import Installed, try_wheel

TREE = Path(__file__).resolve().parents[1]
PACKAGES = ("gasla", "semirings")


def expected() -> set[str]:
    """The files of both packages in the source tree."""
    found = (path for package in PACKAGES for path in (TREE / package).rglob("*") if path.is_file())
    return {path.relative_to(TREE).as_posix() for path in found if "__pycache__" not in path.parts}


def check(names: set[str], wanted: set[str], what: str) -> None:
    """Exit with an error if a file is missing."""
    if missing := sorted(wanted - names):
        sys.exit(f"{what} lacks {len(missing)} files, such as {missing[0]}; see package-data in pyproject.toml")


def check_wheel(wheel: Path) -> None:
    """Check that the wheel has all files of both packages and the license, and nothing else."""
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    check(names, expected(), wheel.name)
    shipped = {name for name in names if name.startswith("gasla/shipped/")}  # compiled by the build
    beside = {name for name in names - expected() - shipped if ".dist-info" not in PurePosixPath(name).parts[0]}
    if beside:
        sys.exit(f"{wheel.name} has {len(beside)} files that belong to no package, such as {min(beside)}")
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        sys.exit(f"{wheel.name} lacks the LICENSE")


def check_tag(wheel: Path) -> None:
    """Check that a wheel with machine code is tagged for one platform, and one without for all."""
    archive = zipfile.ZipFile(wheel)
    tag = wheel.stem.rsplit("-", 1)[1]
    kernels = [name for name in archive.namelist() if name.startswith("gasla/shipped/kernels/")]
    platforms = archive.read("gasla/shipped/platforms").decode().split() if kernels else ["any"]
    (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
    lines = archive.read(metadata).decode().splitlines()
    wanted = {f"Tag: py3-none-{tag}", f"Root-Is-Purelib: {str(not kernels).lower()}"}
    if tag not in platforms or not wanted <= {*lines}:
        sys.exit(f"{wheel.name} has {len(kernels)} kernels and says {lines}; expected one of {platforms}")


def check_bill(wheel: Path) -> None:
    """Check that the bill of materials names the wheel's version, what it requires, and whether it ships code."""
    archive = zipfile.ZipFile(wheel)
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/sboms/gasla.cdx.json"))
    bill = json.loads(archive.read(name))
    metadata = archive.read(name.replace("sboms/gasla.cdx.json", "METADATA")).decode()
    required = re.findall(r"^Requires-Dist: ([\w-]+)[^;\n]*$", metadata, re.MULTILINE)
    listed = {part["name"] for part in bill["components"] if part["type"] == "library"}
    ships_code = any(name.startswith("gasla/shipped/") for name in archive.namelist())
    said = bill["metadata"]["component"]["properties"][0]["value"] != "none"
    if {*required} != listed or f"\nVersion: {bill['metadata']['component']['version']}\n" not in metadata:
        sys.exit(f"the bill of {wheel.name} lists {sorted(listed)}; expected {sorted(required)}, and its version")
    if said != ships_code:
        sys.exit(f"the bill of {wheel.name} {'claims' if said else 'lacks'} compiled code")


def check_sdist(sdist: Path) -> None:
    """Check that the sdist has all files that are needed to build a wheel."""
    with tarfile.open(sdist) as archive:
        names = {str(PurePosixPath(*PurePosixPath(name).parts[1:])) for name in archive.getnames()}
    check(names, expected() | {"LICENSE", "README.md", "pyproject.toml"}, sdist.name)


def build(folder: Path) -> None:
    """Build both distributions into a folder; exit with an error if that fails."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-m", "build", "--outdir", str(folder), str(TREE)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}\n{done.stdout}")


def main() -> None:
    """Build both distributions, check them, and run what the pages show."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        build(work / "dist")
        (wheel,), (sdist,) = (work / "dist").glob("*.whl"), (work / "dist").glob("*.tar.gz")
        check_wheel(wheel)
        check_tag(wheel)
        check_bill(wheel)
        check_sdist(sdist)
        installed = Installed(wheel, work)  # and nothing but what it requires
        version = installed.run("python", "-c", "import gasla; print(gasla.__version__, gasla.__file__)").split()
        if not wheel.name.startswith(f"gasla-{version[0]}-") or not Path(version[1]).is_relative_to(work):
            sys.exit(f"{wheel.name} was installed, and {' '.join(version)} imported")
        report = installed.run("python", "-m", "gasla", "demo", "--no-map")
        can_ship = installed.run("python", "-c", "from gasla import shipping; print(shipping.can_ship())").strip()
        if can_ship == "True" and (compiled := [*installed.cache.glob("kernels/*")]):
            sys.exit(f"the demo compiled {len(compiled)} kernels; expected none, as {wheel.name} ships compiled code")
        tried = try_wheel(installed)
        size, lines = wheel.stat().st_size / 1e6, len(report.splitlines())
        print(f"{sdist.name}, {wheel.name} ({size:.1f} MB): complete; the demo runs from the wheel ({lines} lines)")
        print(f"without a network, from the wheel: {tried}")


if __name__ == "__main__":
    main()
