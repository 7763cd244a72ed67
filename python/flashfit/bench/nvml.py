"""What the driver's management library says of a GPU, through ctypes: its limits and why its clocks are held back."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_char_p, c_uint, c_ulonglong, c_void_p
from typing import Any

SM, MEMORY = 1, 2  # NVML_CLOCK_SM, NVML_CLOCK_MEM
#: nvmlClocksEventReason*: those that slow a measurement; idle and the clocks that applications asked for do not.
REASONS = {
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


class Nvml:
    """A GPU by its PCI bus. Where the library, the GPU or a function is missing, every answer is None or nothing."""

    def __init__(self, pci_bus_id: str) -> None:
        self._gpu: c_void_p | None = None
        try:
            self._library: Any = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        gpu = c_void_p()
        if self._library.nvmlInit_v2() == 0:
            found = self._library.nvmlDeviceGetHandleByPciBusId_v2(c_char_p(pci_bus_id.encode()), byref(gpu))
            self._gpu = gpu if found == 0 else None

    def _number(self, function: str, result: Any, *arguments: Any) -> int | None:
        call = getattr(self._library, function, None) if self._gpu else None
        if call is None or call(self._gpu, *arguments, byref(result)):
            return None
        return int(result.value)

    def clock_max_mhz(self, which: int) -> int | None:
        return self._number("nvmlDeviceGetMaxClockInfo", c_uint(), c_uint(which))

    def power_limit_w(self) -> float | None:
        milliwatts = self._number("nvmlDeviceGetEnforcedPowerLimit", c_uint())
        return None if milliwatts is None else milliwatts / 1000

    def throttled(self) -> set[str]:
        bits = self._number("nvmlDeviceGetCurrentClocksThrottleReasons", c_ulonglong()) or 0
        return {what for bit, what in REASONS.items() if bits & bit}
