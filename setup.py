"""What pyproject.toml can't say of the build: the wheel has compiled code of the library's own programs, and a bill."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

DATA = {  # by other authors, in gasla/data beside their licenses
    "OpenFlights airports and routes": ("https://openflights.org/data", "ODbL-1.0"),
    "USA-road-t.NY (9th DIMACS challenge, from US Census TIGER/Line)": (
        "https://www.diag.uniroma1.it/challenge9/", "LicenseRef-public-domain",
    ),
}  # fmt: skip
CODE = {"x86_64": "x86-64-v3", "aarch64": "armv8.2-a"}  # what the compiled code is for, by processor


class BuildWithCode(build_py):
    """Copy the packages, then compile; where that fails, functions are compiled when they are called."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        folder = Path(self.build_lib) / "gasla" / "shipped"
        if os.environ.get("GASLA_SHIP") == "0":
            shutil.rmtree(folder, ignore_errors=True)  # of an earlier build
            return
        if folder.exists() and not (folder / "made_of").exists():  # what an interrupted build has left
            shutil.rmtree(folder)
        if self._run_in_build("gasla.shipping", *os.environ.get("GASLA_SHIP_FOR", "").split()):  # a processor
            shutil.rmtree(folder, ignore_errors=True)
            print("gasla: nothing is shipped; functions are compiled when called")
        wants_cuda = os.environ.get("GASLA_SHIP_CUDA") == "1"  # for releases: minutes, with CuPy and NVRTC but no GPU
        if wants_cuda and self._run_in_build("gasla.gpu.shipping.build"):
            sys.exit("gasla: GASLA_SHIP_CUDA=1, but the code for GPUs could not be compiled")

    def _run_in_build(self, module: str, *options: str) -> int:
        """Run a module of the copied packages, which fills the folder of shipped code; its exit status."""
        build = Path(self.build_lib).absolute()
        path = os.pathsep.join([str(build), *filter(None, sys.path)])  # also where pip has put what the build needs
        command = [sys.executable, "-m", module, str(build / "gasla" / "shipped"), *options]
        environment = {**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"}  # the wheel gets what is there
        return subprocess.run(command, env=environment, check=False).returncode


class WheelOfWhatIsThere(bdist_wheel):
    """Tag the wheel by the code in it, and add a software bill of materials to its metadata, where PEP 770 wants it.

    With machine code, it is tagged for this system, or for the platform given as --plat-name, if the code runs there;
    without, for any system.
    """

    def get_tag(self) -> tuple[str, str, str]:
        shipped = Path(self.bdist_dir) / "gasla" / "shipped" / "platforms"
        if not shipped.exists():
            return self.python_tag, "none", "any"
        self.root_is_pure = False
        platforms = shipped.read_text().split()
        wanted = self.plat_name if self.plat_name_supplied else platforms[0]
        if wanted not in platforms:
            sys.exit(f"gasla: --plat-name is {wanted}; expected one of {', '.join(platforms)}, by the wheel's code")
        return self.python_tag, "none", wanted

    def write_wheelfile(self, wheelfile_base: str, *generator: str) -> None:
        super().write_wheelfile(wheelfile_base, *generator)
        shipped = Path(self.bdist_dir) / "gasla" / "shipped" / "platforms"
        processor = shipped.read_text().split()[0].removeprefix("linux_") if shipped.exists() else ""
        path = Path(wheelfile_base) / "sboms" / "gasla.cdx.json"
        path.parent.mkdir(exist_ok=True)
        text = json.dumps(bill(self.distribution, CODE.get(processor, processor or "none")), indent=1, sort_keys=True)
        path.write_text(text + "\n", encoding="utf-8")


def bill(distribution: object, code: str) -> dict:
    """The contents of the wheel and what it needs, in CycloneDX 1.6; the same for the same build, so without a date."""
    name, of = distribution.get_name(), distribution.get_version()
    root = f"pkg:pypi/{name}@{of}"
    needed = [f"pkg:pypi/{line.split('>')[0].strip()}" for line in distribution.install_requires]
    libraries = [{"type": "library", "name": ref.split("/")[1], "purl": ref, "bom-ref": ref} for ref in needed]
    data = [
        {
            "type": "data",
            "name": title,
            "bom-ref": title,
            "externalReferences": [{"type": "website", "url": url}],
            "licenses": [{"license": {"id": terms} if "Ref" not in terms else {"name": "public domain"}}],
        }
        for title, (url, terms) in DATA.items()
    ]
    names = ["setuptools", *(["llvmlite", "numpy", "scipy"] if code != "none" else [])]  # what decides the bytes
    tools = [{"type": "application", "name": tool, "version": _version(tool)} for tool in names]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "library", "name": name, "version": of, "purl": root, "bom-ref": root,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [{"name": "gasla:compiled-code", "value": code}],
            },
            "tools": {"components": tools},
        },
        "components": [*libraries, *data],
        "dependencies": [{"ref": root, "dependsOn": sorted([*needed, *DATA])}],
    }  # fmt: skip


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "unknown"


setup(cmdclass={"build_py": BuildWithCode, "bdist_wheel": WheelOfWhatIsThere})
