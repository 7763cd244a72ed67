"""all-MiniLM-L6-v2 with its attention through flashfit, against the model in fp64 throughout."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flashfit import reference

from examples.minilm import Array, MiniLM, gelu

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "A cat sleeps on the sofa.",
    "A kitten is napping on a couch.",
    "The stock market fell sharply today.",
    "No.",
    "Shared memory of one block is limited, and a tile that is larger than the limit cannot run on that GPU. " * 20,
]


def exact_attention(q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
    offsets = cu_seqlens.tolist()
    out: Array = reference.attention(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets)[0]
    return out


@pytest.fixture(scope="module")
def exact() -> Array:
    return MiniLM(dtype=np.float64).embed(TEXTS, exact_attention)


@pytest.fixture(scope="module")
def model() -> MiniLM:
    return MiniLM()


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_embeddings_are_those_of_fp64(model: MiniLM, exact: Array, dtype: Any) -> None:
    cosines = (model.embed(TEXTS, attention_dtype=dtype) * exact).sum(axis=1)
    assert cosines.min() >= 0.9999


def test_meaning_is_told(exact: Array) -> None:
    similarity = exact @ exact.T
    assert similarity[0, 1] > 0.7
    assert similarity[0, 2] < 0.1


def test_packing_does_not_mix_sentences(model: MiniLM) -> None:
    together = model.embed(TEXTS)
    alone = np.concatenate([model.embed([text]) for text in TEXTS])
    np.testing.assert_allclose(together, alone, atol=2e-6)


def test_long_texts_are_cut_at_the_models_limit(model: MiniLM) -> None:
    ids, cu_seqlens = model.tokens(TEXTS)
    assert np.diff(cu_seqlens).tolist()[-1] == 256
    assert len(ids) == cu_seqlens[-1]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 5e-11), (np.float32, 1e-6)])
def test_gelu(dtype: Any, tolerance: float) -> None:
    x = np.linspace(-9, 9, 20_001).astype(dtype)
    expected = [0.5 * t * (1 + math.erf(t / math.sqrt(2))) for t in x.tolist()]
    np.testing.assert_allclose(gelu(x), expected, atol=tolerance)


def test_the_command_prints_similarities() -> None:
    command = [sys.executable, str(ROOT / "examples" / "minilm.py"), *TEXTS[:2], "--fp16"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    rows = [line.split() for line in done.stdout.splitlines()]
    assert [float(row[i]) for i, row in enumerate(rows)] == [1.0, 1.0]
    assert float(rows[0][1]) == float(rows[1][0]) > 0.7
