"""flashfit.moe_route on torch tensors, and torch.ops.flashfit.moe_route: results, fakes, compiled code, errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import reference

from tests.python.bad_values import TORCH_ONLY
from tests.python.compare import expect_routed

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402
from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: E402
from torch.autograd import forward_ad  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0")

DTYPES = ["float16", "bfloat16", "float32"]
route: Any = flashfit.moe_route
ENTRIES = [flashfit.moe_route, torch_ops.moe_route]
KINDS = [(router, renormalize) for router in ("softmax", "topk_softmax") for renormalize in (True, False)]
NO_GRADIENT = (
    "requires grad, and flashfit has no gradient of it; accepted: tensors without, or a call under torch.no_grad()"
)
U = 2.0**-24


def normal(tokens: int = 6, experts: int = 20, dtype: str = "float32", seed: int = 7) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(tokens, experts, generator=generator).to(getattr(torch, dtype))


def distinct(tokens: int, experts: int, dtype: str) -> Any:
    """Logits of which no two of a token are equal, in any dtype: torch.topk does not say which of them comes first."""
    generator = torch.Generator().manual_seed(experts)
    values = torch.cat([2.0**exponent * (torch.arange(128) / 128 + 1) for exponent in range(-3, 1)])  # of bf16
    rows = [values[torch.randperm(512, generator=generator)[:experts]] for _ in range(tokens)]
    return (torch.stack(rows) if rows else torch.empty(0, experts)).to(getattr(torch, dtype))


def by_torch(logits: Any, top_k: int, router: str, renormalize: bool) -> tuple[Any, Any]:
    """What Transformers runs."""
    if router == "topk_softmax":
        values, ids = torch.topk(logits, top_k, dim=-1)
        return torch.softmax(values, -1, dtype=torch.float32), ids
    weights, ids = torch.topk(torch.softmax(logits, -1, dtype=torch.float32), top_k, dim=-1)
    return weights / weights.sum(-1, keepdim=True) if renormalize else weights, ids


def ops() -> Any:
    return torch.ops.flashfit


def same(found: Any, wanted: Any) -> bool:
    return all(torch.equal(mine, its) for mine, its in zip(found, wanted))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("experts", [1, 2, 7, 128, 129, 512])
@pytest.mark.parametrize(("router", "renormalize"), KINDS)
def test_against_pytorch(dtype: str, experts: int, router: str, renormalize: bool) -> None:
    """The same experts, and an error that is at most twice PyTorch's."""
    for tokens in (0, 1, 200):
        logits = distinct(tokens, experts, dtype)
        for top_k in {1, min(experts, 16)}:
            weights, ids = route(logits, top_k, router=router, renormalize=renormalize)
            assert (weights.dtype, ids.dtype) == (torch.float32, torch.int32)
            assert weights.shape == ids.shape == (tokens, top_k)
            its, its_ids = by_torch(logits, top_k, router, renormalize)
            assert torch.equal(ids.long(), its_ids)
            want, _ = reference.route(logits.double().numpy(), top_k, router=router, renormalize=renormalize)
            error, bound = (np.abs(x.double().numpy() - want).max(initial=0) for x in (weights, its))
            assert error <= 2 * bound + 4 * U * want.max(initial=0), f"{error} against PyTorch's {bound}"


@pytest.mark.parametrize("entry", [*ENTRIES, "operator"])
def test_same_as_numpy_on_logits_of_every_kind(entry: Any) -> None:
    inf, nan = float("inf"), float("nan")
    rows = [[1.0, 1, 1, 1, 1], [-0.0, 0, -0.0, 0, -1], [nan, 2, 1, nan, 3], [inf, 1, inf, -inf, 0], [-inf] * 5]
    logits = torch.tensor([*rows, [1000, 999, 1001, 998, 0], [-1000, -999, -1001, -998, 0]])
    for router, renormalize in KINDS:
        options: dict[str, Any] = {"router": router, "renormalize": renormalize}
        call = ops().moe_route.default if entry == "operator" else entry
        weights, ids = call(logits, 4, **options)
        expect_routed(weights.numpy(), ids.numpy(), logits.numpy(), 4, **options)


