"""GPU memory, and times on the GPU, through nothing but the driver: for machines with a GPU and without PyTorch.

All of it lives in the primary context of GPU 0, the one that PyTorch and the CUDA runtime use too.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
from collections.abc import Iterator
from ctypes import byref, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_ushort, c_void_p
from functools import cache
from typing import Any, Callable

import flashfit
import numpy as np

Array = np.ndarray[Any, Any]
POISON = 0xFFFF  # in every 2 bytes: NaN in fp16 and fp32, -1 in int32
NON_BLOCKING = 1  # CU_STREAM_NON_BLOCKING
RELAXED = 2  # CU_STREAM_CAPTURE_MODE_RELAXED: what the collector frees meanwhile does not end a capture
SAMPLE_SECONDS = 300e-6  # a sample holds as many calls as fill this, so that the events' resolution does not count
MOST_CALLS = 50  # of a sample


@cache
def _driver() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise flashfit.NoGpu(f"libcuda.so.1 does not load: {error}") from error


def driver_call(name: str, *arguments: Any) -> None:
    """A function of the driver. Arguments are ctypes objects, so that each has the width that cuda.h gives it."""
    code = getattr(_driver(), name)(*arguments)
    if code:
        text = ctypes.c_char_p()
        _driver().cuGetErrorName(c_int(code), byref(text))
        raise flashfit.CudaError(f"{name}: {(text.value or b'unknown error').decode()} ({code})")


@cache
def _context() -> c_void_p:
    device, context = c_int(), c_void_p()
    driver_call("cuInit", c_uint(0))
    driver_call("cuDeviceGet", byref(device), c_int(0))
    driver_call("cuDevicePrimaryCtxRetain", byref(context), device)
    return context


def use_gpu() -> None:
    """Makes GPU 0's primary context this thread's current one."""
    driver_call("cuCtxSetCurrent", _context())


class CudaArray:
    """Row-major memory on GPU 0, freed with the object. Copies wait for all work of the GPU before them."""

    def __init__(self, shape: tuple[int, ...], dtype: Any) -> None:
        self._address = c_ulonglong()  # first, so that an object whose allocation fails can be finalised
        self.shape = shape
        self.dtype = np.dtype(dtype)
        self.nbytes = math.prod(shape) * self.dtype.itemsize
        use_gpu()
        driver_call("cuMemAlloc_v2", byref(self._address), c_size_t(max(self.nbytes, 1)))

    @classmethod
    def workspace(cls) -> Callable[[int], CudaArray]:
        """What flashfit.attention(workspace=) takes: memory made when a call first needs so much, and kept for what is
        queued. For calls on one stream, which share it."""
        made: list[CudaArray] = []

        def at_least(count: int) -> CudaArray:
            if not made or made[-1].nbytes < count:
                made.append(cls((count,), np.uint8))
            return made[-1]

        return at_least

    @classmethod
    def of(cls, array: Array) -> CudaArray:
        """A copy of a NumPy array."""
        made = cls(array.shape, array.dtype)
        source = np.ascontiguousarray(array)
        if made.nbytes:
            driver_call("cuMemcpyHtoD_v2", made._address, c_void_p(source.ctypes.data), c_size_t(made.nbytes))
        return made

    @classmethod
    def repeating(cls, shape: tuple[int, ...], values: Array) -> CudaArray:
        """`values` again and again, the copies made on the GPU."""
        made = cls(shape, values.dtype)
        source = np.ascontiguousarray(values)
        done = min(source.nbytes, made.nbytes)
        if done:
            driver_call("cuMemcpyHtoD_v2", made._address, c_void_p(source.ctypes.data), c_size_t(done))
        while done < made.nbytes:
            more = min(done, made.nbytes - done)  # what is there is whole repetitions
            driver_call("cuMemcpyDtoD_v2", made._at(done), made._address, c_size_t(more))
            done += more
        driver_call("cuCtxSynchronize")
        return made

    @classmethod
    def poisoned(cls, shape: tuple[int, ...], dtype: Any) -> CudaArray:
        """Full of POISON: what a kernel does not write shows."""
        made = cls(shape, dtype)
        if made.nbytes:
            driver_call("cuMemsetD16_v2", made._address, c_ushort(POISON), c_size_t(made.nbytes // 2))
            driver_call("cuCtxSynchronize")  # unlike a copy from the host, it may still run when its call returns
        return made

    def numpy(self) -> Array:
        """A copy on the host."""
        return self.rows(0, self.shape[0])

    def rows(self, start: int, stop: int) -> Array:
        """A copy on the host of self[start:stop], a part of the first dimension."""
        use_gpu()
        driver_call("cuCtxSynchronize")
        array = np.empty((stop - start, *self.shape[1:]), self.dtype)
        if array.nbytes:
            offset = start * (array.nbytes // (stop - start))
            driver_call("cuMemcpyDtoH_v2", c_void_p(array.ctypes.data), self._at(offset), c_size_t(array.nbytes))
        return array

    def _at(self, offset: int) -> c_ulonglong:
        return c_ulonglong(self._address.value + offset)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self._address.value, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __del__(self) -> None:
        if self._address.value:
            _driver().cuMemFree_v2(self._address)  # its error is an earlier call's, which that call's waiter reports


@contextlib.contextmanager
def made_handle(create: str, destroy: str, *arguments: Any) -> Iterator[c_void_p]:
    """A handle of the driver: what `create` writes, given to `destroy` in the end."""
    handle = c_void_p()
    driver_call(create, byref(handle), *arguments)
    try:
        yield handle
    finally:
        getattr(_driver(), destroy)(handle)


def _event() -> contextlib.AbstractContextManager[c_void_p]:
    return made_handle("cuEventCreate", "cuEventDestroy_v2", c_uint(0))


def _seconds(stream: c_void_p, enqueue: Callable[[], None]) -> float:
    """On the GPU's clock, of what `enqueue` puts on `stream`."""
    elapsed = c_float()
    with _event() as start, _event() as end:
        driver_call("cuEventRecord", start, stream)
        enqueue()
        driver_call("cuEventRecord", end, stream)
        driver_call("cuEventSynchronize", end)
        driver_call("cuEventElapsedTime", byref(elapsed), start, end)
    return elapsed.value * 1e-3


