"""What this machine is, and what flashfit would run on it and on other GPUs."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import platform
from typing import Any, Protocol

import flashfit
from flashfit.bench.machine import cpu_name

from tools.job.proof import Array, Proof

BESIDE = ("L4", "L40", "H100")
# One problem of each origin: the reports' attention kernel and the widest window list of SeedVR2's 25-frame clip, as a
# batch of equal windows.
PROBLEMS: dict[str, dict[str, Any]] = {
    "fp16 B2 H8 S512 D64 full": {"dtype": "fp16", "batch": 2, "heads_q": 8, "seqlen_q": 512, "head_dim": 64},
    "bf16 B36 H20 S868 D128 full": {"dtype": "bf16", "batch": 36, "heads_q": 20, "seqlen_q": 868, "head_dim": 128},
}


class GpuParts(Protocol):
    """What the main job does on a GPU: a module."""

    def name(self) -> str: ...
    def attention(self, q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array: ...
    def shapes(self, proof: Proof) -> list[dict[str, Any]]: ...


def gpu_parts(facts: dict[str, Any]) -> GpuParts | None:
    """on_gpu where PyTorch can use the GPU, else bare_gpu; None without a GPU."""
    if not facts["gpus"]:
        return None
    parts: GpuParts = importlib.import_module("tools.job.on_gpu" if facts["uses_torch"] else "tools.job.bare_gpu")
    return parts


def torch_sees_gpu() -> bool:
    if not importlib.util.find_spec("torch"):
        return False
    torch: Any = importlib.import_module("torch")
    return bool(torch.cuda.is_available())


def package(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def describe() -> dict[str, Any]:
    """The facts of part 1 and of every result file."""
    return {
        "system": platform.platform(),
        "cpu": f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores for this process",
        "glibc": os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else "none",
        "python": platform.python_version(),
        "torch": package("torch"),
        "numpy": package("numpy"),
        "flashfit": flashfit.__version__,
        **flashfit.gpus(),
    }
