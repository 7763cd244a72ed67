"""torch.ops.flashfit on a GPU: compiled, captured, autocast, on streams; against flashfit.attention."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from typing import Any

import flashfit
import torch
from flashfit import torch_ops

from tools.gpu import experts, ordering, tensors
from tools.gpu.correctness import same_bits
from tools.gpu.ordering import CASE, ROUTER, TOP_K, Operation, alike, logits, poison

Checks = Iterator[tuple[str, bool]]


def _function(q: Any, k: Any, v: Any) -> Any:
    out, lse = flashfit.attention(q * 2, k, v, causal=True, return_lse=True)
    return out + 1, lse


def _routed(x: Any) -> Any:
    weights, ids = flashfit.moe_route(x * 2, TOP_K)
    return weights + 1, ids


def _inputs(seed: int = 0) -> tuple[Any, Any, Any]:
    made = tensors.make(CASE, "cuda", seed)
    return made.q, made.k, made.v


#: What is compiled, and its inputs of a seed.
FUNCTIONS: tuple[tuple[str, Any, Any], ...] = (
    ("attention", _function, _inputs),
    ("moe_route", _routed, ROUTER.make),
)


def operators() -> Checks:
    """Each operator on the current stream, a stream argument, and an input that autocast casts."""
    q, k, v = _inputs()
    want, want_lse = flashfit.attention(q, k, v, return_lse=True)
    ops = torch.ops.flashfit
    yield "attention", same_bits(ops.attention(q, k, v), want)
    yield "attention_lse", alike(ops.attention_lse(q, k, v), (want, want_lse))
    out = torch.full_like(q, float("nan"))
    yield "attention_lse_out", same_bits(ops.attention_lse_out(q, k, v, out), want_lse) and same_bits(out, want)
    with torch.autocast("cuda", dtype=q.dtype):
        yield "autocast: fp32 inputs in its dtype", same_bits(flashfit.attention(q.float(), k.float(), v), want)
    found = torch.library.opcheck(ops.attention_lse.default, (q, k, v), {"causal": True})
    yield f"opcheck {found}", set(found.values()) == {"SUCCESS"}
    x = logits(0)
    want = flashfit.moe_route(x, TOP_K)
    yield "moe_route", alike(ops.moe_route(x, TOP_K), want)
    written = tuple(torch.empty_like(result) for result in want)
    poison(written)
    ops.moe_route_out(x, *written, TOP_K)
    yield "moe_route_out", alike(written, want)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        yield "moe_route: autocast changes nothing", alike(flashfit.moe_route(x, TOP_K), want)
    found = torch.library.opcheck(ops.moe_route.default, (x, TOP_K))
    yield f"moe_route: opcheck {found}", set(found.values()) == {"SUCCESS"}


def streams() -> Checks:
    """The operators are ordered after what is queued on the current stream, or on the one that is an argument."""
    yield from ordering.streams(
        (
            Operation("attention", _inputs, lambda q, k, v, **options: (torch_ops.call(q, k, v, **options),)),
            Operation("moe_route", ROUTER.make, lambda x, **options: torch_ops.moe_route(x, TOP_K, **options)),
        )
    )


def compiled() -> Checks:
    """fullgraph with each backend; inductor where triton is."""
    backends = ["eager", "aot_eager"] + (["inductor"] if importlib.util.find_spec("triton") else [])
    for backend in backends:
        for name, eager, inputs in FUNCTIONS:
            torch._dynamo.reset()
            function = torch.compile(eager, backend=backend, fullgraph=True)
            passed = all(alike(function(*inputs(seed)), eager(*inputs(seed))) for seed in (1, 2))
            yield f"{name} compiled by {backend}", passed


def graphs() -> Checks:
    """Replays compute from what the inputs hold; also those that mode="reduce-overhead" makes."""
    q, k, v = _inputs()
    cu = torch.tensor([0, 100, 512], dtype=torch.int32, device="cuda")
    ragged = {"cu_seqlens_q": cu, "cu_seqlens_k": cu}
    torch.ops.flashfit.attention(q, k, v)
    x = logits(0)
    torch.ops.flashfit.moe_route(x, TOP_K)
    graph = torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        out = torch.ops.flashfit.attention(q, k, v)
        packed = torch.ops.flashfit.attention(q[0], k[0], v[0], **ragged)
        routed = torch.ops.flashfit.moe_route(x, TOP_K)
    passed = True
    for seed in (1, 2):
        for mine, other in zip((q, k, v, x), (*_inputs(seed), logits(seed))):
            mine.copy_(other)
        graph.replay()
        torch.cuda.synchronize()
        passed = passed and same_bits(out, flashfit.attention(q, k, v))
        passed = passed and same_bits(packed, flashfit.attention(q[0], k[0], v[0], **ragged))
        passed = passed and alike(routed, flashfit.moe_route(x, TOP_K))
    yield "captured and replayed, dense and of variable length, and the router", passed
    if importlib.util.find_spec("triton"):
        for name, eager, make in FUNCTIONS:
            torch._dynamo.reset()
            function = torch.compile(eager, mode="reduce-overhead", fullgraph=True)
            passed = True
            for seed in range(4):  # the first calls warm up and capture
                inputs = make(seed)
                passed = passed and alike(tuple(x.clone() for x in function(*inputs)), eager(*inputs))
            yield f'{name} compiled with mode="reduce-overhead"', passed


def _decoding(seed: int) -> tuple[Any, Any, Any]:
    """One query of many keys, which leaves a GPU empty unless the keys are cut."""
    made = torch.Generator("cuda").manual_seed(seed)
    shapes = (1, 1, 8, 64), (1, 8192, 8, 64), (1, 8192, 8, 64)
    q, k, v = (torch.randn(shape, generator=made, device="cuda").half() for shape in shapes)
    return q, k, v


def workspaces() -> Checks:
    """The parts of cut keys lie in memory of torch's allocator: right, captured, and each stream's its own."""
    inputs = [_decoding(seed) for seed in range(2)]
    want = [flashfit.attention(*each) for each in inputs]
    for (q, k, v), found in zip(inputs, want):
        q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
        exact = torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        yield "near fp32", bool((found.float() - exact).abs().max() < 1e-3)
    out, count = torch.empty_like(want[0]), "allocation.all.allocated"
    before = torch.cuda.memory_stats()[count]
    flashfit.attention(*inputs[0], out=out)
    yield "one allocation a call, the workspace", torch.cuda.memory_stats()[count] - before == 1
    graph, fixed = torch.cuda.CUDAGraph(), [x.clone() for x in inputs[0]]
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        for _ in range(3):
            flashfit.attention(*fixed, out=out)
    passed = True
    for each, wanted in zip(inputs, want):
        for x, y in zip(fixed, each):
            x.copy_(y)
        out.fill_(float("nan"))
        graph.replay()
        passed = passed and same_bits(out, wanted)
    yield "captured and replayed", passed
    sides = [torch.cuda.Stream() for _ in inputs]
    torch.cuda.synchronize()
    found_there: list[list[Any]] = [[] for _ in inputs]
    for _ in range(50):
        for side, each, results in zip(sides, inputs, found_there):
            with torch.cuda.stream(side):
                results.append(flashfit.attention(*each))
    torch.cuda.synchronize()
    same = all(same_bits(x, wanted) for results, wanted in zip(found_there, want) for x in results)
    yield "two streams at once", same


def layers() -> Checks:
    """Layers of experts."""
    yield from experts.near()
    yield from experts.captured()


def checks() -> Checks:
    for part in (operators, streams, compiled, graphs, workspaces, layers):
        for what, passed in part():
            yield f"torch.ops: {part.__name__}: {what}", passed