def strided() -> Iterator[tuple[str, Any]]:
    """Logits of shape (6, 20) in memory of every kind that a caller has."""
    yield "contiguous", normal()
    yield "wider rows", normal(6, 33)[:, ::1][:, :20]
    yield "other columns", normal(6, 33)[:, 7:27]
    yield "every second row", normal(12, 20)[::2]
    yield "one row for all", normal(1, 20).expand(6, 20)
    yield "one expert", normal(6, 20)[:, :1]
    yield "no tokens", normal(0, 20)


@pytest.mark.parametrize(("kind", "logits"), [pytest.param(*each, id=each[0]) for each in strided()])
@pytest.mark.parametrize("dtype", DTYPES)
def test_strides(kind: str, logits: Any, dtype: str) -> None:
    shape, strides = logits.shape, logits.stride()
    if kind == "one row for all":
        logits = logits[:1].to(getattr(torch, dtype)).expand(shape)
    else:
        logits = torch.empty_strided(shape, strides, dtype=getattr(torch, dtype)).copy_(logits)
    assert logits.stride() == strides
    want = flashfit.moe_route(logits.contiguous(), 1)
    for call in (*ENTRIES, ops().moe_route):
        assert same(call(logits, 1), want)
    with FakeTensorMode() as mode:
        fakes = ops().moe_route(mode.from_tensor(logits), 1)
    for mine, its in zip(want, fakes):
        assert (its.shape, its.stride(), its.dtype, its.device) == (mine.shape, mine.stride(), mine.dtype, mine.device)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("given", [("weights",), ("ids",), ("weights", "ids")])
def test_results_are_written_to_what_is_given(entry: Any, given: tuple[str, ...]) -> None:
    logits = normal()
    want = flashfit.moe_route(logits, 4, renormalize=False)
    results = {"weights": torch.full((6, 4), 7.0), "ids": torch.full((6, 4), 7, dtype=torch.int32)}
    before = {name: results[name]._version for name in given}
    found = entry(logits, 4, renormalize=False, **{name: results[name] for name in given})
    for name, mine, its in zip(("weights", "ids"), found, want):
        assert (mine is results[name]) == (name in given)
        assert torch.equal(mine, its)
    assert all(results[name]._version > version for name, version in before.items())


def test_the_out_form() -> None:
    logits, weights, ids = normal(), torch.empty(6, 4), torch.empty(6, 4, dtype=torch.int32)
    for router, renormalize in KINDS:
        want = route(logits, 4, router=router, renormalize=renormalize)
        assert same(ops().moe_route(logits, 4, router, renormalize), want)
        assert ops().moe_route_out(logits, weights, ids, 4, router, renormalize) is None
        assert same((weights, ids), want)


def test_schemas() -> None:
    options = 'int top_k, str router="softmax", bool renormalize=True, Tensor? router_bias=None, int groups=0'
    options += ", int groups_kept=0, float scale=1."
    assert str(ops().moe_route.default._schema) == f"flashfit::moe_route(Tensor logits, {options}) -> (Tensor, Tensor)"
    assert str(ops().moe_route_out.default._schema) == (
        f"flashfit::moe_route_out(Tensor logits, Tensor(a!) weights, Tensor(b!) ids, {options}) -> ()"
    )


def test_writing_is_seen_by_a_backward() -> None:
    weights, factor = torch.ones(6, 4), torch.ones(6, 4, requires_grad=True)
    product = factor * weights
    ops().moe_route_out(normal(), weights, torch.empty(6, 4, dtype=torch.int32), 4)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["moe_route", "moe_route_out"])
def test_opcheck(name: str, dtype: str) -> None:
    logits = normal(dtype=dtype)
    results = [torch.zeros(6, 4), torch.zeros(6, 4, dtype=torch.int32)] if name == "moe_route_out" else []
    checks = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")
    for options in ((), ("topk_softmax", False)):
        op = getattr(ops(), name).default
        found = torch.library.opcheck(op, (logits, *results, 4, *options), test_utils=checks)
        assert found == dict.fromkeys(checks, "SUCCESS")


