"""The prose of Markdown pages as sentences."""

from __future__ import annotations

import re
from pathlib import Path

_FENCE = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_MARKER = re.compile(r"^\s*(?:[-*+]|\d+\.|#+|>)\s+")
_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"(])")


def sentences(markdown: str) -> list[str]:
    """Sentences of paragraphs and list items, in order; not headings, tables, code, HTML nor what has fewer than four
    words."""
    found = []
    text = _LINK.sub(r"\1", _FENCE.sub("", markdown))
    for block in _blocks(text):
        for sentence in _END.split(block):
            plain = sentence.replace("`", "").replace("**", "").strip()
            if len(re.findall(r"[A-Za-z]{2,}", plain)) >= 4:
                found.append(plain)
    return found


def _blocks(text: str) -> list[str]:
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped or stripped.startswith(("|", "#", "<")):
            blocks.append([])
        elif _MARKER.match(line):
            blocks.append([_MARKER.sub("", line)])
        else:
            blocks[-1].append(stripped)
    return [" ".join(block) for block in blocks if block]


def of_docs(root: Path) -> list[str]:
    """Every sentence of README.md, CONTRIBUTING.md and docs/*.md, once."""
    pages = [
        page
        for page in (root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md")))
        if page.is_file()
    ]
    return list(dict.fromkeys(s for page in pages for s in sentences(page.read_text(encoding="utf-8"))))
