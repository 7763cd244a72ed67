"""flashfit.fused_moe and grouped_mlp on torch tensors: against torch's own layers, operators, fakes, compiled code."""

from __future__ import annotations

from typing import Any

import flashfit
import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402

assert torch_ops

# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

DTYPES = ["float16", "bfloat16", "float32"]
F = torch.nn.functional


def layer(
    tokens: int = 50, experts: int = 8, hidden: int = 64, between: int = 48, top_k: int = 2, dtype: str = "float32"
) -> dict[str, Any]:
    """A call of unit-variance inputs."""
    generator = torch.Generator().manual_seed(tokens)

    def normal(*shape: int, scale: float = 1) -> Any:
        return (scale * torch.randn(*shape, generator=generator)).to(getattr(torch, dtype))

    weights, ids = flashfit.moe_route(torch.randn(tokens, experts, generator=generator), top_k)
    return {
        "x": normal(tokens, hidden),
        "w13": normal(experts, 2 * between, hidden, scale=hidden**-0.5),
        "w2": normal(experts, hidden, between, scale=between**-0.5),
        "topk_weights": weights,
        "topk_ids": ids,
    }


def by_torch(x: Any, w13: Any, w2: Any, topk_weights: Any, topk_ids: Any, activation: str = "swiglu") -> Any:
    """What Transformers' eager experts run: expert by expert, each step in x's dtype, added up in fp32."""
    out = torch.zeros(x.shape, dtype=torch.promote_types(x.dtype, torch.float32))
    for e in range(len(w13)):
        token, rank = torch.where(topk_ids == e)
        g, u = (x[token] @ w13[e].T).chunk(2, dim=-1)
        if activation == "gpt_oss":
            g, u = g.clamp(max=7), u.clamp(-7, 7)
            h = (u + 1) * (g * torch.sigmoid(1.702 * g))
        elif activation == "swiglu":
            h = F.silu(g) * u
        else:
            h = F.gelu(g, approximate="tanh" if activation == "geglu_tanh" else "none") * u
        y = h @ w2[e].T
        out.index_add_(0, token, (y * topk_weights[token, rank, None].to(y.dtype)).to(out.dtype))
    return out.to(x.dtype)


#: Unit variance, and what it hides.
DATA: dict[str, Any] = {
    "normal": lambda x: x,
    "shifted": lambda x: x + 2,
    "scaled": lambda x: x * 8,
    "rising": lambda x: x * 2.0 ** (torch.arange(len(x)) % 8 - 4)[:, None],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["swiglu", "gpt_oss", "geglu_tanh", "geglu_erf"])
@pytest.mark.parametrize("kind", DATA)
def test_error_is_at_most_twice_that_of_pytorch(dtype: str, activation: str, kind: str) -> None:
    call = layer(dtype=dtype)
    call["x"] = DATA[kind](call["x"].float()).to(call["x"].dtype)
    exact = by_torch(**{k: v if k == "topk_ids" else v.double() for k, v in call.items()}, activation=activation)
    theirs = by_torch(**call, activation=activation)
    ours = flashfit.fused_moe(**call, activation=activation)
    assert ours.dtype == theirs.dtype
    size = exact.abs().amax(dim=1, keepdim=True)
    mine, its = (((found.double() - exact).abs() / size).max() for found in (ours, theirs))
    assert mine <= 2 * its, f"{mine:.3g} against PyTorch's {its:.3g}"


def same(mine: Any, its: Any) -> bool:
    return bool(torch.equal(mine, its))


