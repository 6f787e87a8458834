"""Comment the file COMMENT on the pull request PULL, or on the commit of a push, with TOKEN."""

from __future__ import annotations

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

LONGEST = 65_000
"""Characters of a comment; GitHub takes 65,536."""


def address() -> str:
    """Return where the comment goes."""
    root = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}"
    pull = os.environ.get("PULL", "")
    if pull:
        return f"{root}/issues/{int(pull)}/comments"
    return f"{root}/commits/{os.environ['GITHUB_SHA']}/comments"


def main() -> int:
    """Send the comment; return the exit status."""
    text = Path(os.environ["COMMENT"]).read_text(encoding="utf-8")
    if len(text) > LONGEST:
        text = f"{text[:LONGEST]}\n\n(cut; the whole text is in the artifact)"
    request = urllib.request.Request(
        address(),
        json.dumps({"body": text}).encode(),
        {
            "Authorization": f"Bearer {os.environ['TOKEN']}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            print(json.load(answer).get("html_url", ""))
    except urllib.error.HTTPError as error:
        print(f"GitHub refused the comment: {error.code} {error.reason}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
