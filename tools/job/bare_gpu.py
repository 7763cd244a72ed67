"""The main job's parts that need a GPU but no PyTorch: NumPy makes the inputs and holds the results."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import Any, Callable

import flashfit
import numpy as np
from flashfit.bench import stats
from flashfit.bench.progress import Progress

from tools.job.cases import Case, load
from tools.job.cuda_array import POISON, CudaArray, timed
from tools.job.proof import Array, Check, Proof, inputs, offsets
from tools.job.proof import check as held_to_fp64
from tools.job.show import paragraph, table

ROUNDS = 30
# Random numbers of a window list, repeated: a list has up to 600 million elements a tensor. A prime larger than the
# longest sequence, so that no two rows of a sequence are alike.
DRAWN = 8_442_883
COPIED = 1 << 26  # bytes of a result that are looked through at once


def name() -> str:
    return str(flashfit.gpus()["gpus"][0]["gpu"])


def attention(q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
    """The model's attention on the GPU; NumPy in, NumPy out."""
    on_device = [CudaArray.of(x) for x in (q, k, v, cu_seqlens)]
    out, workspace = CudaArray.poisoned(q.shape, q.dtype), CudaArray.workspace()
    rows: dict[str, Any] = {"cu_seqlens_q": on_device[3], "cu_seqlens_k": on_device[3]}
    flashfit.attention(*on_device[:3], **rows, out=out, workspace=workspace)
    return out.numpy()


def cases() -> list[Case]:
    return [*load("origin"), *(replace(case, dtype="fp16") for case in load("ragged"))]


@cache
def drawn(seed: int) -> Array:
    numbers: Array = np.random.default_rng(seed).standard_normal(DRAWN, np.float32).astype(np.float16)
    return numbers


def make(case: Case) -> list[CudaArray]:
    """q, k and v: those of the CPU's check, or for windows numbers that are cheap to make."""
    if case.lengths_q is None:
        return [CudaArray.of(x) for x in inputs(case)]
    shape = (sum(case.lengths_q), case.heads, case.head_dim)
    return [CudaArray.repeating(shape, drawn(seed)) for seed in range(3)]


def head_0(x: CudaArray, start: int, stop: int) -> Array:
    return x.rows(start, stop)[None, :, :1]


def parts(case: Case) -> list[tuple[str, Callable[[CudaArray], Array]]]:
    """What of a result is held to fp64, as the check's name and what copies it, [batch, rows, heads, head_dim], from q,
    k, v and out: all of a dense one, of a window list head 0 of the longest and the shortest sequence."""
    if case.lengths_q is None:
        return [(case.name, CudaArray.numpy)]
    starts = np.cumsum([0, *case.lengths_q])
    found: list[tuple[str, Callable[[CudaArray], Array]]] = []
    for which in (max, min):
        length = which(case.lengths_q)
        start = int(starts[case.lengths_q.index(length)])
        what = f"{case.name}, head 0 of {length} tokens"
        found.append((what, partial(head_0, start=start, stop=start + length)))
    return found


def not_written(out: CudaArray) -> int:
    """Elements that are still POISON."""
    rows, count = out.shape[0], 0
    step = max(1, COPIED * rows // max(out.nbytes, 1))
    for start in range(0, rows, step):
        part = out.rows(start, min(start + step, rows))
        count += int(np.count_nonzero(part.view(np.uint16) == POISON))
    return count


def run_case(case: Case, backend: str, proof: Proof) -> list[float] | None:
    """The result held to fp64, then seconds of each sample; None for a wrong result, which is not timed."""
    tensors = make(case)
    out = CudaArray.poisoned(tensors[0].shape, np.float16)
    plain = {"causal": case.causal, "softmax_scale": case.softmax_scale}
    options: dict[str, Any] = {**plain, "out": out, "workspace": CudaArray.workspace()}
    cu_seqlens = offsets(case.lengths_q)
    if cu_seqlens is not None:
        options["cu_seqlens_q"] = options["cu_seqlens_k"] = CudaArray.of(cu_seqlens)
    flashfit.attention(*tensors, **options)
    missing = not_written(out)
    if missing:
        proof.add(Check(case.name, backend, math.nan, 0, message=f"{missing} elements were not written"))
        return None
    right = True
    for what, copy in parts(case):
        result, q, k, v = (copy(x) for x in (out, *tensors))
        right &= proof.add(held_to_fp64(what, backend, result, q, k, v, plain)).passed
    if not right:
        return None
    return timed(lambda stream: flashfit.attention(*tensors, stream=stream, **options), ROUNDS)


def shapes(proof: Proof) -> list[dict[str, Any]]:
    """Every origin shape and window list: held to fp64, then timed. A wrong case is not timed."""
    backend = name()
    paragraph(
        f"flashfit on the {backend}, without PyTorch. Medians with 95 % bootstrap intervals. SeedVR2 computes in bf16; "
        "here its window lists are fp16, as NumPy and __cuda_array_interface__ have no bf16. fp64 on a CPU is slow: of "
        "a window list head 0 of its longest and its shortest sequence are held to it, and every element must have "
        "been written."
    )
    print()
    todo = cases()
    progress = Progress(len(todo))
    results: list[dict[str, Any]] = []
    for case in todo:
        progress.step(case.name)
        results.append({"case": case.name, "backend": backend, "passed": False})
        with proof.failing(case.name, backend):
            seconds = run_case(case, backend, proof)
            if seconds is not None:
                tflops = case.flop() / stats.bootstrap(seconds).median / 1e12
                results[-1].update(passed=True, seconds={"flashfit": seconds}, tflops=tflops)
    progress.clear()
    table(["case", "flashfit us", "TFLOP/s", "right"], [row(result) for result in results])
    return results


def row(result: dict[str, Any]) -> list[str]:
    if not result["passed"]:
        return [result["case"], "-", "-", "NO"]
    microseconds = stats.bootstrap([s * 1e6 for s in result["seconds"]["flashfit"]])
    return [result["case"], str(microseconds), f"{result['tflops']:.1f}", "yes"]
