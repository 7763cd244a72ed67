"""Part 4 of the main job: the same model as a mixture of experts, its routers trained on half of the sentences, every
layer of the other half through flashfit and held to fp64."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from flashfit import reference

from examples.minilm import MiniLM
from examples.minilm_experts import EXPERTS, MixedMiniLM
from tools.job.proof import Array, Check, Proof, largest
from tools.job.show import table

MOST_SENTENCES = 100
CHOSEN = (EXPERTS, 8, 4)
KEPT = 0.87  # least mean cosine with 8 of 12 experts: it is 0.906, and 0.811 with routers of random numbers
LOOKED_AT = 24  # tokens of a layer's call that are computed in fp64


def check_layer(what: str, x: Array, weights: tuple[Array, Array], told: dict[str, Array], out: Array) -> Check:
    """Some tokens of a layer: at most twice the error of the same computation in fp32, and a rounding."""
    some = np.linspace(0, len(x) - 1, min(LOOKED_AT, len(x))).astype(int)
    mine = {**told, "topk_weights": told["topk_weights"][some], "topk_ids": told["topk_ids"][some]}
    given: dict[str, Any] = {**mine, "activation": "geglu_erf"}
    exact = reference.fused_moe(x[some], *weights, **given)
    plain = reference.fused_moe(x[some], *weights, **given, work=np.float32)
    bound = 2 * largest(plain - exact) + reference.ROUNDOFF["fp32"] * 8 * largest(exact)
    return Check(what, "CPU", largest(out[some] - exact), bound)


def run(texts: list[str], proof: Proof) -> dict[str, Any]:
    texts = texts[: 2 * (MOST_SENTENCES // 2)]
    taught, asked = texts[::2], texts[1::2] or texts
    start = time.perf_counter()
    dense = MiniLM().embed(asked)
    model = MixedMiniLM()
    model.learn(taught)
    print(
        f"Each MLP is cut into {EXPERTS} experts; the routers learned from {len(taught)} sentences in "
        f"{time.perf_counter() - start:.1f} s. Of the other {len(asked)}:\n"
    )
    results: list[dict[str, Any]] = []
    for top_k in CHOSEN:
        model.top_k, model.calls = top_k, []
        start = time.perf_counter()
        cosines = (model.embed(asked) * dense).sum(axis=1)
        seconds = time.perf_counter() - start
        for layer, (x, told, out) in enumerate(model.calls, 1):
            mine = model.experts[layer - 1]
            what = f"MiniLM's experts, {top_k} a token, layer {layer}"
            proof.add(check_layer(what, x, (mine.w13, mine.w2), told, out))
        counts = np.stack([np.bincount(told["topk_ids"].ravel(), minlength=EXPERTS) for _, told, _ in model.calls])
        results.append(
            {
                "experts_a_token": top_k,
                "mean_cosine": float(cosines.mean()),
                "least_cosine": float(cosines.min()),
                "seconds": seconds,
                "busiest": float((counts.max(axis=1) / counts.mean(axis=1)).max()),
            }
        )
    whole, kept = results[0], results[1]
    proof.add(Check("MiniLM as experts, all of them, cosine", "CPU", whole["least_cosine"], 0.999999, at_least=True))
    proof.add(Check(f"MiniLM as experts, {CHOSEN[1]}, mean cosine", "CPU", kept["mean_cosine"], KEPT, at_least=True))
    table(
        ["experts a token", "mean cosine to the model as it was", "least", "busiest expert", "seconds"],
        [
            [
                f"{r['experts_a_token']} of {EXPERTS}",
                f"{r['mean_cosine']:.4f}",
                f"{r['least_cosine']:.4f}",
                f"{r['busiest']:.1f} x the mean",
                f"{r['seconds']:.1f}",
            ]
            for r in results
        ],
    )
    return {"taught": len(taught), "asked": len(asked), "runs": results}
