"""Tries a function's tensors as negated views, as the imaginary part of a complex conjugate is one: its memory has the
other sign, and whoever reads that by its address must resolve the view before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

#: Function, tensors, and how many of these, the first ones, may have gradients.
Case = tuple[Callable[..., Any], tuple[Any, ...], int]


def normal(*shape: int) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + len(shape)))


def first_of(found: Any) -> Any:
    return found[0] if isinstance(found, tuple) else found


def expect_its_own_sign(case: Case, which: int, gradients: bool) -> None:
    """Its like of the other sign may have been computed before, or not."""
    function, tensors, differentiable = case
    plain = [x.clone().requires_grad_(gradients and i < differentiable) for i, x in enumerate(tensors)]
    turned = list(plain)
    turned[which] = torch._neg_view(plain[which])
    assert turned[which].is_neg()
    resolved = [x.detach().resolve_neg().requires_grad_(x.requires_grad) for x in turned]
    want = first_of(function(*resolved))
    ours, theirs = ([x for x in some if x.requires_grad] for some in (turned, resolved))
    for given in (turned, turned, plain, turned, turned):
        found = first_of(function(*given))
        if given is plain:
            assert not torch.allclose(found, want, rtol=1e-3, atol=1e-3)
            continue
        torch.testing.assert_close(found.detach(), want.detach(), rtol=1e-4, atol=1e-5)
        if ours:
            for mine, its in zip(
                *(torch.autograd.grad(x.cos().sum(), of) for x, of in ((found, ours), (want, theirs)))
            ):
                torch.testing.assert_close(mine, its, rtol=1e-3, atol=1e-4)
            want = first_of(function(*resolved))


def parameters(cases: dict[str, Case]) -> list[Any]:
    return [
        pytest.param(name, i, gradients, id=f"{name}, {i}{', gradients' if gradients else ''}")
        for name, (_, tensors, differentiable) in cases.items()
        for i in range(len(tensors))
        for gradients in ((False, True) if differentiable else (False,))
    ]
