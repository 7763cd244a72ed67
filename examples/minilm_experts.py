#!/usr/bin/env python3
"""all-MiniLM-L6-v2 as a mixture of experts: each of its MLPs becomes 12 experts of 128 of its 1536 neurons, and a
router sends each token to a few of them. NumPy, safetensors and tokenizers do the rest; there is no PyTorch.

Neurons that look for alike inputs are put into one expert, and the router learns from text how much each expert would
add to a token (Zhang et al., MoEfication: Transformer Feed-forward Layers are Mixtures of Experts, 2022). With all 12
experts the model is what it was; with 6, half of its MLPs' products are left out.

    examples/minilm_experts.py --experts 6 "A cat sleeps." "A kitten naps." "The stock market fell."
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

if __name__ == "__main__":  # as a script its folder's parent is not searched
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import flashfit
import numpy as np

from examples.minilm import Array, MiniLM, flashfit_attention

EXPERTS = 12
RIDGE = 1e-2  # of the router's least squares, as a part of the mean square of its inputs


class Experts(NamedTuple):
    """A layer of experts as flashfit.fused_moe takes it, and its router [384 + 1, EXPERTS]."""

    w13: Array
    w2: Array
    b13: Array
    bias: Array  # of the whole MLP: no expert's
    router: Array


def alike(rows: Array, groups: int, rounds: int = 8) -> Array:
    """The group of each row: equal groups of rows that point the same way, by k-means with as many rows in each."""
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    each = len(rows) // groups
    group = np.arange(len(rows)) % groups
    for _ in range(rounds):
        centres = np.stack([unit[group == g].mean(axis=0) for g in range(groups)])
        nearness = unit @ centres.T
        left, group = np.full(groups, each), np.full(len(rows), -1)
        for flat in np.argsort(-nearness, axis=None):
            row, g = divmod(int(flat), groups)
            if group[row] < 0 and left[g] > 0:
                group[row], left[g] = g, left[g] - 1
    return group


def split(first: Array, first_bias: Array, second: Array, bias: Array) -> Experts:
    """An MLP, second gelu(first x + first_bias) + bias, as experts, its router still blind.

    Experts have a gate, g, and u; u is made 1 by its bias, so that geglu gives gelu(g).
    """
    group = alike(first, EXPERTS)
    order = np.argsort(group, kind="stable").reshape(EXPERTS, -1)
    gates = first[order]  # [experts, 128, 384]
    return Experts(
        w13=np.concatenate([gates, np.zeros_like(gates)], axis=1),
        w2=np.ascontiguousarray(second[:, order].transpose(1, 0, 2)),
        b13=np.concatenate([first_bias[order], np.ones(order.shape, first.dtype)], axis=1),
        bias=bias,
        router=np.zeros((first.shape[1] + 1, EXPERTS), first.dtype),
    )


class MixedMiniLM(MiniLM):
    """MiniLM whose MLPs are experts, `top_k` of them a token."""

    def __init__(self, folder: Path | None = None, dtype: Any = np.float32, top_k: int = EXPERTS) -> None:
        super().__init__(folder, dtype)
        self.top_k = top_k
        names = [f"encoder.layer.{layer}." for layer in range(self.layers)]
        parts = [[f"{name}{part}.dense.{kind}" for part in ("intermediate", "output") for kind in ("weight", "bias")]
                 for name in names]  # fmt: skip
        self.experts = [split(*(self.weights[name] for name in each)) for each in parts]
        self.calls: list[tuple[Array, dict[str, Array], Array]] = []  # of each layer: x, what it was told, out
        self._learning = False

    def mlp(self, x: Array, layer: int) -> Array:
        if self._learning:
            self.experts[layer] = learned(self.experts[layer], x)
        mine = self.experts[layer]
        logits = x @ mine.router[:-1] + mine.router[-1]
        weights, ids = flashfit.moe_route(logits.astype(np.float32), self.top_k)
        told = {"topk_weights": np.ones_like(weights), "topk_ids": ids, "b13": mine.b13}
        out = flashfit.fused_moe(x, mine.w13, mine.w2, activation="geglu_erf", **told)
        self.calls.append((x, told, out))
        added: Array = out + mine.bias
        return added

    def learn(self, texts: Sequence[str]) -> None:
        """Fits every router to these texts, the first layer's first: what a layer sees depends on those before."""
        self._learning, top_k, self.top_k = True, self.top_k, EXPERTS
        self.embed(texts, flashfit_attention)
        self._learning, self.top_k = False, top_k


def learned(experts: Experts, x: Array) -> Experts:
    """The same experts with a router that foretells, by ridge regression, how much each adds to tokens like x."""
    ones = np.ones((len(x), 1), np.float32)
    adds = np.stack(
        [
            np.linalg.norm(
                flashfit.fused_moe(
                    x,
                    experts.w13,
                    experts.w2,
                    topk_weights=ones,
                    topk_ids=np.full((len(x), 1), expert, np.int32),
                    b13=experts.b13,
                    activation="geglu_erf",
                ),
                axis=1,
            )
            for expert in range(EXPERTS)
        ],
        axis=1,
    )
    inputs = np.concatenate([x, ones.astype(x.dtype)], axis=1).astype(np.float64)
    square = inputs.T @ inputs
    square += RIDGE * np.trace(square) / len(square) * np.eye(len(square))
    return experts._replace(router=np.linalg.solve(square, inputs.T @ np.log(adds + 1e-6)).astype(x.dtype))


def main() -> None:
    parser = argparse.ArgumentParser(description="Similarity of texts by MiniLM, its MLPs cut into experts.")
    parser.add_argument("text", nargs="+")
    parser.add_argument(
        "--experts",
        type=int,
        default=EXPERTS,
        choices=range(1, EXPERTS + 1),
        help=f"of {EXPERTS} a token (all: the model as it was)",
        metavar="EXPERTS",
    )
    arguments = parser.parse_args()
    model = MixedMiniLM(top_k=arguments.experts)
    model.learn(arguments.text)
    embeddings, dense = model.embed(arguments.text), MiniLM().embed(arguments.text)
    similarity = embeddings @ embeddings.T
    for i, text in enumerate(arguments.text):
        print(" ".join(f"{similarity[i, j]:6.3f}" for j in range(len(arguments.text))), "", text)
    print(f"cosine to the model as it was: {(embeddings * dense).sum(axis=1).min():.4f} at least")


if __name__ == "__main__":
    main()
