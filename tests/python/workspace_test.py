"""Memory that a call of attention or of experts needs beside its arrays: who is asked for it, when, and what the C API
is given. The C API is played here: as no GPU is there, it says what it needs and looks at what it gets."""

from __future__ import annotations

import ctypes
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import _attention
from flashfit._binding import binding, compiled_module
from flashfit._frames import frames_attend, frames_layer
from flashfit._library import ALLOCATE, library
from flashfit._packages import package_of
from flashfit._tensors import Memory

NEEDED = 4096
INVALID_ARGUMENT, OUT_OF_MEMORY = 1, 5
Run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ALLOCATE, ctypes.c_void_p)
#: Where void* workspace and uint64_t workspace_bytes lie in flashfit_attention_args and flashfit_fused_moe_args.
WORKSPACE_AT = {"attention_run": 88, "fused_moe_run": 144}


class CApi:
    """flashfit_attention_run or flashfit_fused_moe_run of calls that need NEEDED bytes."""

    def __init__(self, needed: int = NEEDED, status: int = 0, name: str = "attention_run") -> None:
        self._workspace_at = WORKSPACE_AT[name]
        self.given: list[tuple[int, int]] = []  # (address, bytes) that every call computed with
        self.calls = 0
        self.needed, self._status = needed, status
        self.function = Run(self._call)
        self.address = ctypes.cast(self.function, ctypes.c_void_p).value

    def _call(self, args: int, allocate: Any, context: int | None) -> int:
        self.calls += 1
        address, count = (ctypes.c_uint64 * 2).from_address(args + self._workspace_at)
        if self.needed and not address and allocate:
            address, count = allocate(context, self.needed), self.needed
            if not address:
                return OUT_OF_MEMORY
        self.given.append((address, count))
        return self._status if count >= self.needed else INVALID_ARGUMENT


def cuda_array(
    shape: tuple[int, ...] = (1, 1, 2, 64), data: int = 0x7000, read_only: bool = False, **interface: Any
) -> Any:
    """An object with __cuda_array_interface__; its memory does not exist."""
    whole = {"shape": shape, "typestr": "<f2", "data": (data, read_only), "version": 3, **interface}
    return SimpleNamespace(__cuda_array_interface__=whole)


def on_gpu_1(shape: tuple[int, ...]) -> Any:
    array = cuda_array(shape)
    array.device = 1
    return array


def attend(**given: Any) -> Any:
    return flashfit.attention(cuda_array(), cuda_array(), cuda_array(), out=cuda_array(data=0x9000), **given)


def run_experts(**given: Any) -> Any:
    x, out = cuda_array((2, 8)), cuda_array((2, 8), 0x9000)
    chosen = {"topk_ids": cuda_array((2, 1), typestr="<i4"), "topk_weights": cuda_array((2, 1), typestr="<f4")}
    return flashfit.fused_moe(x, cuda_array((4, 16, 8)), cuda_array((4, 8, 8)), out=out, **chosen, **given)


class Operation:
    """One whose careful calls reach `api` by ctypes. first: what it calls the array that says where the others are."""

    def __init__(self, call: Any, first: str, api: CApi) -> None:
        self.call, self.first, self.api = call, first, api

    def refusal(self, **given: Any) -> str:
        with pytest.raises(flashfit.FlashfitError) as raised:
            self.call(**given)
        return str(raised.value)


