"""Print the commands of the README: the content of fenced blocks marked `bash`, in order.

Continuous integration runs exactly these commands.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def blocks(text: str, language: str) -> list[str]:
    """Return the content of every code block of a Markdown text in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


if __name__ == "__main__":
    commands = [block.strip() for block in blocks(README.read_text(encoding="utf-8"), "bash")]
    if not commands:
        sys.exit("README.md has no block marked bash; expected commands to run")
    print("\n".join(commands))
