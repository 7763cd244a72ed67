"""flashfit.moe_route on NumPy arrays and other packages' but torch's, against the fp64 reference; what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import flashfit
import ml_dtypes
import numpy as np
import pytest
from flashfit import _route, reference
from flashfit._binding import UNREADABLE, binding
from flashfit._frames import frames_route
from flashfit._tensors import Memory

from tests.python.bad_values import STRANGERS
from tests.python.compare import expect_routed

ROOT = Path(__file__).resolve().parents[2]
DTYPES = {"fp16": np.float16, "bf16": ml_dtypes.bfloat16, "fp32": np.float32}
INF, NAN = float("inf"), float("nan")
KINDS = [
    {"router": router, "renormalize": renormalize}
    for router in ("softmax", "topk_softmax")
    for renormalize in (True, False)
]


def normal(tokens: int, experts: int, dtype: Any = np.float32, seed: int = 1) -> Any:
    return np.random.default_rng(seed).standard_normal((tokens, experts)).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("experts", [1, 2, 7, 128, 129, 512])
@pytest.mark.parametrize("options", KINDS, ids=lambda o: "-".join(map(str, o.values())))
def test_against_fp64(dtype: str, experts: int, options: Any) -> None:
    for tokens in (0, 1, 1000):
        logits = normal(tokens, experts, DTYPES[dtype])  # of 512 in fp16 and bf16, many are equal
        for top_k in {1, min(experts, 16)}:
            weights, ids = flashfit.moe_route(logits, top_k, **options)
            assert weights.shape == ids.shape == (tokens, top_k)
            expect_routed(weights, ids, logits, top_k, **options)


def test_defaults_are_softmax_over_all_then_divided_by_the_sum() -> None:
    logits = normal(50, 60)
    weights, ids = flashfit.moe_route(logits, 6)
    expect_routed(weights, ids, logits, 6, router="softmax", renormalize=True)
    np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-6)
    assert not np.allclose(weights, flashfit.moe_route(logits, 6, renormalize=False)[0])


# Rows of logits, and which experts are chosen of them, first to last: written by hand.
ROWS: dict[str, tuple[list[float], list[int]]] = {
    "all equal": ([2.0] * 9, [0, 1, 2, 3, 4]),
    "ties": ([1, 3, 3, 2, 3, 1, 1], [1, 2, 4, 3, 0]),
    "-0 and 0": ([-1, -0.0, 0.0, -0.0, 0.0, -2], [1, 2, 3, 4, 0]),
    "NaN": ([1, 2, NAN, 5, NAN, 3], [2, 4, 3, 5, 1]),
    "NaN of the other sign": ([1, 2, -NAN, 5, 7, 3], [2, 4, 3, 5, 1]),
    "inf": ([1, 2, INF, 5, 4, 3], [2, 3, 4, 5, 1]),
    "inf twice and NaN": ([INF, 2, NAN, 5, INF, 3], [2, 0, 4, 3, 5]),
    "all NaN": ([NAN] * 6, [0, 1, 2, 3, 4]),
    "all -inf": ([-INF] * 6, [0, 1, 2, 3, 4]),
    "some -inf": ([-INF, 1, -INF, 2, -INF, -INF], [3, 1, 0, 2, 4]),
    "around 1000": ([1000, 1001, 1000.5, 999, 998, 1002], [5, 1, 2, 0, 3]),
    "around -1000": ([-1000, -1001, -1000.5, -999, -998, -1002], [4, 3, 0, 2, 1]),
    "far apart": ([-1000, 1000, 0, 990, -990, 999], [1, 5, 3, 2, 4]),
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("options", KINDS, ids=lambda o: "-".join(map(str, o.values())))
def test_rows_of_every_kind(name: str, dtype: str, options: Any) -> None:
    row, chosen = ROWS[name]
    with np.errstate(over="ignore"):
        logits = np.array([row], np.float32).astype(DTYPES[dtype])
    if name.startswith("around") and dtype == "bf16":  # 1001 is 1000 there
        chosen = reference.route(logits, 5)[1][0].tolist()
    weights, ids = flashfit.moe_route(logits, 5, **options)
    assert ids[0].tolist() == chosen
    expect_routed(weights, ids, logits, 5, **options)
    assert np.isnan(weights).all() == (name in {"inf", "all -inf"} or "NaN" in name or "inf twice" in name)


def test_a_row_does_not_reach_the_others() -> None:
    logits = normal(40, 33)
    clean = flashfit.moe_route(logits, 4)
    logits[7, 5], logits[20] = NAN, -INF
    found = flashfit.moe_route(logits, 4)
    others = np.delete(np.arange(40), [7, 20])
    for mine, its in zip(found, clean):
        np.testing.assert_array_equal(mine[others], its[others])
    assert np.isnan(found[0][[7, 20]]).all()


WIDE = normal(12, 50)
#: Logits that do not lie without gaps.
VIEWS: dict[str, Any] = {
    "wider rows": WIDE[:, ::1][:, :37],
    "wider rows, not the first columns": WIDE[:, 5:42],
    "every third row": WIDE[::3],
    "one row for all": np.broadcast_to(WIDE[4], (9, 50)),
    "two bytes off": np.frombuffer(bytes(2) + WIDE.astype(np.float16).tobytes(), np.float16)[1:].reshape(12, 50),
    "one expert of many": WIDE[:, 3:4],
    "one token, with any stride": np.lib.stride_tricks.as_strided(WIDE, (1, 50), (-4, 4)),
}


@pytest.mark.parametrize("name", VIEWS)
def test_rows_may_lie_anyhow(name: str) -> None:
    logits = VIEWS[name]
    top_k = min(3, logits.shape[1])
    weights, ids = flashfit.moe_route(logits, top_k)
    expect_routed(weights, ids, logits, top_k)


@pytest.mark.parametrize("given", [("weights",), ("ids",), ("weights", "ids")])
def test_results_are_written_to_what_is_given(given: tuple[str, ...]) -> None:
    logits = normal(30, 20)
    want = flashfit.moe_route(logits, 4)
    results: dict[str, Any] = {"weights": np.full((30, 4), 7, np.float32), "ids": np.full((30, 4), 7, np.int32)}
    found = flashfit.moe_route(logits, 4, **{name: results[name] for name in given})
    for name, mine, its in zip(("weights", "ids"), found, want):
        assert (mine is results[name]) == (name in given)
        np.testing.assert_array_equal(mine, its)


def ones(*shape: int, dtype: Any = np.float32) -> Any:
    return np.ones(shape, dtype)


def read_only(*shape: int) -> Any:
    array = ones(*shape)
    array.flags.writeable = False
    return array


LOGITS = normal(5, 9)
SHARED = np.zeros((5, 9), np.float32)
WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    (
        {"logits": [[1.0]]},
        TypeError,
        "logits: builtins.list; accepted: an array of NumPy, torch, CuPy or JAX, or an object with __dlpack__ or",
    ),
    ({"logits": ones(9)}, ValueError, "logits: 1 dimensions; accepted: 2, [tokens, experts]"),
    ({"logits": ones(2, 3, 4)}, ValueError, "logits: 3 dimensions; accepted: 2, [tokens, experts]"),
    ({"logits": ones(1, 2, 3, 4, 5)}, ValueError, "logits: 5 dimensions; accepted: 2, [tokens, experts]"),
    ({"logits": ones(5, 0)}, ValueError, "logits: shape is (5, 0); accepted: 1 to 512 experts"),
    ({"logits": ones(5, 513)}, ValueError, "logits: shape is (5, 513); accepted: 1 to 512 experts"),
    ({"logits": LOGITS.astype(np.float64)}, ValueError, "logits: dtype is fp64; accepted: fp16, bf16, fp32"),
    ({"logits": LOGITS.astype(np.int32)}, ValueError, "logits: dtype is int32; accepted: fp16, bf16, fp32"),
    ({"logits": LOGITS.astype(object)}, ValueError, "logits: dtype is object; accepted: float16, bfloat16 (of ml_"),
    ({"logits": LOGITS.astype(">f4")}, ValueError, "logits: dtype is >f4, of the other byte order; accepted: this"),
    ({"logits": np.ma.ones((5, 9), np.float32)}, ValueError, "logits: a masked array, whose mask would be ignored"),
    ({"logits": normal(5, 18)[:, ::2]}, ValueError, "logits: strides are (18, 2); accepted: 1 in the last dimension"),
    ({"logits": LOGITS[::-1]}, ValueError, "logits: strides are (-9, 1); accepted: 0 or more"),
    ({"top_k": 0}, ValueError, "top_k: 0; accepted: 1 to 9"),
    ({"top_k": -1}, ValueError, "top_k: -1; accepted: 1 to 9"),
    ({"top_k": 10}, ValueError, "top_k: 10; accepted: 1 to 9"),
    ({"top_k": 17, "logits": ones(5, 100)}, ValueError, "top_k: 17; accepted: 1 to 16"),
    ({"top_k": 2**70}, ValueError, f"top_k: {2**70}; accepted: 1 to 9"),
    ({"top_k": 2.0}, TypeError, "top_k: 2.0; accepted: an integer"),
    ({"top_k": True}, TypeError, "top_k: True; accepted: an integer"),
    ({"top_k": None}, TypeError, "top_k: None; accepted: an integer"),
    ({"top_k": "2"}, TypeError, "top_k: '2'; accepted: an integer"),
    ({"router": "top"}, ValueError, 'router: \'top\'; accepted: "softmax", "topk_softmax", "sigmoid", "sqrt_softplus"'),
    ({"router": None}, ValueError, 'router: None; accepted: "softmax", "topk_softmax"'),
    ({"router": ["softmax"]}, ValueError, 'router: [\'softmax\']; accepted: "softmax", "topk_softmax"'),
    ({"renormalize": 1}, TypeError, "renormalize: 1; accepted: True, False"),
    ({"renormalize": None}, TypeError, "renormalize: None; accepted: True, False"),
    ({"weights": [1.0]}, TypeError, "weights: builtins.list; accepted: a NumPy array, as logits"),
    ({"ids": [1]}, TypeError, "ids: builtins.list; accepted: a NumPy array, as logits"),
    ({"weights": ones(5, 3)}, ValueError, "weights: shape is (5, 3); accepted: (5, 2), [tokens, top_k]"),
    ({"weights": ones(4, 2)}, ValueError, "weights: shape is (4, 2); accepted: (5, 2), [tokens, top_k]"),
    ({"weights": ones(10)}, ValueError, "weights: shape is (10,); accepted: (5, 2), [tokens, top_k]"),
    ({"ids": ones(5, 1, dtype=np.int32)}, ValueError, "ids: shape is (5, 1); accepted: (5, 2), [tokens, top_k]"),
    ({"weights": ones(5, 2, dtype=np.float16)}, ValueError, "weights: dtype is fp16; accepted: fp32"),
    ({"weights": ones(5, 2, dtype=object)}, ValueError, "weights: dtype is object; accepted: float32"),
    ({"ids": ones(5, 2, dtype=np.int64)}, ValueError, "ids: dtype is int64; accepted: int32"),
    ({"ids": ones(5, 2, dtype=object)}, ValueError, "ids: dtype is object; accepted: int32"),
    ({"weights": ones(5, 4)[:, :2]}, ValueError, "weights: strides are (4, 1); accepted: contiguous"),
    ({"ids": ones(2, 5, dtype=np.int32).T}, ValueError, "ids: strides are (1, 5); accepted: contiguous"),
    ({"weights": read_only(5, 2)}, ValueError, "weights: read-only; accepted: a writable array"),
    (
        {"logits": SHARED, "weights": SHARED.reshape(-1)[:10].reshape(5, 2)},
        ValueError,
        "weights: memory 0x",
    ),
    ({"stream": 7}, ValueError, "stream: 7 with tensors on the CPU; accepted there: None"),
    ({"stream": "x"}, TypeError, "stream: str; accepted: None, "),
    ({"variant": "x"}, ValueError, "variant: 'x' with tensors on the CPU; accepted there: None"),
    ({"variant": 3}, TypeError, "variant: int; accepted: a name from images(), or None"),
]


def message(kind: type[Exception], **arguments: Any) -> str:
    """What moe_route() says, raised as `kind` and as FlashfitError."""
    with pytest.raises(kind) as caught:
        flashfit.moe_route(**arguments)
    assert isinstance(caught.value, flashfit.FlashfitError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("bent", "kind", "words"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_refusals(bent: dict[str, Any], kind: type[Exception], words: str) -> None:
    results = {"weights": np.full((5, 2), 7, np.float32), "ids": np.full((5, 2), 7, np.int32)}
    assert message(kind, **{"logits": LOGITS, "top_k": 2, **results, **bent}).startswith(words)
    assert all((x == 7).all() for x in results.values())
    if not {"weights", "ids"} & set(bent):  # and where they would be made
        assert message(kind, **{"logits": LOGITS, "top_k": 2, **bent}).startswith(words)


@pytest.mark.parametrize("name", ["logits", "weights", "ids"])
@pytest.mark.parametrize("x", STRANGERS, ids=lambda x: type(x).__name__)
def test_what_is_no_array(name: str, x: Any) -> None:
    if x is None and name != "logits":
        return  # the default
    given = {"logits": LOGITS, "top_k": 2, name: x}
    # What logits is decides what the others have to be.
    with pytest.raises((flashfit.InvalidArgument, flashfit.InvalidType)) as caught:
        flashfit.moe_route(**given)
    assert str(caught.value).startswith(f"{name}: ")
    assert "accepted" in str(caught.value)


def test_limits_are_the_c_apis() -> None:
    """What is refused before memory is made is what the C API would refuse, and no more."""
    weights, ids = flashfit.moe_route(normal(1, _route.MOST_EXPERTS), _route.MOST_CHOSEN)
    assert weights.shape == ids.shape == (1, 16)

    def status(experts: int, top_k: int) -> int:
        x, w, i = ones(1, experts), ones(1, top_k), ones(1, top_k, dtype=np.int32)
        return frames_route(memory(x), memory(w), memory(i), 0, 0, None)

    assert status(_route.MOST_EXPERTS, _route.MOST_CHOSEN) == 0
    assert status(_route.MOST_EXPERTS + 1, 2) == 1
    assert status(100, _route.MOST_CHOSEN + 1) == 1


def memory(x: Any) -> Memory:
    code = 0 if x.dtype == np.int32 else 2
    return Memory(x.ctypes.data, 1, 0, code, 8 * x.itemsize, x.shape, tuple(s // x.itemsize for s in x.strides))


def ways() -> list[Any]:
    """route() of ctypes, and of the compiled module where that is used."""
    own = [pytest.param(binding().route, id="native")] if binding().route is not frames_route else []
    return [pytest.param(frames_route, id="ctypes"), *own]


@pytest.mark.parametrize("route", ways())
def test_flags_reach_the_c_api(route: Any) -> None:
    for options in KINDS:
        weights, ids = ones(5, 2), ones(5, 2, dtype=np.int32)
        assert route(memory(LOGITS), memory(weights), memory(ids), _route.flags_of(**options), 0, None) == 0
        expect_routed(weights, ids, LOGITS, 2, **options)


@pytest.mark.parametrize("route", ways())
def test_what_cannot_be_read_is_left_to_the_caller(route: Any) -> None:
    w, i = memory(ones(5, 2)), memory(ones(5, 2, dtype=np.int32))
    for odd in (LOGITS, 3, "x", object()):
        assert route(odd, w, i, 0, 0, None) == UNREADABLE
        assert route(memory(LOGITS), odd, i, 0, 0, None) == UNREADABLE
        assert route(memory(LOGITS), w, odd, 0, 0, None) == UNREADABLE


class Exported:
    """An array of some package that flashfit does not know."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **wanted: Any) -> Any:
        return self.array.__dlpack__(**wanted)

    def __dlpack_device__(self) -> Any:
        return self.array.__dlpack_device__()


