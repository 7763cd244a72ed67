"""Tensors as NumPy or PyTorch holds them, and those of a case of attention. One class a package."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Callable

import numpy as np

from .._errors import InvalidArgument
from .cases import Case
from .planted import plant

MEMORY = ("contiguous", "packed_qkv", "heads_first", "padded_rows", "unaligned")
#: Elements between rows: what a GPU's fast kernels ask of strides, and what they do not take.
PADDING = {"padded_rows": 8, "unaligned": 1}
NUMPY_DTYPES: dict[str, Any] = {"fp16": np.float16, "fp32": np.float32}
BESIDE: dict[str, str] = {"bool": "bool", "int32": "int32"}  # dtypes that no case is of
SEEN = -0.6745  # three of four normal numbers are above

Array = np.ndarray[Any, Any]


@dataclass
class Inputs:
    """q, k, v and out of a case, [batch, seqlen, heads, head_dim] or [rows, heads, head_dim]; for variable length the
    offsets, too."""

    q: Any
    k: Any
    v: Any
    out: Any
    cu_seqlens_q: Any | None = None
    cu_seqlens_k: Any | None = None
    alibi_slopes: Any | None = None
    sinks: Any | None = None
    bias: Any | None = None  # [batch, heads_q, seqlen_q, seqlen_k], 1 where it is shared
    seqused_k: Any | None = None


class Arrays:
    """How tensors are made, filled and read. The base class fits attention's together, whatever makes them."""

    device = "cpu"
    dtypes: tuple[str, ...]

    def empty(self, shape: Sequence[int], dtype: str) -> Any:
        raise NotImplementedError

    def swapped(self, x: Any) -> Any:
        """Heads and tokens of a dense tensor exchanged, a view."""
        raise NotImplementedError

    def integers(self, values: Sequence[int]) -> Any:
        raise NotImplementedError

    def normal(self, seed: int) -> Callable[[Any, float], None]:
        """What fills one tensor after another with normal random numbers of a standard deviation; of a bool, three of
        four are True."""
        raise NotImplementedError

    def poison(self, x: Any) -> None:
        """Fills what is to be written: with NaN, of integers -1."""
        raise NotImplementedError

    def fill(self, inputs: Inputs, case: Case, seed: int) -> None:
        """New normal random numbers in q, k and v, and NaN in out. Those of sinks and bias are the same for every seed,
        since peers make masks of them beforehand."""
        normal = self.normal(seed)
        for x, size in zip((inputs.q, inputs.k, inputs.v), (case.magnitude, case.magnitude_k, case.magnitude_v)):
            normal(x, size)
        plant(case, inputs.q, inputs.k, inputs.v, self.numbers)
        normal = self.normal(0)
        for x in (inputs.sinks, inputs.bias):
            if x is not None:
                normal(x, 1)
        self.poison(inputs.out)

    def numbers(self, values: Sequence[float]) -> Any:
        """fp32."""
        raise NotImplementedError

    def rows(self, x: Any, index: Any) -> Array:
        """x[index] in fp32 on the host, exactly."""
        raise NotImplementedError

    def has_nan(self, x: Any) -> bool:
        raise NotImplementedError

    def all_nan(self, x: Any) -> bool:
        raise NotImplementedError

    def _view(self, rows: tuple[int, ...], heads: int, dim: int, case: Case) -> Any:
        if case.memory == "heads_first" and not case.ragged:
            return self.swapped(self.empty((rows[0], heads, rows[1], dim), case.dtype))
        padding = PADDING.get(case.memory, 0)
        return self.empty((*rows, heads, dim + padding), case.dtype)[..., :dim]

    def make(self, case: Case, seed: int) -> Inputs:
        if case.memory not in MEMORY:
            raise InvalidArgument(f"memory: {case.memory!r}; accepted: {', '.join(MEMORY)}")
        rows_q: tuple[int, ...] = (case.batch, case.seqlen_q)
        rows_k: tuple[int, ...] = (case.batch, case.seqlen_k)
        offsets: list[Any] = [None, None]
        if case.lengths_q is not None and case.lengths_k is not None:
            rows_q, rows_k = ((sum(lengths) + case.spare_rows,) for lengths in (case.lengths_q, case.lengths_k))
            offsets = [self.integers([0, *accumulate(lengths)]) for lengths in (case.lengths_q, case.lengths_k)]
        if case.memory == "packed_qkv":
            packed = self.empty((*rows_q, 3, case.heads_q, case.head_dim), case.dtype)
            q, k, v = (packed[..., i, :, :] for i in range(3))
        else:
            q = self._view(rows_q, case.heads_q, case.head_dim, case)
            k, v = (self._view(rows_k, case.heads_kv, dim, case) for dim in (case.head_dim, case.values_dim))
        inputs = Inputs(q, k, v, self.empty((*rows_q, case.heads_q, case.values_dim), case.dtype), *offsets)
        inputs.alibi_slopes = self.numbers(case.slopes()) if case.alibi else None
        inputs.sinks = self.numbers([0.0] * case.heads_q) if case.sinks else None
        inputs.bias = self.empty(case.bias_shape or (), case.bias) if case.bias else None
        inputs.seqused_k = self.integers(case.seqused_k) if case.seqused_k is not None else None
        self.fill(inputs, case, seed)
        return inputs


