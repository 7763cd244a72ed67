"""What a result is held to: the fp64 reference, apart from every implementation that is judged, and the bound of
docs/numerics.md. Of a long case a sample of sequences, heads and rows is held to it; no element may be NaN."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from ..reference import Problem, floor
from ..reference import rounding as rounding_to
from .arrays import Array, Arrays, Inputs
from .cases import Case

MOST_PAIRS = 1 << 22  # of a query and a key that are computed in fp64 for one verdict: some 0.2 s
PIECES = 8  # sequences and heads of a sample


@dataclass(frozen=True)
class Verdict:
    """An error against fp64 and what it is held to; `message` is empty for a right result."""

    error: float
    bound: float
    message: str = ""


@dataclass(frozen=True)
class Piece:
    """Rows of one head of one sequence, as indices of q and out, and of k and v; `rows` within the sequence, of whose
    keys the first `keys` are there."""

    of_q: Any
    of_k: Any
    rows: Array
    queries: int
    keys: int
    sequence: int
    head: int

    def problem(self, case: Case, q: Array, k: Array, v: Array, bias: Array | None, sink: float) -> Problem:
        """Of these rows and keys, in fp32; `bias` broadcasts to them."""
        return Problem(
            q,
            k,
            v,
            at=(self.rows + self.keys - self.queries)[:, None],
            used=self.keys,
            scale=case.softmax_scale,
            causal=case.causal,
            window=(case.window_left, case.window_right),
            softcap=case.softcap,
            slopes=np.array(case.slopes()[self.head], np.float32) if case.alibi else None,
            sinks=np.array(sink),
            bias=bias,
        )


def to_bf16(x: Array) -> Array:
    """fp32 rounded to bf16, to nearest, ties to even, as fp32. Finite values alone."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded: Array = ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)
    return rounded


def rounding(dtype: str) -> Callable[[Array], Array]:
    if dtype == "bf16":
        return to_bf16
    return rounding_to(np.float16 if dtype == "fp16" else np.float32)


def sample(case: Case, seed: int) -> Iterator[Piece]:
    """All of a case, or of a long one PIECES of it: its longest and its shortest sequence and others, first and last
    rows and others, drawn by the seed."""
    sequences, used = case.sequences(), case.used_keys()
    pieces = [(s, h) for s, (queries, _) in enumerate(sequences) if queries for h in range(case.heads_q)]
    draw = random.Random(f"{case.name} {seed}")
    most_rows = math.inf
    if sum(q * k for q, k in sequences) * case.heads_q > MOST_PAIRS:
        by_work = sorted({s for s, _ in pieces}, key=lambda s: sequences[s][0] * sequences[s][1])
        ends = [(by_work[i], draw.randrange(case.heads_q)) for i in (0, -1)]
        others = draw.sample(pieces, min(PIECES, len(pieces)))
        pieces = list(dict.fromkeys([*ends, *others]))[:PIECES]
        most_rows = MOST_PAIRS / PIECES
    starts_q, starts_k = ([0, *accumulate(side)] for side in zip(*sequences)) if sequences else ([0], [0])
    for s, head in pieces:
        queries, keys = sequences[s][0], used[s]
        few = int(max(4, min(queries, most_rows / max(keys, 1))))
        middle = draw.sample(range(queries), few) if few < queries else range(queries)
        rows = np.array(sorted({0, queries - 1, *middle}))
        kv_head = head // (case.heads_q // case.heads_kv)
        if case.ragged:
            of_q: Any = (rows + starts_q[s], head)
            of_k: Any = (slice(starts_k[s], starts_k[s] + keys), kv_head)
        else:
            of_q, of_k = (s, rows, head), (s, slice(keys), kv_head)
        yield Piece(of_q, of_k, rows, queries, keys, s, head)


class Expected:
    """What a case gives for the inputs of a seed."""

    def __init__(self, case: Case, arrays: Arrays, inputs: Inputs, seed: int) -> None:
        self.arrays = arrays
        self.shape = (*inputs.q.shape[:-1], case.values_dim)
        self.used_rows = inputs.q.shape[0] - case.spare_rows  # only of variable length are there spare ones
        self.pieces: list[tuple[Any, Array]] = []
        plain_error = largest_out = largest_v = score = 0.0
        for piece in sample(case, seed):
            q = arrays.rows(inputs.q, piece.of_q)
            k, v = (arrays.rows(x, piece.of_k) for x in (inputs.k, inputs.v))
            sink = -math.inf if inputs.sinks is None else float(arrays.rows(inputs.sinks, piece.head))
            problem = piece.problem(case, q, k, v, self._bias(inputs, piece), sink)
            wide = problem.of(np.float64)
            exact, _ = wide.attend()
            plain, _ = problem.attend(rounding(case.dtype))
            if not np.isfinite(plain).all():  # scores past the dtype's range: fused kernels keep them in fp32
                plain = rounding(case.dtype)(problem.attend()[0])
            self.pieces.append((piece.of_q, exact))
            plain_error = max(plain_error, largest(plain - exact))
            largest_out = max(largest_out, largest(exact))
            largest_v = max(largest_v, largest(v))
            score = max(score, wide.magnitude())
        self.bound = case.tolerance * plain_error + floor(case.dtype, largest_out, largest_v, score)

    def _bias(self, inputs: Inputs, piece: Piece) -> Array | None:
        if inputs.bias is None:
            return None
        batch, heads, rows, keys = inputs.bias.shape
        of_row = np.zeros(1, int) if rows == 1 else piece.rows
        index = (piece.sequence if batch > 1 else 0, piece.head if heads > 1 else 0, of_row)
        bias = self.arrays.rows(inputs.bias, index)[:, : piece.keys if keys > 1 else 1]
        if str(inputs.bias.dtype).endswith("bool"):
            bias = bias != 0
        found: Array = np.broadcast_to(bias, (len(piece.rows), piece.keys))
        return found

    def judge(self, out: Any) -> Verdict:
        """Of an output of q's shape and layout."""
        if tuple(out.shape) != self.shape:
            return Verdict(math.nan, self.bound, f"the result has shape {tuple(out.shape)}, not {self.shape}")
        errors = [largest(self.arrays.rows(out, index) - exact) for index, exact in self.pieces]
        error = math.nan if any(map(math.isnan, errors)) else max(errors, default=0.0)
        if math.isnan(error) or self.arrays.has_nan(out[: self.used_rows]):
            return Verdict(error, self.bound, "the result holds NaN, or was not written everywhere")
        if not self.arrays.all_nan(out[self.used_rows :]):
            return Verdict(error, self.bound, "rows after the last sequence were written")
        if math.isnan(self.bound):
            return Verdict(error, self.bound, "nothing bounds the error: the reference is no number")
        if error > self.bound:
            return Verdict(error, self.bound, f"error {error:.3g} against fp64 is above {self.bound:.3g}")
        return Verdict(error, self.bound)


def largest(x: Array) -> float:
    """Largest absolute value, NaN where there is one, 0 of nothing."""
    return float(np.max(np.abs(x), initial=0.0))
