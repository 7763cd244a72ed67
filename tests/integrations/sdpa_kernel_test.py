"""The compiled module's kernel before the one of Python: which calls it answers by itself, that no other call is taken
for one of them, and that nothing which watches or changes calls is passed by."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import _torch_shim  # noqa: E402
from flashfit._packages import torch_tensors  # noqa: E402
from flashfit.integrations import _sdpa_kernel, sdpa  # noqa: E402

from tests.integrations.differing_calls import K, Q, V, answers  # noqa: E402
from tests.integrations.fresh_python import python  # noqa: E402
from tests.integrations.watching import Watching, functions_run  # noqa: E402

attend: Callable[..., Any] = torch.nn.functional.scaled_dot_product_attention
with_kernel = pytest.mark.skipif(_sdpa_kernel._address() == 0, reason="this torch has not what the kernel needs")


@pytest.fixture
def installed() -> Iterator[None]:
    sdpa.HOST.notes.clear()
    with sdpa.installed() as taken:
        assert taken
        yield
    sdpa.HOST.notes.clear()


LEARNT = Q.clone().requires_grad_()


def asks_python(call: Callable[[], Any]) -> bool:
    """Whether the call comes to the kernel of Python."""
    return any(code.co_name == "kernel" and "sdpa" in code.co_filename for code in functions_run(call))


CALLS: dict[str, Callable[[], Any]] = {
    "plain": lambda: attend(Q, K, V),
    "causal": lambda: attend(Q, K, V, is_causal=True),
    "causal, by place": lambda: attend(Q, K, V, None, 0.0, True),
    "masked": lambda: attend(Q, K, V, attn_mask=Q[0, 0, :, :6]),
    "its own scale": lambda: attend(Q, K, V, scale=0.25),
    "with gradients": lambda: attend(LEARNT, K, V),
    "with gradients, causal, of another scale": lambda: attend(LEARNT, K, V, is_causal=True, scale=0.5),
    "dropout": lambda: attend(Q, K, V, dropout_p=0.5),
    "dropout, with gradients": lambda: attend(LEARNT, K, V, dropout_p=0.5),
    "fp64": lambda: attend(Q.double(), K.double(), V.double()),
    "broadcast heads": lambda: attend(Q, K[:, :1], V[:, :1]),
    "a scale below 0": lambda: attend(Q, K, V, scale=-1.0),
}


@with_kernel
@pytest.mark.parametrize("name", CALLS)
def test_a_call_whose_like_was_seen_does_not_come_to_python(installed: None, name: str) -> None:
    call = CALLS[name]
    torch.manual_seed(0)
    first = call()
    call()
    assert not asks_python(call)
    torch.manual_seed(0)
    assert torch.equal(call(), first)
    (line,) = sdpa.log()
    assert line.endswith(" (4 calls)")
    sdpa.HOST.notes.clear()
    assert asks_python(call)


@with_kernel
@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.*memory efficient kernel")
def test_calls_that_differ_in_one_thing_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The results, the log and its counts are those of the kernel of Python alone."""
    with sdpa.installed():
        found = answers(attend, sdpa.HOST)
    with monkeypatch.context() as patch:
        patch.setattr(_sdpa_kernel, "_address", lambda: 0)
        with sdpa.installed():
            want = answers(attend, sdpa.HOST)
    found.assert_are(want)


class Watched(torch.Tensor):  # type: ignore[misc]
    """A subclass that dispatches by itself, as DTensor does."""

    seen: ClassVar[list[str]] = []

    @classmethod
    def __torch_dispatch__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        cls.seen.append(str(function))
        with torch._C._DisableTorchDispatch():
            return function(*args, **(kwargs or {}))


@pytest.mark.parametrize("query", [Q, LEARNT], ids=["without gradients", "with gradients"])
@pytest.mark.parametrize("options", [{}, {"scale": -0.5}], ids=["taken", "left"])
def test_who_watches_calls_sees_those_whose_like_was_seen(installed: None, options: dict[str, Any], query: Any) -> None:
    for _ in range(3):
        want = attend(query, K, V, **options)
    with Watching() as mode:
        torch.testing.assert_close(attend(query, K, V, **options), want)
    assert mode.seen
    Watched.seen.clear()
    watched = [torch.Tensor._make_subclass(Watched, x, x.requires_grad) for x in (query, K, V)]
    found = attend(*watched, **options)
    assert Watched.seen
    torch.testing.assert_close(torch.as_tensor(found), want)


@pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.torch.jit")
@pytest.mark.parametrize("query", [Q, LEARNT], ids=["without gradients", "with gradients"])
def test_transforms_of_calls_whose_like_was_taken(installed: None, query: Any) -> None:
    for _ in range(3):
        attend(query, K, V)
    exact = attend(Q.double(), K.double(), V.double())
    negated = torch.complex(torch.zeros_like(Q), -query).conj().imag
    assert negated.is_neg()
    torch.testing.assert_close(attend(negated, K, V).double().detach(), exact, rtol=0, atol=2e-6)
    mapped = torch.func.vmap(attend)(query[None], K[None], V[None])[0]
    torch.testing.assert_close(mapped.double().detach(), exact, rtol=0, atol=2e-6)
    gradient = torch.func.grad(lambda q: attend(q, K, V).sum())(Q)
    learnt = Q.clone().requires_grad_()
    attend(learnt, K, V).sum().backward()
    torch.testing.assert_close(gradient, learnt.grad, rtol=0, atol=1e-5)
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):  # which has derivatives of this kind
        _, tangent = torch.func.jvp(lambda q: attend(q, K, V), (Q,), (torch.ones_like(Q),))
    assert bool(tangent.abs().sum() > 0)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert attend(query, K, V).dtype == torch.bfloat16
    with torch.inference_mode():
        assert attend(query, K, V).is_inference()
    compiled = torch.compile(lambda q, k, v: attend(q, k, v), backend="aot_eager", fullgraph=True, dynamic=True)
    torch.testing.assert_close(compiled(Q, K, V).double(), exact, rtol=0, atol=2e-6)
    assert any("? heads" in line for line in sdpa.log())  # the sizes of a trace


def test_compiled_code_says_what_it_leaves_though_its_like_was_left(
    installed: None, capfd: pytest.CaptureFixture[str]
) -> None:
    for _ in range(3):
        attend(Q, K, V, dropout_p=0.5)
    compiled = torch.compile(lambda *x: attend(*x, dropout_p=0.5), backend="aot_eager", fullgraph=True, dynamic=True)
    compiled(Q, K, V)
    left = [line for line in sdpa.log() if "dropout_p: 0.5" in line]
    assert any(line.endswith("4 heads of 16: dropout_p: 0.5 (3 calls)") for line in left)
    assert "aoti_torch" not in capfd.readouterr().err  # nobody asked a symbolic tensor for its sizes


