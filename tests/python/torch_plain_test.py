"""What counts as plain eager mode after a plain call was remembered: only what is plain itself."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")

import flashfit  # noqa: E402
from flashfit._binding import binding, compiled_module  # noqa: E402
from flashfit._packages import torch_tensors  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

IsPlain = Callable[..., bool]


def tensor(*shape: int) -> Any:
    """Some fp32 tensor."""
    return torch.zeros(shape or (1, 4, 2, 8))


@pytest.fixture(params=["with torch's own check and mode counter", "without"])
def is_plain(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> IsPlain:
    """is_plain() of a module that has met a plain call."""
    flashfit.attention(tensor(), tensor(), tensor())
    native = binding().native
    if native is None:
        pytest.skip("no compiled module here: ctypes reads tensors in Python")
    if request.param == "without":
        monkeypatch.setattr(torch_tensors, "_check_tells_apart", lambda: False)
        monkeypatch.setattr(torch_tensors, "mode_counter", lambda: 0)
    else:
        assert torch_tensors.mode_counter()
    alone: Any = compiled_module(Path(native.__file__ or ""))
    alone.connect(1)  # of a function that is never called
    alone.connect_torch(*torch_tensors.module_connection())
    assert alone.is_plain(tensor(), tensor(), tensor(), None)
    with pytest.raises(TypeError, match=r"^connect_torch: connected already; accepted: one call for each module$"):
        alone.connect_torch(*torch_tensors.module_connection())
    found: IsPlain = alone.is_plain
    return found


class Watch(TorchDispatchMode):  # type: ignore[misc]
    """A mode that changes nothing."""

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return function(*args, **(kwargs or {}))


class Subclass(torch.Tensor):  # type: ignore[misc]
    """A tensor that may mean anything."""


def test_the_guard_is_used_where_torch_has_it() -> None:
    """Each release served has it: else a call is slower, and this says so. Also where tensors are made elsewhere by
    default, as a model's are that is loaded on the meta device first."""
    with torch.device("meta"):
        assert torch_tensors._check_tells_apart.__wrapped__()
    assert torch_tensors._check_tells_apart()


@pytest.mark.parametrize("state", [torch.no_grad, torch.inference_mode, torch.enable_grad, nullcontext])
def test_plain(is_plain: IsPlain, state: Callable[[], AbstractContextManager[Any]]) -> None:
    """Any size, dtype, layout of plain tensors."""
    q, k = tensor(3, 5, 2, 16), tensor(3, 9, 2, 16)
    with state():
        for _ in range(7):
            assert is_plain(q, k, k, None)
            assert is_plain(q, k, k, q)
            assert is_plain(q.transpose(1, 2), k.half(), k.bfloat16(), None)
            assert is_plain(tensor(5, 2, 8), tensor(5, 2, 8), tensor(5, 2, 8), None)


ODD: dict[str, Callable[[], Any]] = {
    "negated": lambda: torch.zeros(1, 4, 2, 8, dtype=torch.complex64).conj().imag,
    "requires grad": lambda: tensor().requires_grad_(),
    "parameter": lambda: torch.nn.Parameter(tensor(), requires_grad=False),
    "subclass": lambda: tensor().as_subclass(Subclass),
}


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("place", range(3))
def test_an_odd_tensor_is_not(is_plain: IsPlain, odd: str, place: int) -> None:
    """In any place."""
    tensors = [tensor(), tensor(), tensor()]
    tensors[place] = ODD[odd]()
    for _ in range(2):
        assert not is_plain(*tensors, None)


def test_plain_without_gradients_is_not_plain_with_them(is_plain: IsPlain) -> None:
    """Nor the other way round."""
    q = tensor().requires_grad_()
    for _ in range(3):
        with torch.no_grad():
            assert is_plain(q, q, q, None)
        assert not is_plain(q, q, q, None)


def test_plain_but_for_gradients(is_plain: IsPlain) -> None:
    """What gradients do not change still counts."""
    but = is_plain.__self__.is_plain_but_for_gradients  # type: ignore[attr-defined]
    plain = tensor()
    assert but(plain, None, plain.clone().requires_grad_())
    for odd in ("negated", "parameter", "subclass"):
        assert not but(plain, ODD[odd]())
    for state in STATES.values():
        with state():
            assert not but(plain)
        assert but(plain)
    for transform in (torch.vmap, torch.func.grad, torch.func.functionalize):
        assert not through(transform, lambda _: bool(but(plain)))


