"""A wheel's tag says what is in it: machine code of one platform, or none."""

import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.helpers import ROOT

pytest.importorskip("setuptools.command.bdist_wheel", reason="the extra `test` has a setuptools that makes wheels")

SHIPPING = """
import sys
from pathlib import Path

folder = Path(sys.argv[1])
(folder / "kernels").mkdir(parents=True, exist_ok=True)
(folder / "kernels" / "code").write_bytes(b"")
if FAILS:
    sys.exit(1)
processor = (sys.argv[2:] or ["riscv64"])[0]
for name in ("platforms", "made_of"):
    (folder / name).write_text(f"linux_{processor}\\nmanylinux_2_39_{processor}\\n")
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A project with the build of this one, whose packages are empty but for what stands for the compiler."""
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    for name in ("gasla", "semirings"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text('__version__ = "1.2"\n')
    ships(tmp_path)
    return tmp_path


def ships(tree: Path, fails: bool = False) -> None:
    """Have the build's compiler ship code for one platform, or fail when it has shipped a part."""
    (tree / "gasla" / "shipping.py").write_text(f"FAILS = {fails}\n{SHIPPING}")


def build(tree: Path, *options: str, ship: str = "1") -> subprocess.CompletedProcess[str]:
    shutil.rmtree(tree / "dist", ignore_errors=True)
    command = [sys.executable, "setup.py", "--quiet", "bdist_wheel", *options]
    environment = {**os.environ, "GASLA_SHIP": ship}
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=False)


def built(tree: Path, *options: str, ship: str = "1") -> tuple[str, zipfile.ZipFile]:
    """The tag of the wheel that a build makes, and its content."""
    done = build(tree, *options, ship=ship)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tree / "dist").glob("*.whl")
    archive = zipfile.ZipFile(wheel)
    said = archive.read("gasla-1.2.dist-info/WHEEL").decode().splitlines()
    tag = wheel.stem.removeprefix("gasla-1.2-")
    assert [line for line in said if line.startswith("Tag: ")] == [f"Tag: {tag}"]
    bill = json.loads(archive.read("gasla-1.2.dist-info/sboms/gasla.cdx.json"))
    has_code = any(name.startswith("gasla/shipped/") for name in archive.namelist())
    assert f"Root-Is-Purelib: {str(not has_code).lower()}" in said
    assert (bill["metadata"]["component"]["properties"][0]["value"] != "none") == has_code
    assert has_code == (not tag.endswith("-any"))
    return tag, archive


def test_a_wheel_with_code_is_of_its_platform(tree: Path) -> None:
    assert built(tree)[0] == "py3-none-linux_riscv64"


def test_a_release_names_a_platform_on_which_the_code_runs(tree: Path) -> None:
    assert built(tree, "--plat-name=manylinux_2_39_riscv64")[0] == "py3-none-manylinux_2_39_riscv64"
    done = build(tree, "--plat-name=manylinux_2_17_riscv64")
    assert done.returncode == 1
    assert "manylinux_2_17_riscv64; expected one of linux_riscv64, manylinux_2_39_riscv64" in done.stderr


def test_a_build_for_another_processor_is_tagged_for_it(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GASLA_SHIP_FOR", "aarch64")
    tag, archive = built(tree)
    assert tag == "py3-none-linux_aarch64"
    assert b'"armv8.2-a"' in archive.read("gasla-1.2.dist-info/sboms/gasla.cdx.json")


def test_a_wheel_without_code_is_for_any_platform(tree: Path) -> None:
    built(tree)  # what it compiled is in the folder `build`, and must not be shipped now
    assert built(tree, ship="0")[0] == "py3-none-any"


def test_a_build_that_fails_to_compile_ships_nothing(tree: Path) -> None:
    ships(tree, fails=True)
    assert built(tree)[0] == "py3-none-any"


def test_a_wheel_of_another_name_is_found(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    check = runpy.run_path(str(ROOT / "tools" / "check_distributions.py"))["check_tag"]
    names = "py3-none-any", "py3-none-linux_riscv64"
    for ship in ("0", "1"):
        right = names[int(ship)]
        assert built(tree, ship=ship)[0] == right
        for name in names:
            wheel = shutil.copy(tree / "dist" / f"gasla-1.2-{right}.whl", tree / f"gasla-1.2-{name}.whl")
            with nullcontext() if name == right else pytest.raises(SystemExit, match=f"{ship} kernels"):
                check(Path(wheel))
