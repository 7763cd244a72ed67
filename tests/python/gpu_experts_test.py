"""The checks of layers of experts on a GPU, rehearsed on the CPU: each passes there, and fails on a wrong result."""

from __future__ import annotations

from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")
from tools.gpu import experts  # noqa: E402


def test_all_pass_on_the_cpu() -> None:
    found = dict(experts.near("cpu"))
    assert len(found) == 2 * 17
    assert [name for name, passed in found.items() if not passed] == []


def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = flashfit.fused_moe

    def wrong(**call: Any) -> Any:
        out = right(**call)
        return out * 1.1 if call["x"].dtype == torch.float16 else out

    monkeypatch.setattr(flashfit, "fused_moe", wrong)
    failed = [name for name, passed in experts.near("cpu") if not passed]
    assert len(failed) == 15  # of fp16, but where nothing is computed
