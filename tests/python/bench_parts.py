"""What the tests of flashfit.bench share: small cases, peers that are made up, a GPU that is none."""

from __future__ import annotations

from typing import Any, Callable

from flashfit.bench import timing
from flashfit.bench.arrays import Inputs, NumPyArrays
from flashfit.bench.cases import Case, of_json
from flashfit.bench.parts import Method
from flashfit.bench.peers import CannotError, Peer


def case(name: str = "origin/small", lengths: tuple[int, ...] | None = None, **given: Any) -> Case:
    """A case of the expanded list; `given` are keys of its problem, or of itself."""
    problem = {"dtype": "fp16", "head_dim": 32, "heads_q": 2, "heads_kv": 2, "causal": False, "memory": "contiguous"}
    entry = {"name": name, "group": name.split("/")[0], "stands_for": "a test", "timed": True, "tolerance": 2}
    rows: dict[str, Any] = {"batch": 2, "seqlen_q": 40, "seqlen_k": 40}
    if lengths is not None:
        rows = {"lengths_q": list(lengths), "lengths_k": list(lengths)}
    for key, value in given.items():
        (entry if key in entry else problem if key in problem else rows)[key] = value
    problem["softmax_scale"] = problem["head_dim"] ** -0.5  # type: ignore[operator]
    return of_json({**entry, "problem": {**problem, **rows}, "work": {"flop": 1e6, "exp": 1e4, "bytes": 1e5}})


class MadeUp(Peer):
    """flashfit under another name, after which `spoil` is called."""

    package = "made-up"

    def __init__(self, name: str, spoil: Callable[[Any], Any] = lambda out: out) -> None:
        self.name = name
        self.calls = 0
        self._spoil = spoil

    def missing(self, device: str) -> str:
        return ""

    def prepare(self, case: Case, inputs: Inputs) -> Callable[[], Any]:
        import flashfit

        def call() -> Any:
            self.calls += 1
            offsets: dict[str, Any] = {"cu_seqlens_q": inputs.cu_seqlens_q, "cu_seqlens_k": inputs.cu_seqlens_k}
            scale = case.softmax_scale
            out = flashfit.attention(inputs.q, inputs.k, inputs.v, causal=case.causal, softmax_scale=scale, **offsets)
            return self._spoil(out)

        return call


class Refusing(MadeUp):
    """Says that it cannot."""

    def prepare(self, case: Case, inputs: Inputs) -> Callable[[], Any]:
        raise CannotError(f"no {case.dtype} here")


def method(*peers: Peer, repeats: int = 6) -> Method:
    return Method(NumPyArrays(), peers, repeats=repeats, warmup=1)


class AGpu:
    """A gpu.Device that times on the host; it cannot capture what `cannot` says, and answers while `works`."""

    flushes = False
    l2_bytes = 50_000

    def __init__(self, cannot: Any = None) -> None:
        self.torch = self.cuda = self
        self.cannot = cannot
        self.works = True

    def synchronize(self) -> None:
        if not self.works:
            raise RuntimeError("an illegal memory access was encountered")

    def empty_cache(self) -> None: ...

    def ceilings(self) -> dict[str, Any]:
        ceiling = {"value": 1e3, "samples": [1e3], "model": None}
        return {"tensor_tflops": {"fp16": ceiling}, "exp_g_per_s": None, "memory_gb_per_s": ceiling}

    def clock_mhz(self) -> float:
        return 1500.0

    def graph(self, call: Any) -> Any:
        if call == self.cannot:
            raise RuntimeError("operation not permitted when stream is capturing")
        return self.plain(call)

    def plain(self, call: Any) -> Any:
        timer: Any = timing.HostTimer(call, pause=0)
        timer.host_us = [1.0, 2.0, 3.0]
        return timer


def on_a_gpu(*peers: Any, ceiling: float = 1e3, gpu: AGpu | None = None) -> Any:
    found = method(*peers, repeats=3)
    found.gpu, found.throttled = gpu or AGpu(), lambda: {"power cap"}
    tensor = {"fp16": {"value": ceiling}}
    found.ceilings = {"tensor_tflops": tensor, "exp_g_per_s": None, "memory_gb_per_s": {"value": 1e2}}
    found.variant = lambda case: "fwd_x"
    return found
