"""The site is built without a warning, no link in it is dead, and every page looks right in a browser."""

import shutil
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

import gasla
from tests.helpers import ROOT

GALLERY = sorted((ROOT / "examples" / "gallery").glob("*.py"))
SIZES = {"narrow": (390, 844), "tablet": (900, 900), "wide": (1440, 900)}


@pytest.mark.parametrize("path", GALLERY, ids=lambda path: path.stem)
def test_a_picture_takes_under_sixty_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) < 60


@pytest.fixture(scope="module")
def site() -> Path:
    """The folder of the site, built as CONTRIBUTING.md says."""
    pytest.importorskip("sphinx_gallery")
    built = ROOT / "docs" / "_build" / "html"
    for made in ("_build", "gallery"):
        shutil.rmtree(ROOT / "docs" / made, ignore_errors=True)
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "docs", str(built)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return built


@pytest.mark.slow  # runs all of the gallery
def test_all_that_is_public_is_in_the_reference(site: Path) -> None:
    text = (site / "api" / "gasla.html").read_text(encoding="utf-8")
    for name in gasla.__all__:
        page = "" if isinstance(getattr(gasla, name), ModuleType) else f"gasla.{name}"
        assert page in text, name
    pictures = {path.stem for path in (site / "gallery").glob("plot_*.html")}
    assert pictures == {path.stem for path in GALLERY}


def pages_of(site: Path) -> list[Path]:
    """The pages of a site; the theme's own files have templates among them."""
    return sorted(path for path in site.rglob("*.html") if "_static" not in path.parts)


class Links(HTMLParser):
    """What a page leads to, and the places in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places = {""}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        said = dict(attrs)
        self.places.add(said.get("id") or said.get("name") or "")
        self.targets += [value for key in ("href", "src") if (value := said.get(key))]


@pytest.mark.slow  # needs the site
def test_no_link_is_dead(site: Path) -> None:
    pages = {path: Links(path) for path in pages_of(site)}
    dead = []
    for page, links in pages.items():
        for target in links.targets:
            scheme, host, path, _, place = urlsplit(target)
            if scheme or host:
                continue
            to = (page.parent / unquote(path)).resolve() if path else page
            if not to.exists() or (to in pages and unquote(place) not in pages[to].places):
                dead.append((page.relative_to(site).as_posix(), target))
    assert not dead


def chromium(playwright: Any) -> Any:
    """A browser: Playwright's own, or else the one of the system."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not Path(playwright.chromium.executable_path).exists() and found is None:
        pytest.skip("no Chromium is installed: playwright install chromium")
    own = Path(playwright.chromium.executable_path).exists()
    return playwright.chromium.launch(executable_path=None if own else found, args=["--no-sandbox"])


def complaints(page: Any) -> list[str]:
    """What is wrong with what is shown: wider than the window, or a picture missing."""
    wide = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    missing = page.evaluate("[...document.images].filter(x => x.complete && !x.naturalWidth).map(x => x.src)")
    return [f"{wide} pixels too wide"] * (wide > 0) + [f"no picture {name}" for name in missing]


@pytest.mark.slow  # opens some hundred pages
def test_every_page_looks_right_in_a_browser(site: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright
    screenshots = site.parent / "screenshots"
    wrong = []
    with playwright() as started:
        browser = chromium(started)
        page = browser.new_page()
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        for path in pages_of(site):
            name = path.relative_to(site).with_suffix("").as_posix()
            page.goto(path.as_uri(), wait_until="load")
            for size, (width, height) in SIZES.items():
                page.set_viewport_size({"width": width, "height": height})
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    wrong += [(name, size, scheme, what) for what in complaints(page)]
                    if "generated" not in name:
                        page.screenshot(path=screenshots / f"{name.replace('/', '-')}-{size}-{scheme}.png")
            wrong += [(name, what) for what in said]
            said.clear()
        browser.close()
    assert not wrong
