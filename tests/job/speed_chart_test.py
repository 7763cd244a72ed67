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


def test_of_a_case_the_file_with_most_peers_is_shown() -> None:
    def result(**times: float) -> dict[str, object]:
        peers = {"sdpa-flash": 20.0, **times}
        case = {"name": "grid/B8 S2048 H16 D64 bf16 full", "median_us": 10.0}
        case["peers"] = {name: {"median_us": us} for name, us in peers.items()}
        return {"machine": {"gpu": {"name": "a GPU"}, "cpu": "a CPU", "cores": 2}, "cases": [case]}

    files = {"a": result(), "b": result(**{"flash-attn-2": 16.0}), "c": result()}
    assert chart.figures(files) == ("a GPU", {"full": {64: {"flashfit": 2.0, "flash-attn-2": 1.25}}})
