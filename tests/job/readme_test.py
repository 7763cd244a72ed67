"""README's tables of speed are those of the committed result files."""

from __future__ import annotations

import pytest

from tools import readme_speed


@pytest.mark.parametrize("name", readme_speed.TABLES)
def test_tables_are_those_of_the_results(name: str) -> None:
    readme = (readme_speed.ROOT / "README.md").read_text(encoding="utf-8")
    table = readme_speed.TABLES[name](readme_speed.load("h200.json"))
    assert readme_speed.written(readme, name, table) == readme


def test_another_result_would_be_another_table() -> None:
    h200 = readme_speed.load("h200.json")
    before = readme_speed.speed_table(h200)
    samples = h200["speed"][0]["samples"]["the plan"]
    samples[:] = [2 * s for s in samples]
    assert readme_speed.speed_table(h200) != before
