"""The CPU backend beside PyTorch's CPU scaled_dot_product_attention, in pairs within one run.

    PYTHONPATH=python python3 bench/cpu_vs_torch.py --threads 2 --json cpu.json

Each repeat times both on the same memory, the one that goes first taking turns; a pause before each lets the other's
threads, which wait by spinning, go to sleep. Printed: medians, and the median of the pairs' ratios (flashfit / PyTorch,
below 1 is faster) with its bootstrapped 95% interval.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import statistics
import sys
import time
from typing import Any, Callable

PAUSE_S = 0.005
RESAMPLES = 2000


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both (default: all CPUs)")
    parser.add_argument("--seqlen", type=int, nargs="+", default=[512, 1024, 2048])
    parser.add_argument("--head-dim", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--dtype", nargs="+", default=["fp32", "bf16", "fp16"], choices=["fp32", "bf16", "fp16"])
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=25, help="pairs a case")
    parser.add_argument("--limit", type=float, help="exit with 1 if a median ratio is above this")
    parser.add_argument("--json", help="also write every time to this file")
    return parser.parse_args()


def machine() -> str:
    """The processor's name."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return f"{names[0] if names else platform.machine()}, {len(names)} CPUs"


def milliseconds(call: Callable[[], object]) -> float:
    """One call's time."""
    time.sleep(PAUSE_S)
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def interval(ratios: list[float]) -> tuple[float, float]:
    """The bootstrapped 95% interval of the median."""
    generator = random.Random(1)
    medians = sorted(statistics.median(generator.choices(ratios, k=len(ratios))) for _ in range(RESAMPLES))
    return medians[int(0.025 * RESAMPLES)], medians[int(0.975 * RESAMPLES)]


def measure(ours: Callable[[], object], theirs: Callable[[], object], repeats: int) -> dict[str, Any]:
    """Times of both in pairs, after one call of each that is not counted."""
    ours(), theirs()
    pairs: list[tuple[float, float]] = []
    for i in range(repeats):
        if i % 2:
            theirs_ms = milliseconds(theirs)
            pairs.append((milliseconds(ours), theirs_ms))
        else:
            ours_ms = milliseconds(ours)
            pairs.append((ours_ms, milliseconds(theirs)))
    ratios = [a / b for a, b in pairs]
    low, high = interval(ratios)
    return {
        "flashfit_ms": statistics.median(a for a, _ in pairs),
        "torch_ms": statistics.median(b for _, b in pairs),
        "ratio": statistics.median(ratios),
        "ratio_95": [low, high],
        "pairs_ms": pairs,
    }


def main() -> int:
    """Measures every case; 1 if --limit was passed."""
    options = arguments()
    os.environ["FLASHFIT_NUM_THREADS"] = str(options.threads)  # read once, at the first call
    import flashfit
    import torch
    import torch.nn.functional as functional

    torch.set_num_threads(options.threads)
    types = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    cases: list[dict[str, Any]] = []
    print(f"{platform.processor() or platform.machine()}, {options.threads} threads, torch {torch.__version__}")
    for dtype in options.dtype:
        for head_dim in options.head_dim:
            for seqlen in options.seqlen:
                for causal in (False, True):
                    shape = (options.batch, seqlen, options.heads, head_dim)
                    q, k, v = (torch.randn(shape).to(types[dtype]) for _ in range(3))
                    out = torch.empty_like(q)
                    views = [x.transpose(1, 2) for x in (q, k, v)]

                    def ours(q: Any = q, k: Any = k, v: Any = v, out: Any = out, causal: bool = causal) -> object:
                        return flashfit.attention(q, k, v, causal=causal, out=out)

                    def theirs(views: Any = views, causal: bool = causal) -> object:
                        q, k, v = views
                        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)

                    result = measure(ours, theirs, options.repeats)
                    case = {"dtype": dtype, "shape": shape, "causal": causal, **result}
                    cases.append(case)
                    low, high = result["ratio_95"]
                    print(
                        f"{dtype} D{head_dim:<3} S{seqlen:<4} {'causal' if causal else 'full  '}"
                        f"  flashfit {result['flashfit_ms']:8.2f} ms  torch {result['torch_ms']:8.2f} ms"
                        f"  ratio {result['ratio']:.2f} [{low:.2f}, {high:.2f}]",
                        flush=True,
                    )
    worst = max(float(c["ratio"]) for c in cases)
    print(f"worst median ratio {worst:.2f} of {len(cases)} cases")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            versions = {"flashfit": flashfit.__version__, "torch": torch.__version__}
            json.dump({"machine": machine(), "threads": options.threads, **versions, "cases": cases}, file, indent=1)
    return int(options.limit is not None and worst > options.limit)


if __name__ == "__main__":
    sys.exit(main())
