"""The C API in contexts of GPU 1 that no PyTorch made: memory, streams and contexts through the driver alone."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from ctypes import byref, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

import numpy as np
from flashfit._frames import frames_attend
from flashfit._library import library
from flashfit._tensors import CPU, CUDA, FLOAT, Memory, row_major

from tools.job.cuda_array import NON_BLOCKING, driver_call, made_handle

Checks = Iterator[tuple[str, bool]]
SHAPE = (2, 256, 8, 64)


def _attend(places: list[int], device: tuple[int, int], stream: int) -> str:
    """flashfit_attention_run of a dense fp16 problem, which needs no workspace; what it says, "" for nothing."""
    tensors = [Memory(place, *device, FLOAT, 16, SHAPE, row_major(SHAPE)) for place in places]
    status = frames_attend(*tensors, None, None, None, 0, 0.0, stream, None, False)
    return str(library().error(status)) if status > 0 else "" if status == 0 else f"status {status}"


@contextlib.contextmanager
def _copies(arrays: list[Any]) -> Iterator[list[c_ulonglong]]:
    """The arrays in memory of the context that is current."""
    addresses = [c_ulonglong() for _ in arrays]
    for address, array in zip(addresses, arrays):
        driver_call("cuMemAlloc_v2", byref(address), c_size_t(array.nbytes))
        driver_call("cuMemcpyHtoD_v2", address, c_void_p(array.ctypes.data), c_size_t(array.nbytes))
    yield addresses
    for address in addresses:
        driver_call("cuMemFree_v2", address)


@contextlib.contextmanager
def _left(leave: bool) -> Iterator[None]:
    """Within it no context is current, if so asked; none was made current there either."""
    context, now = c_void_p(), c_void_p()
    driver_call("cuCtxGetCurrent", byref(context))
    if leave:
        driver_call("cuCtxPopCurrent_v2", byref(context))
    yield
    driver_call("cuCtxGetCurrent", byref(now))
    if now.value != (None if leave else context.value):
        raise RuntimeError("another context is current after the call")
    if leave:
        driver_call("cuCtxPushCurrent_v2", context)


def _tried(owner: str, wanted: Any, arrays: list[Any]) -> Checks:
    """Calls in the context that is current, of `owner`."""
    with made_handle("cuStreamCreate", "cuStreamDestroy_v2", c_uint(NON_BLOCKING)) as stream:
        ways = [("current, a stream", False, stream.value or 0), ("current, the default stream", False, 0)]
        ways.append(("not current, a stream", True, stream.value or 0))
        if owner == "the primary context":  # the default stream of no context is of that one
            ways.append(("not current, the default stream", True, 0))
        for how, leave, handle in ways:
            with _copies([*arrays, np.full(SHAPE, np.nan, np.float16)]) as addresses:
                with _left(leave):
                    said = _attend([x.value for x in addresses], (CUDA, 1), handle)
                driver_call("cuCtxSynchronize")
                found = np.empty(SHAPE, np.float16)
                driver_call("cuMemcpyDtoH_v2", c_void_p(found.ctypes.data), addresses[3], c_size_t(found.nbytes))
            near = bool(np.abs(found.astype(np.float32) - wanted.astype(np.float32)).max() < 4e-3)
            yield f"C API on GPU 1, {owner}, {how}{': ' + said if said else ''}", near and not said


def _in_this_thread() -> Checks:
    random = np.random.default_rng(7)
    arrays = [random.standard_normal(SHAPE).astype(np.float16) for _ in range(3)]
    wanted = np.empty(SHAPE, np.float16)
    said = _attend([x.ctypes.data for x in (*arrays, wanted)], (CPU, 0), 0)
    yield f"C API on the CPU, to compare with{': ' + said if said else ''}", not said
    device, context = c_int(), c_void_p()
    driver_call("cuInit", c_uint(0))
    driver_call("cuDeviceGet", byref(device), c_int(1))
    driver_call("cuDevicePrimaryCtxRetain", byref(context), device)
    driver_call("cuCtxPushCurrent_v2", context)
    yield from _tried("the primary context", wanted, arrays)
    driver_call("cuCtxPopCurrent_v2", byref(context))
    driver_call("cuDevicePrimaryCtxRelease_v2", device)
    driver_call("cuCtxCreate_v2", byref(context), c_uint(0), device)
    yield from _tried("a context of the caller's", wanted, arrays)
    driver_call("cuCtxDestroy_v2", context)


def second_gpu() -> Checks:
    """In a thread of its own, in which no context is current."""
    found: list[tuple[str, bool]] = []

    def work() -> None:
        try:
            found.extend(_in_this_thread())
        except Exception as error:  # reported by the caller's thread
            found.append((f"C API on GPU 1: {type(error).__name__}: {error}", False))

    worker = threading.Thread(target=work)
    worker.start()
    worker.join()
    yield from found