def options() -> dict[str, dict[str, Any]]:
    """Calls that take every argument of the operator."""
    call = layer()
    plain = {name: call[name] for name in ("x", "w13", "w2")}
    generator = torch.Generator().manual_seed(1)
    logits = torch.randn(50, 8, generator=generator)
    b13, b2 = torch.randn(8, 96, generator=generator), torch.randn(8, 64, generator=generator)
    shared = (call["w13"][0], call["w2"][0], torch.randn(64, generator=generator))
    return {
        "ids": call,
        "int64 ids, half weights": {
            **call,
            "topk_ids": call["topk_ids"].long(),
            "topk_weights": call["topk_weights"].half(),
        },
        "biases": {**call, "b13": b13, "b2": b2, "activation": "gpt_oss", "gate_up": "interleaved"},
        "logits": {**plain, "router_logits": logits, "top_k": 3, "scale": 2.5},
        "sigmoid": {
            **plain,
            "router_logits": logits,
            "top_k": 2,
            "router": "sigmoid",
            "router_bias": torch.randn(8, generator=generator),
            "groups": (4, 2),
        },
        "a part": {**call, "w13": call["w13"][2:6], "w2": call["w2"][2:6], "experts": (2, 6)},
        "a map": {**call, "experts": torch.tensor([7, 6, 5, 4, 3, 2, 1, 0])},
        "shared": {**call, "shared": shared, "weight_on": "input"},
        "clamped": {**call, "activation": flashfit.Swiglu(1.5, 2.0, 0.5)},
        "transposed": {
            **call,
            "w13": call["w13"].mT.contiguous(),
            "w2": call["w2"].mT.contiguous(),
            "transposed": True,
        },
    }


CALLS = options()
GROUPS = {"offsets": torch.tensor([0, 9, 9, 20, 20, 31, 40, 44, 48], dtype=torch.int32), "activation": "geglu_erf"}


def numpy_of(call: dict[str, Any]) -> dict[str, Any]:
    def convert(x: Any) -> Any:
        if isinstance(x, tuple) and not isinstance(x, flashfit.Swiglu):
            return tuple(map(convert, x))
        return x.numpy() if isinstance(x, torch.Tensor) else x

    return {name: convert(x) for name, x in call.items()}


@pytest.mark.parametrize("name", CALLS)
def test_same_as_numpy(name: str) -> None:
    call = CALLS[name]
    np.testing.assert_array_equal(flashfit.fused_moe(**call).numpy(), flashfit.fused_moe(**numpy_of(call)))


@pytest.mark.parametrize("name", CALLS)
def test_compiled_code_is_one_graph_of_the_same_bits(name: str) -> None:
    call = CALLS[name]
    torch._dynamo.reset()
    seen: list[Any] = []

    def backend(graph: Any, _: Any) -> Any:
        seen.append([node for node in graph.graph.nodes if "fused_moe" in str(node.target)])
        return graph

    compiled = torch.compile(lambda c: flashfit.fused_moe(**c) * 1, fullgraph=True, backend=backend)
    assert same(compiled(call), flashfit.fused_moe(**call))
    assert [len(nodes) for nodes in seen] == [1]


def test_compiled_code_of_changing_sizes() -> None:
    torch._dynamo.reset()
    compiled = torch.compile(lambda c: flashfit.fused_moe(**c) + 1, fullgraph=True, dynamic=True, backend="aot_eager")
    for tokens in (50, 7, 20):
        call = layer(tokens=tokens)
        assert same(compiled(call), flashfit.fused_moe(**call) + 1)


def test_grouped_mlp() -> None:
    given = {name: CALLS["ids"][name] for name in ("x", "w13", "w2")}
    want = flashfit.grouped_mlp(**given, **GROUPS)
    np.testing.assert_array_equal(want.numpy(), flashfit.grouped_mlp(**numpy_of({**given, **GROUPS})))
    torch._dynamo.reset()
    compiled = torch.compile(lambda c: flashfit.grouped_mlp(**c) * 1, fullgraph=True, backend="eager")
    assert same(compiled({**given, **GROUPS}), want)


