"""What is asked of a peer. One class a peer, one file a package."""

from __future__ import annotations

import importlib
import importlib.metadata
from typing import Any, Callable

from ..cases import Case

Call = Callable[[], Any]


class CannotError(Exception):
    """A peer does not do a case; the message says why in its or our words."""


def version_of(package: str) -> str | None:
    """Of an installed distribution."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


class Peer:
    """Another implementation. `name` is its key in result files, `package` the distribution whose version is noted."""

    name: str
    package: str

    def missing(self, device: str) -> str:
        """Why it cannot be measured on this machine; empty if it can."""
        return "" if device == "cuda" else "runs on a GPU alone"

    def version(self) -> str | None:
        return version_of(self.package)

    def prepare(self, case: Any, inputs: Any) -> Call:
        """A call that computes the case and returns its output, of attention in q's shape, of the router (weights,
        ids). Raises CannotError, or whatever the peer raises."""
        raise NotImplementedError


class ModulePeer(Peer):
    """A peer that is a module: there where that can be imported."""

    modules: tuple[str, ...]  # the first that has the function is used
    function: str

    def module(self) -> Any:
        said = ""
        for name in self.modules:
            try:
                module = importlib.import_module(name)
                getattr(module, self.function)  # a folder of that name is a module, too
                return module
            except Exception as error:  # noqa: PERF203 - a broken package raises anything at all
                said = f"{type(error).__name__}: {error}"
        raise CannotError(said)

    def missing(self, device: str) -> str:
        if said := super().missing(device):
            return said
        try:
            self.module()
        except CannotError as error:
            return str(error)
        return ""


def only(case: Case, *able: str) -> None:
    """Refuses a case that asks for options (Case.options) other than these."""
    lacking = [option for option in case.options() if option not in able]
    if lacking:
        raise CannotError(f"does not take {' or '.join(lacking)}")


def only_aligned(*tensors: Any) -> None:
    """Refuses rows that do not begin at 16 bytes, for a peer that copies 16 bytes at a time and does not look: after a
    fault, which PyTorch's copy of FlashAttention-2 was seen to have, no other peer could be measured."""
    for x in tensors:
        steps = [step for step, size in zip(x.stride()[:-1], x.shape) if size > 1]
        if any(step * x.element_size() % 16 for step in steps):
            raise CannotError("is not asked: it does not check that rows begin at 16 bytes, and here they do not")


def first(found: Any) -> Any:
    """The output of a call that may return more."""
    return found[0] if isinstance(found, (tuple, list)) else found


def longest(case: Case) -> tuple[int, int]:
    """The longest sequence of queries, and of keys."""
    return max(case.lengths_q or (case.seqlen_q,)), max(case.lengths_k or (case.seqlen_k,))
