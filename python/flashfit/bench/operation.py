"""What is measured: an operation of flashfit, as the rounds, the judge and the result file ask for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from . import cases as case_list
from . import ours
from . import peers as others
from .arrays import Arrays, Inputs
from .cases import AnyCase, Case
from .judge import Expected, Verdict
from .peers import Peer
from .plan import plan_of
from .results import SCHEMA


class Judge(Protocol):
    """What a case gives for the inputs of a seed."""

    def judge(self, out: Any) -> Verdict:
        """Of a call's output."""


class Operation:
    """One class an operation. Its cases and inputs are its own: nobody else looks into them."""

    schema: int | str  #: of its result files

    def listed(self, device: str) -> Sequence[AnyCase]:
        """Every case; a CPU's may be smaller than a GPU's ("cuda")."""
        raise NotImplementedError

    def peers(self) -> list[Peer]:
        """Every peer that is known, installed or not."""
        raise NotImplementedError

    def make(self, arrays: Arrays, case: Any, seed: int) -> Any:
        """A case's inputs, and the memory of its output."""
        raise NotImplementedError

    def fill(self, arrays: Arrays, inputs: Any, case: Any, seed: int) -> None:
        """Other random numbers in the inputs, and what nobody computes in the output."""
        raise NotImplementedError

    def weighed(self, case: Any, inputs: Any) -> Any:
        """The case with the work that only these inputs tell: of experts, how many are chosen."""
        return case

    def expected(self, arrays: Arrays, case: Any, inputs: Any, seed: int) -> Judge:
        """fp64 of what the inputs hold now."""
        raise NotImplementedError

    def prepare(self, case: Any, inputs: Any) -> Callable[[], Any]:
        """flashfit's call, which returns its output."""
        raise NotImplementedError

    def plan(self, case: Any, index: int) -> dict[str, Any]:
        """What flashfit's plan says of the case on this machine's GPU of that index."""
        raise NotImplementedError


class Attention(Operation):
    """flashfit.attention."""

    schema = SCHEMA

    def listed(self, device: str) -> Sequence[Case]:
        return case_list.listed()

    def peers(self) -> list[Peer]:
        return others.all_peers()

    def make(self, arrays: Arrays, case: Case, seed: int) -> Inputs:
        return arrays.make(case, seed)

    def fill(self, arrays: Arrays, inputs: Inputs, case: Case, seed: int) -> None:
        arrays.fill(inputs, case, seed)

    def expected(self, arrays: Arrays, case: Case, inputs: Inputs, seed: int) -> Expected:
        return Expected(case, arrays, inputs, seed)

    def prepare(self, case: Case, inputs: Inputs) -> Callable[[], Any]:
        return ours.prepare(case, inputs)

    def plan(self, case: Case, index: int) -> dict[str, Any]:
        return plan_of(case, index)


ATTENTION = Attention()