def test_objects_with_dlpack() -> None:
    weights, ids = Exported(np.zeros((5, 2), np.float32)), Exported(np.zeros((5, 2), np.int32))
    assert flashfit.moe_route(Exported(LOGITS), 2, weights=weights, ids=ids) == (weights, ids)
    expect_routed(weights.array, ids.array, LOGITS, 2)
    kind = "an object with __dlpack__"
    no_memory = f"accepted: {kind}, as logits, since flashfit allocates no memory for it"
    assert message(ValueError, logits=Exported(LOGITS), top_k=2, ids=ids) == f"weights: None; {no_memory}"
    assert message(ValueError, logits=Exported(LOGITS), top_k=2, weights=weights) == f"ids: None; {no_memory}"
    words = message(TypeError, logits=Exported(LOGITS), top_k=2, weights=[1.0], ids=ids)
    assert words == f"weights: builtins.list; accepted: {kind}, as logits"


def cuda_array(shape: tuple[int, ...], typestr: str, data: int, **interface: Any) -> Any:
    """An object with the interface; its memory does not exist."""
    whole = {"shape": shape, "typestr": typestr, "data": (data, False), "version": 3, **interface}
    return SimpleNamespace(__cuda_array_interface__=whole)


def test_objects_with_the_cuda_array_interface(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []

    def record(*arguments: Any) -> int:
        calls.append(arguments)
        return 0

    monkeypatch.setattr(_route, "binding", lambda: SimpleNamespace(route=record))
    logits = cuda_array((5, 9), "<f2", 0x7000, stream=5)
    weights, ids = cuda_array((5, 2), "<f4", 0x8000), cuda_array((5, 2), "<i4", 0x9000)
    options: dict[str, Any] = {"router": "topk_softmax", "renormalize": False}
    assert flashfit.moe_route(logits, 2, weights=weights, ids=ids, variant="x", **options) == (weights, ids)
    (*memories, flags, stream, variant) = calls[0]
    assert memories == [
        (0x7000, 2, 0, 2, 16, (5, 9), (9, 1)),
        (0x8000, 2, 0, 2, 32, (5, 2), (2, 1)),
        (0x9000, 2, 0, 0, 32, (5, 2), (2, 1)),
    ]
    assert (flags, stream, variant) == (256, 5, b"x")  # FLASHFIT_TOPK_FIRST
    flashfit.moe_route(logits, 2, weights=weights, ids=ids, stream=9)
    assert calls[1][3:] == (512, 9, None)  # FLASHFIT_RENORMALIZE
    kind = "an object with __cuda_array_interface__"
    words = message(ValueError, logits=logits, top_k=2)
    assert words == f"weights: None; accepted: {kind}, as logits, since flashfit allocates no memory for it"
    odd = cuda_array((5, 2), "|V4", 0x8000)
    assert message(ValueError, logits=logits, top_k=2, weights=odd, ids=ids) == (
        "weights: typestr is '|V4'; accepted: '<f4'"
    )
    assert len(calls) == 2


def test_jax_arrays() -> None:
    jax: Any = pytest.importorskip("jax")
    for dtype in ("float16", "bfloat16", "float32"):
        logits = jax.random.normal(jax.random.key(1), (20, 30), dtype)
        weights, ids = flashfit.moe_route(logits, 3)
        assert all(isinstance(x, jax.Array) for x in (weights, ids))
        expect_routed(np.asarray(weights), np.asarray(ids), np.asarray(logits), 3)
    words = message(ValueError, logits=logits, top_k=3, weights=weights)
    assert words == "weights: a JAX array, which never changes; accepted: None"
    with pytest.raises(flashfit.InvalidArgument, match=r"^logits: traced by JAX, without memory"):
        jax.jit(lambda x: flashfit.moe_route(x, 3))(logits)


def python(code: str, **environment: str) -> str:
    """The last line that a fresh interpreter prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def test_the_environment() -> None:
    code = "import numpy as np, flashfit; print(flashfit.moe_route(np.zeros((1, 4), 'f4'), 2)[1].tolist())"
    assert python(code, FLASHFIT_DISABLE="gpu", FLASHFIT_PYTHON_BINDING="ctypes") == "[[0, 1]]"
    refused = python(code, FLASHFIT_DISABLE="1")
    assert refused.startswith("flashfit._errors.Disabled: ")
    assert "FLASHFIT_DISABLE" in refused


def test_explain_tells_of_any_gpu() -> None:
    arguments: dict[str, Any] = {"experts": 128, "top_k": 8}
    (plan,) = flashfit.moe_route_explain("L4", **arguments)
    assert (plan["gpu"], plan["compute_capability"]) == ("L4", "8.9")
    assert {"fits", "variant", "target", "grid", "reason"} <= set(plan)
    assert len(flashfit.moe_route_explain("all", **arguments)) > 10
    if plan["fits"]:  # of a build that carries kernels
        (more,) = flashfit.moe_route_explain("L4", **arguments, tokens=1000)
        assert more["grid"] > plan["grid"]
        (same,) = flashfit.moe_route_explain("L4", **arguments, variant=plan["variant"])
        assert same["variant"] == plan["variant"]
        (old,) = flashfit.moe_route_explain("L4", **arguments, cuda_version=9000)
        assert not old["fits"]


def test_explain_has_the_commands_words() -> None:
    words = ["--gpu", "L4", "--experts", "60", "--top-k", "4", "--tokens", "70", "--dtype", "bf16", "--json"]
    command = ["build/bin/flashfit", "explain", "moe.route", *words]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    asked: dict[str, Any] = {"experts": 60, "top_k": 4, "tokens": 70, "dtype": "bf16"}
    assert flashfit.moe_route_explain("L4", **asked) == json.loads(said)


def test_explain_says_which_argument_is_wrong() -> None:
    arguments: dict[str, Any] = {"gpu": "L4", "experts": 128, "top_k": 8}
    for bent, kind, words in (
        ({"experts": 0}, ValueError, "experts: 0; accepted: 1 to 512"),
        ({"experts": 513}, ValueError, "experts: 513; accepted: 1 to 512"),
        ({"top_k": 0}, ValueError, "top_k: 0; accepted: 1 to 16"),
        ({"top_k": 17}, ValueError, "top_k: 17; accepted: 1 to 16"),
        ({"experts": 4, "top_k": 5}, ValueError, "top_k: 5; accepted: 1 to 4"),
        ({"tokens": -1}, ValueError, "tokens: -1; accepted: 0 to"),
        ({"tokens": 1.5}, TypeError, "tokens: 1.5; accepted: an integer"),
        ({"tokens": 2**70}, ValueError, f"tokens: {2**70}; accepted: 64 bits"),
        ({"router": "x"}, ValueError, "router: 'x'; accepted: "),
        ({"renormalize": 1}, TypeError, "renormalize: 1; accepted: True, False"),
        ({"cuda_version": 2**31}, ValueError, f"cuda_version: {2**31}; accepted: 32 bits"),
        ({"cuda_version": -1}, ValueError, "cuda_version: -1; accepted: "),
        ({"dtype": "int8"}, ValueError, 'dtype: "int8"; accepted: "fp16", "bf16", "fp32"'),
        ({"dtype": None}, TypeError, "dtype: None; accepted: a string"),
        ({"gpu": 89}, TypeError, "gpu: 89; accepted: a string"),
        ({"gpu": "L5"}, ValueError, ""),
        ({"variant": 3}, TypeError, "variant: 3; accepted: a string"),
        ({"variant": "nothing"}, ValueError, "variant nothing is no variant of the router"),
    ):
        with pytest.raises(kind) as caught:
            flashfit.moe_route_explain(**{**arguments, **bent})
        assert isinstance(caught.value, flashfit.FlashfitError)
        assert str(caught.value).startswith(words)
