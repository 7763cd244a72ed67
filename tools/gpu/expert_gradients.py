"""Gradients of layers of experts on a GPU: held to fp64, then timed with the forward beside PyTorch's grouped layer:
`python -m tools.gpu.expert_gradients FILE`, which writes FILE again after each part.

FILE: {"machine", "torch", "revision", "checks": [{"check", "passed", "errors"}], "times": [{"model", "tokens",
"forward_ms", "step_ms", "step_peak_gb", "step_tflops", "ratio", "ratio_interval", "ratio_recomputing",
"ratio_recomputing_interval", "kernels_ms"}]}. Errors are flashfit's and PyTorch's largest. Times and peaks are
{"flashfit", "flashfit-recomputing", "torch-grouped"}; a step is a forward and a backward, its peak what it allocates; a
ratio is PyTorch's time of a step over flashfit's. kernels_ms: where one step of flashfit's and of PyTorch's spends its
time on the GPU, {name of a kernel: milliseconds}, the longest first.
"""

from __future__ import annotations

import json
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in (ROOT / "python", ROOT):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import flashfit  # noqa: E402
import torch  # noqa: E402
from flashfit.bench import stats  # noqa: E402
from flashfit.bench.arrays import TorchArrays  # noqa: E402
from flashfit.bench.machine import describe, revision  # noqa: E402
from flashfit.bench.moe import MODELS, MOE, MoeCase, MoeInputs, case_of  # noqa: E402
from flashfit.bench.peers.experts import TorchGrouped  # noqa: E402

from tools.gpu.correctness import same_bits  # noqa: E402
from tools.gpu.experts_by_torch import (  # noqa: E402
    DIFFERENTIATED,
    by_torch,
    differentiable,
    gradient_errors,
    gradients_of,
    in_double,
    layer,
    routed_by_torch,
)

SIZES = {"tokens": 300, "hidden": 256, "between": 192}
LAYOUTS = (("concatenated", False, "output"), ("interleaved", True, "output"), ("concatenated", True, "input"))
ROUNDS = 12
#: Tokens of each model whose step is timed: as many as its weights, their gradients and a peer's leave room for.
TIMED = {"Qwen3-30B-A3B": (4096, 32768), "Mixtral-8x7B": (4096, 16384), "DeepSeek-V3": (4096, 8192)}
Found = tuple[str, bool, dict[str, tuple[float, float]]]


def held(name: str, call: dict[str, Any], names: list[str], plain: Any, ours: Any = flashfit.fused_moe) -> Found:
    """Each gradient errs by twice PyTorch's error at most, both against fp64, and has the same bits in a repeat."""
    x = call["x"]
    dout = torch.randn(*x.shape, generator=torch.Generator().manual_seed(8)).to(x)
    exact, theirs = (gradients_of(plain, each, dout, names) for each in (in_double(call), call))
    mine, again = (gradients_of(ours, call, dout, names) for _ in range(2))
    errors = gradient_errors(mine, theirs, exact)
    right = all(own <= 2 * its + 2.0**-24 for own, its in errors.values())
    return name, right and all(same_bits(mine[each], again[each]) for each in names), errors


def every_layout(device: str) -> Iterator[Found]:
    for dtype in (torch.bfloat16, torch.float16):
        for activation in ("swiglu", "gpt_oss", "geglu_tanh", "geglu_erf", "silu", "relu2"):
            for gate_up, transposed, weight_on in LAYOUTS:
                order = "concatenated" if activation in ("silu", "relu2") else gate_up
                call = differentiable(dtype, activation, order, transposed, weight_on, **SIZES, device=device)
                words = f"{str(dtype)[6:]}, {activation}, {order}{', transposed' * transposed}, weight on {weight_on}"
                yield held(words, call, DIFFERENTIATED, by_torch)


def many_experts(device: str) -> Iterator[Found]:
    """256 experts of which most have no tokens, and NaN as weights; their gradients are zeros."""
    names = ["x", "w13", "w2", "topk_weights"]
    call = layer(tokens=200, experts=256, hidden=128, between=64, top_k=4, dtype="bfloat16", device=device)
    call["topk_ids"] = call["topk_ids"] // 4 * 4
    yield held("256 experts, most without tokens", call, names, by_torch)
    empty = ~torch.isin(torch.arange(256, device=device), call["topk_ids"])
    dout = torch.ones_like(call["x"])
    before = gradients_of(flashfit.fused_moe, call, dout, names)
    call["w13"][empty], call["w2"][empty] = float("nan"), float("nan")
    after = gradients_of(flashfit.fused_moe, call, dout, names)
    unread = all(same_bits(after[name], before[name]) for name in names)
    yield "NaN in experts without tokens", unread and not after["w13"][empty].any(), {}


