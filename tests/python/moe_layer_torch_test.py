"""flashfit.fused_moe and grouped_mlp on torch tensors: against torch's own layers, operators, fakes, compiled code."""

from __future__ import annotations

import re
from typing import Any

import flashfit
import numpy as np
import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch, torch_ops  # noqa: E402
from flashfit._binding import binding  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

from tools.gpu.experts_by_torch import (  # noqa: E402
    DIFFERENTIATED,
    by_torch,
    differentiable,
    expect_gradients,
    gradients_of,
    layer,
    routed_by_torch,
)

assert torch_ops

# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

DTYPES = ["float16", "bfloat16", "float32"]
F = torch.nn.functional
forward_ad: Any = torch.autograd.forward_ad


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

    with_shared: Any = _torch_moe._with_shared
    call = CALLS["shared"]
    for shared in (call["shared"], call["shared"][:2]):
        mine = {**call, "shared": shared}
        asked = Asked(**{key: x for key, x in mine.items() if key not in ("x", "w13", "w2")})
        found = with_shared(call["x"], call["w13"], call["w2"], asked, None, None)
        torch.testing.assert_close(found, flashfit.fused_moe(**mine), rtol=1e-5, atol=1e-5)


def test_what_a_gpu_does_by_several_calls_writes_nothing_where_one_is_refused() -> None:
    from flashfit import _torch_moe
    from flashfit._moe import Asked

    call = CALLS["shared"]
    first, second, gate = call["shared"]
    for shared, words in (
        ((first[:90], second), f"shared_w13: shape is (90, 64); accepted: {tuple(first.shape)}"),
        ((first, second[:, None]), "shared_w2: 3 dimensions; accepted: 2, [hidden, intermediate]"),
        ((first, torch.stack((second, second), dim=-1)[..., 0]), "shared_w2: strides are "),
        ((first.half(), second), "shared_w13: dtype is "),
        ((first, second, gate[1:]), "shared_gate: shape is "),
        ((first, second, gate.half()), "shared_gate: shape is (64,), dtype is torch.float16"),
        ((first.numpy(), second), "shared_w13: numpy.ndarray; accepted: a torch tensor, as x"),
    ):
        given = {**call, "shared": shared, "out": torch.full((50, 64), 7.0)}
        asked = Asked(**{key: x for key, x in given.items() if key not in ("x", "w13", "w2", "out")})
        with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
            _torch_moe._with_shared(call["x"], call["w13"], call["w2"], asked, given["out"], None)
        assert str(caught.value).startswith(words)
        assert (given["out"] == 7).all()


def test_a_gpus_out_may_not_lie_in_a_shared_expert() -> None:
    from flashfit import _torch_moe
    from flashfit._moe import Asked

    call = CALLS["shared"]
    first, second, gate = call["shared"]
    memory = torch.cat((first.flatten(), torch.full((50 * 64,), 7.0)))
    inside = memory[: first.numel()].view_as(first)
    others = {key: x for key, x in call.items() if key not in ("x", "w13", "w2", "shared")}

    def run(out: Any) -> Any:
        asked = Asked(**others, shared=(inside, second, gate))
        return _torch_moe._with_shared(call["x"], call["w13"], call["w2"], asked, out, None)

    beside = memory[first.numel() :].view(50, 64)
    run(beside)
    assert not (beside == 7).any()
    before = memory.clone()
    for begin in (0, first.numel() - 1):
        with pytest.raises(flashfit.InvalidArgument, match=r"^out: memory 0x\w+ to 0x\w+ overlaps shared_w13's 0x"):
            run(memory[begin : begin + 50 * 64].view(50, 64))
    assert torch.equal(memory, before)


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


