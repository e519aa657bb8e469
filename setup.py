"""What pyproject.toml can't say of the build: the library's own programs are compiled, and go into the wheel."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithCode(build_py):
    """Copy the packages, then compile; where that fails, functions are compiled when they are called."""

    def run(self) -> None:
        super().run()
        if self.editable_mode or os.environ.get("GASLA_SHIP") == "0":
            return
        if self._run_in_build("gasla.shipping"):
            print("gasla: nothing is shipped, as the build could not compile; functions are compiled when called")
        wants_cuda = os.environ.get("GASLA_SHIP_CUDA") == "1"  # for releases: minutes, with CuPy and NVRTC but no GPU
        if wants_cuda and self._run_in_build("gasla.gpu.shipping.build"):
            sys.exit("gasla: GASLA_SHIP_CUDA=1, but the code for GPUs could not be compiled")

    def _run_in_build(self, module: str) -> int:
        """Run a module of the copied packages, which fills the folder of shipped code; its exit status."""
        build = Path(self.build_lib).absolute()
        path = os.pathsep.join([str(build), *filter(None, sys.path)])  # also where pip has put what the build needs
        command = [sys.executable, "-m", module, str(build / "gasla" / "shipped")]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=False).returncode


setup(cmdclass={"build_py": BuildWithCode})
