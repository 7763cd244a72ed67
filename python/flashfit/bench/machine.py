"""What this machine is, as result files say it: no names of users, hosts or folders."""

from __future__ import annotations

import importlib.util
import os
import platform
import re
from typing import Any

import flashfit

from .._library import library
from . import nvml

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


def management() -> nvml.Nvml:
    """The driver's management library for the GPU that PyTorch uses."""
    import torch

    properties: Any = torch.cuda.get_device_properties(torch.cuda.current_device())
    numbers = [getattr(properties, name, 0) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")]
    return nvml.Nvml(f"{numbers[0]:08x}:{numbers[1]:02x}:{numbers[2]:02x}.0")


def gpu() -> dict[str, Any]:
    """`machine.gpu` of a result file."""
    import torch

    facts = flashfit.gpus()
    index = torch.cuda.current_device()
    properties: Any = torch.cuda.get_device_properties(index)
    driver = management()
    return {
        "name": properties.name,
        "compute_capability": f"{properties.major}.{properties.minor}",
        "sms": properties.multi_processor_count,
        "memory_bytes": properties.total_memory,
        "l2_bytes": getattr(properties, "L2_cache_size", None),
        "driver": facts["driver"],
        "driver_cuda": facts["cuda"],
        "clock_max_mhz": driver.clock_max_mhz(nvml.SM),
        "memory_clock_max_mhz": driver.clock_max_mhz(nvml.MEMORY),
        "power_limit_w": driver.power_limit_w(),
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
