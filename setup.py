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
        package = Path(self.build_lib).absolute() / "gasla"
        command = [sys.executable, "-m", "gasla.shipping", str(package / "shipped")]
        done = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(package.parent)}, check=False)
        if done.returncode:
            print("gasla: nothing is shipped, as the build could not compile; functions are compiled when called")
        if os.environ.get("GASLA_SHIP_CUDA") == "1":  # for releases: minutes, with CuPy and NVRTC but no GPU
            command = [sys.executable, "-m", "gasla.gpu.shipping.build", command[-1]]
            subprocess.run(command, env={**os.environ, "PYTHONPATH": str(package.parent)}, check=True)


setup(cmdclass={"build_py": BuildWithCode})