def routers(device: str) -> Iterator[Found]:
    """Logits of every router that the device has."""
    call = {name: layer(**SIZES, dtype="bfloat16", device=device)[name] for name in ("x", "w13", "w2")}
    call["router_logits"] = torch.randn(300, 8, generator=torch.Generator().manual_seed(2)).to(device)
    for router in ("softmax", "topk_softmax", "sigmoid", "sqrt_softplus"):
        for renormalize in (False, True):
            options: dict[str, Any] = {"router": router, "renormalize": renormalize, "scale": 2.5}
            try:
                ids = flashfit.moe_route(call["router_logits"], 3, **options)[1]
            except flashfit.Misfit:
                continue

            def plain(ids: Any, options: Any, router_logits: Any, **others: Any) -> Any:
                weights = routed_by_torch(router_logits, 3, **options, ids=ids.long())
                return by_torch(**others, topk_weights=weights, topk_ids=ids)

            ours = partial(flashfit.fused_moe, top_k=3, **options)
            words = f"logits through {router}{', renormalized' * renormalize}"
            yield held(words, call, ["router_logits", "x", "w13", "w2"], partial(plain, ids, options), ours)


def recomputed(device: str) -> Iterator[Found]:
    """Where the forward may keep what comes before the activation, it need not."""
    for activation, gate_up, weight_on in (
        ("swiglu", "concatenated", "output"),
        ("gpt_oss", "interleaved", "output"),
        ("swiglu", "concatenated", "input"),
        ("silu", "concatenated", "output"),
    ):
        call = differentiable(torch.bfloat16, activation, gate_up, False, weight_on, **SIZES, device=device)
        words = f"recomputed, {activation}, {gate_up}, weight on {weight_on}"
        yield held(words, call, DIFFERENTIATED, by_torch, partial(flashfit.fused_moe, recompute=True))


def others(device: str) -> Iterator[Found]:
    """A shared expert with a gate, a rank's part, and a graph that is replayed with other choices."""
    call = layer(**SIZES, dtype="bfloat16", device=device)
    gate = torch.randn(256, generator=torch.Generator().manual_seed(3)).to(call["x"]) / 16
    given = {**call, "first": call["w13"][1], "second": call["w2"][1], "gate": gate}

    def plain(first: Any, second: Any, gate: Any, **others: Any) -> Any:
        g, u = (others["x"] @ first.T).chunk(2, dim=-1)
        h = torch.nn.functional.silu(g) * u
        return by_torch(**others) + torch.sigmoid(others["x"] @ gate)[:, None] * (h @ second.T)

    def ours(first: Any, second: Any, gate: Any, **others: Any) -> Any:
        return flashfit.fused_moe(**others, shared=(first, second, gate))

    yield held("a shared expert with a gate", given, ["x", "w13", "first", "second", "gate"], plain, ours)

    def part(x: Any, w13: Any, w2: Any, topk_weights: Any, topk_ids: Any) -> Any:
        """Of experts 2 to 5; what others add is taken as 0."""
        here = (topk_ids >= 2) & (topk_ids < 6)
        weights = torch.where(here, topk_weights, 0)
        return by_torch(x, w13, w2, weights, torch.where(here, topk_ids - 2, 0))

    mine = {**call, "w13": call["w13"][2:6].clone(), "w2": call["w2"][2:6].clone()}
    names = ["x", "w13", "w2"]
    yield held("a part of the experts", mine, names, part, partial(flashfit.fused_moe, experts=(2, 6)))
    if device == "cuda":
        yield "captured, and replayed with other choices", captured(call), {}


def captured(call: dict[str, Any]) -> bool:
    """Needs a GPU whose grouped product asks nothing of the host; elsewhere there is nothing to capture."""
    given = [call[name].clone() for name in ("x", "w13", "w2", "topk_weights", "topk_ids")]
    dout = torch.ones_like(call["x"])
    wanted = [True, True, True, False, False, True]
    backward = partial(torch.ops.flashfit.fused_moe_backward, dout, *given, None, None, wanted)
    if flashfit.fused_moe_explain(experts=8, top_k=2, hidden=256, intermediate=192)[0]["backward"]["by"] == "aten::mm":
        return True
    backward()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = backward()
    for most in (0, 3, 7):  # of the first, one expert has every token
        given[-1].copy_(torch.where(call["topk_ids"] > most, most, call["topk_ids"]))
        graph.replay()
        torch.cuda.synchronize()
        if not all(same_bits(mine, want) for mine, want in zip(found, backward()) if mine.numel()):
            return False
    return True


def checks(device: str = "cuda") -> Iterator[Found]:
    """(name, whether it passed, errors of ours and of PyTorch's) of each."""
    yield from every_layout(device)
    yield from many_experts(device)
    yield from routers(device)
    yield from recomputed(device)
    yield from others(device)


