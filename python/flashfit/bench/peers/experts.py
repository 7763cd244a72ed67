"""PyTorch's way to compute a layer with a mixture of experts."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .base import Call, Peer


def gated(z: Any) -> Any:
    """silu(g) u of z = (g, u), each step rounded to z's dtype."""
    torch: Any = importlib.import_module("torch")
    gate, up = z.chunk(2, -1)
    return torch.nn.functional.silu(gate) * up


class TorchGrouped(Peer):
    """Softmax and top-k, the choices sorted by expert, two grouped products, a weighted sum: what Transformers runs as
    `grouped_mm`."""

    name = "torch-grouped"
    package = "torch"

    def missing(self, device: str) -> str:
        if not importlib.util.find_spec("torch"):
            return "PyTorch is not installed"
        return "" if hasattr(importlib.import_module("torch"), "_grouped_mm") else "this PyTorch has no _grouped_mm"

    def prepare(self, case: Any, inputs: Any) -> Call:
        torch: Any = importlib.import_module("torch")
        x, logits, top_k = inputs.x, inputs.logits, case.top_k
        first, second = inputs.w13.transpose(1, 2), inputs.w2.transpose(1, 2)
        product = torch._grouped_mm

        def call() -> Any:
            weights, ids = torch.topk(torch.softmax(logits, -1), top_k, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            chosen = ids.reshape(-1)
            order = torch.argsort(chosen, stable=True)
            counts = torch.zeros(case.experts, dtype=torch.int32, device=x.device)
            counts.scatter_add_(0, chosen, torch.ones_like(chosen, dtype=torch.int32))
            ends = torch.cumsum(counts, 0, dtype=torch.int32)
            y = product(gated(product(x[order // top_k], first, offs=ends)), second, offs=ends)
            y = y * weights.reshape(-1)[order].unsqueeze(1).to(y.dtype)
            rows = torch.empty_like(y).index_copy_(0, order, y)
            return rows.view(case.tokens, top_k, case.hidden).sum(1)

        return call
