"""tools/gpu/grid.py on the CPU backend: that it accepts what is right and sees each kind of defect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")

from tools.gpu import grid, grid_cases, grid_tensors  # noqa: E402
from tools.gpu.grid_cases import OPTIONS, GridCase  # noqa: E402

CASES = grid_cases.grid()


def test_the_grid_is_large_and_has_everything() -> None:
    assert len(CASES) >= 3000
    assert len({case.name for case in CASES}) == len(CASES)
    for option in OPTIONS:
        assert sum(option in case.options for case in CASES) >= 6, option
    assert {d for case in CASES for d in (case.head_dim,)} >= {1, 17, 32, 64, 80, 96, 128, 160, 192, 255, 256, 512}
    assert any(case.batch * case.heads > 65535 for case in CASES)
    assert any(case.heads * case.head_dim * max(case.seqlen_q, case.seqlen_k) > 2**31 for case in CASES)


@pytest.mark.parametrize("case", [case for case in CASES if not case.gpu_only][::200], ids=lambda case: case.name)
def test_what_is_right_passes(case: GridCase) -> None:
    assert grid.run(case, "cpu").problems == []


attention = flashfit.attention
Wrong = Callable[..., Any]


def without(name: str) -> Wrong:
    return lambda *tensors, **options: attention(*tensors, **{k: x for k, x in options.items() if k != name})


def one_key_less(q: Any, k: Any, v: Any, **options: Any) -> Any:
    keys = k.shape[1] - 1
    return attention(q, k[:, :keys], v[:, :keys], **options)


def off_by_one(*tensors: Any, window: Any, **options: Any) -> Any:
    return attention(*tensors, window=(window[0] + 1, window[1]), **options)


def past_the_end(*tensors: Any, out: Any = None, **options: Any) -> Any:
    if out is not None:
        torch.as_strided(out, (1,), (1,), out.storage_offset() + out.numel()).fill_(0)
    return attention(*tensors, out=out, **options)


def another_lse(*tensors: Any, **options: Any) -> Any:
    out, lse = attention(*tensors, **options)
    return out, lse + 1e-3


def never_the_same(*tensors: Any, **options: Any) -> Any:
    out, lse = attention(*tensors, **options)
    if options.get("out") is None:
        out.view(torch.int16).view(-1)[0] += 1
    return out, lse


def of_the_batch(q: Any, k: Any, v: Any, **options: Any) -> Any:
    out, lse = attention(q, k, v, **options)
    if q.shape[0] > 1:
        out.view(torch.int16)[1, 0, 0, 0] += 1
    return out, lse


def nan_spreads(q: Any, k: Any, v: Any, **options: Any) -> Any:
    out, lse = attention(q, k, v, **options)
    if k.isnan().any():
        out[-1, -1] = float("nan")
    return out, lse


def nan_is_lost(q: Any, k: Any, v: Any, **options: Any) -> Any:
    out, lse = attention(q, k, v, **options)
    return out.nan_to_num(0), lse


def first_slopes_for_all(*tensors: Any, alibi_slopes: Any, **options: Any) -> Any:
    return attention(*tensors, alibi_slopes=alibi_slopes[0].clone(), **options)


PLAIN: dict[str, Any] = {"seqlen_q": 40, "seqlen_k": 50}
DEFECTS: list[tuple[dict[str, Any], Wrong, str]] = [
    *(({name: x}, without(name), "error ") for name, x in (("causal", True), ("window", (9, 4)), ("softcap", 1.0))),
    *(({name: True}, without(name), "error ") for name in ("sinks",)),
    ({"alibi": "h"}, without("alibi_slopes"), "error "),
    ({"alibi": "bh"}, first_slopes_for_all, "error "),
    ({"bias": "bool:1111"}, without("bias"), "error "),
    ({"bias": "fp32:0011", "hidden_rows": True}, without("bias"), "error "),
    ({"seqused": True, "batch": 5}, without("seqused_k"), "error "),
    ({"softmax_scale": 0.5}, without("softmax_scale"), "error "),
    ({}, one_key_less, "error "),
    ({"window": (9, 4)}, off_by_one, "error "),
    ({}, past_the_end, "wrote outside out"),
    ({}, another_lse, "LSE error "),
    ({}, never_the_same, "a repeat differs"),
    ({"batch_invariant": True}, of_the_batch, "batch_invariant: sequence 1 alone has other bits"),
    ({"values": "nan_k", "causal": True, "seqlen_k": 40}, nan_spreads, "nan_k: elements that do not use it"),
    ({"values": "nan_q"}, nan_is_lost, "nan_q: 64 elements that use it do not show it"),
    ({"values": "nan_v", "window": (3, 3)}, nan_is_lost, "nan_v: "),
]


@pytest.mark.parametrize(("options", "wrong", "words"), DEFECTS)
def test_what_is_wrong_is_seen(
    options: dict[str, Any], wrong: Wrong, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = GridCase(**{**PLAIN, **options})
    assert grid.run(case, "cpu").problems == []
    monkeypatch.setattr(flashfit, "attention", wrong)
    problems = grid.run(case, "cpu").problems
    assert any(problem.startswith(words) for problem in problems), problems


def test_a_refusal_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> Any:
        raise flashfit.Misfit("no kernel")

    monkeypatch.setattr(flashfit, "attention", refuse)
    assert grid.run(GridCase(), "cpu").problems == ["refused: no kernel"]


def test_stray_writes_between_rows_are_seen() -> None:
    """Of an output whose rows have gaps."""
    inputs = grid_tensors.make(GridCase(memory="padded", layout="bhsd"), "cpu")
    room = inputs.rooms["out"]
    room.view.fill_(1)
    assert room.outside_is_untouched()
    room.buffer[grid_tensors.GUARD + 64] = 1
    assert not room.outside_is_untouched()