class NumPyArrays(Arrays):
    """On the CPU, where PyTorch is not installed."""

    dtypes = tuple(NUMPY_DTYPES)

    def empty(self, shape: Sequence[int], dtype: str) -> Any:
        return np.empty(shape, NUMPY_DTYPES.get(dtype) or BESIDE[dtype])

    def swapped(self, x: Any) -> Any:
        return x.swapaxes(1, 2)

    def integers(self, values: Sequence[int]) -> Any:
        return np.array(values, np.int32)

    def numbers(self, values: Sequence[float]) -> Any:
        return np.array(values, np.float32)

    def normal(self, seed: int) -> Callable[[Any, float], None]:
        random = np.random.default_rng(seed)

        def fill(x: Any, size: float) -> None:
            drawn = random.standard_normal(x.shape, np.float32)
            x[...] = drawn > SEEN if x.dtype == np.bool_ else size * drawn

        return fill

    def poison(self, x: Any) -> None:
        x[...] = -1 if x.dtype == np.int32 else np.nan

    def rows(self, x: Any, index: Any) -> Array:
        found: Array = np.asarray(x[index], np.float32)
        return found

    def has_nan(self, x: Any) -> bool:
        return bool(np.isnan(x).any())

    def all_nan(self, x: Any) -> bool:
        return bool(np.isnan(x).all())


class TorchArrays(Arrays):
    """On the CPU or a GPU."""

    dtypes = ("fp16", "bf16", "fp32")

    def __init__(self, device: str) -> None:
        self.device = device
        self.torch: Any = importlib.import_module("torch")

    def empty(self, shape: Sequence[int], dtype: str) -> Any:
        names = {"fp16": "float16", "bf16": "bfloat16", "fp32": "float32", **BESIDE}
        return self.torch.empty(tuple(shape), dtype=getattr(self.torch, names[dtype]), device=self.device)

    def swapped(self, x: Any) -> Any:
        return x.transpose(1, 2)

    def integers(self, values: Sequence[int]) -> Any:
        return self.torch.tensor(values, dtype=self.torch.int32, device=self.device)

    def numbers(self, values: Sequence[float]) -> Any:
        return self.torch.tensor(values, dtype=self.torch.float32, device=self.device)

    def normal(self, seed: int) -> Callable[[Any, float], None]:
        generator = self.torch.Generator(self.device).manual_seed(seed)

        def fill(x: Any, size: float) -> None:
            if x.dtype != self.torch.bool:
                x.normal_(std=size, generator=generator)
                return
            drawn = self.torch.empty(x.shape, dtype=self.torch.float32, device=self.device)
            x.copy_(drawn.normal_(generator=generator) > SEEN)

        return fill

    def poison(self, x: Any) -> None:
        x.fill_(-1 if x.dtype == self.torch.int32 else float("nan"))

    def rows(self, x: Any, index: Any) -> Array:
        found: Array = x[index].detach().float().cpu().numpy()
        return found

    def has_nan(self, x: Any) -> bool:
        return bool(x.isnan().any())

    def all_nan(self, x: Any) -> bool:
        return bool(x.isnan().all())


def arrays_for(device: str) -> Arrays:
    """PyTorch's where it is installed, NumPy's else."""
    if importlib.util.find_spec("torch"):
        return TorchArrays(device)
    if device != "cpu":
        raise InvalidArgument(
            f"device: {device!r}; accepted without PyTorch: cpu (flashfit bench measures a GPU alone)"
        )
    return NumPyArrays()
