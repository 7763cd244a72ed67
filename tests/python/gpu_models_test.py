"""The whole layers that a GPU is timed on, rehearsed on the CPU in tiny sizes: parts, sides, errors, the file."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from tools.gpu import model_job, models, sides, stacks  # noqa: E402


def run(path: Path, *words: str) -> tuple[int, dict[str, Any]]:
    status = models.main([str(path), "--tiny", "--device", "cpu", *words])
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["parts"]
    return status, found


def test_a_run(tmp_path: Path) -> None:
    status, found = run(tmp_path / "found.json")
    assert status == 0, found
    timed = [name for name, part in found.items() if "eager" in part]
    assert [name.split(":")[0] for name in timed].count("Llama 8B") == 5
    assert len(timed) >= 12
    for name in timed:
        eager = found[name]["eager"]
        assert {sides.DEFAULT, "flashfit"} <= set(eager)
        assert all(each["per_second"] > 0 for each in eager.values())
        assert found[name]["left_out"] == {}
        assert any("took" in line for line in [*found[name]["log"], *found[name].get("hosts", ())])
        assert not any("left" in line for line in found[name]["log"])
    assert "flashfit, both" in found["Qwen3-MoE: decode, 1 x 40"]["eager"]
    errors = [part["errors"] for part in found.values() if "errors" in part]
    assert len(errors) == 3
    assert all(0 < error < 0.02 for each in errors for error in each.values())


def test_a_wrong_side_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(q: Any, k: Any, v: Any, causal: bool) -> Any:
        return 1.2 * stacks.by_pytorch(q, k, v, causal)

    both = [sides.Side(sides.DEFAULT), sides.Side("flashfit", attention=wrong)]
    monkeypatch.setattr(models, "there", lambda _: both)
    status, found = run(tmp_path / "found.json", "--only", "errors")
    assert status == 1
    assert found["Flux: errors"]["worse_than_twice_the_default"] == ["flashfit"]


def test_a_side_that_fails_is_left_out_and_a_part_that_fails_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: Any) -> Any:
        raise RuntimeError("no kernel\nmore")

    both = [sides.Side(sides.DEFAULT), sides.Side("flashfit", attention=failing)]
    monkeypatch.setattr(models, "there", lambda _: both)
    status, found = run(tmp_path / "found.json", "--only", "Llama 8B: decode")
    assert status == 0
    assert {name: part["left_out"] for name, part in found.items()} == {
        "Llama 8B: decode, 2 x 40": {"flashfit": "RuntimeError: no kernel"},
        "Llama 8B: decode, 1 x 40": {"flashfit": "RuntimeError: no kernel"},
    }
    both[:] = [sides.Side(sides.DEFAULT, attention=failing)]
    status, found = run(tmp_path / "found.json", "--only", "Llama 8B: decode")
    assert status == 1
    assert found["Llama 8B: decode, 1 x 40"]["failed"] == "RuntimeError: no kernel"


def test_a_part_that_takes_too_long_is_stopped() -> None:
    start = time.monotonic()

    def work() -> None:
        with model_job.at_most(0.05):
            while time.monotonic() < start + 5:
                pass

    with pytest.raises(model_job._LateError, match="stopped after 0 s"):
        work()
    assert time.monotonic() < start + 4
