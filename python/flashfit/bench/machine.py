"""What this machine is, as result files say it: no names of users, hosts or folders."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from typing import Any

import flashfit

from .._library import library

_PATH = re.compile(r"(?<![\w.:])/(?:[^\s'\":,;()/]+/)+")


def without_folders(text: str) -> str:
    """A message without the folders of its paths, which are nobody else's business."""
    return _PATH.sub("", text)


def cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def sees_gpu() -> bool:
    """Whether both flashfit and PyTorch can use a GPU here."""
    if not flashfit.gpus()["gpus"] or not importlib.util.find_spec("torch"):
        return False
    import torch

    return bool(torch.cuda.is_available())


def revision() -> str | None:
    """Of what the library was made from, as its build wrote beside it; None of an installed one."""
    try:
        return (library().path.resolve().parent / "revision").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def used_gpu() -> dict[str, Any]:
    """What flashfit.gpus() has of the GPU that PyTorch uses; nothing where the driver could not read that one."""
    import torch

    index = torch.cuda.current_device()
    return next((gpu for gpu in flashfit.gpus()["gpus"] if gpu["index"] == index), {})


def throttled() -> set[str]:
    """Why the GPU's clocks are held back just now."""
    return set(used_gpu().get("throttled", ()))


def gpu() -> dict[str, Any]:
    """`machine.gpu` of a result file."""
    import torch

    facts, used = flashfit.gpus(), used_gpu()
    properties: Any = torch.cuda.get_device_properties(torch.cuda.current_device())
    return {
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "sms": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "driver": facts["driver"],
        "driver_cuda": facts["cuda"],
        **{key: used.get(key) for key in ("clock_max_mhz", "memory_clock_max_mhz", "power_limit_w")},
    }


def describe(device: str) -> dict[str, Any]:
    """`machine` of a result file. The kernel's release stays out: some name the host in it."""
    glibc = " ".join(platform.libc_ver()).strip()
    return {
        "system": f"{platform.system()} {platform.machine()}, {glibc or 'C library unknown'}",
        "cpu": cpu_name(),
        "cores": len(os.sched_getaffinity(0)),
        "gpu": gpu() if device == "cuda" else None,
    }
