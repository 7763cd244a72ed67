"""flashfit.integrations.sdpa: what it takes is as right as PyTorch's own, what it leaves is PyTorch's own, and once it
is out nothing is left of it."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
import flashfit  # noqa: E402
from flashfit._binding import binding  # noqa: E402
from flashfit.integrations import _torch_fit, _torch_take, sdpa  # noqa: E402
from flashfit.integrations._torch_take import is_plain_type  # noqa: E402

from tests.integrations.fresh_python import python  # noqa: E402

F = torch.nn.functional
#: As models have it who imported the function before.
attend: Callable[..., Any] = F.scaled_dot_product_attention
bound = functools.partial(F.scaled_dot_product_attention, is_causal=True)
# Of torch 2.15 in every compiled function.
pytestmark = pytest.mark.filterwarnings("ignore:Guards may run slower on Python 3.13.0", "ignore:.isinstance.treespec")


@pytest.fixture
def installed() -> Iterator[None]:
    sdpa.HOST.notes.clear()
    with sdpa.installed() as taken:
        assert taken
        yield
    sdpa.HOST.notes.clear()


def normal(*shape: int, seed: int = 0, dtype: Any = None) -> Any:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator).to(dtype or torch.float32)


def problem(rows: int = 12, keys: int = 12, heads: int = 4, dtype: Any = None) -> tuple[Any, Any, Any]:
    return (
        normal(2, 4, rows, 16, seed=1, dtype=dtype),
        normal(2, heads, keys, 16, seed=2, dtype=dtype),
        normal(2, heads, keys, 16, seed=3, dtype=dtype),
    )


def took() -> list[str]:
    return [line for line in sdpa.log() if line.startswith("sdpa: took")]


def left() -> list[str]:
    return [line for line in sdpa.log() if line.startswith("sdpa: left")]


HIDING = normal(2, 1, 12, 12, seed=4) > -0.5
ADDED = normal(4, 12, 12, seed=5)
CASES: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
    "full": (problem(), {}),
    "scale": (problem(), {"scale": 0.3}),
    "causal": (problem(), {"is_causal": True}),
    "causal, more keys": (problem(12, 17), {"is_causal": True}),
    "causal, more rows": (problem(17, 12), {"is_causal": True}),
    "bool mask": (problem(), {"attn_mask": HIDING}),
    "float mask": (problem(), {"attn_mask": ADDED}),
    "mask of a row that sees no key": (problem(), {"attn_mask": torch.arange(12).view(12, 1) > 0}),
    "three dimensions": (tuple(x[0] for x in problem()), {"is_causal": True}),
    "three dimensions and a mask": (tuple(x[0] for x in problem()), {"attn_mask": ADDED}),
}


@pytest.mark.parametrize("dims", [3, 4])
@pytest.mark.parametrize("gradients", [False, True])
def test_results_have_the_strides_of_pytorch(dims: int, gradients: bool) -> None:
    """Models take views of them: those of three dimensions are contiguous, those of four have q's order."""
    given = [normal(12, *(2, 4)[4 - dims :], 16, seed=i).movedim(0, -2).requires_grad_(gradients) for i in range(3)]
    own = attend(*given)
    sdpa.HOST.notes.clear()
    with sdpa.installed():
        for _ in range(3):  # later calls take other ways
            out = attend(*given)
            assert out.stride() == own.stride()
            assert (out.grad_fn is not None) == gradients
        assert torch.compile(attend, backend="eager")(*given).stride() == own.stride()
    assert took()
    assert not left()
    torch.testing.assert_close(out, own)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", CASES)
def test_taken(installed: None, name: str, dtype: Any) -> None:
    tensors, options = CASES[name]
    given = [x.to(dtype) for x in tensors]
    mask = options.get("attn_mask")
    if mask is not None and mask.dtype != torch.bool:
        options = {**options, "attn_mask": mask.to(dtype)}
    found = attend(*given, **options)
    assert (len(took()), left()) == (1, [])
    sdpa.uninstall()
    own = attend(*given, **options)
    exact = {name: x.double() if isinstance(x, torch.Tensor) and x.dtype == dtype else x for name, x in options.items()}
    want = attend(*(x.double() for x in given), **exact)
    assert (found.shape, found.dtype) == (own.shape, own.dtype)
    floor = torch.finfo(dtype).eps / 2 * float(want.abs().max())
    assert float((found - want).abs().max()) <= 2 * float((own - want).abs().max()) + floor


