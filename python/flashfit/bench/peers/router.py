"""PyTorch's way to route tokens to experts."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from .base import Call, Peer


class TorchTopk(Peer):
    """Softmax, top-k, division: what Transformers runs for Mixtral and Qwen."""

    name = "torch-topk"
    package = "torch"

    def missing(self, device: str) -> str:
        return "" if importlib.util.find_spec("torch") else "PyTorch is not installed"

    def prepare(self, case: Any, inputs: Any) -> Call:
        torch: Any = importlib.import_module("torch")
        logits, top_k = inputs.logits, case.top_k
        softmax, topk, float32 = torch.softmax, torch.topk, torch.float32

        def call() -> Any:
            weights, ids = topk(softmax(logits, -1, dtype=float32), top_k, -1)
            return weights / weights.sum(-1, keepdim=True), ids

        return call