def wrong() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "logits: 1 dimensions; accepted: 2, [tokens, experts]", {"logits": normal()[0]}
    yield "logits: 3 dimensions; accepted: 2, [tokens, experts]", {"logits": normal()[None]}
    yield "logits: dtype is ", {"logits": normal().double()}
    yield "logits: dtype is ", {"logits": normal().int()}
    yield "logits: dtype is ", {"logits": normal().to(torch.float8_e4m3fn)}
    yield "logits: shape is (6, 0); accepted: 1 to 512 experts", {"logits": normal(6, 0)}
    yield "logits: shape is (6, 513); accepted: 1 to 512 experts", {"logits": normal(6, 513)}
    yield "top_k: 0; accepted: 1 to ", {"top_k": 0}
    yield "top_k: -3; accepted: 1 to ", {"top_k": -3}
    yield "top_k: 17; accepted: 1 to 16", {"top_k": 17}
    yield "top_k: 16; accepted: 1 to 10", {"top_k": 16, "logits": normal(6, 10)}
    yield 'router: \'top\'; accepted: "softmax", "topk_softmax", "sigmoid", "sqrt_softplus"', {"router": "top"}
    yield "weights: dtype is ", {"weights": torch.zeros(6, 4).half()}
    yield "weights: ", {"weights": torch.zeros(6)}
    yield "weights: shape is (6, 3); accepted: (6, 4), [tokens, top_k]", {"weights": torch.zeros(6, 3)}
    yield "weights: shape is (5, 4); accepted: (6, 4), [tokens, top_k]", {"weights": torch.zeros(5, 4)}
    yield "ids: dtype is ", {"ids": torch.zeros(6, 4, dtype=torch.int64)}
    yield "ids: shape is (4, 6); accepted: (6, 4), [tokens, top_k]", {"ids": torch.zeros(4, 6, dtype=torch.int32)}


def filled() -> dict[str, Any]:
    return {
        "logits": normal(),
        "weights": torch.full((6, 4), 7.0),
        "ids": torch.full((6, 4), 7, dtype=torch.int32),
        "top_k": 4,
    }


@pytest.mark.parametrize(("words", "given"), [pytest.param(*each, id=each[0][:40]) for each in wrong()])
@pytest.mark.parametrize("how", ["real", "fake", "entry", "compiled"])
def test_wrong_arguments(words: str, given: dict[str, Any], how: str) -> None:
    call = {**filled(), **given}
    mode = FakeTensorMode()
    if how == "fake":
        call = {name: mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for name, x in call.items()}
    operator = ops().moe_route_out if {"weights", "ids"} & set(given) else ops().moe_route
    if how == "compiled":
        torch._dynamo.reset()
        with pytest.raises(Exception, match=rf"{words.split(':')[0]}: .*; accepted: "):
            torch.compile(lambda call: flashfit.moe_route(**call), backend="eager", fullgraph=True)(call)
        return
    if operator is ops().moe_route:
        call = {name: x for name, x in call.items() if name not in ("weights", "ids")}
    with pytest.raises(flashfit.InvalidArgument) as caught:
        (flashfit.moe_route if how == "entry" else operator)(**call)
    said = str(caught.value)
    assert said.startswith(words)
    assert "accepted" in said
    assert "\n" not in said
    for name in ("weights", "ids"):
        if how != "fake" and name in call and name not in given:
            assert (call[name] == 7).all()


def refused(error: type[Exception], **bent: Any) -> str:
    call = {"logits": normal(), "top_k": 4, **bent}
    with pytest.raises(error) as caught:
        flashfit.moe_route(**call)
    assert isinstance(caught.value, flashfit.FlashfitError)
    return str(caught.value)


def test_other_refusals() -> None:
    for top_k in (2.0, True, None, "4"):
        assert refused(flashfit.InvalidType, top_k=top_k) == f"top_k: {top_k!r}; accepted: an integer"
    assert refused(flashfit.InvalidType, renormalize=1) == "renormalize: 1; accepted: True, False"
    assert refused(flashfit.InvalidType, weights=np.zeros((6, 4), np.float32)) == (
        "weights: numpy.ndarray; accepted: a torch tensor, as logits"
    )
    # Of both alike, which the C API would take for another top_k.
    others = {"weights": torch.zeros(6, 3), "ids": torch.zeros(6, 3, dtype=torch.int32)}
    assert refused(flashfit.InvalidArgument, **others) == (
        "weights: shape is (6, 3); accepted: (6, 4), [tokens, top_k]"
    )
    assert refused(flashfit.InvalidArgument, weights=torch.zeros(6, 8)[:, :4]) == (
        "weights: strides are (8, 1); accepted: contiguous"
    )
    assert refused(flashfit.InvalidArgument, logits=normal(6, 40)[:, ::2]) == (
        "logits: strides are (40, 2); accepted: 1 in the last dimension"
    )
    shared = torch.zeros(6, 4)
    assert refused(flashfit.InvalidArgument, ids=shared.view(torch.int32), weights=shared).startswith("ids: memory 0x")
    assert refused(flashfit.InvalidArgument, stream=3) == "stream: 3 with tensors on the CPU; accepted there: None"
    assert refused(flashfit.InvalidArgument, variant="x").startswith("variant: 'x' with tensors on the CPU")
    with pytest.raises(flashfit.InvalidType, match=r"^weights: torch\.Tensor; accepted: a NumPy array, as logits$"):
        flashfit.moe_route(normal().numpy(), 4, weights=torch.zeros(6, 4))
    given: tuple[dict[str, Any], ...] = ({"stream": 3}, {"variant": "x"})
    for bent in given:
        with pytest.raises(flashfit.InvalidArgument, match=r"under a mode of torch or on the CPU; accepted: None$"):
            torch_ops.moe_route(normal(), 4, **bent)