def test_grouped_heads(installed: None) -> None:
    q, k, v = problem(heads=2)
    found = attend(q, k, v, enable_gqa=True)
    assert took() == ["sdpa: took: fp32 on cpu, 4/2 heads of 16 (1 call)"]
    torch.testing.assert_close(found, attend(q, *(x.repeat_interleave(2, 1) for x in (k, v))))


def test_what_was_decided_is_of_calls_that_are_alike_alone(installed: None) -> None:
    q, k, v = problem()
    needs = q.clone().requires_grad_()
    row = torch.ones(1, 12, dtype=torch.bool)
    learnt = ADDED.clone().requires_grad_()
    calls: list[tuple[bool, Callable[[], Any]]] = [
        (True, lambda: attend(q, k, v)),
        (True, lambda: attend(needs, k, v)),
        (False, lambda: attend(q, k, v, dropout_p=0.5)),
        (True, lambda: attend(q, k, v, attn_mask=row)),
        (False, lambda: attend(q, k, v, attn_mask=learnt)),
        (True, lambda: attend(q, k, v, attn_mask=ADDED)),
        (False, lambda: attend(q.double(), k.double(), v.double())),
        (False, lambda: attend(needs, k, v[..., :8])),
        (True, lambda: attend(q, k, v[..., :8])),
        (True, lambda: attend(q, k, v, scale=0.5)),
        (False, lambda: attend(q, k[:, :1], v[:, :1])),
        (True, lambda: attend(q, k[:, :1], v[:, :1], enable_gqa=True)),
    ]
    for grad in (True, False, True):
        for taken, call in calls:
            before = sum(int(line.split("(")[-1].split()[0]) for line in took())
            with torch.set_grad_enabled(grad):
                out = call()
            after = sum(int(line.split("(")[-1].split()[0]) for line in took())
            if grad:
                assert after - before == taken
            else:  # what was left for its gradients alone is taken now
                assert after - before in ((1,) if taken else (0, 1))
            assert out.requires_grad is (grad and call in (calls[1][1], calls[4][1], calls[7][1]))


class Watched(torch.Tensor):  # type: ignore[misc]
    """A subclass that dispatches by itself, as DTensor does."""

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise AssertionError("not reached")


LEFT: dict[str, tuple[Callable[[], Any], str]] = {
    "dropout": (lambda: attend(*problem(), dropout_p=0.5), "dropout_p: 0.5"),
    "fp64": (lambda: attend(*(x.double() for x in problem())), "query: dtype is torch.float64"),
    "broadcast heads": (lambda: attend(*problem(heads=1)), "heads that broadcast"),
    "a mask that needs a gradient": (
        lambda: attend(*problem(), attn_mask=ADDED.clone().requires_grad_()),
        "attn_mask: requires grad",
    ),
    "five dimensions": (lambda: attend(*(x[None] for x in problem())), "query: 5 dimensions"),
    "no keys": (lambda: attend(*problem(keys=0)), "no elements"),
    "gradients of another head_dim": (
        lambda: attend(problem()[0].requires_grad_(), problem()[1], problem()[2][..., :8]),
        "v: head_dim 8 in a call that needs gradients, which come from PyTorch's flash attention; accepted: head_dim "
        "16, as q, or a call under torch.no_grad()",
    ),
    "torch.func": (
        lambda: torch.func.grad(lambda q: attend(q, *problem()[1:]).sum())(problem()[0]),
        "a transform of torch.func",
    ),
}


@pytest.mark.parametrize("name", LEFT)
def test_left(installed: None, name: str) -> None:
    call, reason = LEFT[name]
    torch.manual_seed(0)
    found = call()
    assert took() == []
    (line,) = left()
    assert line.endswith(f": {reason} (1 call)")
    sdpa.uninstall()
    torch.manual_seed(0)
    assert torch.equal(found, call())


