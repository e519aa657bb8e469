"""The container of docs/guide/deployment.md, as far as it goes without one: user, file system, limits, writing."""

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.helpers import ROOT

PAGE = (ROOT / "docs" / "guide" / "deployment.md").read_text(encoding="utf-8")
SERVICE = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0]
IMAGE = dict[str, list[str]]()
for line in re.findall(r"^```dockerfile\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)[0].splitlines():
    IMAGE.setdefault(line.split()[0], []).append(line.partition(" ")[2])
USER = IMAGE["USER"][0].split(":")[0]

# Every file system becomes read-only, and the process a user's who is not root and has no capabilities.
CONTAINER = """
while read -r _ where kind _; do
    case $kind in proc|sysfs|devtmpfs|devpts|cgroup*|mqueue|binfmt_misc) ;;
    *) mount -o remount,bind,ro "$where" || exit 9 ;;
    esac
done </proc/self/mounts
exec setpriv --no-new-privs --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"
"""
UNSHARE = ["unshare", "--user", f"--map-user={USER}", f"--map-group={USER}", "--mount", "--keep-caps"]
CONTAINED = [*UNSHARE, "sh", "-c", CONTAINER, "sh"]


def can_contain() -> bool:
    if not all(map(shutil.which, ("unshare", "setpriv"))):
        return False
    return subprocess.run([*CONTAINED, "true"], capture_output=True, check=False).returncode == 0


contained = pytest.mark.skipif(not can_contain(), reason="no user namespaces, or another mount can't be made read-only")


def environment(**variables: str) -> dict[str, str]:
    """No HOME, no cache folder but the one given."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return kept | {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"} | variables


def test_the_image_is_small_and_its_user_is_not_root() -> None:
    assert IMAGE["FROM"][0].endswith("-slim")
    assert int(USER) > 0 and [*IMAGE].index("USER") > [*IMAGE].index("RUN")
    warm = IMAGE["RUN"][-1]
    assert warm.startswith('mkdir -p "$GASLA_CACHE_DIR" && python service.py warm && chmod -R a+rX')
    assert json.loads(IMAGE["CMD"][0]) == ["python", "service.py"]
    for option in ("--read-only", f"--user {IMAGE['USER'][0]}", "--cap-drop ALL", "--cpus", "--memory", "--init"):
        assert option in PAGE


def build(folder: Path) -> Path:
    """Do what the image's last RUN does; returns the cache folder."""
    (folder / "service.py").write_text(SERVICE)
    found = environment(GASLA_CACHE_DIR=str(folder / "cache"))
    command = IMAGE["RUN"][-1].replace("python ", f"{sys.executable} ")
    subprocess.run(["sh", "-c", command], cwd=folder, env=found, check=True, timeout=300)
    return folder / "cache"


def ask(folder: Path, **variables: str) -> tuple[dict[str, Any], dict[str, Any], str]:
    """The answers to a right and a wrong request, and the log, of the service in a container."""
    command = [*CONTAINED, sys.executable, "service.py"]
    found = environment(PORT="0", LOG_LEVEL="DEBUG", **variables)
    service = subprocess.Popen(command, cwd=folder, env=found, text=True, stdout=-1, stderr=-1)
    assert service.stdout is not None
    answers = []
    try:
        port = re.findall(r"\d+", service.stdout.readline())[0]
        for asked in ("from=0&to=3", "from=9&to=3"):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/?{asked}", timeout=60) as answer:
                    answers.append(json.load(answer))
            except urllib.error.HTTPError as error:
                answers.append(json.load(error) | {"status": error.code})
    finally:
        service.terminate()
        _, log = service.communicate(timeout=60)
    return answers[0], answers[1], log


@contained
def test_a_service_that_can_write_nothing_finds_all_it_needs(tmp_path: Path) -> None:
    cache = build(tmp_path)
    mode = cache.stat().st_mode & 0o777
    assert mode & 0o055 == 0o055 and not mode & 0o022  # to be read and not to be written by others
    right, wrong, log = ask(tmp_path, GASLA_CACHE_DIR=str(cache))
    assert right == {"hops": 3} and wrong["status"] == 400 and "9" in wrong["error"]
    assert "gasla" not in log  # nothing was compiled, and nobody tried to store


@contained
def test_a_service_that_was_not_warmed_answers_and_says_what_is_lost(tmp_path: Path) -> None:
    """Its cache folder can't be made, as there is no HOME and nothing to write to."""
    (tmp_path / "service.py").write_text(SERVICE)
    right, _, log = ask(tmp_path, GASLA_CACHE_DIR="/no/folder")
    assert right == {"hops": 3}
    assert log.count("WARNING:gasla:compiled code can't be stored in /no/folder") == 1
    assert "DEBUG:gasla:compiled " in log


WRITING = """
import os, sys

def audit(event, arguments):
    writes = event in ("os.mkdir", "os.rename", "os.remove", "os.link", "os.symlink", "os.chmod", "os.truncate")
    if event == "open":
        path, mode, flags = arguments
        writes = isinstance(path, str) and bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
    if writes:
        written.append((event, str(arguments[0])))

written = []
sys.addaudithook(audit)
import numpy as np
import gasla, semirings

class Widest(gasla.VertexProgram):
    width = gasla.vertex(np.float64)
    capacity = gasla.edge(np.float64)
    reduce = semirings.max

    def gather(self, src, dst, edge):
        return semirings.minimum(src.width, edge.capacity)

    def apply(self, vertex, gathered):
        return {"width": semirings.maximum(vertex.width, gathered)}

graph = gasla.Graph.from_edges([0, 1, 2, 0], [1, 2, 3, 2], [1.0, 2.0, 3.0, 4.0])
gasla.bfs(graph, 0)
gasla.pagerank(graph)
gasla.connected_components(graph)
gasla.run(Widest, graph, width={0: np.inf})
gasla.mxm(graph, graph)
gasla.csgraph.dijkstra(graph.to_scipy())
gasla.set_num_threads(2)
gasla.bfs(gasla.datasets.rmat(14), 0)
print(written)
"""


def test_nothing_is_written_but_the_cache(tmp_path: Path) -> None:
    """By Python's own events of files that are opened to be written, made, renamed or removed."""
    found = environment(GASLA_CACHE_DIR=str(tmp_path / "cache"), HOME=str(tmp_path / "home"))
    command = [sys.executable, "-c", WRITING]
    for is_first in (True, False):
        printed = subprocess.check_output(command, cwd=tmp_path, env=found, text=True, timeout=600)
        written = ast.literal_eval(printed)
        assert {path for _, path in written if not path.startswith(str(tmp_path / "cache"))} <= {os.devnull}
        assert (
            bool([path for _, path in written if path != os.devnull]) == is_first
        )  # and later processes write nothing
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("strace") is None, reason="no strace")
def test_nothing_is_written_by_compiled_code_or_libraries(tmp_path: Path) -> None:
    """As the system sees it, of all threads."""
    found = environment(GASLA_CACHE_DIR=str(tmp_path / "cache"))
    calls = "openat,open,creat,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,link,linkat,symlink,symlinkat"
    trace = ["strace", "-f", "-qq", "-e", f"trace={calls}", "-o", str(tmp_path / "trace")]
    done = subprocess.run(
        [*trace, sys.executable, "-c", WRITING], cwd=tmp_path, env=found, capture_output=True, check=False
    )
    if b"ptrace" in done.stderr:
        pytest.skip("tracing is not permitted")
    assert done.returncode == 0, done.stderr
    is_read = re.compile(r" open(at)?\((AT_FDCWD, )?\"[^\"]*\", O_RDONLY(?!.*O_CREAT)")
    lines = [line for line in (tmp_path / "trace").read_text().splitlines() if " = -1 " not in line]
    written = [line for line in lines if re.search(r" \w+\(", line) and not is_read.search(line)]
    assert len(written) > 10
    assert not [line for line in written if str(tmp_path / "cache") not in line and os.devnull not in line]


