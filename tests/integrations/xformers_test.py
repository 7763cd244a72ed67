"""flashfit.integrations.xformers under xformers' own code: each class of its biases, against the bias as it makes it
itself. Skipped without xformers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
pytest.importorskip("xformers")
from flashfit.integrations import xformers as fit  # noqa: E402

ops: Any = pytest.importorskip("xformers.ops")
kinds: Any = pytest.importorskip("xformers.ops.fmha.attn_bias")
#: As models have it who imported the function before.
attend: Callable[..., Any] = ops.memory_efficient_attention


@pytest.fixture(autouse=True)
def installed() -> Iterator[None]:
    fit.HOST.notes.clear()
    with fit.installed() as taken:
        assert taken
        yield
    fit.HOST.notes.clear()


def took() -> list[str]:
    return [line for line in fit.log() if line.startswith("xformers: took")]


def left() -> list[str]:
    return [line for line in fit.log() if line.startswith("xformers: left")]


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape) + shape[1]))


def by_formula(q: Any, k: Any, v: Any, bias: Any, scale: Any = None) -> Any:
    """[batch, rows, heads, head_dim] in fp64."""
    q, k, v = (x.double().transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(q.shape[1] // k.shape[1], 1) for x in (k, v))
    scores = q @ k.transpose(-1, -2) * (scale or q.shape[-1] ** -0.5)
    return ((scores + bias.double()).softmax(-1) @ v).transpose(1, 2)


B, M, H, D = 2, 12, 2, 16
LENGTHS = [5, 3, 4]
DENSE: dict[str, tuple[int, Callable[[], Any]]] = {
    "LowerTriangularMask": (M, lambda: kinds.LowerTriangularMask()),
    "LowerTriangularMask, fewer keys": (M - 3, lambda: kinds.LowerTriangularMask()),
    "LowerTriangularFromBottomRightMask": (M + 5, lambda: kinds.LowerTriangularFromBottomRightMask()),
    "with a window": (M + 5, lambda: kinds.LowerTriangularFromBottomRightLocalAttentionMask(4)),
    "LocalAttentionFromBottomRightMask": (M + 5, lambda: kinds.LocalAttentionFromBottomRightMask(3, 2)),
    "LowerTriangularMaskWithTensorBias": (
        M,
        lambda: kinds.LowerTriangularMaskWithTensorBias(normal(B, H, M, M)),
    ),
}
VARLEN: dict[str, Callable[[], Any]] = {
    "BlockDiagonalMask": lambda: kinds.BlockDiagonalMask.from_seqlens(LENGTHS, [7, 3, 4]),
    "causal": lambda: kinds.BlockDiagonalMask.from_seqlens(LENGTHS).make_causal(),
    "causal from the bottom right": lambda: kinds.BlockDiagonalMask.from_seqlens(
        LENGTHS, [7, 3, 6]
    ).make_causal_from_bottomright(),
    "window": lambda: kinds.BlockDiagonalMask.from_seqlens(LENGTHS).make_local_attention(2),
    "window from the bottom right": lambda: kinds.BlockDiagonalMask.from_seqlens(
        LENGTHS, [7, 3, 6]
    ).make_local_attention_from_bottomright(3),
}


@pytest.mark.parametrize("name", DENSE)
def test_biases(name: str) -> None:
    keys, make = DENSE[name]
    q, k, v, bias = normal(B, M, H, D), normal(B, keys, H, D), normal(B, keys, H, D) + 1, make()
    found = attend(q, k, v, bias, scale=0.3)
    assert (len(took()), left()) == (1, [])
    want = by_formula(q, k, v, bias.materialize((B, H, M, keys)), 0.3)
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", VARLEN)
def test_sequences(name: str) -> None:
    bias = VARLEN[name]()
    keys = bias.k_seqinfo.seqstart_py[-1]
    q, k, v = normal(1, 12, H, D), normal(1, keys, H, D), normal(1, keys, H, D) + 1
    found = attend(q, k, v, bias)
    assert (len(took()), left()) == (1, [])
    want = by_formula(q, k, v, bias.materialize((1, H, 12, keys)))
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("causal", [False, True])
def test_padded_keys(causal: bool) -> None:
    make: Any = kinds.BlockDiagonalCausalWithOffsetPaddedKeysMask if causal else kinds.BlockDiagonalPaddedKeysMask
    bias = make.from_seqlens([2, 2, 2], 8, [5, 8, 3])
    q, k, v = normal(1, 6, H, D), normal(1, 24, H, D), normal(1, 24, H, D) + 1
    found = attend(q, k, v, bias)
    assert (len(took()), left()) == (1, [])
    want = by_formula(q, k, v, bias.materialize((1, H, 6, 24)))
    torch.testing.assert_close(found.double(), want, rtol=1e-5, atol=1e-5)


def test_tensors_and_dimensions() -> None:
    q, bias = normal(B, M, H, D), normal(B, H, M, M)
    plain = torch.zeros(())
    torch.testing.assert_close(attend(q, q, q, bias).double(), by_formula(q, q, q, bias), rtol=1e-5, atol=1e-5)
    three = normal(B, M, D)
    want = by_formula(*(three[:, :, None],) * 3, bias[:, :1])[:, :, 0]
    torch.testing.assert_close(attend(three, three, three, bias[:, 0]).double(), want, rtol=1e-5, atol=1e-5)
    grouped = normal(B, M, 2, 3, D)
    k, v = normal(B, M, 2, D), normal(B, M, 2, D) + 1
    expanded = (x[:, :, :, None].expand(B, M, 2, 3, D) for x in (k, v))
    found = attend(grouped, *expanded)
    assert found.shape == grouped.shape
    want = by_formula(grouped.flatten(2, 3), k, v, plain)
    torch.testing.assert_close(found.flatten(2, 3).double(), want, rtol=1e-5, atol=1e-5)
    assert left() == []
    forward = ops.memory_efficient_attention_forward(q, q, q)
    torch.testing.assert_close(forward.double(), by_formula(q, q, q, plain), rtol=1e-5, atol=1e-5)


def test_autocast_changes_nothing() -> None:
    """As xformers has it: a result has its query's dtype."""
    q, k, v = (normal(B, M, H, D) for _ in range(3))
    want = attend(q, k, v)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend(q, k, v)
    assert took() == ["xformers: took: fp32 on cpu, 2 heads of 16 (2 calls)"]
    assert torch.equal(found, want)


