"""Where and with what a figure was measured."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("gasla", "numpy", "scipy", "numba", "python-graphblas", "suitesparse-graphblas", "igraph", "networkit")
GPU_PACKAGES = ("cupy-cuda12x", "cupy-cuda13x", "cugraph")
ROOT = Path(__file__).resolve().parents[1]


def provenance() -> dict[str, Any]:
    """Return processor, versions, commit and date."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "versions": {name: found for name in PACKAGES if (found := _version(name))},
    }


def gpu_provenance() -> dict[str, Any]:
    """Return the GPU's name and memory, and the versions of driver, CUDA and CuPy."""
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
        "gpu_versions": {name: found for name in GPU_PACKAGES if (found := _version(name))},
    }


def _git(*arguments: str) -> str:
    return _output(["git", *arguments])


def _output(command: list[str]) -> str:
    """Return what a program prints, or "" where there is no such program."""
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
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
