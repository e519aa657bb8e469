"""Print the commands of the README: the content of fenced blocks marked `bash`, in order.

Continuous integration runs exactly these commands.
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
        sys.exit("README.md has no block marked bash; expected commands to run")
    print("\n".join(blocks))
