"""Result files out of thin air, as both harnesses write them (docs/results.md): a GPU with peers, a CPU without
ceilings, cases that are wrong and peers that decline."""

from __future__ import annotations

import random
import statistics
from typing import Any

Json = dict[str, Any]

TENSOR_TFLOPS = {"fp16": 755.0, "bf16": 748.0}
EXP_G_PER_S = 4180.0
MEMORY_GB_PER_S = 4310.0
# How much of its bound each reaches, and what it cannot do.
PEERS = {"sdpa-flash": 0.52, "sdpa-cudnn": 0.74, "sdpa-efficient": 0.38, "flash-attn-3": 0.79}


class Maker:
    def __init__(self, seed: int = 1, repeats: int = 30) -> None:
        self.random = random.Random(seed)
        self.repeats = repeats

    def times(self, us: float, noise: float = 0.01) -> Json:
        samples = [round(us * max(0.5, self.random.gauss(1, noise)), 4) for _ in range(self.repeats)]
        ordered, tail = sorted(samples), self.repeats // 3
        return {
            "samples_us": samples,
            "median_us": statistics.median(samples),
            "interval_us": [ordered[tail], ordered[-1 - tail]],
        }

    def case(self, group: str, need: str, problem: Json, peers: dict[str, float] | None, reach: float) -> Json:
        d, q, k = problem["head_dim"], problem["seqlen_q"], problem["seqlen_k"]
        heads, pairs = problem["heads_q"], problem["batch"] * problem["heads_q"] * q * k
        if problem["causal"]:
            pairs = pairs * (q + 1) // (2 * q)
        flop, moved = 4.0 * pairs * d, 2.0 * problem["batch"] * d * (2 * q * heads + 2 * k * problem["heads_kv"])
        bounds = {
            "tensor": flop / TENSOR_TFLOPS[problem["dtype"]] / 1e6,
            "exp": pairs / EXP_G_PER_S / 1e3,
            "memory": moved / MEMORY_GB_PER_S / 1e3,
        }
        bound, binds = max((us, name) for name, us in bounds.items())
        launch = 3.0  # µs that no kernel is below
        made = self.times(bound / reach + launch)
        kv = "" if heads == problem["heads_kv"] else f"/{problem['heads_kv']}"
        shape = f"B{problem['batch']} S{q}" + (f"x{k}" if q != k else "")
        name = f"{group}/{shape} H{heads}{kv} D{d} {problem['dtype']}{' causal' if problem['causal'] else ''}"
        error_bound = self.random.uniform(0.8, 1.3) * (1e-3 if problem["dtype"] == "fp16" else 8e-3)
        case = {
            "name": name,
            "group": group,
            "stands_for": need,
            "problem": problem,
            "work": {"flop": flop, "exp": float(pairs), "bytes": moved},
            "bound_us": {**bounds, "binds": binds},
            "correct": True,
            "error": error_bound * self.random.uniform(0.1, 0.7),
            "error_bound": error_bound,
            "variant": f"fwd_wgmma_{problem['dtype']}_d{d}_128x128_w4_s2_b2",
            "launch": "graph",
            **made,
            "clock_mhz": {"median": 1755.0, "low": 1710.0, "high": 1980.0},
            "throttled": [],
            "share": bound / made["median_us"],
        }
        if peers is not None:
            case["peers"] = {peer: self.peer(made, bound / of + launch) for peer, of in peers.items()}
        return case

    def peer(self, ours: Json, us: float) -> Json:
        theirs = self.times(us)
        ratio = theirs["median_us"] / ours["median_us"]
        spread = self.random.uniform(0.003, 0.012)
        return {
            "correct": True,
            **theirs,
            "error": 1e-3,
            "ratio": ratio,
            "ratio_interval": [ratio * (1 - spread), ratio * (1 + spread)],
        }


def problem(**changes: Any) -> Json:
    base = {
        "dtype": "bf16",
        "head_dim": 128,
        "heads_q": 16,
        "heads_kv": 16,
        "causal": False,
        "memory": "contiguous",
        "softmax_scale": 0.0883883,
        "batch": 8,
        "seqlen_q": 2048,
        "seqlen_k": 2048,
    }
    return {**base, **changes}


def profile(us: float) -> Json:
    """As --profile writes it."""
    stalls = {"wait": 1.25, "barrier": 0.5, "long_scoreboard": 0.0625, "math_pipe_throttle": 2.5}
    counted = {
        "gpu__time_duration.sum": {"value": round(1e3 * us), "unit": "ns"},
        "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed": {"value": 61.5, "unit": "%"},
        "dram__throughput.avg.pct_of_peak_sustained_elapsed": {"value": 4.25, "unit": "%"},
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": {"value": 1234, "unit": ""},
    }
    for name, warps in stalls.items():
        metric = f"smsp__average_warps_issue_stalled_{name}_per_issue_active.ratio"
        counted[metric] = {"value": warps, "unit": "inst"}
    model = {"us": 0.9 * us, "bound": "tensor", "blocks_per_sm": 2, "registers_per_thread": 168}
    return {"by": "ncu 2025.3.1.0", "ncu": counted, "model": model}


def declined(message: str) -> Json:
    return {"correct": False, "message": message}


