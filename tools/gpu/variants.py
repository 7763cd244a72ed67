"""What a library carries for the GPU at hand, and how to ask for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import flashfit
from flashfit._binding import binding

_PTX_ONLY = 2  # FLASHFIT_PTX_ONLY of flashfit.h
_FLAGS = 7  # where attend() takes them
_NAME = re.compile(r"fwd_[a-z]+_(fp16|bf16)_d(\d+)(?:v(\d+))?_")


@dataclass(frozen=True)
class Candidate:
    """A carried variant, as machine code or as PTX that the driver compiles. An empty variant lets the plan choose."""

    variant: str
    dtype: str
    head_dim: int
    code: str  # "SASS" or "PTX"
    narrower: int | None = None  # head_dim of v and out where it is another

    @property
    def values_dim(self) -> int:
        return self.narrower or self.head_dim

    @property
    def name(self) -> str:
        return f"{self.variant or f'the choice for {self.dtype} D{self.head_dim}'} {self.code}"

    def is_not_for(self, refused: flashfit.FlashfitError) -> bool:
        """Whether a call was refused because this variant does not take its options, such as variable length."""
        return bool(self.variant) and f"variant {self.variant} is for" in str(refused)


def decimal(compute_capability: str) -> int:
    major, minor = compute_capability.split("+")[0].split(".")
    return int(major) * 10 + int(minor.rstrip("af"))  # 9.0a is of 9.0


def candidates(compute_capability: str) -> list[Candidate]:
    """Every carried variant of attention that a GPU can run: by machine code of its major version, by PTX of any older
    one."""
    gpu = decimal(compute_capability)
    found: dict[Candidate, None] = {}
    for image in flashfit.images():
        if image["operation"] != "attention.forward":
            continue
        target = decimal(image["target"])
        ptx = image["target"].endswith("+PTX")
        if target > gpu or (not ptx and target // 10 != gpu // 10):
            continue
        parsed = _NAME.match(image["variant"])
        if parsed is None:
            raise ValueError(f"variant {image['variant']!r} does not name its dtype and head_dim")
        narrower = int(parsed[3]) if parsed[3] else None
        found[Candidate(image["variant"], parsed[1], int(parsed[2]), "PTX" if ptx else "SASS", narrower)] = None
    return list(found)


def past_own_limits() -> list[str]:
    """Images that need more shared memory than the GPU they are compiled for gives a block: there must be none, or a
    run here proves nothing of it."""
    limits: dict[str, int] = {}
    wrong = []
    for image in flashfit.images():
        target = image["target"].split("+")[0]
        if target not in limits:
            answer = flashfit.explain(target, head_dim=64, seqlen_q=64, heads_q=1)[0]
            limits[target] = answer["shared_memory_limit_bytes"]
        if image["shared_memory_bytes"] > limits[target]:
            wrong.append(f"{image['variant']} for {image['target']}: {image['shared_memory_bytes']} > {limits[target]}")
    return wrong


@contextmanager
def code(which: str) -> Iterator[None]:
    """Within it, "PTX" makes every call of this process that names a variant use PTX even where machine code fits."""
    if which != "PTX":
        yield
        return
    way = binding()
    attend = way.attend

    def ptx_only(*arguments: Any) -> int:
        before, flags, after = arguments[:_FLAGS], arguments[_FLAGS], arguments[_FLAGS + 1 :]
        return attend(*before, flags | _PTX_ONLY, *after)

    way.attend = ptx_only
    try:
        yield
    finally:
        way.attend = attend
