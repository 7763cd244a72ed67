"""Streams, CUDA graphs and threads: calls happen where and when the caller's work does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import flashfit
import torch

from tools.gpu import tensors
from tools.gpu.correctness import same_bits
from tools.job.cases import Case

BUSY_CYCLES = 100_000_000  # about 50 ms of a GPU's clock
CASE = Case(heads=8, heads_kv=8, batch=2, seqlen_q=512, seqlen_k=512, head_dim=64, dtype="fp16", causal=True)
RAGGED = Case(
    heads=8, heads_kv=8, lengths_q=(100, 0, 412), lengths_k=(100, 0, 412), head_dim=64, dtype="fp16", causal=True
)
TOP_K = 8


@dataclass(frozen=True)
class Operation:
    """One of flashfit's operations, as these checks call it."""

    name: str
    make: Callable[[int], tuple[Any, ...]]  # tensors of a seed, all on the GPU
    call: Callable[..., tuple[Any, ...]]  # of those tensors, and of stream=


def logits(seed: int) -> Any:
    """Of 1,000 tokens and 128 experts, fp16."""
    generator = torch.Generator("cuda").manual_seed(seed)
    return torch.randn(1000, 128, generator=generator, device="cuda").half()


def attention_of(name: str, case: Case, return_lse: bool) -> Operation:
    def make(seed: int) -> tuple[Any, ...]:
        made = tensors.make(case, "cuda", seed)
        offsets = () if made.cu_seqlens_q is None else (made.cu_seqlens_q, made.cu_seqlens_k)
        return made.q, made.k, made.v, *offsets

    def call(q: Any, k: Any, v: Any, *offsets: Any, **options: Any) -> tuple[Any, ...]:
        options.update(zip(("cu_seqlens_q", "cu_seqlens_k"), offsets))
        if return_lse:
            return flashfit.attention(q, k, v, causal=True, return_lse=True, **options)
        return (flashfit.attention(q, k, v, causal=True, **options),)

    return Operation(name, make, call)


DENSE = attention_of("attention", CASE, return_lse=False)
WITH_LSE = attention_of("attention with LSE", CASE, return_lse=True)
VARLEN = attention_of("attention of variable length", RAGGED, return_lse=True)
ROUTER = Operation(
    "moe_route", lambda seed: (logits(seed),), lambda x, **options: flashfit.moe_route(x, TOP_K, **options)
)


def alike(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Every result, bit for bit."""
    return all(same_bits(x, y) for x, y in zip(found, wanted))


def poison(results: tuple[Any, ...]) -> None:
    """Fills results with what no call computes."""
    for x in results:
        x.fill_(float("nan") if x.is_floating_point() else -1)


def streams(operations: Sequence[Operation] = (DENSE, ROUTER)) -> Iterator[tuple[str, bool]]:
    """A call on a stream waits for what is queued there: its input is NaN until a long kernel
    before it has finished."""
    for operation in operations:
        inputs = operation.make(0)
        expected = operation.call(*inputs)
        values = inputs[0].clone()
        for how in ("current stream", "stream argument"):
            inputs[0].fill_(float("nan"))
            side = torch.cuda.Stream()
            torch.cuda.synchronize()
            with torch.cuda.stream(side):
                torch.cuda._sleep(BUSY_CYCLES)
                inputs[0].copy_(values)
                if how == "current stream":
                    results = operation.call(*inputs)
            if how == "stream argument":
                results = operation.call(*inputs, stream=side)
            returned_early = not side.query()
            side.synchronize()
            yield f"{operation.name}, {how}: ordered after the work queued there", alike(results, expected)
            yield f"{operation.name}, {how}: the call returned before that work was done", returned_early


def graphs() -> Iterator[tuple[str, bool]]:
    """A captured call computes from what its inputs hold at each replay."""
    for operation in (WITH_LSE, VARLEN, ROUTER):
        inputs = operation.make(0)
        operation.call(*inputs)
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            results = operation.call(*inputs)
        passed = True
        for seed in (1, 2, 3):
            other = operation.make(seed)
            for x, y in zip(inputs, other):
                x.copy_(y)
            poison(results)
            graph.replay()
            torch.cuda.synchronize()
            passed = passed and alike(results, operation.call(*other))
        yield f"{operation.name}: graph captured and replayed with new inputs", passed


class Chain:
    """Calls that read what the kernel before wrote, and write what it read: each begins while that kernel ends."""

    name = "a chain of calls"
    may_be_captured = True

    def __init__(self) -> None:
        self.q, self.k, self.v = DENSE.make(0)
        batch, _, heads, head_dim = self.q.shape
        long = torch.randn(2, batch, 4096, heads, head_dim, device="cuda").half()
        self.long_k, self.long_v = long  # so many keys of one query that they are cut in parts
        hidden = heads * head_dim
        self.w13 = (torch.randn(16, 2 * 256, hidden, device="cuda") / hidden**0.5).half()
        self.w2 = (torch.randn(16, hidden, 256, device="cuda") / 16).half()
        self.a, self.b = torch.empty_like(self.q), torch.empty_like(self.q)
        self.one = torch.empty_like(self.q[:, :1])
        self.layer = torch.empty(batch, hidden, device="cuda").half()
        self.side = torch.cuda.Stream()
        self.first = self.q.clone()

    def reset(self) -> None:
        self.q.copy_(self.first)
        poison((self.a, self.b, self.one, self.layer))

    def run(self, ended: Callable[[], Any]) -> tuple[Any, ...]:
        """Calls `ended` after each kernel. What comes before a call: a copy, a call of flashfit's, a kernel of
        PyTorch's, memory that is cleared, work on another stream, or nothing."""
        attend = flashfit.attention
        attend(self.q, self.k, self.v, causal=True, out=self.a)
        ended()
        attend(self.a, self.k, self.v, causal=True, out=self.b)
        ended()
        attend(self.b, self.k, self.v, out=self.a)
        ended()
        self.b.copy_(self.a)
        ended()
        attend(self.b, self.k, self.v, causal=True, out=self.a)
        ended()
        torch.mul(self.a, 2, out=self.b)
        ended()
        self.one.zero_()
        ended()
        attend(self.b[:, :1], self.long_k, self.long_v, out=self.one)
        ended()
        flashfit.fused_moe(
            self.one.view_as(self.layer), self.w13, self.w2, router_logits=self.one.view_as(self.layer)[:, :16],
            top_k=2, out=self.layer,
        )  # fmt: skip
        ended()
        self.side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.side):
            self.a.mul_(0.5)
        self.b.add_(self.layer.view_as(self.one))
        ended()
        torch.cuda.current_stream().wait_stream(self.side)
        ended()
        attend(self.b, self.a, self.v, out=self.q)
        ended()
        return self.q, self.a, self.b, self.one, self.layer


