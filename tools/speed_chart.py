#!/usr/bin/env python3
"""Draws README's chart of speed by peer from the files of bench/results: docs/speed-light.svg and docs/speed-dark.svg.

Bars are speeds over PyTorch's flash attention, each from one interleaved run: its time over the other's. `./dev charts`
installs Matplotlib and runs this; each file carries the digest of the figures that it shows, which a test compares.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tools.result_tables import Result, place, result_files  # noqa: E402

#: By their names in result files, in the order of their bars, with a colour of the Okabe-Ito palette each.
SHOWN = {
    "flashfit": ("flashfit", "#D55E00"),
    "sdpa-cudnn": ("cuDNN", "#0072B2"),
    "flash-attn-3": ("FlashAttention-3", "#009E73"),
    "flash-attn-2": ("FlashAttention-2", "#56B4E9"),
    "flashinfer": ("FlashInfer", "#CC79A7"),
}
CASE = re.compile(r"grid/B8 S2048 H16 D(\d+) bf16 (full|causal)")
UNIT = "sdpa-flash"  # PyTorch's
#: mask: head_dim: peer: speed over UNIT
Figures = dict[str, dict[int, dict[str, float]]]


def speeds(entry: Mapping[str, Any]) -> dict[str, float]:
    """Over UNIT's, of those that are shown and were measured beside it."""
    unit = entry["peers"][UNIT]["median_us"]
    times = {name: peer.get("median_us") for name, peer in entry["peers"].items()}
    times["flashfit"] = entry["median_us"]
    return {name: round(unit / times[name], 3) for name in SHOWN if times.get(name)}


def figures(files: Mapping[str, Result]) -> tuple[str, Figures]:
    """The GPU that was measured last, and its figures: ratios of two GPUs do not compare. Of a case that several of its
    files have, those of the file with the most peers."""
    found = [
        (result, match, speeds(entry))
        for result in files.values()
        for entry in (result["cases"] if result["machine"]["gpu"] else ())
        if (match := CASE.fullmatch(entry["name"])) and "median_us" in entry.get("peers", {}).get(UNIT, {})
    ]
    gpu = place(max((result for result, _, _ in found), key=lambda result: str(result["made"]["at"])))
    chosen = Figures()
    for _, match, over in (each for each in found if place(each[0]) == gpu):
        dims = chosen.setdefault(match[2], {})
        if len(over) > len(dims.get(int(match[1]), {})):
            dims[int(match[1])] = over
    return gpu, {mask: dict(sorted(dims.items())) for mask, dims in chosen.items()}


def digest(found: tuple[str, Figures]) -> str:
    return hashlib.sha256(json.dumps(found).encode()).hexdigest()


def draw(found: tuple[str, Figures], ink: str, path: Path) -> None:
    """A panel a mask, a group a head_dim, a bar a peer; text and lines in `ink`, on nothing."""
    importlib.import_module("matplotlib").use("svg")
    plt = importlib.import_module("matplotlib.pyplot")
    colours = dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), ink)
    plt.rcParams.update({**colours, "svg.hashsalt": "flashfit", "svg.fonttype": "none", "font.family": "sans-serif"})
    gpu, masks = found
    figure, panels = plt.subplots(1, len(masks), figsize=(11, 3.6), sharey=True, layout="constrained")
    there = {peer for dims in masks.values() for of in dims.values() for peer in of}
    shown = {peer: how for peer, how in SHOWN.items() if peer in there}
    width = 0.9 / len(shown)
    for panel, (mask, dims) in zip(panels, masks.items()):
        for i, (peer, (label, colour)) in enumerate(shown.items()):
            bars = [(at, of[peer]) for at, of in enumerate(dims.values()) if peer in of]
            places = [at + (i - (len(shown) - 1) / 2) * width for at, _ in bars]
            panel.bar(places, [speed for _, speed in bars], width, label=label, color=colour)
        panel.axhline(1, color=ink, linewidth=0.8, linestyle="--")
        panel.set_xticks(range(len(dims)), [str(dim) for dim in dims])
        panel.set_xlabel(f"head_dim, {mask}")
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("speed over PyTorch's\nflash attention")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=len(shown), frameon=False)
    figure.supxlabel(f"{gpu}, bf16, 8 sequences of 2,048 tokens, 16 heads", fontsize=9)
    figure.savefig(path, transparent=True, metadata={"Date": None, "Description": digest(found)})
    plt.close(figure)


def main() -> int:
    found = figures(result_files())
    for name, ink in (("light", "#1f2328"), ("dark", "#e6edf3")):
        draw(found, ink, ROOT / "docs" / f"speed-{name}.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