@pytest.mark.filterwarnings("ignore:There is a performance drop")
def test_a_call_whose_like_was_taken_is_looked_at_again(installed: None) -> None:
    """Such a call goes straight to the C API, unless something of it has another meaning there."""
    q, k, v = problem()
    longer = problem(rows=20)[0]
    calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
        ((q, k, v), {}),
        ((q, k, v[..., :8]), {}),
        ((q, k, v), {"is_causal": True}),
        ((longer, k, v), {"is_causal": True}),  # PyTorch's mask begins at the first key
        ((q[:, :, :5], k, v), {"is_causal": True}),
        ((q[:, :, :5], k, v), {}),
        ((q, k, v), {"scale": 0.25}),  # what it is by itself, of head_dim 16
        ((q, k, v), {"scale": 0.3}),
        ((q[0], k[0], v[0]), {}),
        ((q, k[:, :2], v[:, :2]), {"enable_gqa": True}),
        ((q.transpose(-1, -2).contiguous().transpose(-1, -2), k, v), {}),  # strides that flashfit refuses
    ]
    for _ in range(3):
        for tensors, options in calls:
            exact = attend(*(x.double() for x in tensors), **options)
            torch.testing.assert_close(attend(*tensors, **options).double(), exact, rtol=0, atol=2e-6)
    assert [int(line.split("(")[-1].split()[0]) for line in took()] == [18, 9, 3]
    with pytest.raises(RuntimeError):
        attend(q, k.double(), v)
    mapped = torch.func.vmap(attend)(q[None], k[None], v[None])
    torch.testing.assert_close(mapped[0], attend(q, k, v), rtol=0, atol=2e-6)
    needs = q.clone().requires_grad_()
    attend(needs, k, v).sum().backward()
    assert needs.grad is not None


MASKS: dict[str, Any] = {
    "of rows and keys": HIDING[0, 0],
    "of a sequence's keys": HIDING[:, :, :1],
    "of heads": ADDED,
    "of all": ADDED.expand(2, 4, 12, 12).contiguous(),
    "keys first in memory": ADDED.transpose(-1, -2).contiguous().transpose(-1, -2),
    "of keys": ADDED[0, 0],
    "one number": ADDED[0, 0, 0],
}


@pytest.mark.parametrize("name", MASKS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_masked_calls_whose_like_was_taken_go_straight_to_the_c_api(
    installed: None, monkeypatch: pytest.MonkeyPatch, name: str, dtype: Any
) -> None:
    given, mask = [x.to(dtype) for x in problem()], MASKS[name]
    mask = mask if mask.dtype == torch.bool else mask.to(dtype)
    looked_at: list[Any] = []

    def look(*tensors: Any, **options: Any) -> Any:
        looked_at.append(tensors)
        return flashfit.attention(*tensors, **options)

    monkeypatch.setattr(_torch_take, "attention", look)
    first, again = (attend(*given, attn_mask=mask) for _ in range(2))
    assert torch.equal(first, again)
    assert len(looked_at) == 1 if binding().native else 2
    other = ~mask if mask.dtype == torch.bool else mask / 2 - 1
    found = attend(*given, attn_mask=other)
    with torch.no_grad():
        assert torch.equal(found, flashfit.attention(*given, bias=other, layout="bhsd"))
    learnt = ADDED.clone().requires_grad_()
    assert attend(*problem(), attn_mask=learnt).requires_grad
    assert len(took()) == 1


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("which", range(4))
def test_a_negated_view_has_the_sign_that_its_memory_lacks(installed: None, which: int, gradients: bool) -> None:
    """The imaginary part of a complex conjugate is one. Its like of other signs may have been taken before, or not."""
    plain = (*(x.requires_grad_(gradients) for x in problem()), ADDED)
    turned = list(plain)
    turned[which] = torch._neg_view(plain[which])
    want = attend(*(x.detach().double() for x in turned[:3]), attn_mask=turned[3].double())
    for given in (turned, turned, plain, turned, turned):
        out = attend(*given[:3], attn_mask=given[3]).detach()
        if given is turned:
            torch.testing.assert_close(out, want.float(), rtol=1e-4, atol=1e-5)
    assert [line for line in left() if "fp64" not in line] == []


def test_what_pytorch_refuses_it_refuses_still(installed: None) -> None:
    q, k, v = problem()
    with pytest.raises(RuntimeError):
        attend(q, k[..., :8], v)


def test_every_way_to_the_function(installed: None) -> None:
    q, k, v = problem()
    ways: dict[str, Callable[[], Any]] = {
        "by name": lambda: attend(q, k, v, is_causal=True),
        "partial": lambda: bound(q, k, v),
        "module": lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True),
        "operator": lambda: torch.ops.aten.scaled_dot_product_attention(q, k, v, is_causal=True),
        "traced": lambda: torch.jit.trace(lambda *x: bound(*x), (q, k, v))(q, k, v),
        "sdpa_kernel": lambda: by_kernel(torch.nn.attention.SDPBackend.MATH),
    }

    def by_kernel(backend: Any) -> Any:
        with torch.nn.attention.sdpa_kernel(backend):
            return bound(q, k, v)

    want = ways["by name"]()
    for name, way in ways.items():
        sdpa.HOST.notes.clear()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore" if name == "traced" else "error")  # newer releases warn of traces
            assert torch.equal(way(), want)
        assert took(), name