@pytest.mark.parametrize("name", ["logits", "weights", "ids"])
@pytest.mark.parametrize("bend", [bend for _, bend in TORCH_ONLY], ids=[name for name, _ in TORCH_ONLY])
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors", "ignore:Sparse", "ignore:.*quantize")
def test_tensors_whose_memory_is_not_their_value(name: str, bend: Any) -> None:
    call = filled()
    try:
        call[name] = bend(call[name].float())
    except RuntimeError as error:
        pytest.skip(f"this torch makes no such tensor: {error}")
    if name == "logits" and call[name].is_neg():  # resolved, as any operator has it
        assert same(flashfit.moe_route(call[name], 4), flashfit.moe_route(call[name].resolve_neg(), 4))
        return
    said = refused(flashfit.FlashfitError, **call)
    named = "weights" if name == "logits" and call[name].is_meta else name  # a call of meta tensors, but for weights
    assert said.startswith(f"{named}: ")
    assert "accepted" in said


class Counted:
    """A backend that keeps the graphs that it was given."""

    def __init__(self) -> None:
        self.graphs: list[Any] = []

    def __call__(self, graph: Any, inputs: Any) -> Any:
        self.graphs.append(graph)
        return graph.forward


@pytest.fixture
def _fresh_dynamo() -> None:
    torch._dynamo.reset()


def routed(logits: Any, entry: Any) -> Any:
    weights, ids = entry(logits * 2, 4, router="topk_softmax")
    return weights + 1, ids


@pytest.mark.usefixtures("_fresh_dynamo")
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_graph_gives_what_eager_gives(backend: str, dynamic: bool, entry: Any) -> None:
    compiled = torch.compile(routed, backend=backend, fullgraph=True, dynamic=dynamic)
    for tokens, experts in ((5, 20), (9, 33), (1, 4), (0, 20)):
        logits = normal(tokens, experts)
        for mine, its in zip(compiled(logits, entry), routed(logits, entry)):
            assert torch.equal(mine, its)
            assert mine.stride() == its.stride()


@pytest.mark.usefixtures("_fresh_dynamo")
def test_symbolic_sizes_compile_once() -> None:
    backend = Counted()
    compiled = torch.compile(torch_ops.moe_route, backend=backend, fullgraph=True, dynamic=True)
    for tokens, experts in ((5, 20), (9, 33), (30, 17)):
        logits = normal(tokens, experts)
        assert same(compiled(logits, 4), flashfit.moe_route(logits, 4))
    assert len(backend.graphs) == 1
    assert any("flashfit.moe_route" in str(node.target) for node in backend.graphs[0].graph.nodes)


@pytest.mark.usefixtures("_fresh_dynamo")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("given", [("weights",), ("weights", "ids")])
def test_results_are_written_in_compiled_code(backend: str, given: tuple[str, ...]) -> None:
    logits = normal()
    want = flashfit.moe_route(logits, 4)

    def write(logits: Any, results: dict[str, Any]) -> Any:
        found = route(logits, 4, **results)
        return found, found[0] + 1

    results = {"weights": torch.zeros(6, 4), "ids": torch.zeros(6, 4, dtype=torch.int32)}
    results = {name: results[name] for name in given}
    found, more = torch.compile(write, backend=backend, fullgraph=True)(logits, results)
    assert same(found, want)
    assert torch.equal(more, want[0] + 1)
    assert all(torch.equal(results[name], its) for name, its in zip(("weights", "ids"), want) if name in given)


