"""An option of an operation is declared wherever it has to be: a list of its places, each read by a few lines of code,
and what is in one of them and not in another.

The places are text (the C header, the C++ header, docs/api.md) and Python (the signature, the operators, the fakes).
Each reader is tried on a place from which an option was taken.
"""

from __future__ import annotations

import importlib.util
import inspect
import re
from pathlib import Path
from typing import Any, Callable, NamedTuple

import flashfit
import pytest

ROOT = Path(__file__).resolve().parents[2]
HEADER = (ROOT / "include" / "flashfit" / "flashfit.h").read_text(encoding="utf-8")
CPP_HEADER = (ROOT / "include" / "flashfit" / "flashfit.hpp").read_text(encoding="utf-8")
API = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
needs_torch = pytest.mark.skipif(not importlib.util.find_spec("torch"), reason="no PyTorch")


class Operation(NamedTuple):
    function: Callable[..., Any]
    c_struct: str
    cpp_struct: str
    operators: str  # the first word of their names
    tensors: tuple[str, ...]  # that a call has to have, or that are its results wherever they are
    #: What a place calls an option that Python calls otherwise.
    spelled: dict[str, str]
    #: Options that are not in a place, and why.
    absent: dict[tuple[str, str], str]


CURRENT = "operators run on torch's current stream, with the variant that the plan chooses"
OF_GRADIENTS = "of PyTorch's backward: flash_attn's functions and torch_ops.call ask for it"
ATTENTION = Operation(
    function=flashfit.attention,
    c_struct="flashfit_attention_args",
    cpp_struct="AttentionOptions",
    operators="attention",
    tensors=("q", "k", "v", "out"),
    spelled={
        "FLASHFIT_CAUSAL": "causal",
        "FLASHFIT_WINDOW": "window",
        "window_left": "window",
        "window_right": "window",
        "FLASHFIT_BATCH_INVARIANT": "batch_invariant",
        "FLASHFIT_PTX_ONLY": "ptx_only",
        "workspace_bytes": "workspace",
        "lse": "return_lse",
    },
    absent={
        ("C", "layout"): "strides say it",
        ("C++", "layout"): "strides say it",
        ("Python", "ptx_only"): "for tests of the C API",
        ("torch", "ptx_only"): "for tests of the C API",
        ("fakes", "ptx_only"): "for tests of the C API",
        **{(place, name): CURRENT for place in ("torch", "fakes") for name in ("stream", "variant")},
        ("torch", "workspace"): "the operator allocates it",
        **{(place, "deterministic"): OF_GRADIENTS for place in ("C", "C++", "Python", "fakes")},
    },
)
ROUTE = Operation(
    function=flashfit.moe_route,
    c_struct="flashfit_moe_route_args",
    cpp_struct="RouteOptions",
    operators="moe_route",
    tensors=("logits", "weights", "ids"),
    spelled={
        "FLASHFIT_TOPK_FIRST": "router",
        "topk_first": "router",
        "FLASHFIT_SIGMOID": "router",
        "sigmoid": "router",
        "FLASHFIT_SQRT_SOFTPLUS": "router",
        "sqrt_softplus": "router",
        "groups_kept": "groups",
        "FLASHFIT_RENORMALIZE": "renormalize",
        "FLASHFIT_PTX_ONLY": "ptx_only",
    },
    absent={
        ("C", "top_k"): "the results' shape says it",
        ("C++", "top_k"): "the results' shape says it",
        ("Python", "ptx_only"): "for tests of the C API",
        ("torch", "ptx_only"): "for tests of the C API",
        ("fakes", "ptx_only"): "for tests of the C API",
        **{(place, name): CURRENT for place in ("torch", "fakes") for name in ("stream", "variant")},
    },
)
OPERATIONS = {"attention": ATTENTION, "moe_route": ROUTE}


def without_comments(text: str) -> str:
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.DOTALL)


def body(text: str, start: str, end: str) -> str:
    """Between two lines of code, which have to be there."""
    return text.split(start, 1)[1].split(end, 1)[0]


def in_c(op: Operation, header: str = HEADER) -> set[str]:
    """The struct's members, and the flags that its `flags` takes by the comment beside it."""
    struct = body(header, f"typedef struct {op.c_struct} {{", f"}} {op.c_struct};")
    members = re.findall(r"(\w+)\s*[;,]", without_comments(struct))
    flags = re.findall(r"FLASHFIT_\w+", body(struct, "uint32_t flags;", "*/"))
    for flag in flags:
        assert f"#define {flag} " in header, f"{flag} is no flag of flashfit.h"
    return {*members, *flags} - {"struct_size", "flags", "reserved", "reserved_2"}


def in_cpp(op: Operation, header: str = CPP_HEADER) -> set[str]:
    """The members of the struct of options: those with a default."""
    struct = without_comments(body(header, f"struct {op.cpp_struct} {{", "\n};"))
    struct = struct.split("flags() const")[0]
    return set(re.findall(r"(\w+)(?: = [^;]*)?;", struct))


def in_python(op: Operation) -> set[str]:
    """The parameters of the function; what catches other libraries' names is none."""
    parameters = inspect.signature(op.function).parameters.values()
    return {each.name for each in parameters if each.kind is not each.VAR_KEYWORD}


def operators_of(op: Operation) -> list[Any]:
    from flashfit import _torch_attention, _torch_route

    every = (*_torch_attention.OPERATORS, *_torch_route.OPERATORS)
    return [each for each in every if each.name.startswith(op.operators)]


