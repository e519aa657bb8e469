"""Run the demo, the README's code and commands, the recipes and the examples from a wheel, without a network.

python tools/try_wheel.py WHEEL   (needs a package index, to install what the wheel requires)

A fresh environment gets the wheel, and the extras that the pages use. Then nothing is on the path but this environment,
so no compiler is found; and no process can reach a network.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from readme_commands import blocks

TREE = Path(__file__).resolve().parents[1]
EXTRAS = "plot,networkx,arrow"
OTHERS = ("pandas>=2.2",)  # a recipe's own
NOT_THERE = ("graphsage",)  # it needs PyTorch Geometric, which no extra brings
NO_NETWORK = ("unshare", "--map-root-user", "--net")
# Where the system forbids `unshare`: each Python process of the environment refuses connections, but for pip's.
REFUSE = """
import os
import sys

def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo"):
        raise OSError(f"no network here: {event} {args[1:]}")

if "NO_NETWORK" in os.environ:
    sys.addaudithook(refuse)
"""
FILES = """
from gasla import datasets, io
io.write("roads.mtx.gz", datasets.grid(10))
io.write("rmat18.npz", datasets.rmat(10))
"""
MEASURES = "bench"  # a command that the README shows and that isn't run, because it takes minutes and other libraries


def code(page: str, language: str) -> str:
    """The content of a page's code blocks in a language."""
    return "\n".join(blocks((TREE / page).read_text(encoding="utf-8"), language))


class Installed:
    """A wheel in a fresh environment, and a folder in which its programs run without a network."""

    def __init__(self, wheel: Path, work: Path) -> None:
        self.folder, self.programs, self.cache = work / "elsewhere", work / "environment" / "bin", work / "cache"
        self.folder.mkdir()
        venv.create(work / "environment", with_pip=True)
        self.install(wheel)
        self.environment = {
            "PATH": str(self.programs),
            "HOME": str(work),
            "GASLA_CACHE_DIR": str(self.cache),
            "MPLBACKEND": "Agg",
            "NO_NETWORK": "1",
        }
        unshare = shutil.which(NO_NETWORK[0])
        self.prefix = [unshare, *NO_NETWORK[1:]] if unshare and permitted([unshare, *NO_NETWORK[1:]]) else []
        if not self.prefix:
            (packages,) = (work / "environment" / "lib").glob("python*/site-packages")
            (packages / "refuse_network.py").write_text(REFUSE, encoding="utf-8")
            (packages / "refuse_network.pth").write_text("import refuse_network\n", encoding="utf-8")

    def install(self, *requirements: str | Path) -> None:
        """Install packages from the index, or wheels."""
        self._run([self.programs / "python", "-m", "pip", "install", "-q", *requirements], {**os.environ})

    def run(self, *command: str) -> str:
        """Run a program of the environment; return what it prints, and exit with an error if it fails."""
        program = self.programs / command[0]
        return self._run([*self.prefix, program, *command[1:]], self.environment)

    def python(self, name: str, text: str) -> str:
        """Run a text as a Python program, and return what it prints."""
        (self.folder / name).write_text(text, encoding="utf-8")
        return self.run("python", name)

    def _run(self, command: list[str | Path], environment: dict[str, str]) -> str:
        environment.pop("PYTHONPATH", None)
        words = [*map(str, command)]
        done = subprocess.run(words, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            sys.exit(f"{' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done.stdout


def permitted(prefix: list[str]) -> bool:
    """Whether this user may run a program in a network namespace of its own."""
    return subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode == 0


def try_wheel(installed: Installed) -> str:
    """Install what the pages need besides the wheel, and run everything; return a line that says what ran."""
    installed.install(f"gasla[{EXTRAS}]", *OTHERS)
    connect = "import socket; socket.create_connection(('127.0.0.1', 9))"
    reached = subprocess.run(
        [*installed.prefix, installed.programs / "python", "-c", connect],
        env=installed.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if not re.search("no network here|Network is unreachable", reached.stderr):
        sys.exit(f"the network isn't shut off: {reached.stderr or 'a connection was made'}")
    installed.run("gasla", "demo")
    installed.python("readme.py", code("README.md", "python"))
    commands = run_commands(installed)
    recipes = code("docs/recipes.md", "python")
    printed = installed.python("recipes.py", recipes).splitlines()
    expected = re.findall(r"^print\(.*\)  # (.*?)(?:: .*)?$", recipes, re.MULTILINE)
    for line, remark in zip(printed, expected, strict=True):
        if line != remark:
            sys.exit(f"docs/recipes.md expects {remark!r}; the wheel prints {line!r}")
    examples = sorted(path for path in (TREE / "examples").glob("*.py") if path.stem not in NOT_THERE)
    for path in examples:
        installed.python(path.name, path.read_text(encoding="utf-8"))
    how = "in a network namespace" if installed.prefix else "with sockets refused"
    return f"the demo, {commands} commands, {len(expected)} lines of recipes and {len(examples)} examples run {how}"


def run_commands(installed: Installed) -> int:
    """Run the commands that the README shows, but for benchmarks, on files of these names; return their number."""
    installed.python("files.py", FILES)
    lines = code("README.md", "console").splitlines()
    commands = [shlex.split(line.removeprefix("$ ")) for line in lines]
    commands = [words for words in commands if words[1] != MEASURES]
    for words in commands:
        installed.run(*words)
    return len(commands)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as name:
        print(try_wheel(Installed(Path(sys.argv[1]).resolve(), Path(name))))
