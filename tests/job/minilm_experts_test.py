"""all-MiniLM-L6-v2 with its MLPs cut into experts: what it was with all of them, and less with fewer."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flashfit import reference

from examples import minilm_experts
from examples.minilm import Array, MiniLM
from examples.minilm_experts import EXPERTS, MixedMiniLM, alike

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    "A cat sleeps on the sofa.",
    "A kitten is napping on a couch.",
    "The stock market fell sharply today.",
    "Shared memory of one block is limited, and a tile that is larger than the limit cannot run on that GPU.",
]


@pytest.fixture(scope="module")
def dense() -> Array:
    return MiniLM().embed(TEXTS)


@pytest.fixture(scope="module")
def model() -> MixedMiniLM:
    model = MixedMiniLM()
    model.learn(TEXTS)
    return model


def test_all_experts_are_the_model_as_it_was(model: MixedMiniLM, dense: Array) -> None:
    model.top_k = EXPERTS
    assert (model.embed(TEXTS) * dense).sum(axis=1).min() > 0.999999


def test_experts_that_are_left_out_are_missed_the_less_the_better_they_are_chosen(
    model: MixedMiniLM, dense: Array
) -> None:
    model.top_k = 8
    cosine = (model.embed(TEXTS) * dense).sum(axis=1).mean()
    routers = [each.router for each in model.experts]
    model.experts = [each._replace(router=-each.router) for each in model.experts]
    worst = (model.embed(TEXTS) * dense).sum(axis=1).mean()
    model.experts = [each._replace(router=router) for each, router in zip(model.experts, routers)]
    assert worst + 0.1 < cosine < 0.9999


def test_a_layer_is_the_mlp_of_its_neurons(model: MixedMiniLM) -> None:
    model.top_k, model.calls = 3, []
    model.embed(TEXTS[:1])
    x, told, out = model.calls[2]
    mine = model.experts[2]
    given: dict[str, Any] = {**told, "activation": "geglu_erf"}
    exact = reference.fused_moe(x, mine.w13, mine.w2, **given)
    assert np.abs(out - exact).max() < 1e-4 * np.abs(exact).max()


def test_groups_are_equal_and_of_a_kind() -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((4, 16))
    kinds = rng.permutation(np.repeat(np.arange(4), 8))
    group = alike(centres[kinds] + 0.05 * rng.standard_normal((32, 16)), 4)
    assert np.bincount(group).tolist() == [8] * 4
    assert len({(int(kind), int(g)) for kind, g in zip(kinds, group)}) == 4


def test_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "examples/minilm_experts.py", "--experts", "8", *TEXTS[:3]],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=True,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert float(lines[0].split()[1]) > float(lines[0].split()[2])
    assert lines[3].startswith("cosine to the model as it was: 0.")


def test_a_number_of_experts_that_there_is_not(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["minilm_experts.py", "--experts", "13", *TEXTS[:1]])
    with pytest.raises(SystemExit, match="2"):
        minilm_experts.main()
    assert "argument --experts: invalid choice: 13 (choose from 1, 2, " in capsys.readouterr().err
