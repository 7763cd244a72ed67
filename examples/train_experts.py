"""A small language model with a mixture of experts, trained on this project's own pages: by flashfit.nn.MoeLayer and by
PyTorch's own operations, from the same numbers. Prints both losses side by side; it takes some seconds on a CPU.

usage: python examples/train_experts.py [cpu|cuda]
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import torch
from flashfit.nn import MoeLayer

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("moe.md", "plan.md", "kernels.md")
STEPS, BATCH, CONTEXT, HIDDEN, CHARACTERS = 200, 128, 5, 48, 96
NEAR = 1e-3  # how far apart two losses of a step may be: sums are rounded in other orders, and steps carry that on
F = torch.nn.functional


class PlainLayer(MoeLayer):
    """The same layer in PyTorch's own operations, an expert at a time."""

    def forward(self, x: Any) -> Any:
        values, ids = F.linear(x, self.gate).topk(self.top_k, dim=1)
        weights = torch.softmax(values, dim=1)
        out = torch.zeros_like(x)
        for e in range(self.experts):
            token, rank = torch.where(ids == e)
            gate, up = F.linear(x[token], self.w13[e]).chunk(2, dim=1)
            y = F.linear(F.silu(gate) * up, self.w2[e])
            out = out.index_add(0, token, (y * weights[token, rank, None]).to(out.dtype))
        return out


class Model(torch.nn.Module):  # type: ignore[misc]
    """Guesses a character by those before it."""

    def __init__(self, kind: type[MoeLayer]) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(CHARACTERS, HIDDEN)
        self.mix = torch.nn.Linear(CONTEXT * HIDDEN, HIDDEN)
        self.layer = kind(hidden=HIDDEN, intermediate=32, experts=8, top_k=2)
        self.out = torch.nn.Linear(HIDDEN, CHARACTERS)

    def forward(self, seen: Any) -> Any:
        x = torch.tanh(self.mix(self.embedding(seen).flatten(1)))
        return self.out(x + self.layer(x))


def text() -> Any:
    """The pages' characters as numbers below CHARACTERS. Exits with a line where the pages are not."""
    if missing := [page for page in PAGES if not (ROOT / "docs" / page).is_file()]:
        sys.exit(f"train_experts: docs/{missing[0]}, its text, is not beside examples/: run it in a clone of flashfit")
    pages = "".join((ROOT / "docs" / page).read_text("utf-8") for page in PAGES)
    return torch.tensor([min(max(ord(c) - 32, 0), CHARACTERS - 1) for c in pages])


def train(kind: type[MoeLayer], frozen: str = "", device: str = "cpu") -> list[float]:
    """The loss of each step. Parameters whose names begin with `frozen` stay as they are."""
    torch.manual_seed(0)
    model, characters = Model(kind).to(device), text()
    learning = [x for name, x in model.named_parameters() if not frozen or not name.startswith(frozen)]
    optimizer = torch.optim.Adam(learning, lr=3e-3)
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(STEPS):
        at = torch.randint(len(characters) - CONTEXT - 1, (BATCH,), generator=generator)
        seen, next_one = characters[at[:, None] + torch.arange(CONTEXT)], characters[at + CONTEXT]
        with torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu"):
            loss = F.cross_entropy(model(seen.to(device)).float(), next_one.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def main() -> int:
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    if device not in ("cpu", "cuda"):
        sys.exit(f"train_experts: {device!r} is not a device; accepted: cpu, cuda")
    ours, theirs = train(MoeLayer, device=device), train(PlainLayer, device=device)
    print("step  flashfit  PyTorch")
    for step in range(0, STEPS, 20):
        ends = [sum(losses[step : step + 20]) / 20 for losses in (ours, theirs)]
        print(f"{step + 20:4d}  {ends[0]:8.4f} {ends[1]:8.4f}  {'#' * round(12 * ends[0])}")
    apart = max(abs(a - b) for a, b in zip(ours, theirs))
    print(f"the losses of no step are further apart than {apart:.1e}")
    return 0 if device != "cpu" or apart < NEAR else 1


if __name__ == "__main__":
    sys.exit(main())
