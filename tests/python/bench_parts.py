"""What the tests of flashfit.bench share: small cases, peers that are made up, a GPU that is none, runs of the command
and what a schema forbids."""

from __future__ import annotations

import importlib
import json
import signal
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Callable

import pytest
from flashfit.bench import command, timing
from flashfit.bench.arrays import Inputs, NumPyArrays
from flashfit.bench.cases import Case, of_json
from flashfit.bench.parts import Method
from flashfit.bench.peers import CannotError, Peer
from flashfit.bench.results import ResultFile

ROOT = Path(__file__).resolve().parents[2]


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


def _attend(case: Case, inputs: Inputs) -> Any:
    import flashfit

    offsets: dict[str, Any] = {"cu_seqlens_q": inputs.cu_seqlens_q, "cu_seqlens_k": inputs.cu_seqlens_k}
    scale = case.softmax_scale
    return flashfit.attention(inputs.q, inputs.k, inputs.v, causal=case.causal, softmax_scale=scale, **offsets)


class MadeUp(Peer):
    """flashfit under another name, after which `spoil` is called. compute(case, inputs) is flashfit's call."""

    package = "made-up"

    def __init__(
        self,
        name: str,
        spoil: Callable[[Any], Any] = lambda out: out,
        compute: Callable[[Any, Any], Any] = _attend,
    ) -> None:
        self.name = name
        self.calls = 0
        self._spoil, self._compute = spoil, compute

    def missing(self, device: str) -> str:
        return ""

    def prepare(self, case: Any, inputs: Any) -> Callable[[], Any]:
        def call() -> Any:
            self.calls += 1
            return self._spoil(self._compute(case, inputs))

        return call


class Refusing(MadeUp):
    """Says that it cannot."""

    def prepare(self, case: Any, inputs: Any) -> Callable[[], Any]:
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

    def make_room(self, at_once: bool = False) -> None: ...

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


def runner(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> Callable[..., tuple[int, Any]]:
    """`python -m flashfit.bench` with these options on a CPU; given more of them, its status and the file, or None."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    path = folder / "result.json"

    def run(*words: str) -> tuple[int, Any]:
        status = command.main(["--device", "cpu", *options, "--json", str(path), *words])
        return status, json.loads(path.read_text(encoding="utf-8")) if path.exists() else None

    return run


def faults(result: Any, schema: str) -> list[str]:
    """What a file's schema, such as "docs/results.schema.json", does not allow in it."""
    jsonschema, referencing = (importlib.import_module(name) for name in ("jsonschema", "referencing"))
    draft: Any = importlib.import_module("referencing.jsonschema").DRAFT202012
    base, asked = (
        json.loads((ROOT / name).read_text(encoding="utf-8")) for name in ("docs/results.schema.json", schema)
    )
    resource = referencing.Resource.from_contents(base, default_specification=draft)
    registry = referencing.Registry().with_resource("results.schema.json", resource)
    found = jsonschema.Draft202012Validator(asked, registry=registry).iter_errors(
        json.loads(json.dumps(result, allow_nan=False))
    )
    return [f"{'/'.join(map(str, error.absolute_path))}: {error.message}" for error in found]


def file_of(operation: Any, *cases: Any) -> Any:
    """A result file of another operation than attention, as if a GPU had given these cases."""
    gpu = {"name": "A GPU", "compute_capability": "9.0", "sms": 132}
    machine = {"system": "Linux", "cpu": "a CPU", "cores": 2, "gpu": gpu}
    result = ResultFile(None, "a test", machine, {}, operation.schema)
    result.content["method"] = {"warmup": 1, "repeats": 3, "l2": "warm", "clock": "events", "noise": None}
    result.cases.extend(cases)
    return result.content


#: What no file of such an operation may have.
DAMAGES: list[Callable[[Any], Any]] = [
    lambda result: result.update(schema=1),
    lambda result: result["made"].pop("complete"),
    lambda result: result["cases"][0].update(group="grid"),
    lambda result: result["cases"][0]["problem"].pop("dtype"),
    lambda result: result["cases"][0]["problem"].update(head_dim=64),
    lambda result: result["cases"][0].update(share=1.2),
    lambda result: result["cases"][0].update(correct=False),
    lambda result: result["cases"][0]["peers"]["good"].update(ratio_interval=[1.0]),
    lambda result: result["cases"][0]["samples_us"].append(-1.0),
]


def expect_seen(content: Any, schema: str, damages: Sequence[Callable[[Any], Any]]) -> None:
    """That the schema allows `content`, whose first case has the peers good and wrong, and none of the damages."""
    entry = content["cases"][0]
    assert (entry["correct"], entry["launch"], entry["bound_us"]["binds"]) == (True, "graph", "memory")
    assert [peer["correct"] for peer in entry["peers"].values()] == [True, False]
    assert faults(content, schema) == []
    for damage in damages:
        broken = deepcopy(content)
        damage(broken)
        assert faults(broken, schema), "nothing found"


def expect_no_times(entry: Any, said: str) -> None:
    """That a peer whose results are wrong has a message with `said`, and no times."""
    assert not entry["correct"]
    assert said in entry["message"]
    assert not {"samples_us", "ratio"} & set(entry)


def expect_wrong(entry: Any) -> None:
    """That a case which flashfit gets wrong has neither times nor peers."""
    assert not entry["correct"]
    assert not {"samples_us", "median_us", "peers"} & set(entry)


def expect_one_line(ran: tuple[int, Any], error: str, said: str) -> None:
    """That wrong use ended with status 2, no file and one line that begins so."""
    assert ran == (2, None)
    assert error.startswith(said)
    assert error.count("\n") == 1