def test_multihead_attention(installed: None) -> None:
    module = torch.nn.MultiheadAttention(32, 4, batch_first=True)
    x = normal(2, 6, 32)
    found = module(x, x, x, need_weights=False)[0]
    assert took() == ["sdpa: took: fp32 on cpu, 4 heads of 8, gradients by PyTorch's flash attention (1 call)"]
    sdpa.uninstall()
    torch.testing.assert_close(found, module(x, x, x, need_weights=False)[0])


def test_autocast(installed: None) -> None:
    q, k, v = problem()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = attend(q, k, v)
    assert found.dtype == torch.bfloat16
    assert took() == ["sdpa: took: bf16 on cpu, 4 heads of 16 (1 call)"]


def test_inference_mode(installed: None) -> None:
    with torch.inference_mode():
        q, k, v = problem()
        attend(q, k, v)
    assert len(took()) == 1


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_compiled(installed: None, backend: str, dynamic: bool) -> None:
    def block(q: Any, k: Any, v: Any) -> Any:
        return attend(q * 2, k, v, is_causal=True) + attend(q, k, v, attn_mask=HIDING)

    compiled = torch.compile(block, backend=backend, fullgraph=True, dynamic=dynamic)
    found = compiled(*problem())
    assert took()
    assert left() == []
    torch.testing.assert_close(found, block(*problem()))
    sdpa.uninstall()
    torch.testing.assert_close(compiled(*problem()), found)


