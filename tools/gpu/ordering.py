"""Streams, CUDA graphs and threads: calls happen where and when the caller's work does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import flashfit
import torch

from tools.gpu import tensors
from tools.gpu.correctness import same_bits
from tools.job.cases import Case

BUSY_CYCLES = 100_000_000  # about 50 ms of a GPU's clock
CASE = Case(heads=8, heads_kv=8, batch=2, seqlen_q=512, seqlen_k=512, head_dim=64, dtype="fp16", causal=True)


def attend(inputs: tensors.Inputs, **options: Any) -> Any:
    return flashfit.attention(inputs.q, inputs.k, inputs.v, causal=True, **options)


def streams() -> Iterator[tuple[str, bool]]:
    """A call on a stream waits for what is queued there: its input is NaN until a long kernel
    before it has finished."""
    inputs = tensors.make(CASE, "cuda")
    expected = attend(inputs)
    values = inputs.q.clone()
    for how in ("current stream", "stream argument"):
        inputs.q.fill_(float("nan"))
        side = torch.cuda.Stream()
        torch.cuda.synchronize()
        with torch.cuda.stream(side):
            torch.cuda._sleep(BUSY_CYCLES)
            inputs.q.copy_(values)
            if how == "current stream":
                out = attend(inputs)
        if how == "stream argument":
            out = attend(inputs, stream=side)
        returned_early = not side.query()
        side.synchronize()
        yield f"{how}: ordered after the work queued there", same_bits(out, expected)
        yield f"{how}: the call returned before that work was done", returned_early


def graphs() -> Iterator[tuple[str, bool]]:
    """A captured call computes from what its inputs hold at each replay."""
    for ragged in (False, True):
        case = CASE
        if ragged:
            case = Case(
                heads=8,
                heads_kv=8,
                lengths_q=(100, 0, 412),
                lengths_k=(100, 0, 412),
                head_dim=64,
                dtype="fp16",
                causal=True,
            )
        inputs = tensors.make(case, "cuda")
        offsets = {"cu_seqlens_q": inputs.cu_seqlens_q, "cu_seqlens_k": inputs.cu_seqlens_k}
        attend(inputs, **offsets)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            out, lse = attend(inputs, return_lse=True, **offsets)
        passed = True
        for seed in (1, 2, 3):
            other = tensors.make(case, "cuda", seed)
            for name in ("q", "k", "v"):
                getattr(inputs, name).copy_(getattr(other, name))
            out.fill_(float("nan"))
            graph.replay()
            torch.cuda.synchronize()
            eager, eager_lse = attend(other, return_lse=True, **offsets)
            passed = passed and same_bits(out, eager) and same_bits(lse, eager_lse)
        yield f"graph captured and replayed with new inputs, {'variable length' if ragged else 'dense'}", passed


def threads(count: int = 2, calls: int = 100) -> Iterator[tuple[str, bool]]:
    """Threads with a stream each get what one thread gets."""
    inputs = [tensors.make(CASE, "cuda", seed) for seed in range(count)]
    expected = [attend(each) for each in inputs]
    torch.cuda.synchronize()
    wrong: list[str] = []

    def work(i: int) -> None:
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                outs = [attend(inputs[i]) for _ in range(calls)]
                torch.cuda.current_stream().synchronize()
            if not all(same_bits(out, expected[i]) for out in outs):
                wrong.append(f"thread {i}: an output differs")
        except Exception as error:  # reported by the main thread
            wrong.append(f"thread {i}: {error}")

    workers = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    yield f"{count} threads, {count} streams, {calls} calls each{''.join(': ' + w for w in wrong)}", not wrong
