"""More than one GPU: a call runs on its tensors' GPU, whichever is current, on that GPU's streams and in its
contexts.

Everything is compared with the same call on GPU 0: bit for bit where both are of one name.
"""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Iterator
from typing import Any

import flashfit
import torch
from flashfit import torch_ops

from tools.gpu import contexts
from tools.gpu.correctness import same_bits
from tools.gpu.ordering import BUSY_CYCLES

Checks = Iterator[tuple[str, bool]]
ALLOCATIONS = "allocation.all.allocated"


def _random(shape: tuple[int, ...], seed: int, dtype: Any = torch.float16) -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype).to("cuda:0")


def _qkv(q: tuple[int, ...], k: tuple[int, ...], seed: int = 0, dtype: Any = torch.float16) -> dict[str, Any]:
    return {name: _random(q if name == "q" else k, seed + i, dtype) for i, name in enumerate("qkv")}


def _dense(seed: int = 0) -> dict[str, Any]:
    return {**_qkv((2, 512, 8, 64), (2, 512, 8, 64), seed), "causal": True}


def _options(seed: int = 0) -> dict[str, Any]:
    """A call with every tensor that a dense one can have beside q, k and v."""
    return {
        **_qkv((2, 130, 8, 64), (2, 200, 2, 64), seed),
        "window": (100, 20),
        "softcap": 20.0,
        "alibi_slopes": _random((8,), seed + 3, torch.float32).abs(),
        "sinks": _random((8,), seed + 4, torch.float32),
        "bias": _random((1, 8, 130, 200), seed + 5),
        "seqused_k": torch.tensor([200, 77], dtype=torch.int32, device="cuda:0"),
    }


def _ragged(seed: int = 0) -> dict[str, Any]:
    offsets = torch.tensor([0, 100, 100, 512], dtype=torch.int32, device="cuda:0")
    made = _qkv((512, 8, 128), (512, 8, 128), seed, torch.bfloat16)
    return {**made, "cu_seqlens_q": offsets, "cu_seqlens_k": offsets.clone()}


def _decoding(seed: int = 0) -> dict[str, Any]:
    """One query of many keys, whose parts lie in a workspace."""
    return _qkv((1, 1, 8, 64), (1, 8192, 8, 64), seed)


PROBLEMS = {"dense": _dense, "every option": _options, "variable length": _ragged, "decoding": _decoding}


def _on(device: str, problem: dict[str, Any]) -> dict[str, Any]:
    return {name: x.to(device) if isinstance(x, torch.Tensor) else x for name, x in problem.items()}


def _call(problem: dict[str, Any], **more: Any) -> Any:
    return flashfit.attention(**problem, **more)


def _same(found: Any, wanted: Any) -> bool:
    """Bit for bit on GPUs of one name; else within what another order of sums makes."""
    if torch.cuda.get_device_name(0) == torch.cuda.get_device_name(1):
        return same_bits(found.cpu(), wanted.cpu())
    return bool(torch.allclose(found.cpu().float(), wanted.cpu().float(), atol=4e-3, rtol=4e-3))


def current() -> Checks:
    """Either GPU may be current, and stays it; memory is taken on the tensors' GPU alone."""
    for name, make in PROBLEMS.items():
        problem = make()
        there = _on("cuda:1", problem)
        wanted, wanted_lse = _call(problem, return_lse=True)
        for device in (0, 1):
            with torch.cuda.device(device):
                before = torch.cuda.memory_stats(0)[ALLOCATIONS]
                out, lse = _call(there, return_lse=True)
                right = torch.cuda.memory_stats(0)[ALLOCATIONS] == before
                right = right and torch.cuda.current_device() == device
            right = right and out.device == lse.device == torch.device("cuda:1")
            yield (
                f"{name} on cuda:1 while cuda:{device} is current",
                (right and _same(out, wanted) and _same(lse, wanted_lse)),
            )


def streams() -> Checks:
    """A call waits for what is queued on its stream of the other GPU, and for nothing else."""
    for name, make in PROBLEMS.items():
        problem = make()
        wanted, there = _call(problem), _on("cuda:1", problem)
        values = there["q"].clone()
        for how in ("current stream", "stream argument"):
            there["q"].fill_(float("nan"))
            side = torch.cuda.Stream("cuda:1")
            torch.cuda.synchronize(1)
            with torch.cuda.stream(side):
                torch.cuda._sleep(BUSY_CYCLES)
                there["q"].copy_(values)
                with torch.cuda.device(0):  # cuda:1's current stream stays
                    if how == "current stream":
                        out = _call(there)
            if how == "stream argument":
                out = _call(there, stream=side)
            early = not side.query()
            side.synchronize()
            yield (
                f"{name}: {how} of cuda:1 while cuda:0 is current: ordered, without waiting",
                (early and _same(out, wanted)),
            )


