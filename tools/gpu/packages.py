"""Arrays of other packages than torch on the GPU: each gives what torch gives, bit for bit, on its own stream."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from typing import Any, Callable

import flashfit
import torch

from tools.gpu import tensors
from tools.gpu.correctness import same_bits
from tools.gpu.ordering import BUSY_CYCLES
from tools.job.cases import Case

CASE = Case(heads=8, heads_kv=2, batch=2, seqlen_q=130, seqlen_k=200, head_dim=64, dtype="fp16", causal=True)
RAGGED = Case(heads=4, heads_kv=4, lengths_q=(3, 0, 130), lengths_k=(70, 0, 60), head_dim=64, dtype="fp16", causal=True)


def _package(name: str) -> Any:
    """The package, None where it is missing or sees no GPU; said so."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        print(f"not run: {name}: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        return None


def _same(package: str, convert: Callable[[Any], Any], back: Callable[[Any], Any]) -> Iterator[tuple[str, bool]]:
    """Dense and ragged calls whose result the package allocates."""
    inputs = tensors.make(CASE, "cuda")
    expected, expected_lse = flashfit.attention(inputs.q, inputs.k, inputs.v, causal=True, return_lse=True)
    q, k, v = (convert(x) for x in (inputs.q, inputs.k, inputs.v))
    out, lse = flashfit.attention(q, k, v, causal=True, return_lse=True)
    same = type(out) is type(q) and same_bits(back(out), expected) and same_bits(back(lse), expected_lse)
    yield f"{package}: dense, with LSE", same
    inputs = tensors.make(RAGGED, "cuda")
    offsets: dict[str, Any] = {"cu_seqlens_q": inputs.cu_seqlens_q, "cu_seqlens_k": inputs.cu_seqlens_k}
    expected = flashfit.attention(inputs.q, inputs.k, inputs.v, causal=True, **offsets)
    q, k, v = (convert(x) for x in (inputs.q, inputs.k, inputs.v))
    for kind, give in (("its own arrays", convert), ("lists", torch.Tensor.tolist)):
        given: dict[str, Any] = {name: give(x) for name, x in offsets.items()}
        out = flashfit.attention(q, k, v, causal=True, **given)
        yield f"{package}: variable length, offsets as {kind}", same_bits(back(out), expected)


def cupy() -> Iterator[tuple[str, bool]]:
    """CuPy arrays."""
    package = _package("cupy")
    if package is None:
        return

    def back(x: Any) -> Any:
        package.cuda.get_current_stream().synchronize()
        return torch.from_dlpack(x)

    yield from _same("CuPy", package.from_dlpack, back)
    inputs = tensors.make(CASE, "cuda")
    expected = flashfit.attention(inputs.q, inputs.k, inputs.v, causal=True)
    q, k, v = (package.from_dlpack(x) for x in (inputs.q, inputs.k, inputs.v))
    stream = package.cuda.Stream(non_blocking=True)
    values = q.copy()
    package.cuda.Device().synchronize()
    for how in ("current stream", "stream argument"):
        q.fill(float("nan"))
        package.cuda.Device().synchronize()
        with torch.cuda.stream(torch.cuda.ExternalStream(stream.ptr)):
            torch.cuda._sleep(BUSY_CYCLES)
        with stream:
            q[...] = values
            if how == "current stream":
                out = flashfit.attention(q, k, v, causal=True)
        if how == "stream argument":
            out = flashfit.attention(q, k, v, causal=True, stream=stream)
        stream.synchronize()
        yield f"CuPy: {how}: ordered after the work queued there", same_bits(torch.from_dlpack(out), expected)


def jax() -> Iterator[tuple[str, bool]]:
    """JAX arrays, whose package orders its work by streams that nobody sees."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # else it takes most of the GPU for good
    package = _package("jax")
    if package is None:
        return
    if package.default_backend() != "gpu":
        print(f"not run: jax: its backend is {package.default_backend()}")
        return

    def convert(x: Any) -> Any:
        return package.numpy.array(package.dlpack.from_dlpack(x.contiguous()))

    yield from _same("JAX", convert, torch.from_dlpack)
    inputs = tensors.make(CASE, "cuda")
    q, k, v = (convert(x) for x in (inputs.q, inputs.k, inputs.v))
    expected = flashfit.attention(*(torch.from_dlpack(x) for x in (q, k, v)), causal=True)
    torch.cuda.synchronize()
    results = [flashfit.attention(q, k, v, causal=True) * 1 for _ in range(20)]
    same = all(same_bits(torch.from_dlpack(x), expected) for x in results)
    yield "JAX: 20 results that its own work reads at once", same


def _scratch(count: int) -> torch.Tensor:
    """A workspace; torch's default stream is the one that such objects are taken to be ready on."""
    return torch.empty(count, dtype=torch.uint8, device="cuda")


def numba() -> Iterator[tuple[str, bool]]:
    """Numba's device arrays, which have __cuda_array_interface__ alone."""
    package = _package("numba.cuda")
    if package is None:
        return
    inputs = tensors.make(CASE, "cuda")
    expected = flashfit.attention(inputs.q, inputs.k, inputs.v, causal=True)
    out = torch.full_like(expected, float("nan"))
    torch.cuda.synchronize()
    q, k, v, written = (package.as_cuda_array(x) for x in (inputs.q, inputs.k, inputs.v, out))
    flashfit.attention(q, k, v, causal=True, out=written, workspace=lambda n: package.as_cuda_array(_scratch(n)))
    torch.cuda.synchronize()
    yield "Numba: dense, into an array that is given", same_bits(out, expected)


class _Exported:
    """A torch tensor that shows DLPack's two methods alone."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.tensor.__dlpack__(**wanted)

    def __dlpack_device__(self) -> Any:
        return self.tensor.__dlpack_device__()


def _exported_scratch(count: int) -> _Exported:
    return _Exported(_scratch(count))


def dlpack() -> Iterator[tuple[str, bool]]:
    """Any object with DLPack's methods; bf16 too."""
    for dtype in (torch.float16, torch.bfloat16):
        inputs = tensors.make(CASE, "cuda")
        q, k, v = (x.to(dtype) for x in (inputs.q, inputs.k, inputs.v))
        expected = flashfit.attention(q, k, v, causal=True)
        out = torch.full_like(expected, float("nan"))
        flashfit.attention(
            *(_Exported(x) for x in (q, k, v)), causal=True, out=_Exported(out), workspace=_exported_scratch
        )
        torch.cuda.synchronize()
        yield f"DLPack alone, {dtype}", same_bits(out, expected)


def all_packages() -> Iterator[tuple[str, bool]]:
    """Every package that is there."""
    for part in (cupy, jax, numba, dlpack):
        yield from part()
