"""The hardware and software on which a measurement runs."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import gasla
from gasla.arrays import Device
from gasla.bench import runner
from gasla.bench.peers import threads
from gasla.graph import generators

PACKAGES = (
    "numpy", "scipy", "llvmlite", "python-graphblas", "suitesparse-graphblas", "igraph", "networkit",
    "pymetis", "kaminpar",
    "cupy-cuda12x", "cupy-cuda13x", "cugraph-cu12", "cugraph-cu13", "cugraph",
)  # fmt: skip
HERE = Path(__file__).resolve()


def provenance(device: Device, commit: str | None = None) -> dict[str, Any]:
    """Return the facts that identify a measurement: device, driver, versions, commit, seeds and date.

    Parameters
    ----------
    device : "cpu" or "gpu"
        With "gpu", the GPU is described in addition to the processor.
    commit : str, optional
        The commit, for copies of a checkout without git.
    """
    # False if gasla is installed in a folder within another project's checkout, whose commit says nothing about gasla
    in_git = not commit and bool(_git("ls-files", HERE.name))
    facts = {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD") if in_git else commit,
        "uncommitted_changes": in_git and bool(_git("status", "--porcelain", "--untracked-files=no")),
        "seeds": {**generators.SEEDS, "rounds": runner.SEED},
        "cpu": processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": threads(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {"gasla": gasla.__version__} | {name: facts for name in PACKAGES if (facts := _version(name))},
    }
    return facts | {"cpu": dict, "gpu": _gpu}[device]()


def _gpu() -> dict[str, Any]:
    """Return the name and memory of the GPU, and the versions of driver, CUDA and CuPy."""
    import cupy

    runtime = cupy.cuda.runtime
    properties = runtime.getDeviceProperties(runtime.getDevice())
    query = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm", "--format=csv,noheader"]
    return {
        "gpu": properties["name"].decode(),
        "gpu_memory": int(properties["totalGlobalMem"]),
        "multiprocessors": int(properties["multiProcessorCount"]),
        "driver": _output(query),
        "cuda_driver": runtime.driverGetVersion(),
        "cuda_runtime": runtime.runtimeGetVersion(),
        "nvrtc": ".".join(map(str, cupy.cuda.nvrtc.getVersion())),
        "cupy": cupy.__version__,
    }


def _git(*arguments: str) -> str:
    return _output(["git", *arguments])


def _output(command: list[str]) -> str:
    """Return the output of a program, or "" if it is missing or fails."""
    try:
        done = subprocess.run(command, cwd=HERE.parent, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def processor() -> str:
    """Return the model name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), platform.processor()
    )


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
