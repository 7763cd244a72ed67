"""A valid call of flashfit.attention with one defect is refused in one line, and its output is left alone."""

from __future__ import annotations

import warnings
from typing import Any

import flashfit
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.python.bad_values import BAD_OFFSETS, BAD_OPTIONS, BAD_TORCH_OFFSETS, STRANGERS, TORCH_ONLY
from tests.python.defects import DEFECTS, OFFSETS, TENSORS
from tests.python.problems import Problem, problems

CHECKED = settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.filter_too_much]
)


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def refuse(call: dict[str, Any], *blamed: str) -> None:
    """The call is refused, and the refusal blames one of those."""
    with pytest.raises(flashfit.FlashfitError) as caught:
        flashfit.attention(**call)
    assert isinstance(caught.value, (flashfit.InvalidArgument, flashfit.InvalidType))
    words = str(caught.value)
    assert words.startswith(tuple(f"{name}: " for name in blamed)), f"{words!r} blames none of {blamed}"
    assert "accepted" in words
    assert "\n" not in words
    assert len(words) < 600


def refuse_bent(data: st.DataObject, problem: Problem) -> None:
    call = dict(problem.arguments)
    draw: Any = data.draw
    make = draw(st.sampled_from(DEFECTS[problem.package]))
    refuse(call, *make(draw, problem, call))
    assert problem.arrays["out"].is_untouched()


@CHECKED
@given(st.data(), problems(["numpy"], empty=False))
def test_numpy(data: st.DataObject, problem: Problem) -> None:
    refuse_bent(data, problem)


@pytest.mark.usefixtures("torch")
@CHECKED
@given(st.data(), problems(["torch"], empty=False))
def test_torch(data: st.DataObject, problem: Problem) -> None:
    refuse_bent(data, problem)


LENGTHS = [0, 2, 2, 5]


def valid(package: str, ragged: bool) -> dict[str, Any]:
    """A call that is right, of 2 or 3 sequences."""
    shape = (5, 2, 8) if ragged else (2, 5, 2, 8)
    call: dict[str, Any] = {name: np.ones(shape, np.float32) for name in TENSORS}
    call["out"] *= 7
    if package == "torch":
        import torch

        call = {name: torch.from_numpy(x) for name, x in call.items()}
    if ragged:
        call.update(dict.fromkeys(OFFSETS, LENGTHS))
    return call


@pytest.fixture(params=["numpy", "torch"])
def package(request: pytest.FixtureRequest) -> str:
    name = str(request.param)
    return pytest.importorskip(name) and name


@pytest.mark.parametrize("ragged", [False, True])
def test_what_is_valid_here_is_taken(package: str, ragged: bool) -> None:
    call = valid(package, ragged)
    assert flashfit.attention(**call) is call["out"]
    assert call["out"].max() == 1


def refused_here(package: str, ragged: bool, bent: dict[str, Any], *blamed: str) -> None:
    call = valid(package, ragged)
    out = call["out"]
    refuse({**call, **bent}, *blamed)
    assert (out == 7).all()


@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize("x", STRANGERS, ids=lambda x: type(x).__name__)
def test_what_is_no_array(package: str, name: str, x: Any) -> None:
    if name == "out" and x is None:
        return  # out's default
    # What q is decides what the others have to be.
    refused_here(package, False, {name: x}, *(TENSORS if name == "q" else (name,)))


@pytest.mark.usefixtures("torch")
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize(("package", "other"), [("numpy", "torch"), ("torch", "numpy")])
def test_arrays_of_two_packages(package: str, other: str, name: str) -> None:
    refused_here(package, False, {name: valid(other, False)[name]}, "k" if name == "q" else name)


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("spoil", [bend for _, bend in BAD_OFFSETS], ids=[name for name, _ in BAD_OFFSETS])
def test_offsets(package: str, name: str, spoil: Any) -> None:
    refused_here(package, True, {name: spoil(LENGTHS)}, *OFFSETS)  # of two lengths that differ, either may be wrong


def test_k_of_too_few_dimensions_is_blamed_before_its_offsets(package: str) -> None:
    refused_here(package, True, {"k": valid(package, True)["k"][0]}, "k")


@pytest.mark.parametrize("name", OFFSETS)
@pytest.mark.parametrize("bend", [bend for _, bend in BAD_TORCH_OFFSETS], ids=[name for name, _ in BAD_TORCH_OFFSETS])
def test_offsets_in_tensors(torch: Any, name: str, bend: Any) -> None:
    refused_here("torch", True, {name: bend(torch.tensor(LENGTHS, dtype=torch.int32))}, *OFFSETS)


@pytest.mark.parametrize(("name", "x"), [(name, x) for name, some in BAD_OPTIONS.items() for x in some])
def test_options(package: str, name: str, x: Any) -> None:
    refused_here(package, False, {name: x}, name)


@pytest.mark.parametrize("return_lse", [False, True])
@pytest.mark.parametrize("name", TENSORS)
@pytest.mark.parametrize(("kind", "bend"), TORCH_ONLY, ids=[kind for kind, _ in TORCH_ONLY])
def test_tensors_whose_memory_is_not_their_value(torch: Any, kind: str, bend: Any, name: str, return_lse: bool) -> None:
    if kind == "negated" and name != "out":
        return  # torch's dispatcher resolves it for the operators; torch_test.py has it
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says once that some of these are prototypes
        bent = bend(valid("torch", False)[name])
    # The operators take meta tensors: there it is k that is elsewhere than q.
    refused_here("torch", False, {name: bent, "return_lse": return_lse}, name, *(["k"] if kind == "meta" else []))
