"""The options of flashfit.attention on torch tensors: beside PyTorch's own attention, and through its dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import flashfit
import pytest

torch: Any = pytest.importorskip("torch")

from flashfit import torch_ops  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

B, H, KV, SQ, SK, D = 2, 4, 2, 9, 21, 16


def normal(*shape: int, dtype: Any = torch.float16, seed: int = 3) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed + sum(shape))).to(dtype)


def dense(dtype: Any = torch.float16, dim_v: int = D) -> tuple[Any, Any, Any]:
    return normal(B, SQ, H, D, dtype=dtype), normal(B, SK, KV, D, dtype=dtype), normal(B, SK, KV, dim_v, dtype=dtype)


#: An option, and what it adds to scores [batch, heads, seqlen_q, seqlen_k], in fp64; or where it lets keys be seen.
Meaning = Callable[[Any], Any]
AT, KEY = torch.arange(SQ)[:, None] + SK - SQ, torch.arange(SK)[None, :]
SLOPES = torch.tensor([[0.5, 0.1, 0.02, 1.0], [0.3, 0.2, 0.0, 0.7]])
HIDING = torch.rand(B, 1, SQ, SK, generator=torch.Generator().manual_seed(1)) > 0.4
ADDED = torch.randn(H, SQ, SK, generator=torch.Generator().manual_seed(2))
CASES: dict[str, tuple[dict[str, Any], Any]] = {
    "window": ({"window": (4, 2)}, (KEY >= AT - 4) & (KEY <= AT + 2)),
    "left": ({"window": (4, None), "causal": True}, (KEY >= AT - 4) & (KEY <= AT)),
    "alibi": ({"alibi_slopes": SLOPES}, -SLOPES[..., None, None] * (AT - KEY).abs()),
    "slopes of heads": ({"alibi_slopes": SLOPES[0]}, -SLOPES[0][:, None, None] * (AT - KEY).abs()),
    "bool": ({"bias": HIDING}, HIDING),
    "additive": ({"bias": ADDED}, ADDED),
    "a row": ({"bias": ADDED[0, 0]}, ADDED[0, 0]),
    "seqused_k": (
        {"seqused_k": torch.tensor([SK, 3], dtype=torch.int32)},
        torch.tensor([SK, 3])[:, None, None, None] > KEY,
    ),
}


def sdpa(q: Any, k: Any, v: Any, mask: Any) -> Any:
    """PyTorch's unfused attention over this mask, [batch, seqlen, heads, head_dim]; 0 where it sees nothing."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(H // KV, 1) for x in (k, v))
    mask = mask if mask.dtype == torch.bool else mask.to(q.dtype)
    with sdpa_kernel(SDPBackend.MATH):
        out = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=mask.expand(B, H, SQ, SK))
    return out.transpose(1, 2).nan_to_num(0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("name", CASES)
def test_error_is_at_most_twice_that_of_sdpa(name: str, dtype: Any) -> None:
    options, mask = CASES[name]
    q, k, v = dense(dtype)
    out = flashfit.attention(q, k, v, **options)
    want = sdpa(q.double(), k.double(), v.double(), mask)
    bound = 2 * float((sdpa(q, k, v, mask).double() - want).abs().max())
    assert float((out.double() - want).abs().max()) <= bound
    assert float((flashfit.attention(q, k, v).double() - want).abs().max()) > 0.01, "the option changes nothing"


@pytest.mark.filterwarnings("ignore:return_lse is deprecated", "ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize("name", ["softcap", "sinks", "everything"])
def test_error_is_at_most_twice_that_of_flex_attention(name: str) -> None:
    """What SDPA has no argument for."""
    flex: Any = pytest.importorskip("torch.nn.attention.flex_attention")
    sinks = torch.tensor([0.5, -1.0, 2.0, 0.0])
    cap = 1.5 if name != "sinks" else 0.0

    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        s = cap * torch.tanh(s / cap) if cap else s
        if name == "everything":
            s = s - SLOPES[b, h] * (i + SK - SQ - j).abs() + ADDED[h, i, j]
            s = torch.where((j >= i + SK - SQ - 6) & (j <= i + SK - SQ), s, -float("inf"))
        return s

    def by_flex(dtype: Any) -> Any:
        q, k, v = (x.to(dtype).transpose(1, 2) for x in dense())
        k, v = (x.repeat_interleave(H // KV, 1) for x in (k, v))
        out, lse = flex.flex_attention(q, k, v, score_mod=score, return_lse=True)
        if name != "softcap":  # a sink takes its part of the whole
            out = out * torch.sigmoid(lse - sinks[:, None])[..., None].to(out.dtype)
        return out.transpose(1, 2).double()

    options: dict[str, Any] = {} if name == "sinks" else {"softcap": cap}
    if name != "softcap":
        options["sinks"] = sinks
    if name == "everything":
        options |= {"alibi_slopes": SLOPES, "bias": ADDED, "window": (6, 3), "causal": True}
    out = flashfit.attention(*dense(), **options)
    want = by_flex(torch.float64)
    assert float((out.double() - want).abs().max()) <= 2 * float((by_flex(torch.float16) - want).abs().max())


def test_a_bias_has_any_strides_and_rank() -> None:
    q, k, v = dense()
    whole = normal(B, H, SQ, SK, dtype=torch.float32)
    want = flashfit.attention(q, k, v, bias=whole)
    wide = torch.zeros(B, SQ, SK, 2 * H)[..., ::2].copy_(whole.permute(0, 2, 3, 1))
    assert torch.equal(flashfit.attention(q, k, v, bias=wide.permute(0, 3, 1, 2)), want)
    heads_first = [x.transpose(1, 2) for x in (q, k, v)]
    assert torch.equal(flashfit.attention(*heads_first, bias=whole, layout="bhsd").transpose(1, 2), want)
    for bias in (whole[:1, :1], whole[0, 0], whole[0, 0, 0], whole[0, 0, 0, 0], whole[..., :1]):
        assert torch.equal(
            flashfit.attention(q, k, v, bias=bias), flashfit.attention(q, k, v, bias=bias.expand(B, H, SQ, SK))
        )


@pytest.mark.parametrize("name", CASES)
def test_lists_are_copied(name: str) -> None:
    options, _ = CASES[name]
    given = {key: x.tolist() if isinstance(x, torch.Tensor) and key != "bias" else x for key, x in options.items()}
    want = flashfit.attention(*dense(), **options)
    assert torch.equal(flashfit.attention(*dense(), **given), want)
    assert torch.equal(torch_ops.call(*dense(), **given), want)


def test_gradients_are_refused() -> None:
    q, k, v = dense()
    given = {"alibi_slopes": SLOPES, "sinks": SLOPES[0], "bias": ADDED}
    for name, x in given.items():
        if name == "sinks":  # they have gradients
            continue
        words = (
            f"^{name}: requires grad, and flashfit has no gradient of it; accepted: tensors without, or a call under"
        )
        needs = x.clone().requires_grad_()
        for call in (flashfit.attention, torch_ops.call):
            with pytest.raises(flashfit.InvalidArgument, match=words):
                call(q, k, v, **{name: needs})
        with torch.no_grad():
            assert torch.equal(flashfit.attention(q, k, v, **{name: needs}), flashfit.attention(q, k, v, **{name: x}))
        with pytest.raises(Exception, match=f"{name}: requires grad, and flashfit has no gradient of it; accepted: "):
            torch.compile(flashfit.attention, backend="aot_eager", fullgraph=True)(q, k, v, **{name: needs})


#: As the operators take them.
OPERANDS: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {"window_left": 4, "softcap": 2.0}),
    ((None, None, SLOPES), {"batch_invariant": True}),
    ((None, None, None, SLOPES[0], ADDED), {"causal": True}),
    ((None, None, None, None, HIDING, torch.tensor([4, 9], dtype=torch.int32)), {"window_right": 0}),
]


@pytest.mark.parametrize("dim_v", [D, 24])
@pytest.mark.parametrize(("tensors", "numbers"), OPERANDS)
@pytest.mark.parametrize("name", ["attention", "attention_lse", "attention_out", "attention_lse_out"])
def test_opcheck(name: str, tensors: tuple[Any, ...], numbers: dict[str, Any], dim_v: int) -> None:
    q, k, v = dense(dim_v=dim_v)
    out = (q.new_empty((*q.shape[:-1], dim_v)),) if "out" in name else ()
    torch.library.opcheck(getattr(torch.ops.flashfit, name).default, (q, k, v, *out, *tensors), numbers)


ALL: dict[str, Any] = {
    "window": (6, None),
    "softcap": 3.0,
    "alibi_slopes": SLOPES,
    "sinks": SLOPES[0],
    "bias": HIDING,
    "seqused_k": torch.tensor([20, 11], dtype=torch.int32),
    "batch_invariant": True,
}


@pytest.mark.parametrize("options", [*({name: x} for name, x in ALL.items()), ALL], ids=lambda o: "+".join(o))
@pytest.mark.parametrize("dim_v", [D, 24])
def test_compiled(options: dict[str, Any], dim_v: int) -> None:
    torch._dynamo.reset()

    def model(q: Any, k: Any, v: Any) -> Any:
        return flashfit.attention(q, k, v, **options, return_lse=True)

    tensors = dense(dim_v=dim_v)
    want = model(*tensors)
    for found, exact in zip(torch.compile(model, fullgraph=True, backend="aot_eager")(*tensors), want):
        assert torch.equal(found, exact)
        assert found.stride() == exact.stride()


def test_compiled_for_windows_of_any_size() -> None:
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(
        lambda q, k, v, n: flashfit.attention(q, k, v, window=(n, 0)), fullgraph=True, backend=counter, dynamic=True
    )
    q, k, v = dense()
    for n in (2, 3, 5, 8):
        assert torch.equal(compiled(q, k, v, n), flashfit.attention(q, k, v, window=(n, 0)))
    assert counter.frame_count == 1


def test_exported() -> None:
    class Model(torch.nn.Module):  # type: ignore[misc]
        def forward(self, q: Any, k: Any, v: Any, bias: Any) -> Any:
            return flashfit.attention(q, k, v, bias=bias, window=(6, 0), softcap=3.0)

    q, k, v = dense(dim_v=24)
    program = torch.export.export(Model(), (q, k, v, ADDED))
    assert [str(node.target) for node in program.graph.nodes if node.op == "call_function"] == [
        "flashfit.attention.default"
    ]
    assert torch.equal(program.module()(q, k, v, ADDED), Model()(q, k, v, ADDED))


def test_autocast_casts_a_bias_of_the_other_half() -> None:
    q, k, v = dense(torch.float32)
    halves = [x.bfloat16() for x in (q, k, v)]
    for bias in (ADDED, ADDED.bfloat16(), ADDED.half(), HIDING):
        want = flashfit.attention(*halves, bias=bias.bfloat16() if bias.dtype == torch.float16 else bias)
        with torch.autocast("cpu", torch.bfloat16):
            assert torch.equal(flashfit.attention(q, k, v, bias=bias), want)
            out = torch.empty_like(halves[0])
            torch.ops.flashfit.attention_out(q, k, v, out, None, None, None, None, bias)
            assert torch.equal(out, want)


def test_vmap() -> None:
    q, k, v = (torch.stack([x, x + 1]) for x in dense())
    bias = torch.stack([ADDED, -ADDED])
    found = torch.vmap(lambda q, k, v, bias: flashfit.attention(q, k, v, bias=bias, window=(5, 1)))(q, k, v, bias)
    for i in range(2):
        assert torch.equal(found[i], flashfit.attention(q[i], k[i], v[i], bias=bias[i], window=(5, 1)))
    # Numbers alone leave one call of a larger batch.
    found = torch.vmap(lambda q, k, v: flashfit.attention(q, k, v, softcap=2.0))(q, k, v)
    assert torch.equal(found[1], flashfit.attention(q[1], k[1], v[1], softcap=2.0))


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("alibi_slopes: dtype is ", {"alibi_slopes": SLOPES.double()}),
    ("alibi_slopes: shape is (3", {"alibi_slopes": torch.ones(3)}),
    ("alibi_slopes: shape is (4, 2)", {"alibi_slopes": torch.ones(4, 2)}),
    ("alibi_slopes: 3 dimensions", {"alibi_slopes": torch.ones(1, 2, 4)}),
    ("sinks: shape is (2", {"sinks": torch.ones(2)}),
    ("sinks: 2 dimensions", {"sinks": torch.ones(2, 4)}),
    ("sinks: dtype is ", {"sinks": torch.ones(4).half()}),
    ("bias: dtype is ", {"bias": ADDED.bfloat16()}),
    ("bias: dtype is ", {"bias": torch.ones(SQ, SK, dtype=torch.int8)}),
    ("bias: shape is (", {"bias": torch.ones(SK, SQ)}),
    ("bias: shape is (", {"bias": torch.ones(2, 1, 1, 1, dtype=torch.bool).expand(2, 2, SQ, SK)}),
    ("bias: 5 dimensions", {"bias": torch.ones(1, 1, 1, 1, 1)}),
    ("seqused_k: dtype is ", {"seqused_k": torch.tensor([1, 2])}),
    ("seqused_k: shape is (3", {"seqused_k": torch.ones(3, dtype=torch.int32)}),
    ("bias: ", {"bias": ADDED, "ragged": True}),
]


@pytest.mark.parametrize(
    ("words", "options"), [pytest.param(*each, id=f"{i} {each[0]}") for i, each in enumerate(WRONG)]
)
@pytest.mark.parametrize("fake", [False, True])
def test_wrong_options(words: str, options: dict[str, Any], fake: bool) -> None:
    options = dict(options)
    q, k, v = dense()
    if options.pop("ragged", False):
        q, k, v = q[0], k[0], v[0]
        for name, rows in (("cu_seqlens_q", SQ), ("cu_seqlens_k", SK)):
            options[name] = torch.tensor([0, rows], dtype=torch.int32)
    given = {"q": q, "k": k, "v": v, **options}
    if fake:
        mode = FakeTensorMode()
        given = {name: mode.from_tensor(x) for name, x in given.items()}
    with pytest.raises(flashfit.InvalidArgument) as caught:
        flashfit.attention(**given)
    assert str(caught.value).startswith(words)
    assert "; accepted: " in str(caught.value)
    assert "\n" not in str(caught.value)


def test_results_of_another_head_dim() -> None:
    for dim_v in (8, 24):
        q, k, v = dense(dim_v=dim_v)
        out, lse = flashfit.attention(q, k, v, return_lse=True)
        assert (out.shape, lse.shape) == ((B, SQ, H, dim_v), (B, H, SQ))
        wide = torch.cat([v, torch.zeros(B, SK, KV, 24)], -1)[..., :24].half() if dim_v < 24 else v
        assert torch.equal(flashfit.attention(q, k, wide)[..., :dim_v], out)
        room = torch.zeros_like(out)
        assert flashfit.attention(q, k, v, out=room) is room
        assert torch.equal(room, out)
        with pytest.raises(flashfit.InvalidArgument, match=r"^out: shape is "):
            flashfit.attention(q, k, v, out=torch.empty_like(q))
