"""What wrong calls say, and that nothing is written; that the package loads, or says why not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import flashfit
import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def ones(*shape: int, dtype: Any = np.float16) -> Any:
    return np.ones(shape, dtype)


Q, K = ones(2, 3, 4, 8), ones(2, 5, 2, 8)
RAGGED = {"q": ones(6, 4, 8), "k": ones(7, 2, 8), "v": ones(7, 2, 8)}

WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"softmax_scale": "2"}, TypeError, "softmax_scale: '2'; accepted: a number above 0"),
    (
        {"q": [1.0]},
        TypeError,
        "q: builtins.list; accepted: an array of NumPy, torch, CuPy or JAX, "
        "or an object with __dlpack__ or __cuda_array_interface__",
    ),
    ({"q": np.ma.ones(Q.shape, np.float16)}, ValueError, "q: a masked array, whose mask would be ignored; accepted: "),
    (
        {"sinks": np.ma.ones(4, np.float32)},
        ValueError,
        "sinks: a masked array, whose mask would be ignored; accepted: ",
    ),
    ({"k": None}, TypeError, "k: builtins.NoneType; accepted: a NumPy array, as q"),
    ({"out": [1.0]}, TypeError, "out: builtins.list; accepted: a NumPy array, as q"),
    ({"q": ones(3, 4, 8)}, ValueError, "q: 3 dimensions; accepted: 4, [batch, seqlen, heads, head_dim]"),
    ({"q": ones()}, ValueError, "q: 0 dimensions; accepted: 4, [batch, seqlen, heads, head_dim]"),
    ({"k": ones(1, 2, 5, 2, 8)}, ValueError, "k: 5 dimensions; accepted: 4, [batch, seqlen, heads, head_dim]"),
    ({"k": ones(2, 5, 3, 8)}, ValueError, "k: 3 heads; accepted: a divisor of q's 4"),
    ({"k": ones(2, 5, 2, 9)}, ValueError, "k: shape is (2, 5, 2, 9); accepted: head_dim 8, as q"),
    ({"v": ones(2, 4, 2, 8)}, ValueError, "v: shape is (2, 4, 2, 8); accepted: (2, 5, 2, 8), as k"),
    ({"out": ones(2, 3, 4, 9)}, ValueError, "out: shape is (2, 3, 4, 9); accepted: (2, 3, 4, 8), as q"),
    ({"out": Q}, ValueError, "out: memory 0x"),
    ({"q": Q.astype(np.float64)}, ValueError, "q: dtype is fp64 on cpu; accepted: fp16, bf16, on the CPU also fp32"),
    ({"q": Q.astype(np.int32)}, ValueError, "q: dtype is int32 on cpu; accepted: fp16, bf16, on the CPU also fp32"),
    ({"q": Q.astype(object)}, ValueError, "q: dtype is object; accepted: float16, bfloat16 (of ml_dtypes), float32"),
    ({"q": Q.astype(">f2")}, ValueError, "q: dtype is >f2, of the other byte order; accepted: this machine's"),
    ({"k": K.astype(np.float32)}, ValueError, "k: dtype is fp32; accepted: fp16, as q"),
    ({"q": ones(2, 3, 4, 16)[..., ::2]}, ValueError, "q: strides are (192, 64, 16, 2); accepted: 1 in the last"),
    ({"k": K[:, ::-1]}, ValueError, "k: strides are (80, -16, 8, 1); accepted: 0 or more"),
    ({"softmax_scale": 0}, ValueError, "softmax_scale: 0; accepted: above 0 and finite in fp32, or None for"),
    ({"softmax_scale": -1.5}, ValueError, "softmax_scale: -1.5; accepted: above 0 and finite in fp32, or None for"),
    ({"softmax_scale": float("nan")}, ValueError, "softmax_scale: nan; accepted: above 0 and finite in fp32"),
    ({"softmax_scale": 1e39}, ValueError, "softmax_scale: 1e+39; accepted: above 0 and finite in fp32"),
    ({"softmax_scale": 1e-60}, ValueError, "softmax_scale: 1e-60; accepted: above 0 and finite in fp32"),
    ({"softmax_scale": 10**400}, ValueError, "softmax_scale: inf; accepted: above 0 and finite in fp32"),
    ({"softmax_scale": True}, TypeError, "softmax_scale: True; accepted: a number above 0, or None for"),
    ({"softmax_scale": np.True_}, TypeError, f"softmax_scale: {np.True_!r}; accepted: a number above 0, or None for"),
    ({"softcap": True}, TypeError, "softcap: True; accepted: a number above 0, or None for none"),
    ({"softmax_scale": "big"}, TypeError, "softmax_scale: 'big'; accepted: a number above 0, or None for"),
    ({"layout": "sbhd"}, ValueError, 'layout: \'sbhd\'; accepted: "bshd", "bhsd"'),
    ({"variant": 3}, TypeError, "variant: int; accepted: a name from images(), or None"),
    ({"variant": "x"}, ValueError, "variant: 'x' with tensors on the CPU; accepted there: None"),
    ({"stream": 7}, ValueError, "stream: 7 with tensors on the CPU; accepted there: None"),
    ({"stream": 10**5000}, TypeError, "stream: int of too many digits to print; accepted: None, a torch.cuda.Stream"),
    ({"window": (-(10**5000), 0)}, ValueError, "window: its left is int of too many digits to print; accepted: 0 or"),
    ({"window": (2**63, 0)}, ValueError, f"window: its left is {2**63}; accepted: below 2**63, -1 or None for no lim"),
    ({"sinks": [0, 1e60, 0, 0]}, ValueError, "sinks: holds 1e+60; accepted: numbers that fp32 can hold"),
    ({"sinks": [0, -(10**400), 0, 0]}, ValueError, "sinks: holds -1000"),
    ({"alibi_slopes": np.full(4, 3.5e38)}, ValueError, "alibi_slopes: holds numbers past fp32's; accepted: fp32, or"),
    ({"seqused_k": [True]}, TypeError, "seqused_k: holds True; accepted: integers"),
    ({"causal": "no"}, TypeError, "causal: 'no'; accepted: True, False"),
    ({"causal": np.True_}, TypeError, f"causal: {np.True_!r}; accepted: True, False"),
    ({"cu_seqlens_q": [0, 3]}, ValueError, "cu_seqlens_k: None while the other is given; accepted: cu_seqlens_q and"),
    ({"cu_seqlens_k": [0, 3]}, ValueError, "cu_seqlens_q: None while the other is given; accepted: cu_seqlens_q and"),
    (
        {"cu_seqlens_q": [0, 3], "cu_seqlens_k": [0, 3]},
        ValueError,
        "q: 4 dimensions; accepted: 3, [total, heads, head_dim] with cu_seqlens",
    ),
]

CU: list[tuple[Any, Any, type[Exception], str]] = [
    ([1, 6], [0, 7], ValueError, "cu_seqlens_q: starts with 1; accepted: 0"),
    ([0, 4, 3, 6], [0, 1, 2, 7], ValueError, "cu_seqlens_q: 3 follows 4 at [2]; accepted: values that never fall"),
    ([0, 6], [0, 8], ValueError, "cu_seqlens_k: ends with 8; accepted: 7, the rows of k"),
    ([0, 2**40], [0, 7], ValueError, "cu_seqlens_q: ends with 1099511627776; accepted: 6, the rows of q"),
    ([0, 3, 6], [0, 7], ValueError, "cu_seqlens_k: shape is (2); accepted: (3), as cu_seqlens_q"),
    ([], [0, 7], ValueError, "cu_seqlens_q: empty; accepted: batch + 1 offsets"),
    ([0, 5.5, 6], [0, 1, 7], TypeError, "cu_seqlens_q: holds 5.5; accepted: integers"),
    (np.array([[0, 6]]), [0, 7], ValueError, "cu_seqlens_q: shape is (1, 2); accepted: (batch + 1,)"),
    (np.array([0.0, 6.0]), [0, 7], TypeError, "cu_seqlens_q: holds 0.0; accepted: integers"),
    ([False, 6], [0, 7], TypeError, "cu_seqlens_q: holds False; accepted: integers"),
    (
        [0, 10**5000],
        [0, 7],
        ValueError,
        "cu_seqlens_q: ends with int of too many digits to print; accepted: 6, the rows of q",
    ),
    (6, [0, 7], TypeError, "cu_seqlens_q: int; accepted: a list, a NumPy array or a torch tensor of int32"),
    ("06", [0, 7], TypeError, "cu_seqlens_q: str; accepted: a list, a NumPy array or a torch tensor of int32"),
]


def message(kind: type[Exception], **arguments: Any) -> str:
    """What attention() says, raised as `kind` and as FlashfitError."""
    with pytest.raises(kind) as caught:
        flashfit.attention(**arguments)
    assert isinstance(caught.value, flashfit.FlashfitError)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(("bent", "kind", "words"), WRONG, ids=[w[2][:40] for w in WRONG])
def test_wrong_arguments(bent: dict[str, Any], kind: type[Exception], words: str) -> None:
    out = np.full(Q.shape, 7, np.float16)
    assert message(kind, **{"q": Q, "k": K, "v": K, "out": out, **bent}).startswith(words)
    assert (out == 7).all()


@pytest.mark.parametrize(("cu_q", "cu_k", "kind", "words"), CU, ids=[w[3][:40] for w in CU])
def test_wrong_cu_seqlens(cu_q: Any, cu_k: Any, kind: type[Exception], words: str) -> None:
    assert message(kind, **RAGGED, cu_seqlens_q=cu_q, cu_seqlens_k=cu_k) == words


def test_read_only_out() -> None:
    out = np.empty_like(Q)
    out.flags.writeable = False
    assert message(ValueError, q=Q, k=K, v=K, out=out) == "out: read-only; accepted: a writable array"


def test_fields_of_records_are_not_elements() -> None:
    records = np.zeros((2, 3, 4, 8), [("x", np.float16), ("y", np.int8)])
    words = "q: strides are (288, 96, 24, 3) bytes; accepted: multiples of its 2-byte elements"
    assert message(ValueError, q=records["x"], k=K, v=K) == words


def test_shapes_in_messages_name_their_order() -> None:
    words = message(ValueError, q=Q.swapaxes(1, 2), k=ones(2, 3, 5, 8), v=K, layout="bhsd")
    assert words == "k: 3 heads; accepted: a divisor of q's 4 (shapes and strides in bshd order)"


def test_explain_says_which_argument_is_wrong() -> None:
    arguments: dict[str, Any] = {"gpu": "L4", "head_dim": 64, "seqlen_q": 512, "heads_q": 8}
    assert flashfit.explain(**arguments)[0]["gpu"] == "L4"
    for bent, kind, words in (
        ({"head_dim": 0}, ValueError, "head_dim: 0; accepted: 1 to"),
        ({"heads_kv": 3}, ValueError, "heads_kv: 3; accepted: a divisor of heads_q, 8"),
        ({"seqlen_q": 1.5}, TypeError, "seqlen_q: 1.5; accepted: an integer"),
        ({"batch": 2**70}, ValueError, f"batch: {2**70}; accepted: 64 bits"),
        ({"cuda_version": 2**31}, ValueError, f"cuda_version: {2**31}; accepted: 32 bits"),
        ({"dtype": "int8"}, ValueError, 'dtype: "int8"; accepted: "fp16", "bf16", "fp32"'),
        ({"dtype": None}, TypeError, "dtype: None; accepted: a string"),
        ({"gpu": 89}, TypeError, "gpu: 89; accepted: a string"),
        ({"gpu": "L5"}, ValueError, ""),
        ({"gpu": "L4\0x"}, ValueError, "gpu: 'L4\\x00x'; accepted: text without NUL"),
        ({"gpu": "L\udc34"}, ValueError, r"gpu 'L\udc34': not known"),
        ({"causal": 1}, TypeError, "causal: 1; accepted: True, False"),
        ({"head_dim_v": -1}, ValueError, "head_dim_v: -1; accepted: 0 to"),
        ({"window": 127}, TypeError, "window: 127; accepted: (left, right), or None"),
        ({"softcap": -1.0}, ValueError, "softcap: -1"),
        ({"softcap": 1e-46}, ValueError, "softcap: 1e-46; accepted: above 0 and finite in fp32"),
        ({"softcap": "2"}, TypeError, "softcap: '2'; accepted: a number above 0"),
        ({"alibi": 0.5}, TypeError, "alibi: 0.5; accepted: True, False"),
        ({"sinks": None}, TypeError, "sinks: None; accepted: True, False"),
        ({"bias": "int8"}, ValueError, 'bias: "int8"; accepted: "bool", "fp32", the dtype ("fp16"), NULL'),
        ({"bias": True}, TypeError, "bias: True; accepted: a string"),
        ({"batch_invariant": 1}, TypeError, "batch_invariant: 1; accepted: True, False"),
        ({"unaligned": 1}, TypeError, "unaligned: 1; accepted: True, False"),
        ({"variant": "nothing"}, ValueError, "variant"),
    ):
        with pytest.raises(kind) as caught:
            flashfit.explain(**{**arguments, **bent})
        assert str(caught.value).startswith(words)


def test_explain_has_the_commands_defaults() -> None:
    command = ["build/bin/flashfit", "explain", "--gpu", "L4", "--json"]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    found = flashfit.explain("L4")
    assert [each.pop("backward") for each in found] == [{"by": "aten::_flash_attention_backward"}]  # of Python alone
    assert found == json.loads(said)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"causal": True, "window": (127, 0), "softcap": 30.0},
            "--causal --window-left 127 --window-right 0 --softcap 30",
        ),
        ({"alibi": True, "sinks": True}, "--alibi --sinks"),
        ({"bias": "bool", "batch_invariant": True}, "--bias bool --batch-invariant"),
        ({"head_dim": 192, "head_dim_v": 128, "unaligned": True}, "--head-dim 192 --head-dim-v 128 --unaligned"),
        ({"variant": "fwd_mma_fp16_d64_128x64_w4_s2_b2"}, "--variant fwd_mma_fp16_d64_128x64_w4_s2_b2"),
    ],
)
def test_explain_has_the_commands_options(options: dict[str, Any], words: str) -> None:
    command = ["build/bin/flashfit", "explain", "--gpu", "L4", "--gpu", "H100", "--json", *words.split()]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    found = [each for gpu in ("L4", "H100") for each in flashfit.explain(gpu, **options)]
    for each in found:
        each.pop("backward")  # of Python alone
    assert found == json.loads(said)
    assert found != [each for gpu in ("L4", "H100") for each in flashfit.explain(gpu)]


def test_explain_says_what_has_no_gradients() -> None:
    assert flashfit.explain("H100", window=(127, 0))[0]["backward"] == {"by": "aten::_flash_attention_backward"}
    for options, word in (
        ({"softcap": 30.0}, "softcap: 30"),
        ({"alibi": True}, "alibi_slopes"),
        ({"bias": "bool"}, "bias"),
        ({"head_dim": 192, "head_dim_v": 128}, "v: head_dim 128"),
    ):
        backward = flashfit.explain("H100", **options)[0]["backward"]
        assert backward["by"] is None
        assert backward["reason"].startswith(word)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"is_causal": True}, "is_causal: not an argument of attention; accepted: causal="),
        ({"attn_mask": None}, "attn_mask: not an argument of attention; accepted: bias="),
        ({"dropout_p": 0.0}, "dropout_p: not an argument of attention; accepted: nothing: flashfit drops no weights"),
        ({"casual": True}, "casual: not an argument of attention; accepted: its named arguments, see help("),
    ],
)
def test_names_of_other_libraries(other: dict[str, Any], words: str) -> None:
    call: Any = flashfit.attention
    with pytest.raises(TypeError) as caught:
        call(Q, K, K, **other)
    assert str(caught.value).startswith(words)


def test_documents() -> None:
    machine = flashfit.gpus()
    assert set(machine) == {"driver", "cuda", "no_gpu_reason", "gpus"}
    assert machine["gpus"] or machine["no_gpu_reason"]
    for image in flashfit.images():
        assert image["variant"].startswith(("fwd_", "route_", "experts_", "activation_", "combine_"))
        assert image["bytes"] > 0


def python(code: str, **environment: str) -> str:
    """The last line that a fresh interpreter prints."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().splitlines()[-1]


def test_importing_loads_nothing() -> None:
    code = "import sys, flashfit; print({'numpy', 'torch'} & set(sys.modules), flashfit.__version__)"
    assert python(code, FLASHFIT_LIBRARY="/nowhere") == "set() 0.3.0"


def test_a_missing_library_says_where_it_was_looked_for() -> None:
    words = python("import flashfit; flashfit.gpus()", FLASHFIT_LIBRARY="/nowhere/lib.so")
    assert words == (
        "flashfit._errors.FlashfitError: libflashfit.so is not at /nowhere/lib.so; "
        "build it (./dev build) or set FLASHFIT_LIBRARY to its path"
    )


def test_a_file_that_is_no_library(tmp_path: Path) -> None:
    (tmp_path / "libflashfit.so").write_text("no library")
    words = python("import flashfit; flashfit.gpus()", FLASHFIT_LIBRARY=str(tmp_path))
    assert f"{tmp_path}/libflashfit.so does not load: " in words