@pytest.fixture(params=["attention_run", "fused_moe_run"])
def operation(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Operation:
    api = CApi(name=request.param)
    # First: the binding, once made, keeps the library's functions.
    monkeypatch.setattr(binding(), "layer", frames_layer)
    monkeypatch.setattr(library(), request.param, api.function)
    monkeypatch.setattr(_attention, "binding", lambda: SimpleNamespace(attend=frames_attend))
    return Operation(*((attend, "q") if request.param == "attention_run" else (run_experts, "x")), api)


def test_an_array_is_passed_on(operation: Operation) -> None:
    operation.call(workspace=cuda_array((NEEDED,), 0xB000, typestr="|u1"))
    assert operation.api.given == [(0xB000, NEEDED)]
    operation.call(workspace=cuda_array((2, 3, NEEDED), 0xD000))  # of any shape and dtype
    assert operation.api.given[1] == (0xD000, 2 * 3 * NEEDED * 2)


def test_a_function_is_asked_once_and_only_where_memory_is_needed(operation: Operation) -> None:
    asked, api = [], operation.api

    def allocate(count: int) -> Any:
        asked.append(count)
        return cuda_array((count,), 0xB000, typestr="|u1")

    operation.call(workspace=allocate)
    assert asked == [NEEDED]
    assert (api.given, api.calls) == ([(0xB000, NEEDED)], 1)  # one call: nothing is checked twice
    api.needed = 0
    operation.call(workspace=allocate)
    assert asked == [NEEDED]


def test_too_small_is_said(operation: Operation) -> None:
    said = operation.refusal(workspace=lambda count: cuda_array((count // 4,)))
    assert said == "workspace: 2048 bytes; accepted: 4096 or more"


def test_what_cannot_allocate_says_so(operation: Operation) -> None:
    assert operation.refusal() == (
        "workspace: None; accepted: an object with __cuda_array_interface__ of 4096 bytes, as "
        f"{operation.first}, or a function that makes one, since flashfit allocates no memory for it"
    )
    assert operation.api.given == []


@pytest.mark.parametrize(
    ("workspace", "words"),
    [
        (cuda_array((64, 64), strides=(256, 2)), "workspace: strides are (128, 1); accepted: contiguous"),
        (cuda_array((NEEDED,), read_only=True), "workspace: read-only; accepted: a writable array"),
        (on_gpu_1((NEEDED,)), "workspace: device is cuda:1; accepted: cuda:0, where {} is"),
        (lambda count: on_gpu_1((count,)), "workspace: device is cuda:1; accepted: cuda:0, where {} is"),
        (3, "workspace: builtins.int; accepted: an object with __cuda_array_interface__, as {}"),
        (lambda count: count, "workspace: builtins.int; accepted: an object with __cuda_array_interface__, as {}"),
    ],
)
def test_odd_ones_are_refused(operation: Operation, workspace: Any, words: str) -> None:
    assert operation.refusal(workspace=workspace) == words.format(operation.first)


def test_on_the_cpu_nothing_is_asked() -> None:
    q = np.ones((1, 4, 2, 8), np.float32)

    def never(count: int) -> Any:
        raise AssertionError(count)

    np.testing.assert_array_equal(flashfit.attention(q, q, q, workspace=never), q)


MEMORY = Memory(0x7000, 2, 0, 2, 16, (1, 1, 2, 64), (128, 128, 64, 1))


def alone(*addresses: int | None) -> Any:
    """A copy of the compiled module, connected to these functions."""
    native = binding().native
    if native is None:
        pytest.skip("this Python loads no compiled module")
    module: Any = compiled_module(Path(str(native.__file__)))
    module.connect(*addresses)
    return module


def attend_of(way: str, api: CApi, monkeypatch: pytest.MonkeyPatch) -> Any:
    if way == "native":
        return alone(api.address).attend
    monkeypatch.setattr(library(), "attention_run", api.function)
    return frames_attend


@pytest.mark.parametrize("way", ["ctypes", "native"])
def test_the_function_that_was_given_is_asked(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = CApi()
    attend = attend_of(way, api, monkeypatch)
    plain = (MEMORY, MEMORY, MEMORY, MEMORY, None, None, None, 0, 0.0, 5, None, False)
    options = (0, 0, 0.0, None, None, None, None)
    assert attend(*plain) == INVALID_ARGUMENT  # no memory, and nobody to ask
    assert attend(*plain, (*options, 0xB000, NEEDED, None)) == 0
    assert attend(*plain, (*options, 0, 0, lambda count: 0xD000 + count)) == 0
    assert api.given == [(0, 0), (0xB000, NEEDED), (0xD000 + NEEDED, NEEDED)]


@pytest.mark.parametrize("way", ["ctypes", "native"])
def test_what_the_function_raises_reaches_the_caller(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = CApi()
    attend = attend_of(way, api, monkeypatch)
    plain = (MEMORY, MEMORY, MEMORY, MEMORY, None, None, None, 0, 0.0, 5, None, False)

    def allocate(count: int) -> int:
        raise KeyError(count)

    with pytest.raises(KeyError, match=str(NEEDED)):
        attend(*plain, (0, 0, 0.0, None, None, None, None, 0, 0, allocate))
    assert api.given == []


@pytest.mark.parametrize("way", ["ctypes", "native"])
def test_a_failure_stays_a_status(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attend = attend_of(way, CApi(needed=0, status=4), monkeypatch)
    assert attend(MEMORY, MEMORY, MEMORY, MEMORY, None, None, None, 0, 0.0, 5, None, False) == 4


#: Of a layer of experts: x, w13, w2, out, topk_ids and topk_weights, as the played C API looks at none of them.
LAYER = (*(MEMORY,) * 6, *(None,) * 10)
NUMBERS = (0, 0, 0, 0, 1.0, 0.0, 0.0, 0, 0, 0, 1.0)


def layer_of(way: str, api: CApi, monkeypatch: pytest.MonkeyPatch) -> Any:
    if way == "native":
        return alone(0, 0, api.address).layer
    monkeypatch.setattr(library(), "fused_moe_run", api.function)
    return frames_layer


@pytest.mark.parametrize("way", ["ctypes", "native"])
def test_a_layer_asks_the_function_that_was_given(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    api = CApi(name="fused_moe_run")
    layer = layer_of(way, api, monkeypatch)
    assert layer(LAYER, NUMBERS, 5, (0, 0, None)) == INVALID_ARGUMENT  # no memory, and nobody to ask
    assert layer(LAYER, NUMBERS, 5, (0xB000, NEEDED, None)) == 0
    assert layer(LAYER, NUMBERS, 5, (0, 0, lambda count: 0xD000 + count)) == 0
    assert api.given == [(0, 0), (0xB000, NEEDED), (0xD000 + NEEDED, NEEDED)]

    def allocate(count: int) -> int:
        raise KeyError(count)

    with pytest.raises(KeyError, match=str(NEEDED)):
        layer(LAYER, NUMBERS, 5, (0, 0, allocate))
    assert len(api.given) == 3


class PlainTorch:
    """A copy of the compiled module that takes its memory from `allocate`, and torch tensors on the CPU."""

    def __init__(self, api: CApi, allocate: Any) -> None:
        torch = pytest.importorskip("torch")
        from flashfit._packages import torch_tensors

        self.module = alone(api.address, 0, api.address)
        *connection, _ = torch_tensors.module_connection()
        self.module.connect_torch(*connection, allocate)
        self.q = torch.ones(1, 1, 2, 64)

    def attend(self) -> Any:
        return self.module.attend_plain(self.q, self.q, self.q, None, None, None, False, "bshd")


def test_torch_allocates_what_a_plain_call_needs() -> None:
    torch = pytest.importorskip("torch")
    api, made = CApi(), []

    def allocate(count: int, device: int) -> Any:
        made.append(torch.empty(count, dtype=torch.uint8))
        assert device == 0
        return made[-1]

    plain = PlainTorch(api, allocate)
    for times in (1, 2):
        assert plain.attend().shape == plain.q.shape
        assert len(made) == times
        assert api.given == [(each.data_ptr(), NEEDED) for each in made]


def test_torch_allocates_what_a_layer_needs() -> None:
    torch = pytest.importorskip("torch")
    api, made = CApi(name="fused_moe_run"), []

    def allocate(count: int, device: int) -> Any:
        made.append(torch.empty(count, dtype=torch.uint8))
        return made[-1]

    def out_of_memory(count: int, device: int) -> Any:
        raise MemoryError(count)

    layer = PlainTorch(api, allocate).module.layer
    tensors = (*(torch.ones(2, 2),) * 6, *(None,) * 10)
    assert layer(tensors, NUMBERS, None, None) == 0
    assert api.given == [(made[0].data_ptr(), NEEDED)]
    with pytest.raises(MemoryError, match=str(NEEDED)):
        PlainTorch(api, out_of_memory).module.layer(tensors, NUMBERS, None, None)


def test_torch_is_not_asked_for_what_is_not_needed() -> None:
    def never(count: int, device: int) -> Any:
        raise AssertionError(count)

    api = CApi(needed=0)
    assert PlainTorch(api, never).attend().shape == (1, 1, 2, 64)
    assert api.given == [(0, 0)]


def test_an_allocator_that_fails_leaves_the_words_to_the_careful_way() -> None:
    def out_of_memory(count: int, device: int) -> Any:
        raise MemoryError

    assert PlainTorch(CApi(), out_of_memory).attend() is NotImplemented


@pytest.mark.parametrize("name", ["torch", "jax"])
def test_packages_allocate_bytes_where_q_is(name: str) -> None:
    package = pytest.importorskip(name)
    q = package.ones((2, 2)) if name == "torch" else package.numpy.ones((2, 2))
    owner = package_of(q)
    made = owner.read("workspace", owner.scratch(q, 1000), 0)
    assert (made.shape, made.bits, made.device_type) == ((1000,), 8, 1)


def test_jax_arrays_are_not_written_to() -> None:
    jax = pytest.importorskip("jax")
    q = jax.numpy.ones((1, 4, 2, 8))
    with pytest.raises(
        flashfit.InvalidArgument, match=r"^workspace: a JAX array, which never changes; accepted: None$"
    ):
        flashfit.attention(q, q, q, workspace=jax.numpy.zeros(4096, "uint8"))


def test_compiled_code_takes_no_workspace() -> None:
    torch = pytest.importorskip("torch")
    q = torch.ones(1, 4, 2, 8)
    compiled = torch.compile(lambda w: flashfit.attention(q, q, q, workspace=w), backend="eager", fullgraph=True)
    with pytest.raises(Exception, match="workspace: given in compiled code; accepted there: None"):
        compiled(torch.empty(100, dtype=torch.uint8))
    assert torch.equal(flashfit.attention(q, q, q, workspace=torch.empty(100, dtype=torch.uint8)), q)