class Router(torch.nn.Module):  # type: ignore[misc]
    def forward(self, logits: Any) -> Any:
        return flashfit.moe_route(logits, 4)


@pytest.mark.usefixtures("_fresh_dynamo")
@pytest.mark.filterwarnings("ignore:At pre-dispatch tracing")  # torch 2.4 of any operator
def test_export() -> None:
    tokens = torch.export.Dim("tokens", max=1000)
    with torch.no_grad():
        program = torch.export.export(Router(), (normal(),), dynamic_shapes={"logits": {0: tokens}})
    assert "torch.ops.flashfit.moe_route.default" in program.graph_module.code
    assert same(program.module()(normal(11)), flashfit.moe_route(normal(11), 4))


@pytest.mark.parametrize("entry", [*ENTRIES, "operator"])
@pytest.mark.parametrize("fake", [False, True])
def test_gradients_are_refused(entry: Any, fake: bool) -> None:
    call = ops().moe_route.default if entry == "operator" else entry
    logits = normal().requires_grad_()
    mode: Any = FakeTensorMode() if fake else nullcontext()
    with mode:
        if fake:
            logits = mode.from_tensor(logits)
        with torch.no_grad():  # first, so that a cached answer would show
            call(logits, 4)
        with pytest.raises(flashfit.InvalidArgument) as caught:
            call(logits, 4)
    assert str(caught.value) == f"logits: {NO_GRADIENT}"


def test_gradients_of_results_are_refused() -> None:
    weights, ids = torch.zeros(6, 4, requires_grad=True), torch.zeros(6, 4, dtype=torch.int32)
    calls: list[Callable[[], Any]] = [
        lambda: ops().moe_route_out(normal(), weights, ids, 4),
        lambda: flashfit.moe_route(normal(), 4, weights=weights, ids=ids),
    ]
    for call in calls:
        with pytest.raises(flashfit.InvalidArgument, match=r"^weights: requires grad"):
            call()


@pytest.mark.usefixtures("_fresh_dynamo")
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_gradients_are_refused_when_compiled(backend: str) -> None:
    logits = normal().requires_grad_()
    compiled = torch.compile(lambda x: flashfit.moe_route(x, 4), backend=backend, fullgraph=True)
    with pytest.raises(Exception, match="logits: requires grad, and flashfit has no gradient of it; accepted: "):
        compiled(logits)


@pytest.mark.filterwarnings("ignore:.torch.jit")  # of torch's own derivatives
@pytest.mark.parametrize("entry", ENTRIES)
def test_transforms_that_differentiate_are_refused(entry: Any) -> None:
    def loss(x: Any) -> Any:
        return entry(x, 4)[0].sum()

    logits = normal()
    with pytest.raises(flashfit.InvalidArgument, match=r"^logits: requires grad"):
        torch.func.grad(loss)(logits)
    with pytest.raises(flashfit.InvalidArgument, match=r"^logits: has a tangent"):
        torch.func.jvp(loss, (logits,), (logits,))
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(logits, logits)
        with torch.no_grad(), pytest.raises(flashfit.InvalidArgument, match=r"^logits: has a tangent"):
            entry(dual, 4)
        assert same(entry(logits, 4), flashfit.moe_route(logits, 4))


@pytest.mark.parametrize("entry", ENTRIES)
def test_autocast_changes_nothing(entry: Any) -> None:
    logits = normal()
    want = flashfit.moe_route(logits, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert same(entry(logits, 4), want)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("dim", [0, 1])
def test_vmap(entry: Any, dim: int) -> None:
    logits = torch.stack([normal(seed=seed) for seed in range(3)])
    mapped = torch.vmap(lambda x: entry(x, 4, router="topk_softmax"), in_dims=dim)(logits.movedim(0, dim))
    for i in range(3):
        want = flashfit.moe_route(logits[i], 4, router="topk_softmax")
        assert same([x[i] for x in mapped], want)
    twice = torch.vmap(torch.vmap(lambda x: entry(x, 4)))(logits[:, None])
    assert same([x.flatten(0, 2) for x in twice], flashfit.moe_route(logits.flatten(0, 1), 4))


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)], ids=str)
def test_vmap_of_a_bias(entry: Any, dims: tuple[int | None, ...]) -> None:
    logits, bias = torch.stack([normal(seed=seed) for seed in range(3)]), normal(3, 20)
    given = [x if dim == 0 else x[0] for x, dim in zip((logits, bias), dims)]
    mapped = torch.vmap(lambda x, b: entry(x, 4, router="sigmoid", router_bias=b), in_dims=dims)(*given)
    for i in range(3):
        mine = [x[i] if dim == 0 else x for x, dim in zip(given, dims)]
        assert same([x[i] for x in mapped], flashfit.moe_route(mine[0], 4, router="sigmoid", router_bias=mine[1]))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_bias_that_chooses_may_be_a_parameter(entry: Any, compiled: bool) -> None:
    entry = torch.compile(entry, backend="eager", fullgraph=True) if compiled else entry
    bias = torch.nn.Parameter(normal(1)[0])
    found = entry(normal(), 4, router="sigmoid", router_bias=bias)
    assert same(found, flashfit.moe_route(normal(), 4, router="sigmoid", router_bias=bias.detach()))
    assert not found[0].requires_grad