def test_symbolic_sizes_on_a_gpu(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As torch.compile(dynamic=True) has them: head_dim, too, is a symbol there, and the look for a kernel of the GPU
    wants a number."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    monkeypatch.setattr(_torch_fit, "_capability", lambda device: (9, 0))
    mode = FakeTensorMode(shape_env=ShapeEnv())
    symbolic = mode.from_tensor(torch.empty(2, 4, 130, 64, device="meta")).shape
    assert isinstance(symbolic[-1], torch.SymInt)
    with mode:
        q, k, v = (torch.empty(symbolic, dtype=torch.bfloat16, device="cuda") for _ in range(3))
        out = attend(q, k, v)
    assert out.shape == q.shape
    assert (len(took()), left()) == (1, [])


def operators_of(function: Callable[..., Any], *tensors: Any) -> list[str]:
    """What a compiled function calls."""
    seen: list[str] = []

    def backend(module: Any, inputs: Any) -> Any:
        from torch._dynamo.backends.common import aot_autograd

        def note(graph: Any, _: Any) -> Any:
            seen.extend(str(node.target) for node in graph.graph.nodes if node.op == "call_function")
            return graph

        return aot_autograd(fw_compiler=note)(module, inputs)

    torch.compile(function, backend=backend, fullgraph=True)(*tensors)
    return seen


def test_compiled_code_is_made_anew_on_the_way_in_and_out() -> None:
    def block(q: Any, k: Any, v: Any) -> Any:
        return attend(q, k, v)

    # As in a new process, where tracing has not met the operator yet and will remember how it is dispatched.
    torch.ops.aten.scaled_dot_product_attention.default._dispatch_cache.clear()
    compiled = torch.compile(block, backend="aot_eager", fullgraph=True)
    want = compiled(*problem())
    tag = torch.compiler.config.cache_key_tag
    sdpa.HOST.notes.clear()
    with sdpa.installed():
        assert torch.compiler.config.cache_key_tag != tag
        torch.testing.assert_close(compiled(*problem()), want)
        assert took()
        assert any("flashfit" in name for name in operators_of(block, *problem()))
    assert torch.compiler.config.cache_key_tag == tag
    assert torch.equal(compiled(*problem()), want)
    assert not any("flashfit" in name for name in operators_of(block, *problem()))


class Block(torch.nn.Module):  # type: ignore[misc]
    """For torch.export."""

    def forward(self, q: Any, k: Any, v: Any) -> Any:
        return attend(q, k, v)


def test_an_exported_program_needs_no_flashfit(installed: None) -> None:
    programs = [torch.export.export(Block(), problem(), strict=strict) for strict in (False, True)]
    assert took() == []
    assert left()
    for program in programs:
        names, decomposed = (
            [str(node.target) for node in each.graph.nodes] for each in (program, program.run_decompositions())
        )
        assert not any("flashfit" in name for name in (*names, *decomposed))
        assert any("scaled_dot_product" in name for name in names)
        # Torch 2.8 takes it apart.
        assert any("scaled_dot_product" in name or "_softmax" in name for name in decomposed)
        sdpa.HOST.notes.clear()
        program.module()(*problem())  # where flashfit is installed, its calls are taken as any other
        assert took()


def test_a_torch_that_does_not_say_that_it_exports(monkeypatch: pytest.MonkeyPatch) -> None:
    sdpa.HOST.notes.clear()
    with monkeypatch.context() as older, sdpa.installed():
        sdpa.uninstall()
        older.delattr(torch.compiler, "is_exporting", raising=False)  # as before 2.7
        sdpa.install()
        older.undo()  # PyTorch asks itself
        for strict in (False, True):
            program = torch.export.export(Block(), problem(), strict=strict)
            for each in (program, program.run_decompositions()):
                assert not any("flashfit" in str(node.target) for node in each.graph.nodes)
        assert (took(), bool(left())) == ([], True)
        assert any("flashfit" in name for name in operators_of(Block(), *problem()))


def test_a_training_step(installed: None) -> None:
    def step() -> list[Any]:
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        layer(normal(2, 6, 32)).square().sum().backward()
        return [p.grad for p in layer.parameters()]

    found = step()
    assert any("gradients by PyTorch's flash attention" in line for line in took())
    sdpa.uninstall()
    for mine, its in zip(found, step()):
        torch.testing.assert_close(mine, its, rtol=1e-4, atol=1e-5)


def test_a_training_step_with_dropout_is_pytorchs(installed: None) -> None:
    def step() -> list[Any]:
        torch.manual_seed(0)
        layer = torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.3, batch_first=True)
        layer(normal(2, 6, 32)).square().sum().backward()
        return [p.grad for p in layer.parameters()]

    found = step()
    assert left()
    sdpa.uninstall()
    assert all(torch.equal(mine, its) for mine, its in zip(found, step()))


FIRST_CALLS = """
import torch
from flashfit._binding import binding
from flashfit.integrations import sdpa
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

attend = torch.nn.functional.scaled_dot_product_attention

def node(q, k, v, options):
    saved = []
    with saved_tensors_hooks(lambda x: saved.append(tuple(x.shape)), lambda x: x):
        name = attend(q, k, v, **options).grad_fn.name()
    return name, saved

sdpa.install()
torch.manual_seed(0)
for rows, (heads, options) in enumerate([
    (4, {}), (4, {"scale": 0.3}), (4, {"is_causal": True}), (2, {"enable_gqa": True}),
    (4, {"attn_mask": torch.ones(1, 9, dtype=torch.bool)}), (4, {"attn_mask": torch.zeros(1, 9)}),
], 3):
    q = torch.randn(1, 4, 9 if options.get("is_causal") else rows, 16, requires_grad=True)
    k, v = torch.randn(2, 1, heads, 9, 16)
    first, *later = [node(q, k, v, options) for _ in range(3)]
    assert later == [first, first], (options, first, later)
    q = torch.randn(2, *q.shape[1:], requires_grad=True)
    k, v = torch.randn(2, 2, heads, 9, 16)
    checkpoint(lambda q: attend(q, k, v, **options), 1 * q, use_reentrant=False).sum().backward()
    found, q.grad = q.grad, None
    attend(q, k, v, **options).sum().backward()
    assert torch.equal(found, q.grad), options
print(binding().name, sum("took" in line for line in sdpa.log()))
"""