STATES: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "autocast": lambda: torch.autocast("cpu"),
    "mode": Watch,
    "fake": lambda: torch._subclasses.FakeTensorMode(),
    "dual level": torch.autograd.forward_ad.dual_level,
}


@pytest.mark.parametrize("state", STATES)
def test_plain_tensors_are_not_where_something_watches(is_plain: IsPlain, state: str) -> None:
    """However often they were plain outside it."""
    q = tensor()
    for _ in range(2):
        assert is_plain(q, q, q, None)
        with STATES[state]():
            assert not is_plain(q, q, q, None)


def test_the_memory_of_a_fake_tensor_is_not_asked_for(capfd: Any) -> None:
    """PyTorch warns of who does, once a process."""
    always = torch.is_warn_always_enabled()
    torch.set_warn_always(True)
    try:
        with torch._subclasses.FakeTensorMode():
            q = tensor()
            assert flashfit.attention(q, q, q).shape == q.shape
    finally:
        torch.set_warn_always(always)
    assert capfd.readouterr().err == ""


def through(transform: Callable[[Callable[[Any], Any]], Callable[[Any], Any]], seen: Callable[[Any], bool]) -> bool:
    """What `seen` says of the tensor that a transform hands on."""
    said = []

    def function(x: Any) -> Any:
        said.append(seen(x))
        return x.sum()

    transform(function)(tensor(3, 1, 4, 2, 8))
    return said[0]


@pytest.mark.parametrize("transform", [torch.vmap, torch.func.grad, torch.func.functionalize])
def test_nothing_is_inside_a_transform(is_plain: IsPlain, transform: Any) -> None:
    """Neither what it hands on nor a tensor from outside."""
    q = tensor()
    for _ in range(2):
        assert is_plain(q, q, q, None)
        assert not through(transform, lambda x: is_plain(x, x, x, None))
        assert not through(transform, lambda _: is_plain(q, q, q, None))


@pytest.mark.filterwarnings("ignore:.torch.jit")
def test_nothing_is_while_tracing(is_plain: IsPlain) -> None:
    """torch.jit.trace sees operators alone."""
    q = tensor()
    assert not through(
        lambda f: lambda x: torch.jit.trace(f, (x,), check_trace=False), lambda _: is_plain(q, q, q, None)
    )


def test_a_tensor_without_memory_is_no_call_to_the_library() -> None:
    def meta(*shape: int) -> Any:
        return torch.empty(shape, device="meta")

    q, x, logits = meta(1, 4, 2, 8), meta(3, 8), meta(3, 4)
    with_gradients = q.clone().requires_grad_()
    for out in (
        flashfit.attention(q, q, q),
        flashfit.attention(q, q, q, softcap=3.0),
        flashfit.attention(q, q, q, out=torch.empty_like(q)),
        flashfit.attention(with_gradients, q, q),
    ):
        assert (out.device.type, out.shape) == ("meta", q.shape)
    layer = flashfit.fused_moe(x, meta(4, 12, 8), meta(4, 8, 6), router_logits=logits, top_k=2)
    assert (layer.device.type, layer.shape) == ("meta", x.shape)


def test_gradients_of_tensors_without_memory() -> None:
    q = torch.empty(4, 2, 8, device="meta", requires_grad=True)
    offsets = torch.empty(3, dtype=torch.int32, device="meta")
    flashfit.attention(q, q, q, cu_seqlens_q=offsets, cu_seqlens_k=offsets).sum().backward()
    assert (q.grad.device.type, q.grad.shape) == ("meta", q.shape)


def test_no_heads_have_gradients() -> None:
    q = torch.randn(2, 3, 0, 8, requires_grad=True)
    for options in ({"sinks": torch.zeros(0)}, {"alibi_slopes": torch.zeros(0)}, {"alibi_slopes": torch.zeros(2, 0)}):
        q.grad = None
        flashfit.attention(q, q, q, **options).sum().backward()
        assert q.grad.shape == q.shape


def test_another_layout_is_refused_in_words() -> None:
    x = torch.zeros(1, 4, 2, 8).to_mkldnn()
    with pytest.raises(flashfit.InvalidArgument, match=r"^q: layout is torch\._mkldnn; accepted: torch\.strided$"):
        flashfit.attention(x, x, x)
