#!/usr/bin/env python3
"""Writes README.md's table of speed from bench/results/h200.json, which `./dev gpu --json` made on an H200.

With --check nothing is written: exit status 1 if the table is not that of the file.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.job import stats  # noqa: E402

RESULTS = ROOT / "bench" / "results" / "h200.json"
BEGIN, END = "<!-- speed: tools/readme_speed.py writes this -->\n", "<!-- end of speed -->\n"


def table(results: dict[str, Any]) -> str:
    """Each case beside PyTorch in one interleaved run."""
    gpu = results["machine"]["gpus"][0]["gpu"]
    before = results["nvidia_smi"]["before speed"].split(", ")
    lines = [
        f"{gpu}, driver {results['machine']['driver']}, SM clock {before[2]} before, torch {results['torch']};",
        "medians of interleaved graph replays in microseconds, and PyTorch's time over flashfit's with its 95 %",
        "interval. PyTorch is SDPA's flash backend, for windows `varlen_attn`. `./dev gpu --json FILE` measures anew.",
        "",
        "| case | flashfit | PyTorch | ratio |",
        "| --- | --- | --- | --- |",
    ]
    for row in results["speed"]:
        ours, theirs = row["samples"]["the plan"], row["samples"].get("PyTorch")
        if not theirs:
            continue
        micro = [f"{stats.bootstrap([s * 1e6 for s in x]).median:.4g}" for x in (ours, theirs)]
        ratio = stats.ratio(theirs, ours)
        lines.append(f"| {row['case']} | {micro[0]} | {micro[1]} | {ratio} |")
    return "\n".join(lines) + "\n"


def written(readme: str, text: str) -> str:
    head, rest = readme.split(BEGIN)
    return head + BEGIN + text + END + rest.split(END)[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    path = ROOT / "README.md"
    now = path.read_text(encoding="utf-8")
    new = written(now, table(json.loads(RESULTS.read_text(encoding="utf-8"))))
    if check and new != now:
        print(f"README.md: its table of speed is not that of {RESULTS.relative_to(ROOT)}; run tools/readme_speed.py")
        return 1
    if not check:
        path.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