def gpu_run(seed: int = 1, slowdown: float = 1.0) -> Json:
    """An H200 beside four others."""
    make = Maker(seed)
    cases = []
    for causal in (False, True):
        for d in (32, 64, 128):
            for s in (512, 1024, 2048, 4096, 8192, 16384):
                reach = {32: 0.62, 64: 0.7, 128: 0.78}[d] * (0.86 if causal else 1) / slowdown
                p = problem(
                    head_dim=d,
                    heads_q=2048 // d,
                    heads_kv=2048 // d,
                    batch=16384 // s,
                    seqlen_q=s,
                    seqlen_k=s,
                    causal=causal,
                )
                cases.append(make.case("grid", "training and prefill: 16k tokens in all", p, PEERS, reach))
    for s in (512, 2048, 16384):
        p = problem(heads_kv=4, batch=16384 // s, seqlen_q=s, seqlen_k=s, causal=True)
        cases.append(make.case("grid", "prefill of models with grouped heads", p, PEERS, 0.66 / slowdown))
    for k in (1024, 8192, 65536):
        p = problem(heads_q=32, heads_kv=8, batch=1, seqlen_q=1, seqlen_k=k)
        cases.append(
            make.case("decode", "generation: a few new tokens against the keys so far", p, PEERS, 0.12 / slowdown)
        )
    for b in (1, 2, 4):
        p = problem(dtype="fp16", head_dim=64, heads_q=8, heads_kv=8, batch=b, seqlen_q=512, seqlen_k=512)
        cases.append(make.case("origin", "the shapes that field reports gave", p, PEERS, 0.3 / slowdown))
    for case in cases:
        if case["problem"]["head_dim"] == 32:
            case["peers"]["flash-attn-3"] = declined(
                "head_dim 32: FlashAttention-3 has 64, 96, 128, 192 and 256 <alone>"
            )
        case["peers"]["sageattention"] = declined("no module named 'sageattention'")
    wrong = make.case("wild", "what nobody thought of", problem(seqlen_q=333, seqlen_k=333, heads_kv=2), PEERS, 0.5)
    for key in ("samples_us", "median_us", "interval_us", "share"):
        del wrong[key]
    wrong.update(
        correct=False,
        message="error 0.31 at [0, 17, 3, 5]: above 0.0081 </script><script>alert(1)</script>",
        error=0.31,
    )
    wrong["peers"] = {"sdpa-flash": declined("not tried: flashfit was wrong")}
    cases.append(wrong)
    cases[5]["throttled"] = ["SwPowerCap"]
    cases[2]["profile"] = profile(cases[2]["median_us"])
    cases[3]["profile"] = {"message": "ncu counted nothing of the kernel"}
    return run(cases, complete=True)


def cpu_run(seed: int = 2) -> Json:
    """A machine without a GPU, interrupted."""
    make = Maker(seed)
    cases = []
    for s in (128, 256, 512):
        case = make.case(
            "origin",
            "the shapes that field reports gave",
            problem(dtype="fp16", head_dim=64, batch=1, seqlen_q=s, seqlen_k=s),
            None,
            0.001,
        )
        case["peers"] = {"sdpa-flash": make.peer(case, case["median_us"] * 0.97)}
        case.update(launch="host", clock_mhz=None, variant=None, bound_us=None, share=None, error=0.0)
        cases.append(case)
    made = run(cases, complete=False)
    made["machine"].update(gpu=None, cpu="AMD EPYC 9354 <32 cores>", cores=8)
    made["method"].update(l2="warm", clock="host", noise={"half_width": 0.02, "how": "a case beside itself"})
    made["ceilings"] = None
    return made


def run(cases: list[Json], complete: bool) -> Json:
    ceiling = {"samples": [1.0, 2.0], "model": None}
    return {
        "schema": 1,
        "made": {
            "at": "2026-11-21T20:00:00Z",
            "command": "flashfit bench --json h200.json",
            "flashfit": "0.2.0",
            "revision": "d6c75e9",
            "seconds": 412.5,
            "complete": complete,
        },
        "machine": {
            "system": "Linux 6.1",
            "cpu": "Intel Xeon",
            "cores": 16,
            "gpu": {
                "name": "NVIDIA H200",
                "compute_capability": "9.0",
                "sms": 132,
                "memory_bytes": 150754820096,
                "driver": "580.159.04",
                "driver_cuda": "13.0",
                "clock_max_mhz": 1980,
                "memory_clock_max_mhz": 3201,
                "power_limit_w": 700.0,
            },
        },
        "versions": {"python": "3.12.3", "torch": "2.11.0+cu130", "flash-attn-3": "0.0.1"},
        "method": {
            "warmup": 10,
            "repeats": 30,
            "l2": "flushed",
            "clock": "events",
            "noise": {"half_width": 0.004, "ratio": 1.0002, "how": "a case beside itself, interleaved, 30 rounds"},
        },
        "ceilings": {
            "tensor_tflops": {name: {"value": value, **ceiling} for name, value in TENSOR_TFLOPS.items()},
            "exp_g_per_s": {"value": EXP_G_PER_S, **ceiling},
            "memory_gb_per_s": {"value": MEMORY_GB_PER_S, **ceiling},
        },
        "cases": cases,
    }
