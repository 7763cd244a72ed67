"""README's chart is that of the committed result files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools import speed_chart as chart
from tools.result_tables import result_files

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("name", ["light", "dark"])
def test_the_chart_is_that_of_the_files(name: str) -> None:
    drawn = (DOCS / f"speed-{name}.svg").read_text(encoding="utf-8")
    assert chart.digest(chart.figures(result_files())) in drawn, "run ./dev charts"


def result(gpu: str, at: str, **times: float) -> dict[str, object]:
    peers = {"sdpa-flash": 20.0, **times}
    case = {"name": "grid/B8 S2048 H16 D64 bf16 full", "median_us": 10.0}
    case["peers"] = {name: {"median_us": us} for name, us in peers.items()}
    machine = {"gpu": {"name": gpu}, "cpu": "a CPU", "cores": 2}
    return {"made": {"at": at}, "machine": machine, "cases": [case]}


def test_of_a_case_the_file_with_most_peers_is_shown() -> None:
    files = {
        "a": result("a GPU", "2026-01-01"),
        "b": result("a GPU", "2026-01-02", **{"flash-attn-2": 16.0}),
        "c": result("a GPU", "2026-01-03"),
    }
    assert chart.figures(files) == ("a GPU", {"full": {64: {"flashfit": 2.0, "flash-attn-2": 1.25}}})


def test_figures_of_two_gpus_are_not_mixed() -> None:
    files = {
        "a": result("new", "2026-02-01"),
        "b": result("old", "2026-01-01", **{"flash-attn-2": 16.0}),
    }
    assert chart.figures(files) == ("new", {"full": {64: {"flashfit": 2.0}}})