def test_plain_calls_bypass_the_dispatcher(monkeypatch: pytest.MonkeyPatch) -> None:
    if not binding().native:
        pytest.skip("no compiled module: every call goes through the operators")
    seen: list[str] = []

    class Noting(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
            seen.append(str(function))
            return function(*given, **(named or {}))

    eager: Any = _torch
    way = eager.compute_moe

    def compute(*given: Any) -> Any:
        seen.append("plain")
        return way(*given)

    monkeypatch.setattr(_torch, "compute_moe", compute)
    for call in CALLS.values():  # the largest has more than eight tensors
        flashfit.fused_moe(**call)
    assert seen == ["plain"] * len(CALLS)
    with Noting():
        flashfit.fused_moe(**CALLS["ids"])
    assert seen[len(CALLS) :] == ["flashfit.fused_moe.default"]


def test_refusals() -> None:
    call = CALLS["ids"]
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"x": call["x"].numpy()}, "w13: torch.Tensor; accepted: a NumPy array, as x"),
        ({"w13": call["w13"].numpy()}, "w13: numpy.ndarray; accepted: a torch tensor, as x"),
        ({"x": call["x"].to_sparse()}, "x: layout is torch.sparse_coo; accepted: torch.strided"),
        ({"topk_ids": call["topk_ids"].to_sparse()}, "topk_ids: layout is torch.sparse_coo; accepted: torch.strided"),
        ({"topk_ids": call["topk_ids"].long().to_sparse()}, "topk_ids: layout is torch.sparse_coo; accepted"),
        (
            {"topk_weights": call["topk_weights"].half().to_sparse()},
            "topk_weights: layout is torch.sparse_coo; accepted",
        ),
        (
            {"experts": torch.arange(8).int().to_sparse()},
            "experts: layout is torch.sparse_coo; accepted: torch.strided",
        ),
        ({"experts": torch.zeros(8, device="meta", dtype=torch.int32)}, "experts: device is meta; accepted: cpu, cuda"),
        ({"topk_ids": call["topk_ids"].long() + 2**32}, "topk_ids: 429496"),
        ({"topk_ids": call["topk_ids"] + 7}, "topk_ids: "),
    ]
    arrays = {name: x.numpy() if isinstance(x, torch.Tensor) else x for name, x in call.items()}
    said = "experts: a torch tensor; accepted: a list, a NumPy array, or an array such as the others"
    wrong.append(({**arrays, "experts": torch.arange(8).int()}, said))
    for bent, words in wrong:
        with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
            flashfit.fused_moe(**{**call, **bent})
        assert str(caught.value).startswith(words), str(caught.value)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("activation", ["swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", "silu"])
@pytest.mark.parametrize(
    ("gate_up", "transposed", "weight_on"),
    [("concatenated", False, "output"), ("interleaved", True, "output"), ("concatenated", True, "input")],
)
def test_gradients(dtype: str, activation: str, gate_up: str, transposed: bool, weight_on: str) -> None:
    if activation == "silu" and gate_up == "interleaved":
        return
    options = (activation, gate_up, transposed, weight_on)
    call = differentiable(getattr(torch, dtype), *options)
    double = {name: x.double() if isinstance(x, torch.Tensor) and name != "topk_ids" else x for name, x in call.items()}
    dout = torch.randn(call["x"].shape, generator=torch.Generator().manual_seed(8)).to(call["x"].dtype)
    exact = gradients_of(by_torch, double, dout, DIFFERENTIATED)
    theirs = gradients_of(by_torch, call, dout, DIFFERENTIATED)
    ours = gradients_of(flashfit.fused_moe, call, dout, DIFFERENTIATED)
    expect_gradients(ours, theirs, exact)
    assert not any(ours[name][5].any() for name in ("w13", "w2", "b13", "b2"))  # which has no tokens


