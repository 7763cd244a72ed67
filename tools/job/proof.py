"""What a result is held to: the error of a plain computation in the same dtype, both against fp64."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, Callable

import flashfit
import numpy as np
from flashfit import reference

from tools.job.cases import Case

Array = np.ndarray[Any, Any]
DTYPES = {"fp16": np.float16, "fp32": np.float32}
COSINE = 0.9999  # of embeddings to those of a plain fp64 run


@dataclass(frozen=True)
class Check:
    """One comparison: passed if `value` is at most `bound` (errors) or at least `bound` (cosines). NaN never passes;
    it is the value of what could not be computed, and `message` says why."""

    what: str
    backend: str
    value: float
    bound: float
    at_least: bool = False
    message: str = ""

    @property
    def passed(self) -> bool:
        return self.value >= self.bound if self.at_least else self.value <= self.bound

    def figures(self) -> tuple[str, str]:
        """What was measured, and the bound."""
        if self.message:
            return "-", "-"
        if self.at_least:
            return f"{self.value:.9f}", f"at least {self.bound:g}"
        return f"{self.value:.2e}", f"at most {self.bound:.2e}"


@dataclass
class Proof:
    """Every check of a run."""

    checks: list[Check] = field(default_factory=list)

    def add(self, check: Check) -> Check:
        self.checks.append(check)
        return check

    @contextlib.contextmanager
    def failing(self, what: str, backend: str) -> Iterator[None]:
        """An error of flashfit, CUDA or PyTorch inside becomes a failed check."""
        try:
            yield
        except RuntimeError as error:
            lines = str(error).splitlines() or [type(error).__name__]
            self.add(Check(what, backend, math.nan, 0, message=lines[0]))

    @property
    def passed(self) -> bool:
        return bool(self.checks) and all(check.passed for check in self.checks)

    def as_json(self) -> list[dict[str, Any]]:
        """JSON has no NaN nor infinity: null stands for them."""
        return [
            {**asdict(check), "value": check.value if math.isfinite(check.value) else None, "passed": check.passed}
            for check in self.checks
        ]


def offsets(lengths: tuple[int, ...] | None) -> Array | None:
    return None if lengths is None else np.cumsum([0, *lengths], dtype=np.int32)


def inputs(case: Case, seed: int = 0) -> tuple[Array, Array, Array]:
    """Normal random q, k, v of a case, contiguous."""
    random = np.random.default_rng(seed)
    rows_q: tuple[int, ...] = (case.batch, case.seqlen_q)
    rows_k: tuple[int, ...] = (case.batch, case.seqlen_k)
    if case.lengths_q is not None and case.lengths_k is not None:
        rows_q, rows_k = (sum(case.lengths_q),), (sum(case.lengths_k),)

    def normal(rows: tuple[int, ...], heads: int) -> Array:
        x: Array = random.standard_normal((*rows, heads, case.head_dim), np.float32)
        return x.astype(DTYPES[case.dtype])

    return normal(rows_q, case.heads), normal(rows_k, case.heads_kv), normal(rows_k, case.heads_kv)


def largest(x: Any) -> float:
    return float(abs(x).max()) if 0 not in x.shape else 0.0


def check(what: str, backend: str, out: Any, q: Any, k: Any, v: Any, options: dict[str, Any]) -> Check:
    """A result against fp64, held to the bound of docs/numerics.md. Of NumPy arrays, or of torch tensors on any device.

    The bound is twice the error of a plain computation in the same dtype, and one of each rounding that none can avoid.
    """
    exact, _ = reference.attention(q, k, v, **options)
    naive, _ = reference.naive(q, k, v, **options)
    dtype = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}[str(out.dtype).rpartition(".")[2]]
    floor = reference.floor(dtype, largest(exact), largest(v), reference.magnitude(q, k, v, **options))
    return Check(what, backend, largest(out - exact), 2 * largest(naive - exact) + floor)


def check_case(case: Case, backend: str, proof: Proof) -> Check:
    """flashfit on the CPU against fp64."""
    q, k, v = inputs(case)
    options: dict[str, Any] = {
        "causal": case.causal,
        "softmax_scale": case.softmax_scale,
        "cu_seqlens_q": offsets(case.lengths_q),
        "cu_seqlens_k": offsets(case.lengths_k),
    }
    out = np.asarray(flashfit.attention(q, k, v, **options))
    return proof.add(check(case.name, backend, out, q, k, v, options))


class Recorder:
    """An attention of the model that holds every call, one a layer, to the fp64 reference on the same inputs."""

    def __init__(
        self, name: str, backend: str, attention: Callable[[Array, Array, Array, Array], Array], proof: Proof
    ) -> None:
        self.name = name
        self.backend = backend
        self.attention = attention
        self.proof = proof
        self.seconds: list[float] = []

    def __call__(self, q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
        start = time.perf_counter()
        out = self.attention(q, k, v, cu_seqlens)
        self.seconds.append(time.perf_counter() - start)
        options: dict[str, Any] = {"cu_seqlens_q": cu_seqlens, "cu_seqlens_k": cu_seqlens}
        what = f"{self.name}, layer {len(self.seconds)}"
        self.proof.add(check(what, self.backend, out, q, k, v, options))
        return out
