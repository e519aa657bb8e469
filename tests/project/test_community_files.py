"""Workflows, forms and the citation are what their schemas want, and say what is so."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path
from typing import Any

import pytest

import gasla
from tests.helpers import ROOT

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
FORMS = sorted(path for path in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml") if path.stem != "config")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def loaded(path: Path) -> Any:
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("schema", "paths"),
    [
        ("vendor.github-workflows", WORKFLOWS),
        ("vendor.github-issue-forms", FORMS),
        ("vendor.github-issue-config", [ROOT / ".github" / "ISSUE_TEMPLATE" / "config.yml"]),
        ("vendor.dependabot", [ROOT / ".github" / "dependabot.yml"]),
        ("vendor.citation-file-format", [ROOT / "CITATION.cff"]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_files_are_what_their_schema_wants(schema: str, paths: list[Path]) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, "--force-filetype", "yaml"]
    done = subprocess.run([*command, *map(str, paths)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_open_no_door() -> None:
    """Rights no wider than needed, no credentials left behind, nothing of a stranger's in a shell."""
    zizmor = shutil.which("zizmor", path=sysconfig.get_path("scripts"))
    if zizmor is None:
        pytest.skip("zizmor is not installed; the extra `test` has it")
    command = [zizmor, "--offline", "--no-progress", "--persona", "pedantic", str(ROOT / ".github")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_actions_are_pinned_by_hash(path: Path) -> None:
    """A tag may be moved to other code. The version is said beside the commit, where Dependabot reads and raises it."""
    used = re.findall(r"uses: *(.+)", path.read_text(encoding="utf-8"))
    assert used
    for action in used:
        is_own = re.fullmatch(r"\$/\.github/workflows/\w+\.yml", action)
        assert is_own or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_one_action_has_one_hash() -> None:
    used = {line for path in WORKFLOWS for line in re.findall(r"uses: *([^$].*)", path.read_text(encoding="utf-8"))}
    assert len({line.partition("@")[0] for line in used}) == len(used)


def test_every_scheduled_job_that_fails_opens_an_issue() -> None:
    jobs = loaded(ROOT / ".github" / "workflows" / "scheduled.yml")["jobs"]
    report = jobs.pop("report")
    assert report["needs"] == list(jobs)
    assert report["if"].startswith("always()")
    assert [name for name, job in jobs.items() if "issues" in job["permissions"]] == []


@pytest.mark.parametrize("listed", [[], [{"number": 7, "title": "Scheduled job fails: laws"}]], ids=["new", "open"])
def test_issues_are_opened_once(listed: list[dict[str, Any]], tmp_path: Path) -> None:
    """By a stand-in for GitHub's `gh`, which notes what it is asked for."""
    gh, noted = tmp_path / "gh", tmp_path / "noted"
    gh.write_text(
        f"#!{sys.executable}\nimport json, sys\nopen({str(noted)!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
        f"print({json.dumps(json.dumps(listed))} if sys.argv[2] == 'list' else '')\n"
    )
    gh.chmod(0o700)
    results = {"laws": "failure", "fuzz": "success", "nightly": "cancelled", "generated": "skipped"}
    environment = {
        "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}",
        "RESULTS": json.dumps({name: {"result": result, "outputs": {}} for name, result in results.items()}),
        "RUN": "https://example.org/1",
    }
    subprocess.run([sys.executable, str(ROOT / "tools" / "open_issues.py")], env=environment, check=True)
    asked = [json.loads(line) for line in noted.read_text().splitlines()][1:]
    assert [words[:2] for words in asked] == [["issue", "comment" if listed else "create"], ["issue", "create"]]
    assert asked[0][2] == ("7" if listed else "--title")
    assert asked[1][3] == "Scheduled job fails: nightly"
    assert all(words[-1].endswith(": https://example.org/1") for words in asked)


def test_every_format_is_fuzzed() -> None:
    pytest.importorskip("pyarrow")
    fuzzer = runpy.run_path(str(ROOT / "tools" / "fuzz_readers.py"))
    job = loaded(ROOT / ".github" / "workflows" / "scheduled.yml")["jobs"]["fuzz"]
    assert job["strategy"]["matrix"]["format"] == fuzzer["formats"]()


def test_the_matrix_begins_where_the_project_does() -> None:
    matrix = loaded(ROOT / ".github" / "workflows" / "tests.yml")["jobs"]["tests"]["strategy"]["matrix"]
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    assert {"python": matrix["python"][0], "packages": "oldest"} in matrix["include"]
    said = {word.rsplit(" ", 1)[-1] for word in PROJECT["classifiers"] if "Python :: 3." in word}
    assert said <= set(matrix["python"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_what_a_workflow_runs_is_there(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for tool in re.findall(r"python (tools/\w+\.py)", text):
        assert (ROOT / tool).exists(), tool
    for extra in re.findall(r"\.\[(\w+)\]", text):
        assert extra in PROJECT["optional-dependencies"], extra


def test_the_citation_names_this_version() -> None:
    citation = loaded(ROOT / "CITATION.cff")
    assert citation["version"] == gasla.__version__
    assert citation["license"] == PROJECT["license"]


def test_constraints_ask_for_the_oldest_packages() -> None:
    command = [sys.executable, str(ROOT / "tools" / "oldest_packages.py")]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    bounds = dict(line.split("==") for line in lines)
    assert {re.split(r"[>\[]", line)[0] for line in PROJECT["dependencies"]} <= set(bounds)
    assert bounds["numpy"] == "2.0.*"
    assert bounds["scipy"] == "1.15.*"  # the tests want a newer one than gasla does


def test_the_conda_recipe_asks_for_what_the_project_does() -> None:
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "tools" / "recipe" / "meta.yaml").read_text(encoding="utf-8")
    version = re.search(r'set version = "(.+)"', text)
    assert version is not None and version[1] == gasla.__version__
    plain = re.sub(r"{%.*?%}", "", text).replace("{{ version }}", gasla.__version__).replace("{{ PYTHON }}", "python")
    recipe = yaml.safe_load(plain)
    wanted = {line.replace(" ", "") for line in recipe["requirements"]["run"]}
    assert wanted == {f"python{PROJECT['requires-python']}", *PROJECT["dependencies"]}
    building = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    assert {line.replace(" ", "") for line in recipe["requirements"]["host"]} >= {*building}
    assert recipe["about"]["license"] == PROJECT["license"]


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", (ROOT / name).read_text(encoding="utf-8")):
        assert (ROOT / target).exists(), target
