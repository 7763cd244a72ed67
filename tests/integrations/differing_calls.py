"""Calls of attention with PyTorch's arguments of which each differs from the first in one thing, and what a host
answers: what is remembered of one must not answer another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from flashfit.integrations._host import Host


def normal(*shape: int, seed: int = 0) -> Any:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


#: [batch, heads, rows, head_dim]
Q, K, V = (normal(2, 4, 6, 16, seed=i) for i in range(3))


def variety() -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    """Calls of which each differs from the first in one thing."""
    q, k, v = Q, K, V
    row, column = torch.zeros(6), torch.zeros(6, 1)
    learnt = torch.zeros(6, 6, requires_grad=True)
    return [
        ((q, k, v), {}),
        ((q[:1], k, v), {}),
        ((q, k[:1], v[:1]), {}),
        ((q[:, :2], k, v), {}),
        ((q, k[:, :2], v[:, :2]), {}),
        ((q, k, v[:, :2]), {}),
        ((q, k[:, :2], v[:, :2]), {"enable_gqa": True}),
        ((q[:, :, :3], k, v), {}),
        ((q, k[:, :, :3], v[:, :, :3]), {}),
        ((q, k, v[..., :8]), {}),
        ((q[..., :8], k[..., :8], v), {}),
        ((q[0], k[0], v[0]), {}),
        ((q[None], k[None], v[None]), {}),
        ((q[None, None], k[None, None], v[None, None]), {}),
        ((q.double(), k.double(), v.double()), {}),
        ((q.bfloat16(), k.bfloat16(), v.bfloat16()), {}),
        ((q, k, v), {"is_causal": True}),
        ((q[:, :, :3], k, v), {"is_causal": True}),
        ((q, k, v), {"dropout_p": 0.25}),
        ((q, k, v), {"dropout_p": 0.5}),
        ((q, k, v), {"scale": 0.25}),
        ((q, k, v), {"scale": 0.5}),
        ((q, k, v), {"scale": -0.5}),
        ((q, k, v), {"scale": "0.5"}),
        ((q, k, v), {"scale": [0.5]}),
        ((q, k, v), {"scale": torch.ones(2)}),
        ((q, k, v), {"scale": torch.tensor(0.5)}),
        ((q, k, v), {"attn_mask": row}),
        ((q, k, v), {"attn_mask": column}),
        ((q, k, v), {"attn_mask": row > 0}),
        ((q, k, v), {"attn_mask": row.double()}),
        ((q, k, v), {"attn_mask": row.bfloat16()}),
        ((q, k, v), {"attn_mask": learnt}),
        ((q, k, v), {"attn_mask": learnt.detach()}),
        ((q.clone().requires_grad_(), k, v), {}),
        ((q.clone().requires_grad_(), k, v), {"is_causal": True}),
        ((q.clone().requires_grad_(), k, v), {"scale": 0.5}),
        ((q.clone().requires_grad_(), k.clone().requires_grad_(), v), {}),
        ((q, k, v.clone().requires_grad_()), {}),
        ((q.clone().requires_grad_(), k, k), {}),
        ((q.clone().requires_grad_(), k, v), {"attn_mask": row}),
        ((q.clone().requires_grad_(), k, v[..., :8]), {}),
        ((q, k.clone().requires_grad_(), v), {"dropout_p": 0.25}),
        ((q, k[:, :1], v[:, :1]), {}),
        ((q[:, :, :0], k, v), {}),
        ((torch.nn.Parameter(q), k, v), {}),
    ]


class Answers(NamedTuple):
    """What calls gave, or the errors that they raised, and the log after them."""

    results: list[Any]
    log: list[str]

    def assert_are(self, others: Answers) -> None:
        assert self.log == others.log
        for mine, its in zip(self.results, others.results):
            if isinstance(its, str):
                assert mine == its
            else:
                assert torch.equal(mine[0], its[0])
                assert mine[1] == its[1]


def answers(attend: Callable[..., Any], host: Host) -> Answers:
    """Of the calls in turn, with gradients and without, each several times. The host's log is cleared before and
    after."""
    given = variety()
    found: list[Any] = []
    host.notes.clear()
    for grad in (True, False, True, False, False):
        for tensors, options in given:
            torch.manual_seed(0)
            try:
                with torch.set_grad_enabled(grad):
                    out = attend(*tensors, **options)
                found.append((out.detach(), out.requires_grad))
            except (RuntimeError, ValueError, IndexError, TypeError) as error:
                found.append(str(error))
    log = host.log()
    host.notes.clear()
    return Answers(found, log)
