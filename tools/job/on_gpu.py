"""The main job's parts that need a GPU and PyTorch: shapes beside SDPA, and the model's attention on the device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import flashfit
import torch
from flashfit.bench import gpu, stats
from flashfit.bench.progress import Progress
from flashfit.bench.timing import interleaved
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

from tools.gpu import tensors
from tools.job.cases import Case, load
from tools.job.proof import Array, Proof
from tools.job.proof import check as held_to_fp64
from tools.job.show import table

ROUNDS = 30
HEADS_HELD_TO_FP64 = 2  # of SeedVR2's 20: fp64 is slow on most GPUs, and heads are alike


def name() -> str:
    return str(torch.cuda.get_device_name())


def attention(q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
    """The model's attention on the GPU; NumPy in, NumPy out."""
    on_device = [torch.from_numpy(x).cuda() for x in (q, k, v, cu_seqlens)]
    out = flashfit.attention(*on_device[:3], cu_seqlens_q=on_device[3], cu_seqlens_k=on_device[3])
    result: Array = out.cpu().numpy()
    return result


def check(case: Case, proof: Proof) -> bool:
    inputs = tensors.make(case, "cuda")
    out = flashfit.attention(inputs.q, inputs.k, inputs.v, **inputs.options(case))
    if case.lengths_q is not None:
        heads = HEADS_HELD_TO_FP64
        case = replace(case, heads=heads, heads_kv=heads)
        inputs = replace(inputs, q=inputs.q[:, :heads], k=inputs.k[:, :heads], v=inputs.v[:, :heads])
        out = out[:, :heads]
    return proof.add(held_to_fp64(case.name, name(), out, inputs.q, inputs.k, inputs.v, inputs.options(case))).passed


def shapes(proof: Proof) -> list[dict[str, Any]]:
    """Every origin shape and window list: held to fp64, then timed beside SDPA. A wrong case is not timed."""
    print(
        "Medians of one interleaved run with 95 % bootstrap intervals, in microseconds; the ratio is PyTorch's time to"
    )
    print("flashfit's. PyTorch: SDPA's flash backend, for windows torch.nn.attention.varlen.varlen_attn.\n")
    cases = [*load("origin"), *load("ragged")]
    progress = Progress(len(cases))
    results: list[dict[str, Any]] = []
    for case in cases:
        progress.step(case.name)
        results.append({"case": case.name, "backend": name(), "passed": False})
        with proof.failing(case.name, name()):
            if check(case, proof):
                results[-1].update(seconds=beside_sdpa(case), passed=True)
    progress.clear()
    table(["case", "flashfit us", "PyTorch us", "ratio", "right"], [row(result) for result in results])
    return results


def sdpa(case: Case, inputs: tensors.Inputs) -> Any:
    """A call of PyTorch's flash attention on the same inputs; of its varlen_attn for variable length."""
    if case.lengths_q is not None and case.lengths_k is not None:
        from torch.nn.attention.varlen import varlen_attn

        longest_q, longest_k = max(case.lengths_q), max(case.lengths_k)
        offsets_q, offsets_k = inputs.cu_seqlens_q, inputs.cu_seqlens_k
        return lambda: varlen_attn(inputs.q, inputs.k, inputs.v, offsets_q, offsets_k, longest_q, longest_k)
    q, k, v = (x.transpose(1, 2) for x in (inputs.q, inputs.k, inputs.v))
    grouped = case.heads != case.heads_kv

    def call() -> Any:
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            out = functional.scaled_dot_product_attention(
                q, k, v, is_causal=case.causal, scale=case.softmax_scale, enable_gqa=grouped
            )
        return out.transpose(1, 2)

    return call


def beside_sdpa(case: Case) -> dict[str, list[float]]:
    inputs = tensors.make(case, "cuda")
    out = torch.empty_like(inputs.q)
    options = inputs.options(case)
    calls = {"flashfit": lambda: flashfit.attention(inputs.q, inputs.k, inputs.v, out=out, **options)}
    peer = sdpa(case, inputs)
    try:
        peer()
        calls["PyTorch"] = peer
    except (ImportError, RuntimeError) as error:
        print(f"PyTorch does not run {case.name}: {str(error).splitlines()[0]}")
    device = gpu.Device(flushed=False)
    samples = interleaved({what: device.graph(call) for what, call in calls.items()}, ROUNDS)
    return {what: [us * 1e-6 for us in found] for what, found in samples.items()}


def row(result: dict[str, Any]) -> list[str]:
    if not result["passed"]:
        return [result["case"], "-", "-", "-", "NO"]
    ours, theirs = result["seconds"]["flashfit"], result["seconds"].get("PyTorch")
    microseconds = [str(stats.bootstrap([s * 1e6 for s in samples])) if samples else "-" for samples in (ours, theirs)]
    return [result["case"], *microseconds, str(stats.ratio(theirs, ours)) if theirs else "-", "yes"]
