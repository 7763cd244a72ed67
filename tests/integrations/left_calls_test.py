"""Hosts whose calls come from Python, as diffusers and Transformers: one like a call that was left goes on to the host
without being looked at again, no other call does, and the log counts each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch")
from flashfit import torch_ops  # noqa: E402, F401 - the compiled module reads torch's tensors from then on
from flashfit._binding import binding  # noqa: E402
from flashfit.integrations import diffusers, transformers  # noqa: E402
from flashfit.integrations._host import Host  # noqa: E402
from flashfit.integrations._known_calls import LeftCalls  # noqa: E402
from flashfit.integrations._log import Log  # noqa: E402

from tests.integrations.differing_calls import K, Q, V, answers  # noqa: E402
from tests.integrations.watching import functions_run  # noqa: E402

pytestmark = [
    pytest.mark.skipif(
        binding().native is None or not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"),
        reason="tensors are not read quickly here, so nothing is remembered",
    ),
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:There is a performance drop", "ignore:.*memory efficient kernel"),
]
LEARNT = Q.clone().requires_grad_()


def of_diffusers() -> Callable[..., Any]:
    dispatch: Any = pytest.importorskip("diffusers.models.attention_dispatch")

    def attend(*tensors: Any, **options: Any) -> Any:
        return dispatch.dispatch_attention_fn(*(x.transpose(1, 2) for x in tensors), **options).transpose(1, 2)

    return attend


def of_transformers() -> Callable[..., Any]:
    interface: Any = pytest.importorskip("transformers", minversion="5.0").AttentionInterface()
    module = torch.nn.Module()
    module.is_causal = False

    def attend(
        *tensors: Any,
        attn_mask: Any = None,
        dropout_p: Any = 0.0,
        scale: Any = None,
        enable_gqa: Any = None,
        **options: Any,
    ) -> Any:
        given = *tensors, attn_mask, dropout_p, scale
        return interface["fit_attention"](module, *given, **options)[0].transpose(1, 2)

    return attend


#: The function that looks at a call, and the host's own, by host.
HOSTS: dict[str, tuple[Host, Callable[[], Callable[..., Any]], str, str]] = {
    "diffusers": (diffusers.HOST, of_diffusers, "turned", "_native_attention"),
    "transformers": (transformers.HOST, of_transformers, "decide", "sdpa_attention_forward"),
}


class Asked:
    """A host that is installed, and its function with PyTorch's arguments."""

    def __init__(self, name: str) -> None:
        self.host, attend, self._looks, self._own = HOSTS[name]
        self.attend = attend()

    def is_looked_at(self, call: Callable[[], Any]) -> bool:
        ran = [code.co_name for code in functions_run(call)]
        assert self._own in ran
        return self._looks in ran


@pytest.fixture(params=HOSTS)
def asked(request: pytest.FixtureRequest) -> Iterator[Asked]:
    asked = Asked(request.param)
    asked.host.notes.clear()
    with asked.host.installed() as taken:
        assert taken
        yield asked
    asked.host.notes.clear()


#: Calls that are left, by why.
LEFT: dict[str, Callable[[Callable[..., Any]], Any]] = {
    "dropout": lambda attend: attend(Q, K, V, dropout_p=0.5),
    "dropout, with gradients": lambda attend: attend(LEARNT, K, V, dropout_p=0.5),
    "dropout, masked": lambda attend: attend(Q, K, V, attn_mask=torch.zeros(2, 1, 1, 6), dropout_p=0.5),
    "fp64": lambda attend: attend(Q.double(), K.double(), V.double()),
}


@pytest.mark.parametrize("name", LEFT)
def test_a_call_whose_like_was_left_is_not_looked_at(asked: Asked, name: str) -> None:
    def call() -> Any:
        torch.manual_seed(0)
        return LEFT[name](asked.attend)

    first = call()
    assert not asked.is_looked_at(call)
    assert torch.equal(call(), first)
    (line,) = asked.host.log()
    assert ": left: " in line
    assert line.endswith(" (3 calls)")
    asked.host.notes.clear()
    assert asked.is_looked_at(call)


