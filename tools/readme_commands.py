"""Print the commands that the README tells its reader to run: the fenced blocks marked `bash`, in order.

The continuous integration runs exactly these, so that what a reader copies is what was tested.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def commands(text: str) -> list[str]:
    """Return the content of every ```bash block of a Markdown text."""
    return [block.strip() for block in re.findall(r"^```bash\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)]


if __name__ == "__main__":
    blocks = commands(README.read_text(encoding="utf-8"))
    if not blocks:
        sys.exit("README.md has no block marked bash: there is nothing to run")
    print("\n".join(blocks))
