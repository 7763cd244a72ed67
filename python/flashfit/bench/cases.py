"""The cases that are measured. Of attention: the one list, expanded by the command `flashfit`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from .._command import command
from .._errors import FlashfitError, InvalidArgument

#: Of a step of generation, as drafts of speculative decoding have them.
MOST_NEW_TOKENS = 16
PLANTED = ("logit_shift", "logit_trend", "logit_peak", "opposing_rows", "positive_v", "spare_rows")


@dataclass(frozen=True)
class AnyCase:
    """One problem of whatever operation."""

    name: str
    group: str
    stands_for: str
    work: Mapping[str, float]  # flop, exp and bytes that no implementation can leave out
    dtype: str

    @property
    def timed(self) -> bool:
        """False: for correctness alone."""
        return True

    def problem(self) -> dict[str, Any]:
        """`problem` of a result file."""
        raise NotImplementedError


@dataclass(frozen=True)
class Case(AnyCase):
    """One problem of attention, dense or, where lengths_q is given, of variable length. The fields from dtype on are
    those of `problem` in docs/results.md."""

    head_dim: int
    heads_q: int
    heads_kv: int
    softmax_scale: float
    causal: bool = False
    memory: str = "contiguous"
    magnitude: float = 1.0  # standard deviation of q
    magnitude_k: float = 1.0
    magnitude_v: float = 1.0
    logit_shift: float = 0.0  # planted in the logits (docs/results.md): planted.py
    logit_trend: float = 0.0
    logit_peak: float = 0.0
    opposing_rows: bool = False
    positive_v: bool = False
    spare_rows: int = 0  # of all tensors after the last sequence, which are nobody's
    batch: int = 1
    seqlen_q: int = 0
    seqlen_k: int = 0
    lengths_q: tuple[int, ...] | None = None
    lengths_k: tuple[int, ...] | None = None
    head_dim_v: int = 0  # of v and out; 0: as head_dim
    window_left: int = -1  # -1: no limit
    window_right: int = -1
    softcap: float = 0.0  # 0: none
    alibi: bool = False
    sinks: bool = False
    bias: str | None = None  # "bool", "fp32" or the dtype
    bias_shape: tuple[int, ...] | None = None
    seqused_k: tuple[int, ...] | None = None
    timed: bool = True
    tolerance: float = 2.0  # how many times the plain computation's error is allowed (docs/numerics.md)

    @property
    def ragged(self) -> bool:
        return self.lengths_q is not None

    @property
    def values_dim(self) -> int:
        return self.head_dim_v or self.head_dim

    @property
    def windowed(self) -> bool:
        return self.window_left >= 0 or self.window_right >= 0

    @property
    def decodes(self) -> bool:
        """Whether it is a step of generation: a few new tokens against a cache of keys, for which peers have functions
        of their own."""
        return self.lengths_q is None and self.seqlen_q <= MOST_NEW_TOKENS < self.seqlen_k

    def options(self) -> list[str]:
        """The names of what is asked beyond a causal mask."""
        asked = {
            "a window": self.windowed,
            "softcap": self.softcap,
            "ALiBi": self.alibi,
            "sinks": self.sinks,
            "a bias": self.bias,
            "seqused_k": self.seqused_k,
            "another head_dim of v": self.values_dim != self.head_dim,
        }
        return [name for name, is_asked in asked.items() if is_asked]

    def slopes(self) -> list[float]:
        """ALiBi's, 2^(-8 (head + 1) / heads)."""
        return [2.0 ** (-8 * (head + 1) / self.heads_q) for head in range(self.heads_q)]

    def used_keys(self) -> list[int]:
        """Keys of each sequence that are there."""
        return list(self.seqused_k) if self.seqused_k is not None else [keys for _, keys in self.sequences()]

    def sequences(self) -> list[tuple[int, int]]:
        """(queries, keys) of each sequence."""
        if self.lengths_q is not None and self.lengths_k is not None:
            return list(zip(self.lengths_q, self.lengths_k))
        return [(self.seqlen_q, self.seqlen_k)] * self.batch

    def problem(self) -> dict[str, Any]:
        keys = ["dtype", "head_dim", "heads_q", "heads_kv", "causal", "memory", "softmax_scale"]
        keys += [key for key in ("magnitude", "magnitude_k", "magnitude_v") if getattr(self, key) != 1]
        keys += ["head_dim_v"] if self.values_dim != self.head_dim else []
        keys += ["window_left", "window_right"] if self.windowed else []
        keys += [
            key
            for key in ("softcap", "alibi", "sinks", "bias", "bias_shape", "seqused_k", *PLANTED)
            if getattr(self, key)
        ]
        keys += ["lengths_q", "lengths_k"] if self.ragged else ["batch", "seqlen_q", "seqlen_k"]
        found = {key: getattr(self, key) for key in keys}
        return {key: list(value) if isinstance(value, tuple) else value for key, value in found.items()}


def of_json(entry: Mapping[str, Any]) -> Case:
    """A case of the expanded list."""
    problem: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in entry["problem"].items()
    }
    kept: dict[str, Any] = {key: entry[key] for key in ("name", "group", "stands_for", "work", "timed", "tolerance")}
    return Case(**kept, **problem)


def listed() -> list[Case]:
    """Every case, by `flashfit bench --list --json`."""
    ran = subprocess.run([command(), "bench", "--list", "--json"], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise FlashfitError(f"flashfit bench --list --json: {(ran.stderr or ran.stdout).strip()}")
    return [of_json(entry) for entry in json.loads(ran.stdout)]


C = TypeVar("C", bound=AnyCase)


def chosen(cases: Sequence[C], groups: Sequence[str], texts: Sequence[str], others: Sequence[str] = ()) -> list[C]:
    """Those of the groups whose name holds any of the texts. None is an error: it would measure nothing and pass.
    others: groups of other lists."""
    known = dict.fromkeys(case.group for case in cases)
    for group in groups:
        if group not in known:
            raise InvalidArgument(f"group: {group!r}; accepted: {', '.join([*known, *others])}")
    named = [c for c in cases if not texts or any(text in c.name for text in texts)]
    found = [c for c in named if not groups or c.group in groups]
    if not found:
        asked = " ".join([*groups, *texts])
        raise InvalidArgument(f"filter: {asked!r} leaves no case; accepted: parts of names such as {cases[0].name!r}")
    return found
