"""What every operation does with a package of arrays on a GPU: where memory comes from, and when the package is told.
The package and the C API are played here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable

import flashfit
import pytest
from flashfit import _attention, _route
from flashfit._packages import Package
from flashfit._tensors import CUDA, FLOAT, INT, Memory, row_major

CURRENT, GIVEN = 0x5000, 0x6000


class Array:
    """On GPU 1."""

    def __init__(self, shape: tuple[int, ...], dtype: str = "float32", writable: bool = True) -> None:
        self.shape, self.dtype, self.writable = shape, dtype, writable


class Played(Package):
    """A package that allocates, and keeps what happens."""

    kind = "an array that is played"
    allocates = True

    def __init__(self) -> None:
        self.happened: list[Any] = []

    def owns(self, x: Any) -> bool:
        return isinstance(x, Array)

    def read(self, name: str, x: Any, stream: int) -> Memory:
        code = INT if x.dtype == "int32" else FLOAT
        return Memory(0x1000, CUDA, 1, code, 32, x.shape, row_major(x.shape))

    def stream(self, q: Any, arrays: dict[str, Any]) -> int:
        return CURRENT

    @contextmanager
    def allocating_on(self, q: Any, stream: int) -> Iterator[None]:
        self.happened.append(("on", stream))
        yield
        self.happened.append("off")

    def empty(self, q: Any, shape: tuple[int, ...], dtype: str | None = None) -> Array:
        self.happened.append(dtype or q.dtype)
        return Array(shape, dtype or q.dtype)

    def like(self, q: Any) -> Array:
        return self.empty(q, q.shape)

    def scratch(self, q: Any, count: int) -> Array:
        return self.empty(q, (count,), "uint8")

    def check_writable(self, name: str, x: Any, memory: Memory) -> None:
        if not x.writable:
            raise flashfit.InvalidArgument(f"{name}: read-only; accepted: a writable array")

    def written(self, device: int, stream: int) -> None:
        self.happened.append(("written", device, stream))


def routed(package: Package, stream: Any = None, weights: Any = None, ids: Any = None) -> Any:
    return _route.route_with_care(package, Array((5, 9)), 2, "softmax", True, weights, ids, stream, None)


def attended(package: Package, stream: Any = None, out: Any = None) -> Any:
    q = Array((1, 4, 2, 8))
    return _attention.attend_with_care(package, q, q, q, False, None, None, None, "bshd", True, out, stream, None)


CALLS: dict[str, tuple[Callable[..., Any], list[str]]] = {
    "moe_route": (routed, ["float32", "int32"]),
    "attention": (attended, ["float32", "float32"]),
}


@pytest.fixture(params=[0, 4], ids=["taken", "refused"])
def status(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """What the C API answers."""
    answer = int(request.param)
    play = SimpleNamespace(attend=lambda *_: answer, route=lambda *_: answer)
    for module in (_attention, _route):
        monkeypatch.setattr(module, "binding", lambda: play)
    return answer


@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("stream", [None, GIVEN])
def test_results_are_allocated_on_the_calls_stream(operation: str, stream: Any, status: int) -> None:
    call, dtypes = CALLS[operation]
    package = Played()
    if status:
        with pytest.raises(flashfit.CudaError):
            call(package, stream)
    else:
        call(package, stream)
    depth, on = 0, []
    for each in package.happened:
        if each == ("on", GIVEN):
            depth += 1
        elif each == "off":
            depth -= 1
        elif isinstance(each, str):
            on.append((each, depth))
    assert on == [(dtype, int(stream is not None)) for dtype in dtypes]
    told = [each for each in package.happened if each[0] == "written"]
    assert told == ([] if status else [("written", 1, stream or CURRENT)])
    assert status or package.happened[-1] == told[0]


@pytest.mark.parametrize("status", [0], indirect=True)
def test_a_callers_results_are_asked_whether_they_may_be_written(status: int) -> None:
    package = Played()
    for name, shape, dtype in (("weights", (5, 2), "float32"), ("ids", (5, 2), "int32")):
        with pytest.raises(flashfit.InvalidArgument, match=f"^{name}: read-only"):
            routed(package, **{name: Array(shape, dtype, writable=False)})
    with pytest.raises(flashfit.InvalidArgument, match=r"^out: read-only"):
        attended(package, out=Array((1, 4, 2, 8), writable=False))
    assert not [each for each in package.happened if each[0] == "written"]