def test_the_log_is_one_though_hosts_come_and_go(installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask() -> None:
        for _ in range(3):
            attend(Q, K, V)
            attend(Q, K, V, dropout_p=0.5)

    ask()
    sdpa.uninstall()
    ask()  # of PyTorch alone
    sdpa.install()
    ask()
    assert [line.split("(")[-1] for line in sdpa.log()] == ["6 calls)", "6 calls)"]
    monkeypatch.setenv("FLASHFIT_DISABLE_SDPA", "1")
    assert not sdpa.install()
    before = sdpa.log()
    ask()
    assert sdpa.log() == before
    monkeypatch.delenv("FLASHFIT_DISABLE_SDPA")
    assert sdpa.install()
    ask()
    assert [line.split("(")[-1] for line in sdpa.log() if "turns it off" not in line] == ["9 calls)", "9 calls)"]
    sdpa.HOST.notes.clear()
    assert sdpa.log() == []
    ask()
    assert [line.split("(")[-1] for line in sdpa.log()] == ["3 calls)", "3 calls)"]


def test_counts_of_threads_add_up(installed: None) -> None:
    x = [each.double() for each in (Q, K, V)]

    def work() -> None:
        for _ in range(50):
            attend(Q, K, V)
            attend(*x)
            attend(*x, scale=-1.0)
            attend(LEARNT, K, V)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [line.split("(")[-1] for line in sdpa.log()] == ["200 calls)", "400 calls)", "200 calls)"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a system without fork")
def test_a_forked_process_goes_on() -> None:
    # Not in this process: other tests import JAX, which warns of every fork from then on.
    code = """
import os, torch
from flashfit.integrations import sdpa
assert sdpa.install()
attend = torch.nn.functional.scaled_dot_product_attention
small = [torch.randn(1, 1, 1, 16) for _ in range(3)]
for _ in range(3):
    attend(*small), attend(*small, scale=-0.5)
child = os.fork()
if child == 0:
    right = bool((attend(*small) == small[2]).all()) and bool((attend(*small, scale=-0.5) == small[2]).all())
    os._exit(0 if right else 1)
print(os.waitpid(child, 0)[1])
"""
    assert python(code) == "0\n"


def kept(tensors: list[Any], use: Callable[..., Any]) -> list[int]:
    """How many still hold the memory of each tensor after use(*tensors) and the tensors are gone."""
    memory = [x.untyped_storage() for x in tensors]
    use(*tensors)
    tensors.clear()
    gc.collect()
    return [torch._C._storage_Use_Count(each._cdata) - 1 for each in memory]


@pytest.mark.parametrize("options", [{}, {"dropout_p": 0.5}, {"is_causal": True}])
def test_what_pytorch_refuses_keeps_no_tensor(installed: None, options: dict[str, Any]) -> None:
    def use(q: Any, k: Any, v: Any) -> None:
        for _ in range(3):
            with pytest.raises(RuntimeError, match=r"same dtype|Expected query"):
                attend(q, k, v, **options)

    assert kept([Q.clone(), K.double(), V.clone()], use) == [0, 0, 0]


@pytest.mark.parametrize("query", [Q, LEARNT], ids=["without gradients", "with gradients"])
@pytest.mark.parametrize("options", [{}, {"scale": -0.5}, {"scale": 0.5, "is_causal": True}, {"dropout_p": 0.5}])
@pytest.mark.parametrize("masked", [False, True])
def test_what_is_answered_keeps_no_tensor(installed: None, options: dict[str, Any], query: Any, masked: bool) -> None:
    tensors = [x.detach().clone().requires_grad_(x.requires_grad) for x in (query, K, V)]
    if masked and "is_causal" not in options:
        tensors.append(torch.zeros(6, 6))

    def use(*x: Any) -> None:
        for _ in range(4):
            attend(*x, **options)

    assert kept(tensors, use) == [0] * (4 if masked and "is_causal" not in options else 3)


@with_kernel
@pytest.mark.parametrize(("module", "name"), [(_sdpa_kernel, "_REDISPATCH"), (torch_tensors, "_MODE_STACK_LEN")])
def test_a_torch_without_a_function_has_pythons_kernel(module: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, name, "_ZN2at4_ops9not_thereEv")
    assert _sdpa_kernel._connect() == 0


@with_kernel
def test_a_torch_that_goes_another_way_has_pythons_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the kernel of Python is asked each time, since its keys are those of torch's own function."""
    assert _sdpa_kernel._address.__wrapped__() != 0
    monkeypatch.setattr(_sdpa_kernel, "_OWN", _sdpa_kernel._PYTHONS)
    try:
        assert _sdpa_kernel._address.__wrapped__() == 0
    finally:
        monkeypatch.undo()
        assert _sdpa_kernel._address.__wrapped__() != 0


WITHOUT_LAYOUT = """
import torch
from flashfit import _torch_shim
from flashfit.integrations import _sdpa_kernel, sdpa

address = _torch_shim._address
_torch_shim._address = lambda c, name: 0 if name == "get_layout" else address(c, name)
print(_torch_shim.shim() is not None, _sdpa_kernel._address() == 0)
sdpa.install()
q, k, v = torch.randn(3, 1, 2, 9, 16)
for _ in range(3):
    a = torch.nn.functional.scaled_dot_product_attention(q.requires_grad_(), k, v)
    print(type(a.grad_fn).__name__)
sdpa.uninstall()
torch.testing.assert_close(a, torch.nn.functional.scaled_dot_product_attention(q, k, v))
"""


@pytest.mark.skipif(_torch_shim.shim() is None, reason="this torch has no stable C interface")
def test_torch_2_8_has_no_kernel_of_this_but_the_other_kernels_of_cpp() -> None:
    """It does not tell a tensor's layout."""
    first, *nodes = python(WITHOUT_LAYOUT).split("\n")[:-1]
    assert first == "True True"
    assert nodes == ["ScaledDotProductFlashAttentionForCpuBackward0"] * 3