def test_calls_that_differ_in_one_thing_are_told_apart(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results, the log and its counts are those of Python alone."""
    found = answers(asked.attend, asked.host)
    asked.host.uninstall()
    monkeypatch.setattr(LeftCalls, "left_or", lambda self, function: function)
    with asked.host.installed():
        found.assert_are(answers(asked.attend, asked.host))


def test_what_is_left_for_its_gradients_is_taken_without(asked: Asked) -> None:
    """v's head_dim is another one, for which there is no backward."""
    narrow = V[..., :8]
    for _ in range(3):
        asked.attend(LEARNT, K, narrow)
    with torch.no_grad():
        asked.attend(LEARNT, K, narrow)
    asked.attend(Q, K, narrow)
    counts = {": left: " in line: line.rsplit("(", 1)[1] for line in asked.host.log()}
    assert counts == {True: "3 calls)", False: "2 calls)"}


def test_a_call_in_a_transform_is_right_though_its_like_was_left(asked: Asked) -> None:
    x = [each.double() for each in (Q, K, V)]
    for _ in range(3):
        want = asked.attend(*x)
    mapped = torch.func.vmap(asked.attend)(*(each[None] for each in x))[0]
    torch.testing.assert_close(mapped, want)
    gradient = torch.func.grad(lambda q: asked.attend(q, *x[1:]).sum())(x[0])
    learnt = x[0].clone().requires_grad_()
    asked.attend(learnt, *x[1:]).sum().backward()
    torch.testing.assert_close(gradient, learnt.grad)
    compiled = torch.compile(lambda *tensors: asked.attend(*tensors), backend="aot_eager", fullgraph=True)
    torch.testing.assert_close(compiled(*x), want)
    assert any("left: fp64 on cpu, compiled: " in line for line in asked.host.log())


def test_the_log_is_one_though_the_host_comes_and_goes(asked: Asked) -> None:
    def ask() -> None:
        for _ in range(3):
            asked.attend(Q, K, V, dropout_p=0.5)

    ask()
    asked.host.uninstall()
    asked.host.install()
    ask()
    assert [line.split("(")[-1] for line in asked.host.log()] == ["6 calls)"]


def test_counts_of_threads_add_up(asked: Asked) -> None:
    x = [each.double() for each in (Q, K, V)]

    def work() -> None:
        for _ in range(50):
            asked.attend(Q, K, V, dropout_p=0.5)
            asked.attend(Q, K, V)
            asked.attend(*x)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert [line.split("(")[-1] for line in asked.host.log()] == ["200 calls)"] * 3


def always_leaving() -> tuple[LeftCalls, list[Any], Callable[..., Any]]:
    """The calls that came to a function which leaves all, and how it is asked."""
    known = LeftCalls(Log("made"))
    seen: list[Any] = []

    def leave(*call: Any) -> Any:
        seen.append(call)
        known.knower("a call", "left")()
        return NotImplemented

    return known, seen, known.left_or(leave)


def test_arguments_are_told_apart_by_kind_and_value() -> None:
    known, seen, ask = always_leaving()
    values: list[Any] = [None, False, True, 0.0, -0.0, 1.0, float("inf"), Q, Q.double(), Q[:1], Q[0], Q[:, :, None]]
    values += [Q > 0, Q.to(torch.int8), Q.to(torch.uint8), Q.bfloat16(), torch.zeros(()), torch.zeros(0)]
    calls = [(x,) for x in values] + [(x, y) for x in values[:3] for y in values[:3]]
    for first in calls:
        known.forget()
        seen.clear()
        for _ in range(2):
            assert ask(*first) is NotImplemented
        assert len(seen) == 1
        for other in calls:
            if other is not first:
                known.forget()
                ask(*first)
                seen.clear()
                ask(*other)
                assert len(seen) == 1


@pytest.mark.parametrize(
    "odd",
    [1, "text", torch.nn.Parameter(Q), Q.to_sparse(), Q[None, None], torch.zeros(2, 3, device="meta")],
    ids=["int", "text", "Parameter", "sparse", "6 dimensions", "meta"],
)
def test_a_call_with_what_cannot_be_read_is_always_asked_about(odd: Any) -> None:
    _, seen, ask = always_leaving()
    for _ in range(3):
        assert ask(Q, odd) is NotImplemented
        assert ask(*[None] * 40) is NotImplemented  # more than there is room for
    assert len(seen) == 6


def test_what_is_said_is_of_the_call_that_is_asked_about() -> None:
    """Not of one within it, which here raises."""
    known = LeftCalls(Log("made"))
    seen: list[Any] = []

    def fail(*call: Any) -> Any:
        seen.append(call)
        raise ZeroDivisionError

    def leave(*call: Any) -> Any:
        seen.append(call)
        with pytest.raises(ZeroDivisionError):
            within(K.double())
        known.knower("a call", "left")()
        return NotImplemented

    within, ask = known.left_or(fail), known.left_or(leave)
    for _ in range(3):
        assert ask(Q) is NotImplemented
    assert len(seen) == 2  # the first call and the one within it
    with pytest.raises(ZeroDivisionError):
        within(K.double())
    known.knower("another call", "left")()  # outside of any
    with pytest.raises(ZeroDivisionError):
        within(K.double())