@pytest.mark.parametrize("router", ["softmax", "topk_softmax", "sigmoid", "sqrt_softplus"])
@pytest.mark.parametrize("renormalize", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_gradients_of_logits_through_each_router(router: Any, renormalize: bool, dtype: str) -> None:
    call = {name: layer()[name] for name in ("x", "w13", "w2")}
    logits = torch.randn(50, 8, generator=torch.Generator().manual_seed(2)).to(getattr(torch, dtype))
    options: dict[str, Any] = {"router": router, "renormalize": renormalize, "scale": 2.5}
    ids = flashfit.moe_route(logits, 3, **options)[1]
    dout = torch.randn(50, 64, generator=torch.Generator().manual_seed(8))

    def by_torch_routed(router_logits: Any, **others: Any) -> Any:
        weights = routed_by_torch(router_logits, 3, **options, ids=ids.long())
        return by_torch(**others, topk_weights=weights, topk_ids=ids)

    def ours_routed(router_logits: Any, **others: Any) -> Any:
        return flashfit.fused_moe(**others, router_logits=router_logits, top_k=3, **options)

    names = ["router_logits", "x", "w13", "w2"]
    given = {**call, "router_logits": logits}
    exact = gradients_of(by_torch_routed, {name: x.double() for name, x in given.items()}, dout, names)
    theirs = gradients_of(by_torch_routed, given, dout, names)
    expect_gradients(gradients_of(ours_routed, given, dout, names), theirs, exact)


def test_gradients_of_a_shared_expert_and_its_gate() -> None:
    call = CALLS["ids"]
    shared = CALLS["shared"]["shared"]
    dout = torch.randn(50, 64, generator=torch.Generator().manual_seed(8))
    names = ["x", "w13", "first", "second", "gate"]
    given = {**call, **dict(zip(names[2:], shared))}

    def plain(first: Any, second: Any, gate: Any, **others: Any) -> Any:
        g, u = (others["x"] @ first.T).chunk(2, dim=-1)
        return by_torch(**others) + torch.sigmoid(others["x"] @ gate)[:, None] * ((F.silu(g) * u) @ second.T)

    def ours(first: Any, second: Any, gate: Any, **others: Any) -> Any:
        return flashfit.fused_moe(**others, shared=(first, second, gate))

    double = {name: x if name == "topk_ids" else x.double() for name, x in given.items()}
    exact = gradients_of(plain, double, dout, names)
    expect_gradients(gradients_of(ours, given, dout, names), gradients_of(plain, given, dout, names), exact)


def test_gradients_of_a_gate_that_is_nearly_open() -> None:
    """1 - sigmoid has no digits there."""
    call = {name: x[:20] if name in ("x", "topk_ids", "topk_weights") else x for name, x in CALLS["ids"].items()}
    first, second, gate = CALLS["shared"]["shared"]
    gate = gate / gate.norm() * 2
    x = call["x"] - (call["x"] @ gate)[:, None] / 4 * gate + 13 / 4 * gate  # whose gate is at 13
    found, exact = gate.clone().requires_grad_(), gate.double().requires_grad_()
    flashfit.fused_moe(**{**call, "x": x}, shared=(first, second, found)).sum().backward()
    x, first, second = x.double(), first.double(), second.double()
    g, u = (x @ first.T).chunk(2, dim=1)
    (torch.sigmoid(x @ exact)[:, None] * ((F.silu(g) * u) @ second.T)).sum().backward()
    torch.testing.assert_close(found.grad.double(), exact.grad, rtol=1e-4, atol=1e-4 * float(exact.grad.abs().max()))


def test_offsets_of_any_strides_have_gradients_without_a_warning(recwarn: pytest.WarningsRecorder) -> None:
    x, offsets = CALLS["ids"]["x"].clone().requires_grad_(), GROUPS["offsets"].long()
    plain = (x, CALLS["ids"]["w13"], CALLS["ids"]["w2"])
    found = [
        torch.autograd.grad(flashfit.grouped_mlp(*plain, each).sum(), x)[0]
        for each in (offsets, torch.stack((offsets, offsets), dim=1)[:, 0])
    ]
    assert same(*found)
    assert not recwarn.list


def test_gradients_of_a_part_a_map_and_groups() -> None:
    call = CALLS["ids"]
    dout = torch.randn(50, 64, generator=torch.Generator().manual_seed(8))
    names = ["x", "w13", "w2", "topk_weights"]
    whole = gradients_of(flashfit.fused_moe, call, dout, names)
    low = {**call, "w13": call["w13"][:3], "w2": call["w2"][:3], "experts": (0, 3)}
    high = {**call, "w13": call["w13"][3:], "w2": call["w2"][3:], "experts": [-1, -1, -1, 0, 1, 2, 3, 4]}
    parts = [gradients_of(flashfit.fused_moe, part, dout, names) for part in (low, high)]
    torch.testing.assert_close(torch.cat([part["w13"] for part in parts]), whole["w13"])
    torch.testing.assert_close(parts[0]["x"] + parts[1]["x"], whole["x"])
    torch.testing.assert_close(parts[0]["topk_weights"] + parts[1]["topk_weights"], whole["topk_weights"])
    plain = {name: call[name] for name in names[:3]}
    ids = torch.repeat_interleave(torch.arange(8), GROUPS["offsets"].diff())
    ids = torch.cat([ids, torch.full((50 - len(ids),), -1)])[:, None]
    ones = {"topk_ids": ids, "topk_weights": torch.ones(50, 1), "experts": (0, 8), "activation": "geglu_erf"}
    mine = gradients_of(flashfit.grouped_mlp, {**plain, **GROUPS}, dout, names[:3])
    for name, its in gradients_of(flashfit.fused_moe, {**plain, **ones}, dout, names[:3]).items():
        assert same(mine[name], its)


def test_only_what_is_wanted_is_computed_and_expanded_gradients_are_taken() -> None:
    call = CALLS["ids"]
    x = call["x"].clone().requires_grad_()
    flashfit.fused_moe(**{**call, "x": x}).sum().backward()  # whose gradient has strides of 0
    want = gradients_of(flashfit.fused_moe, call, torch.ones(50, 64), ["x", "w2"])
    assert same(x.grad, want["x"])


def test_a_gradient_may_lie_where_an_input_does() -> None:
    """It is read alone: a node may hand on what it saved."""
    call = CALLS["ids"]
    x = call["x"].clone().requires_grad_()
    out = flashfit.fused_moe(**{**call, "x": x})
    want = torch.autograd.grad(out, x, x.detach().clone(), retain_graph=True)[0]
    assert same(torch.autograd.grad(out, x, x.detach())[0], want)


def test_a_bias_that_chooses_may_be_a_parameter() -> None:
    call = CALLS["sigmoid"]
    bias = torch.nn.Parameter(call["router_bias"])
    assert same(flashfit.fused_moe(**{**call, "router_bias": bias}), flashfit.fused_moe(**call))
    x = call["x"].clone().requires_grad_()
    flashfit.fused_moe(**{**call, "router_bias": bias, "x": x}).sum().backward()
    assert x.grad is not None
    assert bias.grad is None


def test_gradients_in_compiled_code() -> None:
    torch._dynamo.reset()
    call = CALLS["ids"]
    dout = torch.randn(50, 64, generator=torch.Generator().manual_seed(8))
    compiled = torch.compile(flashfit.fused_moe, fullgraph=True, backend="aot_eager")
    names = ["x", "w13", "topk_weights"]
    want = gradients_of(flashfit.fused_moe, call, dout, names)
    for name, mine in gradients_of(compiled, call, dout, names).items():
        assert same(mine, want[name])


@pytest.mark.filterwarnings("ignore:.torch.jit")  # of torch's own derivatives
def test_derivatives_that_do_not_exist_are_refused() -> None:
    """A result without history, or without a tangent, would be wrong silently."""
    call = {name: CALLS["ids"][name] for name in ("w13", "w2", "topk_weights", "topk_ids")}
    x = CALLS["ids"]["x"]

    def layer_of(x: Any, **options: Any) -> Any:
        return flashfit.fused_moe(x, **call, **options)

    wanting = x.clone().requires_grad_()
    refused: dict[str, Any] = {
        "requires grad in a call with out=, which has no backward": lambda: layer_of(wanting, out=torch.empty_like(x)),
        "requires grad under a transform of torch.func": lambda: torch.func.grad(lambda y: layer_of(y).sum())(x),
        "has a tangent, and flashfit has no forward-mode": lambda: layer_of(forward_ad.make_dual(x, x)),
        "requires grad, and flashfit has no second derivative": lambda: torch.autograd.grad(
            layer_of(wanting).sum(), wanting, create_graph=True
        ),
    }
    for words, differentiate in refused.items():
        with forward_ad.dual_level(), pytest.raises(flashfit.InvalidArgument, match="^x: " + words):
            differentiate()


def test_opcheck_with_gradients() -> None:
    call = CALLS["biases"]
    tensors = [call[name].clone().requires_grad_() for name in ("x", "w13", "w2")]
    options = (None, call["topk_weights"], call["topk_ids"], None, call["b13"], call["b2"])
    torch.library.opcheck(torch.ops.flashfit.fused_moe.default, (*tensors, *options))
    plain = [each.detach() for each in tensors]
    torch.library.opcheck(torch.ops.flashfit.fused_moe_keeping.default, (*plain, *options))
    with pytest.raises(flashfit.InvalidArgument, match="x: requires grad, and this operator is the forward of fused"):
        torch.ops.flashfit.fused_moe_keeping(*tensors, *options)


@pytest.mark.filterwarnings("ignore:Input #. requires gradient and is not a double precision")
def test_gradcheck_by_differences() -> None:
    """In fp32, so that differences are coarse: it is the formula that is held here."""
    call = layer(tokens=5, experts=3, hidden=8, between=8)
    x = call["x"].clone().requires_grad_()
    logits = torch.randn(5, 3, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def function(x: Any, logits: Any) -> Any:
        return flashfit.fused_moe(x, call["w13"], call["w2"], router_logits=logits, top_k=2)

    assert torch.autograd.gradcheck(function, (x, logits), eps=1e-2, atol=2e-3, rtol=2e-2, check_undefined_grad=False)


def test_a_second_derivative_by_logits_is_refused_by_the_layer_s_name_of_them() -> None:
    x, w13, w2 = (CALLS["ids"][name] for name in ("x", "w13", "w2"))
    logits = torch.zeros(x.shape[0], w13.shape[0], requires_grad=True)
    out = flashfit.fused_moe(x, w13, w2, router_logits=logits, top_k=2)
    with pytest.raises(
        flashfit.InvalidArgument, match=r"^router_logits: requires grad, and flashfit has no second der"
    ):
        torch.autograd.grad(out.sum(), logits, create_graph=True)


def misfits() -> list[tuple[str, dict[str, Any]]]:
    """Calls by name, and what of them to replace."""
    ids, logits, shared = CALLS["ids"], CALLS["logits"]["router_logits"], CALLS["shared"]["shared"]
    weights, numbers, experts = ids["topk_weights"], ids["topk_ids"], torch.arange(8)
    return [
        ("ids", {"w2": ids["w2"][:, :60]}),
        ("ids", {"w13": ids["w13"][:, :90]}),
        ("ids", {"x": ids["x"].half()}),
        ("ids", {"w13": ids["w13"][:0], "w2": ids["w2"][:0]}),
        ("ids", {"topk_ids": numbers.float()}),
        ("ids", {"topk_ids": numbers[:, 0]}),
        ("ids", {"topk_ids": numbers[:, :0], "topk_weights": weights[:, :0]}),
        ("ids", {"topk_weights": weights.double()}),
        ("ids", {"experts": experts.float()}),
        ("ids", {"experts": experts[None]}),
        ("ids", {"experts": (0, 7)}),
        ("biases", {"b13": CALLS["biases"]["b13"][:, :95]}),
        ("biases", {"b2": CALLS["biases"]["b2"][0]}),
        ("biases", {"b2": CALLS["biases"]["b2"][:7]}),
        ("logits", {"router_logits": logits.double()}),
        ("logits", {"router_logits": logits[:, :7]}),
        ("logits", {"router_logits": logits[:, :7], "experts": (0, 8)}),
        ("logits", {"router_logits": logits[:, :7], "experts": experts}),
        ("logits", {"top_k": 9}),
        ("sigmoid", {"groups": (3, 1)}),
        ("sigmoid", {"groups": (8, 1)}),
        ("sigmoid", {"router_bias": torch.zeros(7)}),
        ("sigmoid", {"router_bias": torch.zeros(8).half()}),
        ("shared", {"shared": (shared[0][:90], *shared[1:])}),
        ("shared", {"shared": (*shared[:2], torch.zeros(63))}),
    ]


@pytest.mark.parametrize(("name", "bent"), misfits())
def test_fakes_refuse_with_the_words_of_a_call(name: str, bent: dict[str, Any]) -> None:
    call = {**CALLS[name], **bent}
    with pytest.raises(flashfit.InvalidArgument) as real:
        flashfit.fused_moe(**call)
    with FakeTensorMode() as mode, pytest.raises(flashfit.InvalidArgument) as fake:
        flashfit.fused_moe(**torch.utils._pytree.tree_map_only(torch.Tensor, mode.from_tensor, call))
    said = re.sub(r"torch\.float(\d+)", r"fp\1", str(fake.value)).replace(",)", ")")
    assert said.split(";")[0] == str(real.value).split(";")[0]


def test_fakes_of_sorted_rows_refuse_with_the_words_of_a_call() -> None:
    grouped: Any = flashfit.grouped_mlp
    plain = [CALLS["ids"][name] for name in ("x", "w13", "w2")]
    for offsets in (torch.zeros(8, dtype=torch.int32), torch.zeros(9), torch.zeros(9, 1, dtype=torch.int64)):
        with pytest.raises(flashfit.InvalidArgument) as real:
            grouped(*plain, offsets)
        with FakeTensorMode() as mode, pytest.raises(flashfit.InvalidArgument) as fake:
            grouped(*map(mode.from_tensor, (*plain, offsets)))
        said = str(fake.value).replace("torch.float32", "fp32").replace(",)", ")")
        assert said.split(";")[0] == str(real.value).split(";")[0]


@pytest.mark.parametrize(
    "bent", [{"groups": (3, 1)}, {"groups": (8, 1)}, {"router_bias": torch.zeros(7)}, {"top_k": 9}], ids=str
)
def test_fakes_of_a_router_refuse_with_the_words_of_a_call(bent: dict[str, Any]) -> None:
    call = {"logits": torch.zeros(3, 8), "top_k": 2, "router": "sigmoid", "groups": (4, 2), **bent}
    with pytest.raises(flashfit.InvalidArgument) as real:
        flashfit.moe_route(**call)
    meta = {name: x.to("meta") if isinstance(x, torch.Tensor) else x for name, x in call.items()}
    with pytest.raises(flashfit.InvalidArgument) as fake:
        flashfit.moe_route(**meta)
    assert str(fake.value).replace(",)", ")").split(";")[0] == str(real.value).split(";")[0]


OF_NO_USE: list[tuple[dict[str, Any], str]] = [
    ({"groups_kept": 2}, "groups_kept: 2 without groups; accepted: 0"),
    ({"experts_low": 2}, "experts_low: 2 without experts_high; accepted: 0"),
    ({"experts_high": 8, "expert_map": torch.arange(8).int()}, "experts_high: 8 with expert_map; accepted: 0"),
    ({"shared_w2": torch.ones(5, 3)}, "shared_w2: Tensor of shape (5, 3) without shared_w13; accepted: None"),
    ({"shared_gate": torch.ones(5)}, "shared_gate: Tensor of shape (5,) without shared_w13; accepted: None"),
    ({"shared_w13": torch.ones(5, 3)}, "shared_w2: None with shared_w13; accepted: a tensor"),
    ({"activation": "relu2", "alpha": 2.0}, 'alpha: 2, limit: 0, shift: 0 with activation "relu2"; accepted: 1, 0, 0'),
    ({"activation": "gpt_oss", "limit": 3.0}, 'alpha: 1, limit: 3, shift: 0 with activation "gpt_oss"; accepted'),
]


@pytest.mark.parametrize(("bent", "words"), OF_NO_USE, ids=[words[:30] for _, words in OF_NO_USE])
def test_the_operator_refuses_options_that_would_change_nothing(bent: dict[str, Any], words: str) -> None:
    call = layer()
    with pytest.raises(flashfit.InvalidArgument) as caught:
        torch.ops.flashfit.fused_moe(**call, **bent)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize("name", ["experts", "activation"])
def test_numbers_that_change_are_compiled(name: str) -> None:
    """torch.compile makes symbols of numbers whose second value is another."""
    call = layer(dtype="float32")
    experts = len(call["w13"])
    of: dict[str, Any] = {
        "experts": lambda n: (n, n + experts),
        "activation": lambda n: flashfit.Swiglu(1.0 + n / 4, 7.0, n / 2),
    }

    def function(n: int) -> Any:
        return flashfit.fused_moe(**call, **{name: of[name](n)})

    compiled = torch.compile(function, backend="aot_eager", fullgraph=True)
    for n in range(4):
        assert torch.equal(compiled(n), function(n)), n


def test_gradients_of_very_small_scores() -> None:
    """A sigmoid in fp32 may be 0 where the score, the root of softplus, is not."""
    logits = torch.tensor([[-88.0, -95.0, -103.0, -110.0]])
    call = {name: x for name, x in layer(tokens=1, experts=4, top_k=2, dtype="float32").items() if name[:4] != "topk"}

    def plain(router_logits: Any, **others: Any) -> Any:
        weights = routed_by_torch(router_logits, 2, "sqrt_softplus", False, 1e20, torch.tensor([[0, 1]]))
        return by_torch(**others, topk_weights=weights, topk_ids=torch.tensor([[0, 1]]))

    def ours(**given: Any) -> Any:
        return flashfit.fused_moe(**given, top_k=2, router="sqrt_softplus", renormalize=False, scale=1e20)

    given = {**call, "router_logits": logits}
    dout = torch.ones_like(call["x"])
    double = {name: x.double() for name, x in given.items()}
    exact = gradients_of(plain, double, dout.double(), ["router_logits"])["router_logits"]
    mine = gradients_of(ours, given, dout, ["router_logits"])["router_logits"]
    assert float(exact[0, 1].abs()) > 0
    torch.testing.assert_close(mine.double(), exact, rtol=1e-2, atol=0)


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_vmap_is_a_call_for_each_element() -> None:
    x, w13, w2, logits = torch.randn(3, 6, 8), torch.randn(4, 10, 8), torch.randn(4, 8, 5), torch.randn(6, 4)
    x.requires_grad_()

    def layer(x: Any) -> Any:
        return flashfit.fused_moe(x, w13, w2, router_logits=logits, top_k=2)

    mapped, want = torch.vmap(layer)(x), torch.stack([layer(each) for each in x])
    assert torch.equal(mapped, want)
    grads = (torch.autograd.grad(out.sin().sum(), x)[0] for out in (mapped, want))
    assert torch.equal(*grads)


def test_the_backward_operator_refuses_what_the_forward_refuses() -> None:
    x, w13, w2 = torch.randn(3, 8), torch.randn(4, 12, 8), torch.randn(4, 8, 6)
    weights, ids = flashfit.moe_route(torch.randn(3, 4), 2)
    backward = torch.ops.flashfit.fused_moe_backward
    assert len(backward(x, x, w13, w2, weights, ids, None, None, [True, True, True, False, False, True])) == 6
    with pytest.raises(flashfit.InvalidArgument, match=r"^wanted: 1 values; accepted: 6, one a gradient$"):
        backward(x, x, w13, w2, weights, ids, None, None, [True])
    with pytest.raises(flashfit.InvalidArgument, match=r"^wanted: True for b2, which is None; accepted: False$"):
        backward(x, x, w13, w2, weights, ids, None, None, [True, True, True, False, True, True])
    right = {"dout": x, "x": x, "w13": w13, "w2": w2, "topk_weights": weights, "topk_ids": ids}
    for name, wrong, words in (
        ("dout", x[:2], "dout: shape is"),
        ("dout", x.double(), "dout: 2 dimensions of torch.float64"),
        ("w13", w13[:, :10], "w13: shape is"),
        ("w2", w2[:, :7], "w2: shape is"),
        ("topk_ids", ids[:2], "topk_ids: shape is"),
        ("topk_weights", weights[:, :1], "topk_weights: shape is"),
    ):
        with pytest.raises(flashfit.InvalidArgument, match=f"^{words}"):
            backward(*{**right, name: wrong}.values(), None, None, [True, True, True, False, False, True])