@pytest.mark.parametrize("name", dict.fromkeys((binding().name, "ctypes")))
def test_a_first_call_has_the_node_of_later_ones(name: str) -> None:
    """So a checkpoint, which calls twice and compares what was saved, may be first."""
    assert python(FIRST_CALLS, FLASHFIT_PYTHON_BINDING=name) == f"{name} 5\n"


@pytest.mark.parametrize("options", [{}, {"attn_mask": HIDING}])
def test_a_mode_sees_every_call_that_needs_gradients(installed: None, options: dict[str, Any]) -> None:
    from torch.utils._python_dispatch import TorchDispatchMode

    seen: list[str] = []

    class Watching(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    q, k, v = problem()
    q.requires_grad_()
    want = attend(q, k, v, **options)
    for _ in range(3):
        with Watching():
            found = attend(q, k, v, **options)
        assert torch.equal(found, want)
    assert [name for name in seen if "detach" not in name] == ["flashfit.attention_lse.default"] * 3
    seen.clear()
    assert torch.equal(attend(q, k, v, **options), want)
    assert seen == []


@pytest.mark.parametrize("mask", [None, HIDING])
def test_gradients_of_gradients_under_math_alone_are_pytorchs(installed: None, mask: Any) -> None:
    from torch.nn.attention import SDPBackend, sdpa_kernel

    def second() -> Any:
        tensors = [x.requires_grad_() for x in problem()]
        with sdpa_kernel(SDPBackend.MATH):
            out = attend(*tensors, attn_mask=mask)
        (first,) = torch.autograd.grad(out.sin().sum(), tensors[0], create_graph=True)
        return torch.autograd.grad(first.sin().sum(), tensors)

    found = []
    for _ in range(3):  # what was decided without that choice is of no account, and the other way around
        attend(problem()[0].requires_grad_(), *problem()[1:], attn_mask=mask)
        attend(*(x.requires_grad_() for x in problem()), attn_mask=mask)
        found.append(second())
    (line,) = left()
    assert line.endswith(": gradients under sdpa_kernel(SDPBackend.MATH), which may be differentiated again (3 calls)")
    assert sum(int(line.split("(")[-1].split()[0]) for line in took()) == 6
    sdpa.uninstall()
    want = second()
    assert all(torch.equal(mine, its) for each in found for mine, its in zip(each, want))


def test_threads(installed: None) -> None:
    q, k, v = problem()
    want = attend(q, k, v)
    found: list[bool] = []

    def work() -> None:
        found.extend(torch.equal(attend(q, k, v), want) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == [True] * 80
    assert took() == ["sdpa: took: fp32 on cpu, 4 heads of 16 (81 calls)"]


def test_uninstalled_leaves_no_trace() -> None:
    name = "aten::scaled_dot_product_attention"

    def kernels() -> list[bool]:
        keys = ("CPU", "CUDA", "AutogradCPU", "AutogradCUDA")
        return [torch._C._dispatch_has_kernel_for_dispatch_key(name, key) for key in keys]

    before, own = kernels(), attend(*problem())
    for _ in range(2):
        with sdpa.installed():
            assert kernels() == [True] * 4
    assert kernels() == before
    sdpa.HOST.notes.clear()
    assert torch.equal(attend(*problem()), own)
    assert sdpa.log() == []


def test_a_subclass_that_dispatches_is_left() -> None:
    assert not is_plain_type(Watched)
    for kind in (torch.Tensor, torch.nn.Parameter):
        assert is_plain_type(kind)


def test_a_misfit_goes_on_to_pytorch(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    from flashfit import Misfit
    from flashfit.integrations import _torch_take

    def misfit(*_: Any, **__: Any) -> Any:
        raise Misfit("no variant fits")

    monkeypatch.setattr(_torch_take, "attention", misfit)
    found = attend(*problem())
    assert left() == ["sdpa: left: fp32 on cpu, 4 heads of 16: no variant fits (1 call)"]
    sdpa.uninstall()
    assert torch.equal(found, attend(*problem()))


def test_the_switch() -> None:
    code = """
import torch
from flashfit.integrations import sdpa
print(sdpa.install())
x = torch.ones(1, 1, 2, 8)
torch.nn.functional.scaled_dot_product_attention(x, x, x)
print(sdpa.log())
"""
    said = python(code, FLASHFIT_DISABLE_SDPA="1")
    assert said == "False\n['sdpa: left: every call: FLASHFIT_DISABLE_SDPA=1 turns it off (1 call)']\n"