def test_a_training_step() -> None:
    q = normal(B, M, H, D).requires_grad_()
    attend(q, q, q, kinds.LowerTriangularMask()).square().sum().backward()
    assert all("gradients by PyTorch's flash attention" in line for line in took())
    wide = q.detach().double().requires_grad_()
    mask = kinds.LowerTriangularMask().materialize((B, H, M, M))
    by_formula(wide, wide, wide, mask).square().sum().backward()
    torch.testing.assert_close(q.grad.double(), wide.grad, rtol=1e-4, atol=1e-5)


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "dropout": (lambda: attend(*(normal(B, M, H, D),) * 3, p=0.5), "p: 0.5"),
    "gaps": (
        lambda: attend(
            *(normal(1, M, H, D),) * 3, kinds.BlockDiagonalGappyKeysMask.from_seqlens([6, 6], [0, 6, 12], [4, 5])
        ),
        "attn_bias: BlockDiagonalGappyKeysMask",
    ),
    "different lengths, from the first key": (
        lambda: attend(
            normal(1, 12, H, D),
            *(normal(1, 14, H, D),) * 2,
            kinds.BlockDiagonalMask.from_seqlens(LENGTHS, [7, 3, 4]).make_causal(),
        ),
        "BlockDiagonalCausalMask of sequences whose queries and keys differ in number",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_left(name: str) -> None:
    call, reason = LEFT[name]
    with pytest.raises(NotImplementedError):  # xformers has no operator for the CPU
        call()
    assert took() == []
    (line,) = left()
    assert line.endswith(f": {reason} (1 call)")


def test_what_xformers_refuses_it_refuses_still() -> None:
    q, k = normal(B, M, 2, D), normal(B, M, 1, D)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        attend(q, k, k)
    with pytest.raises(NotImplementedError, match="No operator found"):
        attend(*(x.to("meta") for x in (q, q, q)))
    assert took() == []
    assert [line.split(": ", 2)[2] for line in left()] == [
        "fp32 on cpu, 2/1 heads of 16: key: 1 heads, query 2, in four dimensions (1 call)",
        "fp32 on meta, 2 heads of 16: device is meta (1 call)",
    ]


def test_uninstalled_leaves_no_trace() -> None:
    fit.uninstall()
    with pytest.raises(NotImplementedError):
        attend(*(normal(B, M, H, D),) * 3)
    assert fit.log() == []