def in_torch(op: Operation) -> set[str]:
    """The arguments of the registered operators, and what their names ask for: attention_lse."""
    import torch
    from flashfit import torch_ops

    assert torch_ops
    found: set[str] = set()
    for each in operators_of(op):
        schema = getattr(torch.ops.flashfit, each.name).default._schema
        asked = each.name[len(op.operators) :].split("_")
        found |= {argument.name for argument in schema.arguments} | {word for word in asked if word == "lse"}
    return found


def in_fakes(op: Operation) -> set[str]:
    """What the fakes are given: the parameters of attention's with those of its options, or of the router's."""
    from flashfit import _torch_fakes
    from flashfit._options import Asked

    function = _torch_fakes.fake if op is ATTENTION else _torch_fakes.fake_route
    found = set(inspect.signature(function).parameters)
    return (found - {"asked"}) | set(Asked._fields) if op is ATTENTION else found


def in_docs(op: Operation, text: str = API) -> set[str]:
    """What docs/api.md names in code: `name`, or within the call of Python that it shows."""
    code = re.findall(r"`([^`\n]+)`", text) + re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    return set(re.findall(r"\w+", " ".join(code)))


PLACES: dict[str, Callable[..., set[str]]] = {
    "C": in_c,
    "C++": in_cpp,
    "Python": in_python,
    "torch": in_torch,
    "fakes": in_fakes,
}


def options_in(place: str, op: Operation) -> set[str]:
    """A place's options by Python's names."""
    return {op.spelled.get(name, name) for name in PLACES[place](op)} - set(op.tensors)


def every_option(op: Operation) -> dict[str, list[str]]:
    """All options, with the places that have them."""
    found: dict[str, list[str]] = {}
    for place in PLACES:
        for name in options_in(place, op):
            found.setdefault(name, []).append(place)
    return found


@needs_torch
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", OPERATIONS)
def test_no_place_lacks_an_option(name: str, place: str) -> None:
    op = OPERATIONS[name]
    mine = options_in(place, op)
    excused = {option for at, option in op.absent if at == place}
    lacking = {option: where for option, where in every_option(op).items() if option not in mine | excused}
    assert not lacking, f"{name}: {place} lacks {lacking}"


@needs_torch
@pytest.mark.parametrize("name", OPERATIONS)
def test_excuses_are_needed(name: str) -> None:
    """An excuse for what is there, or for what is nowhere, is out of date."""
    op = OPERATIONS[name]
    every = every_option(op)
    for place, option in op.absent:
        assert option in every, f"{option} is nowhere"
        assert option not in options_in(place, op), f"{place} has {option}"
    spelled = set().union(*(read(op) for read in PLACES.values()))
    assert set(op.spelled) <= spelled, f"nothing is spelled {set(op.spelled) - spelled}"


@needs_torch
@pytest.mark.parametrize("name", OPERATIONS)
def test_the_docs_name_every_option(name: str) -> None:
    """By Python's name, and flags by C's."""
    op = OPERATIONS[name]
    flags = {each for each in in_c(op) if each.startswith("FLASHFIT_")}
    wanted = {*every_option(op), *op.tensors, op.function.__name__, *flags} - {"ptx_only", "FLASHFIT_PTX_ONLY"}
    assert not wanted - in_docs(op), f"docs/api.md does not name {sorted(wanted - in_docs(op))}"


@needs_torch
def test_every_tensor_that_is_an_option_is_checked_by_the_fakes() -> None:
    """A name in a signature may be ignored; of a dtype that nothing takes it is not."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    op = next(each for each in operators_of(ATTENTION) if each.name == "attention")
    with FakeTensorMode():
        q = torch.ones(6, 4, 8)
        good = {"cu_seqlens_q": torch.zeros(3, dtype=torch.int32), "cu_seqlens_k": torch.zeros(3, dtype=torch.int32)}
        for option in op.options:
            bad = {option: torch.ones(1, dtype=torch.complex64)}
            given = {**good, **bad} if option.startswith("cu_seqlens") else bad
            dense = q if option.startswith("cu_seqlens") else q[None]
            with pytest.raises(flashfit.InvalidArgument, match=f"^{option}: "):
                torch.ops.flashfit.attention(dense, dense, dense, **given)


def lacks(read: Callable[..., set[str]], op: Operation, text: str, old: str, new: str, option: str) -> bool:
    """Whether an option goes with its words."""
    assert old in text
    return option in read(op, text) and option not in read(op, text.replace(old, new))


def test_readers_see_what_is_taken_away() -> None:
    assert lacks(in_c, ATTENTION, HEADER, "const DLTensor* sinks;", "", "sinks")
    assert lacks(in_c, ATTENTION, HEADER, "int64_t window_left, window_right;", "int64_t window_left;", "window_right")
    assert lacks(in_c, ATTENTION, HEADER, "FLASHFIT_WINDOW, FLASHFIT_BATCH", "FLASHFIT_BATCH", "FLASHFIT_WINDOW")
    assert lacks(in_c, ROUTE, HEADER, "FLASHFIT_RENORMALIZE, FLASHFIT_SIG", "FLASHFIT_SIG", "FLASHFIT_RENORMALIZE")
    assert lacks(in_cpp, ATTENTION, CPP_HEADER, "float softcap = 0;", "", "softcap")
    assert lacks(in_cpp, ATTENTION, CPP_HEADER, "std::optional<Window> window;", "", "window")
    assert lacks(in_cpp, ROUTE, CPP_HEADER, "bool renormalize = false;", "", "renormalize")
    assert lacks(in_docs, ATTENTION, API, "softcap", "cap", "softcap")


def test_a_comment_is_no_declaration() -> None:
    assert "sinks" not in in_c(ATTENTION, HEADER.replace("const DLTensor* sinks;", "/* const DLTensor* sinks; */"))
    assert "softcap" not in in_cpp(ATTENTION, CPP_HEADER.replace("float softcap = 0;", "// float softcap = 0;"))
