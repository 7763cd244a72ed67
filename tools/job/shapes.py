"""Part 2 of the main job: SeedVR2's windows and the origin shapes, on the GPU where there is one, beside PyTorch's SDPA
where PyTorch is there and sees the GPU; else on the CPU backend."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from typing import Any

import flashfit
import numpy as np
from flashfit.bench.progress import Progress

from tools.job import machine
from tools.job.cases import Case, load
from tools.job.proof import Proof, check_case, inputs
from tools.job.show import table


def run(facts: dict[str, Any], proof: Proof) -> list[dict[str, Any]]:
    gpu = machine.gpu_parts(facts)
    return gpu.shapes(proof) if gpu else on_cpu(proof)


def on_cpu(proof: Proof) -> list[dict[str, Any]]:
    """The origin shapes as they are, and one head of SeedVR2's shortest window list."""
    cases = [*load("origin"), one_window()]
    print("flashfit's CPU backend runs the 7 origin shapes and, in fp16, one head of SeedVR2's shortest list.")
    print("Times are medians on this CPU; they say nothing of a GPU. Errors are in part 4.\n")
    progress = Progress(len(cases))
    results: list[dict[str, Any]] = []
    for case in cases:
        progress.step(case.name)
        q, k, v = inputs(case)
        offsets = None if case.lengths_q is None else np.cumsum([0, *case.lengths_q], dtype=np.int32)
        samples = []
        for _ in range(5):
            start = time.perf_counter()
            flashfit.attention(q, k, v, causal=case.causal, cu_seqlens_q=offsets, cu_seqlens_k=offsets)
            samples.append(time.perf_counter() - start)
        check = check_case(case, "CPU", proof)
        median = statistics.median(samples)
        results.append(
            {
                "case": case.name,
                "backend": "CPU",
                "seconds": samples,
                "gflops": case.flop() / median / 1e9,
                "passed": check.passed,
            }
        )
    progress.clear()
    table(
        ["case", "ran on", "median ms", "GFLOP/s", "right"],
        [
            [
                r["case"],
                r["backend"],
                f"{statistics.median(r['seconds']) * 1e3:.2f}",
                f"{r['gflops']:.1f}",
                "yes" if r["passed"] else "NO",
            ]
            for r in results
        ],
    )
    print("\nSeedVR2's window lists, which a GPU would run (3B: 20 heads of 128, bf16):\n")
    table(
        ["windows", "shortest", "longest", "tokens"],
        [[c.label, min(c.lengths_q or ()), max(c.lengths_q or ()), sum(c.lengths_q or ())] for c in load("ragged")],
    )
    return results


def one_window() -> Case:
    """The smallest of SeedVR2's lists, a head of it: ragged, D128."""
    whole = min(load("ragged"), key=lambda case: (sum(case.lengths_q or ()), case.label))
    return replace(whole, heads=1, heads_kv=1, dtype="fp16", label=whole.label)