class Training:
    """A layer's forward and backward: kernels of PyTorch's write x, and the gradient of the output, just before it is
    read, and read what was computed just after. bf16, of which a CUDA graph may capture the backward from Hopper on."""

    name = "a layer's forward and backward"

    @property
    def may_be_captured(self) -> bool:
        return bool(torch.cuda.get_device_capability()[0] >= 9)

    def __init__(self) -> None:
        tokens, hidden, intermediate, experts = 2048, 512, 256, 16

        def make(*shape: int, scale: float = 1) -> Any:
            return (torch.randn(shape, device="cuda") * scale).bfloat16()

        self.tokens, self.gradient = make(tokens, hidden), make(tokens, hidden)
        self.inputs = {
            "x": torch.empty_like(self.tokens),
            "w13": make(experts, 2 * intermediate, hidden, scale=hidden**-0.5),
            "w2": make(experts, hidden, intermediate, scale=intermediate**-0.5),
            "router_logits": make(tokens, experts),
        }
        for tensor in self.inputs.values():
            tensor.requires_grad_()
        self.out, self.dout = torch.empty_like(self.tokens), torch.empty_like(self.tokens)
        self.gradients = [torch.empty_like(tensor) for tensor in self.inputs.values()]

    def reset(self) -> None:
        with torch.no_grad():
            poison((self.inputs["x"], self.out, self.dout, *self.gradients))

    def run(self, ended: Callable[[], Any]) -> tuple[Any, ...]:
        """Calls `ended` after each kernel of PyTorch's and each pass."""
        with torch.no_grad():
            torch.mul(self.tokens, 0.5, out=self.inputs["x"].detach())
        ended()
        out = flashfit.fused_moe(**self.inputs, top_k=4)
        ended()
        torch.mul(out.detach(), 2, out=self.out)
        torch.add(self.gradient, self.out, out=self.dout)
        ended()
        computed = torch.autograd.grad(out, tuple(self.inputs.values()), self.dout)
        ended()
        for kept, gradient in zip(self.gradients, computed):
            torch.mul(gradient, 0.5, out=kept)
        ended()
        return self.out, *self.gradients


def chains(repeats: int = 100) -> Iterator[tuple[str, bool]]:
    """What a chain of calls gives when each waits for the one before, it gives without, and as a graph."""
    for chain in (Chain(), Training()):
        chain.reset()
        results = chain.run(torch.cuda.synchronize)
        wanted = tuple(x.clone() for x in results)

        def same(run: Callable[[], Any], chain: Any = chain, results: Any = results, wanted: Any = wanted) -> bool:
            passed = True
            for _ in range(repeats):
                chain.reset()
                run()
                torch.cuda.synchronize()
                passed = passed and alike(results, wanted)
            return passed

        def run_on(chain: Any = chain) -> None:
            chain.run(lambda: None)

        yield f"{chain.name}, {repeats} times: as with waits between them", same(run_on)
        if not chain.may_be_captured:
            continue
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            run_on()
        yield f"{chain.name} as a graph, {repeats} replays: as with waits between them", same(graph.replay)


def threads(count: int = 2, calls: int = 100) -> Iterator[tuple[str, bool]]:
    """Threads with a stream each get what one thread gets."""
    for operation in (DENSE, ROUTER):
        inputs = [operation.make(seed) for seed in range(count)]
        expected = [operation.call(*each) for each in inputs]
        torch.cuda.synchronize()
        wrong: list[str] = []

        def work(
            i: int, operation: Operation = operation, inputs: Any = inputs, expected: Any = expected, wrong: Any = wrong
        ) -> None:
            try:
                with torch.cuda.stream(torch.cuda.Stream()):
                    found = [operation.call(*inputs[i]) for _ in range(calls)]
                    torch.cuda.current_stream().synchronize()
                if not all(alike(results, expected[i]) for results in found):
                    wrong.append(f"thread {i}: a result differs")
            except Exception as error:  # reported by the main thread
                wrong.append(f"thread {i}: {error}")

        workers = [threading.Thread(target=work, args=(i,)) for i in range(count)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        said = "".join(": " + w for w in wrong)
        yield f"{operation.name}: {count} threads, {count} streams, {calls} calls each{said}", not wrong
