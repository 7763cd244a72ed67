"""examples/train_experts.py: a small language model with a layer of experts learns as it does by PyTorch's own
operations, by flashfit's gradients and by those of a GPU."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_moe  # noqa: E402
from flashfit.nn import MoeLayer  # noqa: E402

from examples import train_experts as example  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = "examples/train_experts.py"


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Steps are so small that threads would wait for one another more than they compute."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def by_torch() -> list[float]:
    losses = example.train(example.PlainLayer)
    assert sum(losses[-20:]) / 20 < losses[0] - 1.5, "PyTorch itself learns too little for this to show anything"
    return losses


@pytest.mark.parametrize("whose", ["the CPU's gradients", "a GPU's gradients"])
def test_the_loss_falls_as_it_does_by_pytorch(
    whose: str, by_torch: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    if whose.startswith("a GPU"):
        monkeypatch.setattr(_torch_moe, "has_own_gradients", lambda _: False)
    ours = example.train(MoeLayer)
    assert abs(ours[0] - by_torch[0]) < 1e-5
    # 5e-7 where this was written.
    assert max(abs(a - b) for a, b in zip(ours, by_torch)) < example.NEAR


def test_experts_that_do_not_learn_are_seen(by_torch: list[float]) -> None:
    """What the bound above would find: the layer's weights and its router left as they began."""
    frozen = example.train(MoeLayer, frozen="layer.")
    assert sum(frozen[-20:]) / 20 - sum(by_torch[-20:]) / 20 > 0.1


def test_without_its_text_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(example, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match=r"^train_experts: docs/moe.md, its text, is not beside examples/: run it in"):
        example.text()


def test_it_runs_as_a_program() -> None:
    words = [sys.executable, "-c", f"import runpy, sys; sys.path.insert(0, 'python'); sys.argv = [{EXAMPLE!r}]; "
             f"import torch; torch.set_num_threads(1); runpy.run_path({EXAMPLE!r}, run_name='__main__')"]  # fmt: skip
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("step  flashfit  PyTorch\n  20 ")
    assert "the losses of no step are further apart than" in done.stdout
