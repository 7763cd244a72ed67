"""Training steps of layers of experts beside SonicMoE: `python -m tools.gpu.race_steps FILE`, on a GPU with SonicMoE
(bench/sonic_moe.sh). Each must give right gradients of a small layer before it is timed. With QUACK_CACHE_DIR=FOLDER
what SonicMoE compiles stays in FOLDER: a second run compiles nothing, and goes on where a first was cut off.

FILE: {"machine", "torch", "versions", "revision", "checks": [{"check", "passed", "errors"}], "times": [{"model",
"tokens", "step_ms", "step_tflops", "ratios"}]}. Errors are the part's and PyTorch's largest. A step is a forward and a
backward of x, w13, w2 and the logits; of SonicMoE, w13 is in its own order of rows. A ratio is the part's time over
flashfit's, with its 95 % interval: {name: [ratio, low, high]}.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator
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
from flashfit.bench.peers.sonic_moe import SonicMoe, calling, paired  # noqa: E402
from flashfit.bench.session import versions  # noqa: E402

from tools.gpu.compile_ahead import compilers  # noqa: E402
from tools.gpu.expert_gradients import Found, sampled  # noqa: E402
from tools.gpu.experts_by_torch import (  # noqa: E402
    by_torch,
    gradient_errors,
    gradients_of,
    in_double,
    layer,
    routed_by_torch,
)

TOP_K = 2
NAMES = ["router_logits", "x", "w13", "w2"]
#: Model and tokens of the steps.
CELLS = (("Qwen3-30B-A3B", 32768),)


def by_flashfit(x: Any, w13: Any, w2: Any, router_logits: Any) -> Any:
    return flashfit.fused_moe(x, w13, w2, router_logits=router_logits, top_k=TOP_K)


def by_sonicmoe(x: Any, w13: Any, w2: Any, router_logits: Any) -> Any:
    rows = w13.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)
    return calling(SonicMoe().layer(), x, rows, w2, router_logits, TOP_K, backward=True)()


def checks(device: str) -> Iterator[Found]:
    """Each gradient errs by twice PyTorch's error at most, both against fp64."""
    call = {name: x.to(device) for name, x in layer(300, 8, 256, 192, TOP_K, "bfloat16").items() if name in NAMES}
    call["router_logits"] = torch.randn(300, 8, generator=torch.Generator().manual_seed(2)).to(device)
    ids = call["router_logits"].topk(TOP_K).indices
    dout = torch.randn(300, 256, generator=torch.Generator().manual_seed(8)).to(call["x"])

    def plain(router_logits: Any, **others: Any) -> Any:
        weights = routed_by_torch(router_logits, TOP_K, "topk_softmax", True, 1.0, ids)
        return by_torch(**others, topk_weights=weights, topk_ids=ids)

    exact, theirs = (gradients_of(plain, each, dout, NAMES) for each in (in_double(call), call))
    for name, function in (("flashfit", by_flashfit), ("sonic-moe", by_sonicmoe)):
        errors = gradient_errors(gradients_of(function, call, dout, NAMES), theirs, exact)
        yield name, all(own <= 2 * its + 2.0**-24 for own, its in errors.values()), errors


def steps(case: MoeCase, inputs: MoeInputs, names: set[str]) -> dict[str, tuple[Callable[[], Any], ...]]:
    """Of those whose gradients are right, and of PyTorch's grouped products: a forward and a backward."""
    w13 = torch.empty_like(inputs.w13)
    paired(inputs.w13, w13)
    leaves = [x.requires_grad_() for x in (inputs.x, inputs.w13, inputs.w2, inputs.logits)]
    dout = torch.randn_like(inputs.x)
    x, first, second, logits = leaves
    parts: dict[str, tuple[Callable[[], Any], list[Any]]] = {
        "flashfit": (partial(flashfit.fused_moe, x, first, second, router_logits=logits, top_k=case.top_k), leaves),
        "torch-grouped": (TorchGrouped().prepare(case, inputs), leaves),
    }
    if "sonic-moe" in names:
        w13.requires_grad_()
        forward = calling(SonicMoe().layer(), x, w13, second, logits, case.top_k, backward=True)
        parts["sonic-moe"] = forward, [x, w13, second, logits]

    def step(forward: Callable[[], Any], wanted: list[Any]) -> Any:
        return torch.autograd.grad(forward(), wanted, dout)

    right = {name: part for name, part in parts.items() if name in names}
    return {name: (partial(step, forward, wanted),) for name, (forward, wanted) in right.items()}


def timed(case: MoeCase, names: set[str]) -> dict[str, Any]:
    parts = steps(case, MOE.make(TorchArrays("cuda"), case, 0), names)
    with compilers():
        for (step,) in parts.values():
            for _ in range(3):
                step()
    samples = {name: found for (name, _), found in sampled(parts).items()}
    ratios = {name: stats.ratio(found, samples["flashfit"]) for name, found in samples.items() if name != "flashfit"}
    medians = {name: round(statistics.median(found), 4) for name, found in samples.items()}
    return {
        "model": case.name,
        "tokens": case.tokens,
        "step_ms": medians,
        "step_tflops": round(3 * case.work["flop"] / medians["flashfit"] / 1e9, 1),
        "ratios": {name: [ratio.median, ratio.low, ratio.high] for name, ratio in ratios.items()},
    }


def main() -> int:
    path = Path(sys.argv[1])
    found: dict[str, Any] = {"machine": describe("cuda"), "torch": torch.__version__, "revision": revision()}
    found.update(versions=versions([SonicMoe()]), checks=[], times=[])
    with compilers():
        for name, passed, errors in checks("cuda"):
            found["checks"].append({"check": name, "passed": passed, "errors": errors})
            print(f"{'passed' if passed else 'FAILED'}  {name}: {errors}", flush=True)
            path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    right = {each["check"] for each in found["checks"] if each["passed"]} | {"torch-grouped"}
    models = {model.name: model for model in MODELS}
    for name, tokens in CELLS if "flashfit" in right else ():
        found["times"].append(timed(case_of(models[name], tokens, "random"), right))
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
        print(found["times"][-1], flush=True)
        torch.cuda.empty_cache()
    return 0 if all(each["passed"] for each in found["checks"]) else 1


if __name__ == "__main__":
    sys.exit(main())
