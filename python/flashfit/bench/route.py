"""The router of a mixture of experts as it is measured."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import flashfit

from .. import reference
from .arrays import Arrays
from .cases import AnyCase
from .judge import Verdict, largest
from .operation import Operation
from .peers import Peer
from .peers.router import TorchTopk

GROUP = "route"
MOST_LOGITS = 1 << 21  # that are sorted in fp64 for one verdict: some 0.4 s
TOLERANCE = 2.0  # how many times the plain computation's error is allowed
TOKENS = {1: "one sequence that generates", 64: "64 sequences that generate", 4096: "a prompt", 32768: "prompts"}
#: Experts and top_k of models whose sizes they are; DeepSeek's own router is another.
MODELS = {"Mixtral 8x7B": (8, 2), "Qwen3 30B-A3B": (128, 8), "DeepSeek-V3": (256, 8), "Qwen3-Next 80B-A3B": (512, 10)}
BYTES = {"bf16": 2, "fp32": 4}


@dataclass(frozen=True)
class RouteCase(AnyCase):
    """Softmax over all experts, top_k of them, divided by their sum."""

    tokens: int
    experts: int
    top_k: int

    def problem(self) -> dict[str, Any]:
        sizes = {"dtype": self.dtype, "tokens": self.tokens, "experts": self.experts, "top_k": self.top_k}
        return {**sizes, "router": "softmax", "renormalize": True}


def cases() -> list[RouteCase]:
    """Every case."""
    return [
        RouteCase(
            name=f"{GROUP}/T{tokens} E{experts} K{top_k} {dtype}",
            group=GROUP,
            stands_for=f"the sizes of {model}, {what}",
            # An exponential a logit; each logit is read once, each weight and id written once.
            work={
                "flop": 0,
                "exp": tokens * experts,
                "bytes": tokens * (experts * BYTES[dtype] + 8 * top_k),
            },
            dtype=dtype,
            tokens=tokens,
            experts=experts,
            top_k=top_k,
        )
        for model, (experts, top_k) in MODELS.items()
        for dtype in BYTES
        for tokens, what in TOKENS.items()
    ]


@dataclass
class RouteInputs:
    """logits [tokens, experts]; weights fp32 and ids int32 [tokens, top_k]."""

    logits: Any
    weights: Any
    ids: Any


class RouteExpected:
    """What a case gives: of a long one a sample of tokens in fp64, of every token that its experts are distinct and its
    weights are numbers."""

    def __init__(self, arrays: Arrays, case: RouteCase, inputs: RouteInputs, seed: int) -> None:
        self._arrays, self._case = arrays, case
        most = max(4, MOST_LOGITS // case.experts)
        draw = random.Random(f"{case.name} {seed}")
        drawn = draw.sample(range(case.tokens), most) if most < case.tokens else range(case.tokens)
        self._rows = np.array(sorted({0, case.tokens - 1, *drawn}))
        self._logits = arrays.rows(inputs.logits, self._rows).astype(np.float64)
        self._weights, ids = reference.route(self._logits, case.top_k)
        plain, _ = reference.route(self._logits, case.top_k, work=np.float32)
        self._chosen = np.take_along_axis(self._logits, ids, axis=1)
        # Rounding a difference of logits to fp32 is worth so much of a weight, and of what a peer sorts by.
        below = self._chosen[:, :1] - self._chosen
        self._slack = reference.ROUNDOFF["fp32"] * 4 * (2 + float(below.max()))
        floor = 2 * reference.ROUNDOFF["fp32"] * float((self._weights * (2 + below)).max())
        self.bound = TOLERANCE * largest(plain - self._weights) + floor

    def judge(self, out: Any) -> Verdict:
        """Of (weights, ids)."""
        weights, ids = (self._arrays.rows(x, ...) for x in out)
        wanted = (self._case.tokens, self._case.top_k)
        for name, x in (("weights", weights), ("ids", ids)):
            if x.shape != wanted:
                return Verdict(math.nan, self.bound, f"{name} have shape {x.shape}, not {wanted}")
        error = largest(weights[self._rows] - self._weights)
        if np.isnan(weights).any():
            return Verdict(math.nan, self.bound, "the weights hold NaN, or were not written everywhere")
        in_order = np.sort(ids, axis=1)
        if in_order[:, 0].min() < 0 or in_order[:, -1].max() >= self._case.experts or not np.diff(in_order).all():
            return Verdict(error, self.bound, "a token's ids are not distinct experts, or were not written everywhere")
        # Which of two equal experts comes first is not asked of peers; flashfit's tests ask it of flashfit.
        chosen = np.take_along_axis(self._logits, ids[self._rows].astype(np.int64), axis=1)
        if (apart := largest(chosen - self._chosen)) > self._slack:
            return Verdict(error, self.bound, f"an expert was chosen whose logit is {apart:.3g} from the right one's")
        if error > self.bound:
            return Verdict(error, self.bound, f"error {error:.3g} against fp64 is above {self.bound:.3g}")
        return Verdict(error, self.bound)


class Route(Operation):
    """flashfit.moe_route."""

    schema = "route 1"

    def listed(self, device: str) -> Sequence[RouteCase]:
        return cases()

    def peers(self) -> list[Peer]:
        return [TorchTopk()]

    def make(self, arrays: Arrays, case: RouteCase, seed: int) -> RouteInputs:
        chosen = (case.tokens, case.top_k)
        logits = arrays.empty((case.tokens, case.experts), case.dtype)
        inputs = RouteInputs(logits, arrays.empty(chosen, "fp32"), arrays.empty(chosen, "int32"))
        self.fill(arrays, inputs, case, seed)
        return inputs

    def fill(self, arrays: Arrays, inputs: RouteInputs, case: RouteCase, seed: int) -> None:
        arrays.normal(seed)(inputs.logits, 1)
        for x in (inputs.weights, inputs.ids):
            arrays.poison(x)

    def expected(self, arrays: Arrays, case: RouteCase, inputs: RouteInputs, seed: int) -> RouteExpected:
        return RouteExpected(arrays, case, inputs, seed)

    def prepare(self, case: RouteCase, inputs: RouteInputs) -> Callable[[], Any]:
        route, logits, top_k = flashfit.moe_route, inputs.logits, case.top_k
        results = {"weights": inputs.weights, "ids": inputs.ids}
        return lambda: route(logits, top_k, **results)

    def plan(self, case: RouteCase, index: int) -> dict[str, Any]:
        problem = case.problem()
        answers: list[dict[str, Any]] = flashfit.moe_route_explain(**problem)
        return answers[index]


ROUTE = Route()