def test_the_operator_refuses_groups_that_would_change_nothing() -> None:
    with pytest.raises(flashfit.InvalidArgument, match=r"^groups_kept: 2 without groups; accepted: 0$"):
        torch.ops.flashfit.moe_route(normal(), 4, groups_kept=2)


torch.fx.wrap("route")


def test_symbolic_trace_is_refused_in_words_or_kept_out() -> None:
    for call, name in (
        (lambda x: flashfit.attention(x, x, x), "q"),
        (lambda x: flashfit.moe_route(x, 2), "logits"),
        (lambda x: flashfit.fused_moe(x, x, x, router_logits=x, top_k=2), "x"),
    ):
        with pytest.raises(flashfit.InvalidType) as caught:
            torch.fx.symbolic_trace(call)
        assert str(caught.value).startswith(f"{name}: a torch.fx.Proxy, which has no values; accepted: an array; ")
    logits = torch.randn(3, 8)
    traced = torch.fx.symbolic_trace(lambda x: route(x, 2)[0])
    assert torch.equal(traced(logits), flashfit.moe_route(logits, 2)[0])


def test_dispatch_modes_see_the_operator() -> None:
    seen: list[str] = []

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    with Watch():
        found = flashfit.moe_route(normal(), 4)
    assert "flashfit.moe_route.default" in seen
    assert same(found, flashfit.moe_route(normal(), 4))


def test_parameters_and_inference_tensors() -> None:
    logits = normal()
    want = flashfit.moe_route(logits, 4)
    assert same(flashfit.moe_route(torch.nn.Parameter(logits, requires_grad=False), 4), want)
    with torch.inference_mode():
        weights, ids = torch.zeros(6, 4), torch.zeros(6, 4, dtype=torch.int32)
        ops().moe_route_out(logits.clone(), weights, ids, 4)
        assert same((weights, ids), want)
    flashfit.moe_route(logits, 4, weights=weights, ids=ids)  # inference tensors outside
    assert same((weights, ids), want)


def test_meta_tensors() -> None:
    for route in (ops().moe_route, flashfit.moe_route):
        weights, ids = route(normal().to("meta"), 4)
        assert (weights.device.type, weights.shape, weights.dtype) == ("meta", (6, 4), torch.float32)
        assert (ids.device.type, ids.shape, ids.dtype) == ("meta", (6, 4), torch.int32)


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("one", [1, np.float32(1), np.array(1.0), torch.tensor(1.0)], ids=str)
def test_a_scale_may_be_any_number(entry: Any, one: Any) -> None:
    logits = normal()
    weights, ids = entry(logits, 2)
    for scale in (one, one + one):
        found, of_found = entry(logits, 2, scale=scale)
        assert torch.equal(found, weights * float(scale))
        assert torch.equal(of_found, ids)
    of_numpy, _ = flashfit.moe_route(logits.numpy(), 2, scale=one + one)
    np.testing.assert_array_equal(of_numpy, found.numpy())


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("scale", [True, "1", b"1", np.str_("1"), np.array("1"), [1.0], None, torch.ones(2)], ids=str)
def test_a_scale_that_is_no_number_is_refused(entry: Any, scale: Any) -> None:
    with pytest.raises(flashfit.InvalidType, match=r"^scale: [^\n]+; accepted: a number$"):
        entry(normal(), 2, scale=scale)