LIMITED = """
import sys
from pathlib import Path
from gasla import cgroups
cgroups.CGROUPS, cgroups.MEMBERSHIP = Path(sys.argv[1]), Path(sys.argv[1], "membership")
import numpy as np
import gasla
print(gasla.get_num_threads())
graph = gasla.Graph.from_edges([0, 1], [1, 2], n=100_000)
assert gasla.bfs(graph, 0)[2] == 2
try:
    gasla.multi_source_bfs(graph, np.arange(5000))
except MemoryError as error:
    print(error)
"""
GROUPS = {
    "2": ("0::/pod/app", "pod/memory.max", "pod/app/memory.max", "pod/cpu.max", "{quota} {period}"),
    "1": (
        "4:memory:/pod/app\n3:cpu,cpuacct:/pod/app",
        "memory/pod/memory.limit_in_bytes",
        "memory/pod/app/memory.limit_in_bytes",
        "cpu,cpuacct/pod/cpu.cfs_quota_us",
        "{quota}",
    ),
}


@pytest.mark.parametrize("version", GROUPS)
def test_the_limits_of_a_container_are_seen(tmp_path: Path, version: str) -> None:
    """Those of the group around the container's, which are lower here."""
    membership, *files, quota = GROUPS[version]
    texts = ["100000000", "9000000000", quota.format(quota=100_000, period=100_000)]
    for name, text in zip(files, texts):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    (tmp_path / "cpu,cpuacct/pod").mkdir(parents=True, exist_ok=True)
    (tmp_path / "cpu,cpuacct/pod/cpu.cfs_period_us").write_text("100000\n")
    (tmp_path / "membership").write_text(membership + "\n")
    found = {**os.environ, "PYTHONPATH": str(ROOT), "GASLA_NUM_THREADS": "2"}
    command = [sys.executable, "-c", LIMITED, str(tmp_path)]
    threads, said = subprocess.check_output(command, env=found, text=True, timeout=300).splitlines()
    assert threads == "1"
    assert "100,000,000 are available" in said


def test_one_place_asks_for_memory() -> None:
    """So that every check sees the limits of cgroups and of the process."""
    asking = re.compile(r"SC_PHYS_PAGES|MemAvailable|MemTotal|psutil|virtual_memory|GlobalMemoryStatus")
    files = [path for path in (ROOT / "gasla").rglob("*.py") if asking.search(path.read_text(encoding="utf-8"))]
    known = ["bench", "cpu/runtime/memory.py"]
    assert [path for path in files if not path.relative_to(ROOT / "gasla").as_posix().startswith(tuple(known))] == []
    assert ROOT / "gasla/cpu/runtime/memory.py" in files