def steps(case: MoeCase, inputs: MoeInputs) -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Of flashfit, of flashfit without keeping the first product, and of PyTorch: a forward that keeps what a backward
    needs, and both."""
    leaves = [x.requires_grad_() for x in (inputs.x, inputs.w13, inputs.w2, inputs.logits)]
    dout = torch.randn_like(inputs.x)

    def ours(recompute: bool) -> Any:
        return flashfit.fused_moe(*leaves[:3], router_logits=inputs.logits, top_k=case.top_k, recompute=recompute)

    def with_backward(forward: Callable[[], Any]) -> Any:
        return torch.autograd.grad(forward(), leaves, dout)

    forwards: dict[str, Callable[[], Any]] = {
        "flashfit": partial(ours, False),
        "flashfit-recomputing": partial(ours, True),
        "torch-grouped": TorchGrouped().prepare(case, inputs),
    }
    return {name: (forward, partial(with_backward, forward)) for name, forward in forwards.items()}


def milliseconds(call: Callable[[], Any]) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    call()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end))


def kernels_of(step: Callable[[], Any]) -> dict[str, float]:
    """The step's kernels and what all launches of each take, milliseconds, from the longest on."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        step()
        torch.cuda.synchronize()
    took: dict[str, float] = {}
    for event in profile.events():
        if "CUDA" in str(event.device_type):
            took[event.name[:100]] = took.get(event.name[:100], 0.0) + event.time_range.elapsed_us() / 1000
    longest = sorted(took.items(), key=lambda each: -each[1])
    return {name: round(ms, 4) for name, ms in longest[:40]}


def sampled(parts: Mapping[str, tuple[Callable[[], Any], ...]]) -> dict[tuple[str, int], list[float]]:
    """Milliseconds of each call of each part, interleaved: a round samples each once, in another order."""
    samples: dict[tuple[str, int], list[float]] = {(name, i): [] for name in parts for i in range(len(parts[name]))}
    order = list(samples)
    for _ in range(ROUNDS):
        random.shuffle(order)
        for name, which in order:
            samples[name, which].append(milliseconds(parts[name][which]))
    return samples


def timed(case: MoeCase) -> dict[str, Any]:
    """Of a forward and of a step of each part."""
    inputs = MOE.make(TorchArrays("cuda"), case, 0)
    parts = steps(case, inputs)
    peaks = {}
    for name, (_, step) in parts.items():
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        step()
        peaks[name] = round((torch.cuda.max_memory_allocated() - before) / 1e9, 3)
        step()
    samples = sampled(parts)
    ratio, recomputing = (
        stats.ratio(samples["torch-grouped", 1], samples[name, 1]) for name in ("flashfit", "flashfit-recomputing")
    )
    medians = {each: round(statistics.median(ms), 4) for each, ms in samples.items()}
    return {
        "model": case.name,
        "tokens": case.tokens,
        "forward_ms": {name: medians[name, 0] for name in parts},
        "step_ms": {name: medians[name, 1] for name in parts},
        "step_peak_gb": peaks,
        "step_tflops": round(3 * case.work["flop"] / medians["flashfit", 1] / 1e9, 1),
        "ratio": ratio.median,
        "ratio_interval": [ratio.low, ratio.high],
        "ratio_recomputing": recomputing.median,
        "ratio_recomputing_interval": [recomputing.low, recomputing.high],
        "kernels_ms": {name: kernels_of(parts[name][1]) for name in ("flashfit", "torch-grouped")},
    }


def main() -> int:
    path = Path(sys.argv[1])
    found: dict[str, Any] = {"machine": describe("cuda"), "torch": torch.__version__, "revision": revision()}
    found.update(checks=[], times=[])

    def write() -> None:
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    for name, passed, errors in checks():
        found["checks"].append({"check": name, "passed": passed, "errors": errors})
        worst = max((mine / its for mine, its in errors.values() if its), default=0.0)
        print(f"{'passed' if passed else 'FAILED'}  {name}: errors to {worst:.2f} of PyTorch's", flush=True)
    write()
    torch.cuda.empty_cache()
    for model in MODELS:
        for tokens in TIMED.get(model.name, ()):
            each = timed(case_of(model, tokens, "random"))
            found["times"].append(each)
            write()
            for key, value in each.items():
                if key == "kernels_ms":
                    value = {name: list(took.items())[:12] for name, took in value.items()}
                print(key, value)
            sys.stdout.flush()
            torch.cuda.empty_cache()
    failed = [each["check"] for each in found["checks"] if not each["passed"]]
    print(f"{len(found['checks']) - len(failed)} of {len(found['checks'])} checks passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
