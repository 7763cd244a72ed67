"""Part 3 of the main job: MiniLM's embeddings of this project's sentences, every attention through flashfit and held
to fp64 layer by layer."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
from flashfit import reference
from flashfit.bench.progress import Progress

from examples.minilm import Attention, MiniLM, flashfit_attention
from tools.job import machine, sentences
from tools.job.proof import COSINE, Array, Check, Proof, Recorder
from tools.job.show import paragraph, table

PAIRS = 5
MOST_SENTENCES = 600  # of all pages, evenly: all 3,000 take more than three minutes on two cores


def exact_attention(q: Array, k: Array, v: Array, cu_seqlens: Array) -> Array:
    offsets = cu_seqlens.tolist()
    out: Array = reference.attention(q, k, v, cu_seqlens_q=offsets, cu_seqlens_k=offsets)[0]
    return out


def runs(facts: dict[str, Any]) -> list[tuple[str, str, Attention, Any]]:
    """(name, what runs the attention, the attention, the dtype of its q, k and v)."""
    found: list[tuple[str, str, Attention, Any]] = [
        ("MiniLM fp32", "CPU", flashfit_attention, np.float32),
        ("MiniLM fp16", "CPU", flashfit_attention, np.float16),
    ]
    if gpu := machine.gpu_parts(facts):
        found.append(("MiniLM fp16", gpu.name(), gpu.attention, np.float16))
    return found


def run(root: Path, facts: dict[str, Any], proof: Proof) -> dict[str, Any]:
    found = sentences.of_docs(root)
    texts = found[:: max(1, -(-len(found) // MOST_SENTENCES))]
    model = MiniLM()
    _, cu_seqlens = model.tokens(texts)
    lengths = np.diff(cu_seqlens)
    sizes = f"of {lengths.min()} to {lengths.max()} tokens, {lengths.sum()} in all"
    print(f"{len(texts)} of {len(found)} sentences, {sizes}, unpadded.\n")
    plans = runs(facts)
    progress = Progress(1 + len(plans))
    progress.step("the model in fp64")
    start = time.perf_counter()
    exact = MiniLM(dtype=np.float64).embed(texts, exact_attention)
    results: list[dict[str, Any]] = [
        {
            "run": "MiniLM fp64",
            "backend": "NumPy",
            "seconds": time.perf_counter() - start,
            "attention_seconds": None,
            "cosine": 1.0,
        }
    ]
    embeddings = exact
    for name, backend, attention, dtype in plans:
        progress.step(f"{name} on the {backend}")
        with proof.failing(name, backend):
            recorder = Recorder(name, backend, attention, proof)
            embeddings = model.embed(texts, recorder, dtype)
            cosine = float((embeddings * exact).sum(axis=1).min())
            proof.add(Check(f"{name}, cosine of the embeddings", backend, cosine, COSINE, at_least=True))
            results.append({"run": name, "backend": backend, "attention_seconds": recorder.seconds, "cosine": cosine})
    progress.clear()
    table(
        ["run", "attention ran on", "attention ms, 6 layers", "least cosine to fp64"],
        [
            [
                r["run"],
                r["backend"],
                f"{sum(r['attention_seconds']) * 1e3:.1f}" if r["attention_seconds"] else "-",
                f"{r['cosine']:.9f}",
            ]
            for r in results
        ],
    )
    print(
        f"\nThe {PAIRS} pairs of sentences closest in meaning, by {results[-1]['run']} on the {results[-1]['backend']}:"
    )
    pairs = nearest(embeddings)
    for similarity, i, j in pairs:
        paragraph(texts[i], f"{similarity:.3f}  ", " " * 7)
        paragraph(texts[j], " " * 7, " " * 7)
    return {
        "sentences": len(texts),
        "tokens": int(lengths.sum()),
        "runs": results,
        "pairs": [(s, texts[i], texts[j]) for s, i, j in pairs],
    }


def nearest(embeddings: Array, count: int = PAIRS) -> list[tuple[float, int, int]]:
    """The pairs of highest similarity, each sentence in one pair at most."""
    similarity = np.triu(embeddings @ embeddings.T, 1)
    found: list[tuple[float, int, int]] = []
    used: set[int] = set()
    for flat in np.argsort(similarity, axis=None)[::-1]:
        i, j = (int(x) for x in np.unravel_index(flat, similarity.shape))
        if i >= j or len(found) == count:
            break
        if not used & {i, j}:
            found.append((float(similarity[i, j]), i, j))
            used |= {i, j}
    return found
