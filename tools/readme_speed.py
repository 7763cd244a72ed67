#!/usr/bin/env python3
"""Writes README.md's table of speed from bench/results: kernels from what `./dev gpu --json` made on an H200.

With --check nothing is written: exit status 1 if a table is not that of its files.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT / "python") not in sys.path:
    sys.path.insert(0, str(ROOT / "python"))

from flashfit.bench import stats  # noqa: E402

Results = dict[str, Any]


def load(name: str) -> Results:
    """A file of bench/results."""
    results: Results = json.loads((ROOT / "bench" / "results" / name).read_text(encoding="utf-8"))
    return results


def micro(samples: list[float]) -> str:
    """The median in microseconds."""
    return f"{stats.bootstrap([s * 1e6 for s in samples]).median:.4g}"


def speed_table(h200: Results) -> str:
    """Each case beside PyTorch in one interleaved run."""
    gpu = h200["machine"]["gpus"][0]["gpu"]
    before = h200["nvidia_smi"]["before speed"].split(", ")
    lines = [
        f"{gpu}, driver {h200['machine']['driver']}, SM clock {before[2]} before, torch {h200['torch']};",
        "medians of interleaved graph replays in microseconds, and PyTorch's time over flashfit's with its 95 %",
        "interval. PyTorch is SDPA's flash backend, for windows `varlen_attn`. `./dev gpu --json FILE` measures anew.",
        "",
        "| case | flashfit | PyTorch | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for row in h200["speed"]:
        ours, theirs = row["samples"]["the plan"], row["samples"].get("PyTorch")
        if theirs:
            lines.append(f"| {row['case']} | {micro(ours)} | {micro(theirs)} | {stats.ratio(theirs, ours)} |")
    return "\n".join(lines) + "\n"


#: By the name in README's marks.
TABLES: dict[str, Callable[[Results], str]] = {"speed": speed_table}


def written(readme: str, name: str, text: str) -> str:
    """README with this text between the marks of a table."""
    begin, end = f"<!-- {name}: tools/readme_speed.py writes this -->\n", f"<!-- end of {name} -->\n"
    head, rest = readme.split(begin)
    return head + begin + text + end + rest.split(end)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    path = ROOT / "README.md"
    now = new = path.read_text(encoding="utf-8")
    h200 = load("h200.json")
    for name, table in TABLES.items():
        new = written(new, name, table(h200))
    if check and new != now:
        print("README.md: a table is not that of bench/results; run tools/readme_speed.py")
        return 1
    if not check:
        path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
