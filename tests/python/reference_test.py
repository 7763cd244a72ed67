"""The Python reference: worked out by hand, in pieces of any size, and of torch tensors what it is of NumPy arrays."""

from __future__ import annotations

from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import reference

Options = dict[str, Any]
LENGTHS = [0, 5, 5, 12, 24]
EVEN = [0, 8, 16, 24]
CASES: list[Options] = [
    {},
    {"causal": True, "softcap": 2.0},
    {"window": (3, 1), "seqused_k": np.array([2, 24, 0], np.int32)},
    {"alibi_slopes": np.array([[0.1, 0.2], [1, 2], [0, 3]], np.float32), "sinks": np.array([0.5, -1], np.float32)},
    {"bias": np.linspace(-3, 3, 3 * 24 * 24, dtype=np.float32).reshape(3, 1, 24, 24)},
    {"bias": np.arange(24 * 24).reshape(24, 24) % 7 > 2},
    {"cu_seqlens_q": LENGTHS, "cu_seqlens_k": LENGTHS, "causal": True},
    {"cu_seqlens_q": EVEN, "cu_seqlens_k": EVEN, "causal": True, "seqused_k": np.array([8, 0, 3], np.int32)},
]


def made(options: Options) -> list[Any]:
    random = np.random.default_rng(3)
    rows = (24,) if "cu_seqlens_q" in options else (3, 24)
    return [random.standard_normal((*rows, heads, 8)).astype(np.float16) for heads in (2, 1, 1)]


def test_it_is_what_a_hand_works_out() -> None:
    one = np.ones((1, 2, 1, 1))
    v = np.array([1.0, 4.0]).reshape(1, 2, 1, 1)
    out, lse = reference.attention(one, one, v, softmax_scale=1.0, causal=True, bias=np.log([[1.0, 1.0], [1.0, 2.0]]))
    np.testing.assert_allclose(out.ravel(), [1, (1 + 2 * 4) / 3])
    np.testing.assert_allclose(lse.ravel(), [1, 1 + np.log(3)])
    out, lse = reference.attention(one, one, v, softmax_scale=1.0, sinks=[1.0], window=(0, 0))
    np.testing.assert_allclose(out.ravel(), [0.5, 2])
    np.testing.assert_allclose(lse.ravel(), 1 + np.log(2))
    out, lse = reference.attention(one, one[:, :1], v[:, :1], causal=True)
    assert out.ravel().tolist() == [0, 1]
    assert lse.ravel()[0] == -np.inf