def graphs() -> Checks:
    """Captured on a stream of cuda:1 while cuda:0 is current, and replayed with other values."""
    for name, make in PROBLEMS.items():
        there = _on("cuda:1", make())
        _call(there)
        graph, side = torch.cuda.CUDAGraph(), torch.cuda.Stream("cuda:1")
        torch.cuda.synchronize(1)
        with torch.cuda.graph(graph, stream=side), torch.cuda.device(0):
            out = _call(there)
        passed = True
        for seed in (11, 12):
            other = make(seed)
            for x in "qkv":
                there[x].copy_(other[x])
            torch.cuda.synchronize(1)
            if "sinks" in other:
                other.update({x: there[x].to("cuda:0") for x in ("alibi_slopes", "sinks", "bias")})
            graph.replay()
            torch.cuda.synchronize(1)
            passed = passed and _same(out, _call(other))
        yield f"{name}: a graph on cuda:1, captured while cuda:0 is current", passed


def threads(calls: int = 100) -> Checks:
    """A thread for each GPU, the other GPU current in it."""
    problem = _dense()
    wanted, wrong = _call(problem), []

    def work(device: int) -> None:
        try:
            mine = _on(f"cuda:{device}", problem)
            torch.cuda.set_device(1 - device)
            outs = [_call(mine) for _ in range(calls)]
            torch.cuda.synchronize(device)
            if not all(_same(out, wanted) for out in outs):
                wrong.append(f"cuda:{device}: an output differs")
        except Exception as error:  # reported by the main thread
            wrong.append(f"cuda:{device}: {error}")

    workers = [threading.Thread(target=work, args=(device,)) for device in (0, 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    yield f"a thread for each GPU, {calls} calls each{''.join(': ' + w for w in wrong)}", not wrong


def _refused(name: str, problem: dict[str, Any], **more: Any) -> tuple[bool, str]:
    try:
        _call(problem, **more)
    except flashfit.InvalidArgument as error:
        return name in str(error) and "\n" not in str(error), str(error)
    return False, "not refused"


def mixed() -> Checks:
    """Any tensor on another device than q is refused, by its name."""
    for make in (_options, _ragged, _decoding):
        problem = make()
        problem["out"] = torch.empty_like(problem["q"])
        if make is _decoding:
            problem["workspace"] = torch.empty(1 << 20, dtype=torch.uint8, device="cuda:0")
        problem = _on("cuda:1", problem)
        for name, x in problem.items():
            if not isinstance(x, torch.Tensor) or (make is not _options and name in "qkv"):
                continue
            for other in ("cuda:0", "cpu"):
                refused, said = _refused("" if name == "q" else name, {**problem, name: x.to(other)})
                yield f"{name} on {other}, the others on cuda:1: {said}", refused
    problem = _on("cuda:1", _dense())
    with torch.cuda.device(0):
        other = torch.cuda.Stream("cuda:0")
    for how, stream in (("a torch.cuda.Stream", other), ("a handle", other.cuda_stream)):
        refused, said = _refused("stream: of GPU 0", problem, stream=stream)
        yield f"{how} of cuda:0, tensors on cuda:1: {said}", refused
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)


def operators() -> Checks:
    """torch.ops and torch.compile, with tensors of cuda:1 while cuda:0 is current."""
    problem = _dense()
    wanted, there = _call(problem), _on("cuda:1", problem)
    q, k, v = (there[x] for x in "qkv")
    yield "torch.ops.flashfit.attention", _same(torch.ops.flashfit.attention(q, k, v, causal=True), wanted)
    backends = ["eager", "aot_eager"] + (["inductor"] if importlib.util.find_spec("triton") else [])
    for backend in backends:
        torch._dynamo.reset()
        compiled = torch.compile(torch_ops.call, backend=backend, fullgraph=True)
        yield f"compiled by {backend}", _same(compiled(q, k, v, causal=True), wanted)
    try:
        torch.ops.flashfit.attention(q, k.to("cuda:0"), v)
        refused = False
    except flashfit.InvalidArgument:
        refused = True
    yield "torch.ops: q on cuda:1 with k on cuda:0 is refused", refused


def missing() -> str:
    """What this machine lacks for these checks, "" if nothing."""
    count = torch.cuda.device_count()
    return "" if count >= 2 else f"two GPUs are needed, PyTorch sees {count}"


def checks() -> Checks:
    seen = sorted(gpu["index"] for gpu in flashfit.gpus()["gpus"])
    yield f"flashfit.gpus() has every GPU that PyTorch has: {seen}", seen == list(range(torch.cuda.device_count()))
    for part in (current, streams, graphs, threads, mixed, operators, contexts.second_gpu):
        for what, passed in part():
            yield f"{part.__name__}: {what}", passed