def test_what_a_gpu_does_by_several_calls_gives_the_same() -> None:
    """On the CPU's memory: what is asked of torch around the layer."""
    from flashfit import _torch_moe
    from flashfit._moe import Asked

    on_gpu: Any = _torch_moe._on_gpu
    given = {name: CALLS["ids"][name] for name in ("x", "w13", "w2")}
    found = on_gpu(*given.values(), Asked(**GROUPS), None, None)
    assert same(found, flashfit.grouped_mlp(**given, **GROUPS))
    for name in ("a map", "shared"):
        call = CALLS[name]
        asked = Asked(**{key: x for key, x in call.items() if key not in given})
        found = on_gpu(*(call[key] for key in given), asked, None, None)
        torch.testing.assert_close(found, flashfit.fused_moe(**call), rtol=1e-5, atol=1e-5)
    logits = {
        **given,
        "router_logits": CALLS["logits"]["router_logits"],
        "top_k": 2,
        "experts": torch.arange(8).flip(0),
    }
    asked = Asked(**{key: x for key, x in logits.items() if key not in given})
    assert same(on_gpu(*given.values(), asked, None, None), flashfit.fused_moe(**logits))


@pytest.mark.parametrize("name", CALLS)
def test_fakes_are_what_calls_give(name: str) -> None:
    call = CALLS[name]
    real = flashfit.fused_moe(**call)
    with FakeTensorMode() as mode:

        def fake(x: Any) -> Any:
            if isinstance(x, tuple) and not isinstance(x, flashfit.Swiglu):
                return tuple(map(fake, x))
            return mode.from_tensor(x) if isinstance(x, torch.Tensor) else x

        mine = flashfit.fused_moe(**{key: fake(x) for key, x in call.items()})
    assert (mine.shape, mine.stride(), mine.dtype, mine.device) == (real.shape, real.stride(), real.dtype, real.device)


@pytest.mark.parametrize("out", [False, True])
def test_opcheck(out: bool) -> None:
    call = CALLS["ids"]
    tensors = [call["x"], call["w13"], call["w2"]]
    op = torch.ops.flashfit.fused_moe_out if out else torch.ops.flashfit.fused_moe
    if out:
        tensors.append(torch.zeros(50, 64))
    options = (None, call["topk_weights"], call["topk_ids"])
    torch.library.opcheck(op.default, (*tensors, *options), {"activation": "geglu_tanh"})


def test_out_is_written_and_its_change_counted() -> None:
    call = CALLS["ids"]
    out = torch.full((50, 64), 7.0)
    version = out._version
    assert flashfit.fused_moe(**call, out=out) is out
    assert same(out, flashfit.fused_moe(**call))
    assert out._version > version


def test_autocast_casts_what_has_xs_dtype() -> None:
    call = CALLS["biases"]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = flashfit.fused_moe(**call)
    half = {key: x.bfloat16() if key in ("x", "w13", "w2", "b13", "b2") else x for key, x in call.items()}
    assert same(found, flashfit.fused_moe(**half))


def test_refusals() -> None:
    call = CALLS["ids"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"x": call["x"].numpy()}, "w13: torch.Tensor; accepted: a NumPy array, as x"),
        ({"w13": call["w13"].numpy()}, "w13: numpy.ndarray; accepted: a torch tensor, as x"),
        ({"x": call["x"].to_sparse()}, "x: layout is torch.sparse_coo; accepted: torch.strided"),
        ({"topk_ids": call["topk_ids"] + 7}, "topk_ids: "),
        ({"w2": call["w2"].clone().requires_grad_()}, "w2: requires grad"),
    ]
    for bent, words in wrong:
        with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
            flashfit.fused_moe(**{**call, **bent})
        assert str(caught.value).startswith(words), str(caught.value)
        assert "\n" not in str(caught.value)


def test_fakes_refuse_with_the_words_of_a_call() -> None:
    call = CALLS["ids"]
    for bent in ({"w2": call["w2"][:, :60]}, {"w13": call["w13"][:, :90]}, {"x": call["x"].half()}):
        with pytest.raises(flashfit.InvalidArgument) as real:
            flashfit.fused_moe(**{**call, **bent})
        with FakeTensorMode() as mode, pytest.raises(flashfit.InvalidArgument) as fake:
            flashfit.fused_moe(**{key: mode.from_tensor(x) for key, x in {**call, **bent}.items()})
        assert str(fake.value).split(";")[0].replace("torch.float32", "fp32") == str(real.value).split(";")[0]