@pytest.mark.parametrize("options", CASES)
@pytest.mark.parametrize("which", ["attention", "naive"])
def test_pieces_of_any_size_give_the_same(which: str, options: Options, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = getattr(reference, which)(*made(options), **options)
    monkeypatch.setattr(reference, "MOST_SCORES", 100)
    for x, y in zip(whole, getattr(reference, which)(*made(options), **options)):
        np.testing.assert_allclose(x.astype(np.float64), y.astype(np.float64), rtol=2e-3, atol=1e-6)


@pytest.mark.parametrize("options", CASES)
def test_of_torch_tensors_it_is_the_same(options: Options) -> None:
    torch: Any = pytest.importorskip("torch")
    tensors = [torch.from_numpy(x) for x in made(options)]
    given = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
    for x, y in zip(reference.attention(*made(options), **options), reference.attention(*tensors, **given)):
        assert y.dtype == torch.float64
        np.testing.assert_allclose(y.numpy(), x, rtol=1e-12, atol=1e-14)


def test_what_scores_round_is_what_a_hand_works_out() -> None:
    q, k = np.array([[3.0, -4.0]]).reshape(1, 1, 1, 2), np.array([[2.0, 1.0], [-9.0, 9.0]]).reshape(1, 2, 1, 2)
    asked: Options = {"softmax_scale": 0.5}
    assert reference.magnitude(q, k, k, **asked) == (27 + 36) / 2  # of the second key
    assert reference.magnitude(q, k, k, window=(0, 0), **asked) == (27 + 36) / 2
    assert reference.magnitude(q, k, k, seqused_k=[1], **asked) == (6 + 4) / 2
    # Scores 1 and -31.5, the second of no weight: the bias rounds 1 + 7; at -inf the other key alone is left.
    assert reference.magnitude(q, k, k, bias=np.array([[7.0, 7.0]]), **asked) == pytest.approx(31.5 + 8)
    assert reference.magnitude(q, k, k, bias=np.array([[-np.inf, 2.0]]), **asked) == 31.5 + 29.5
    capped = reference.magnitude(q, k[:, :1], k[:, :1], softcap=2.0, **asked)
    assert capped == pytest.approx(5 * (1 - np.tanh(0.5) ** 2) + 3 * 2 * np.tanh(0.5))
    slopes = reference.magnitude(q, k, k, alibi_slopes=[0.25], seqused_k=[1], **asked)
    assert slopes == 5 + 0 + 1  # the key that the query is aligned with: no distance, and its score
    # A key of score 1 beside a sink of -2; the sink alone.
    beside = reference.magnitude(q, k, k, sinks=[-2.0], seqused_k=[1], **asked)
    assert beside == pytest.approx(5 + 2 * 2 / (1 + np.exp(3)))
    assert reference.magnitude(q, k[:, :0], k[:, :0], sinks=[-2.0]) == 2 * 2
    assert reference.magnitude(q, k, k, sinks=[-2.0], seqused_k=[0]) == 2 * 2
    assert reference.magnitude(q, k, k, sinks=[-np.inf], **asked) == (27 + 36) / 2
    assert reference.magnitude(q[:, :0], k, k) == 0
    assert reference.magnitude(q, k[:, :0], k[:, :0]) == 0
    assert reference.floor("fp16", 4.0, 8.0, 3.0) == 4 * 2.0**-11 + 8 * 7 * 2.0**-24


def test_a_map_of_experts_is_that_of_a_call() -> None:
    rng = np.random.default_rng(1)
    x, w13, w2 = (rng.standard_normal(shape) for shape in ((5, 4), (2, 6, 4), (2, 4, 3)))
    ids, weights = rng.integers(-1, 4, (5, 2)).astype(np.int32), rng.random((5, 2)).astype(np.float32)
    chosen: dict[str, Any] = {"topk_ids": ids, "topk_weights": weights}
    got = reference.fused_moe(x, w13, w2, experts=np.array([1, -1, 0], np.int32), **chosen)
    want = flashfit.fused_moe(
        *(each.astype(np.float32) for each in (x, w13, w2)), experts=np.array([1, -1, 0], np.int32), **chosen
    )
    np.testing.assert_allclose(got, want, atol=1e-5)


def test_groups_of_no_token() -> None:
    ids, weights = reference.route(np.zeros((0, 16)), 2, router="sigmoid", groups=(4, 2))
    assert ids.shape == weights.shape == (0, 2)


@pytest.mark.parametrize("options", CASES)
def test_what_scores_round_is_the_same_of_torch_tensors(options: Options) -> None:
    torch: Any = pytest.importorskip("torch")
    tensors = [torch.from_numpy(x) for x in made(options)]
    given = {name: torch.from_numpy(x) if isinstance(x, np.ndarray) else x for name, x in options.items()}
    of_torch = reference.magnitude(*tensors, **given)
    assert of_torch == pytest.approx(reference.magnitude(*made(options), **options), rel=1e-4)


def test_text_is_no_scale() -> None:
    one = np.ones((1, 1, 1, 2))
    with pytest.raises(TypeError, match=r"^softmax_scale: '1'; accepted: a number$"):
        reference.attention(one, one, one, softmax_scale="1")
    with pytest.raises(TypeError, match=r"^scale: b'1'; accepted: a number$"):
        reference.route(one[0, 0], 1, scale=b"1")  # type: ignore[arg-type]
