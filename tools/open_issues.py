"""Open an issue for each scheduled job that has not succeeded, or add to the one that is open.

python tools/open_issues.py   (in a workflow, with GitHub's `gh`, which reads GH_TOKEN and GH_REPO)

RESULTS has the results of the jobs, as `toJSON(needs)` gives them, and RUN is the address of the run.
"""

from __future__ import annotations

import json
import os
import subprocess


def main() -> None:
    """Report every job."""
    results, address = json.loads(os.environ["RESULTS"]), os.environ["RUN"]
    listed = json.loads(gh("issue", "list", "--state", "open", "--limit", "1000", "--json", "number,title"))
    numbers = {issue["title"]: str(issue["number"]) for issue in listed}
    for job in sorted(job for job, found in results.items() if found["result"] not in ("success", "skipped")):
        title, text = f"Scheduled job fails: {job}", f"Its result was {results[job]['result']}: {address}"
        if title in numbers:
            gh("issue", "comment", numbers[title], "--body", text)
        else:
            gh("issue", "create", "--title", title, "--body", text)
        print(f"{title}. {text}")


def gh(*words: str) -> str:
    """Run `gh`; what it prints."""
    return subprocess.run(["gh", *words], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
