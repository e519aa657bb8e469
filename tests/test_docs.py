"""The user guide runs as it is printed, its remarks are true, and the examples run."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent


def test_the_guide_runs_and_prints_what_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    path = tmp_path / "guide.py"
    path.write_text("\n".join(blocks), encoding="utf-8")
    names = runpy.run_path(str(path), run_name="guide")
    printed = capsys.readouterr().out
    for remark in ("Graph(n=4, m=5, values=float32)", "[0 1 1 2]", "[inf  4.  1. inf]"):
        assert remark.replace(" ", "") in printed.replace(" ", "")
    np.testing.assert_array_equal(names["result"].width, [np.inf, 4, 1, 1])
    np.testing.assert_array_equal(names["state"].width, [np.inf, 4, 1, 1])
    np.testing.assert_allclose(names["norms"], np.sqrt((names["A"].toarray() ** 2).sum(axis=1)))
    assert names["count"] == 1


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_examples_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", [str(path)])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("page", sorted((ROOT / "docs").glob("*.md")), ids=lambda path: path.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target