@contextlib.contextmanager
def _captured(stream: c_void_p, call: Callable[[], None], count: int) -> Iterator[c_void_p]:
    """A CUDA graph of `count` calls: the host's part of a call is not timed."""
    graph = c_void_p()
    driver_call("cuStreamBeginCapture_v2", stream, c_int(RELAXED))
    try:
        for _ in range(count):
            call()
    finally:
        driver_call("cuStreamEndCapture", stream, byref(graph))
    try:
        with made_handle("cuGraphInstantiateWithFlags", "cuGraphExecDestroy", graph, c_ulonglong(0)) as ready:
            yield ready
    finally:
        _driver().cuGraphDestroy(graph)


def timed(call: Callable[[int], object], rounds: int) -> list[float]:
    """Seconds of one call on the GPU, `rounds` samples. `call` is given the handle of the stream to use."""
    use_gpu()
    with made_handle("cuStreamCreate", "cuStreamDestroy_v2", c_uint(NON_BLOCKING)) as stream:

        def once() -> None:
            call(stream.value or 0)

        warm = min(_seconds(stream, once) for _ in range(4))
        count = max(1, min(MOST_CALLS, round(SAMPLE_SECONDS / max(warm, 1e-9))))
        with _captured(stream, once, count) as graph:

            def replay() -> None:
                driver_call("cuGraphLaunch", graph, stream)

            for _ in range(2):
                _seconds(stream, replay)
            return [_seconds(stream, replay) / count for _ in range(rounds)]
