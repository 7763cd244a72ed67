"""README's table of speed is that of the committed result file."""

from __future__ import annotations

import json
from pathlib import Path

from tools import readme_speed


def test_table_is_that_of_the_results() -> None:
    readme = (readme_speed.ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads(Path(readme_speed.RESULTS).read_text(encoding="utf-8"))
    assert readme_speed.written(readme, readme_speed.table(results)) == readme


def test_another_result_would_be_another_table() -> None:
    readme = (readme_speed.ROOT / "README.md").read_text(encoding="utf-8")
    results = json.loads(Path(readme_speed.RESULTS).read_text(encoding="utf-8"))
    samples = results["speed"][0]["samples"]
    samples["the plan"] = [2 * s for s in samples["the plan"]]
    assert readme_speed.written(readme, readme_speed.table(results)) != readme
