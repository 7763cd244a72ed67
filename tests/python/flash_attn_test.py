"""flashfit.flash_attn without torch: its signatures, its results on NumPy arrays, and what it refuses."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any, Callable

import flashfit
import numpy as np
import pytest
from flashfit import flash_attn

from tests.python.compare import expect_right

# Those of flash-attn 2.8. All parameters can be given by position and by name.
OPTIONS = (
    "dropout_p=0.0, softmax_scale=None, causal=False, window_size=(-1, -1), softcap=0.0, alibi_slopes=None, "
    "deterministic=False, return_attn_probs=False"
)
OFFSETS = "cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k"
SIGNATURES = {
    "flash_attn_func": f"(q, k, v, {OPTIONS})",
    "flash_attn_kvpacked_func": f"(q, kv, {OPTIONS})",
    "flash_attn_qkvpacked_func": f"(qkv, {OPTIONS})",
    "flash_attn_varlen_func": f"(q, k, v, {OFFSETS}, {OPTIONS}, block_table=None)",
    "flash_attn_varlen_kvpacked_func": f"(q, kv, {OFFSETS}, {OPTIONS})",
    "flash_attn_varlen_qkvpacked_func": f"(qkv, cu_seqlens, max_seqlen, {OPTIONS})",
    "flash_attn_with_kvcache": (
        "(q, k_cache, v_cache, k=None, v=None, rotary_cos=None, rotary_sin=None, cache_seqlens=None, "
        "cache_batch_idx=None, cache_leftpad=None, block_table=None, softmax_scale=None, causal=False, "
        "window_size=(-1, -1), softcap=0.0, rotary_interleaved=True, alibi_slopes=None, num_splits=0, "
        "return_softmax_lse=False)"
    ),
    "index_first_axis": "(input, indices)",
    "index_put_first_axis": "(values, indices, first_axis_dim)",
    "pad_input": "(hidden_states, indices, batch, seqlen)",
    "unpad_input": "(hidden_states, attention_mask, unused_mask=None)",
    "unpad_input_for_concatenated_sequences": "(hidden_states, attention_mask_in_length)",
}


@pytest.mark.parametrize("name", flash_attn.__all__)
def test_signatures(name: str) -> None:
    bare = [p.replace(annotation=p.empty) for p in inspect.signature(getattr(flash_attn, name)).parameters.values()]
    assert {p.kind for p in bare} == {inspect.Parameter.POSITIONAL_OR_KEYWORD}
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


def test_names_and_modules() -> None:
    assert set(SIGNATURES) == set(flash_attn.__all__)
    from flashfit.flash_attn import bert_padding, flash_attn_interface

    for name in SIGNATURES:
        home = flash_attn_interface if name.startswith("flash_attn_") else bert_padding
        assert getattr(home, name) is getattr(flash_attn, name)


def test_importing_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, flashfit.flash_attn; print({'numpy', 'torch'} & set(sys.modules))"
    home = Path(flashfit.__file__).parents[1]
    done = subprocess.run([sys.executable, "-c", code], cwd=home, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def normal(*shape: int, dtype: Any = np.float16) -> Any:
    return np.random.default_rng(shape).standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("batch", "sq", "sk", "heads", "kv"), [(2, 9, 33, 4, 2), (1, 33, 9, 3, 1), (2, 0, 5, 1, 1)])
def test_dense(batch: int, sq: int, sk: int, heads: int, kv: int, causal: bool) -> None:
    q, packed = normal(batch, sq, heads, 32), normal(batch, sk, 2, kv, 32)
    k, v = packed[:, :, 0], packed[:, :, 1]
    out, lse, probabilities = flash_attn.flash_attn_func(q, k, v, causal=causal, return_attn_probs=True)
    expect_right(out, lse, q, k, v, causal=causal)
    assert lse.shape == (batch, heads, sq)
    assert (probabilities.shape, probabilities.dtype) == ((0,), q.dtype)
    # By position, as far as anyone gives them so.
    again = flash_attn.flash_attn_func(q, k, v, 0.0, None, causal, (-1, -1), 0.0, None, True)
    np.testing.assert_array_equal(again, out)
    np.testing.assert_array_equal(flash_attn.flash_attn_kvpacked_func(q, packed, causal=causal), out)


@pytest.mark.parametrize("causal", [False, True])
def test_packed_qkv(causal: bool) -> None:
    qkv = normal(2, 17, 3, 2, 32)
    q, k, v = (qkv[:, :, i] for i in range(3))
    out, lse, _ = flash_attn.flash_attn_qkvpacked_func(qkv, softmax_scale=0.3, causal=causal, return_attn_probs=True)
    expect_right(out, lse, q, k, v, softmax_scale=0.3, causal=causal)
    flat, cu = qkv.reshape(34, 3, 2, 32), np.array([0, 17, 34], np.int32)
    ragged = flash_attn.flash_attn_varlen_qkvpacked_func(flat, cu, 17, softmax_scale=0.3, causal=causal)
    np.testing.assert_array_equal(ragged.reshape(out.shape), out)


CU_Q, CU_K = [0, 5, 5, 30, 31], [0, 7, 12, 20, 20]  # a sequence without queries, one without keys


@pytest.mark.parametrize("causal", [False, True])
def test_varlen(causal: bool) -> None:
    q, packed = normal(31, 4, 32), normal(20, 2, 2, 32)
    k, v = packed[:, 0], packed[:, 1]
    offsets = (np.array(CU_Q, np.int32), np.array(CU_K, np.int32), 25, 8)
    out, lse, _ = flash_attn.flash_attn_varlen_func(q, k, v, *offsets, causal=causal, return_attn_probs=True)
    expect_right(out, lse, q, k, v, cu_seqlens_q=CU_Q, cu_seqlens_k=CU_K, causal=causal)
    assert lse.shape == (4, 31)
    assert not out[30].any()
    np.testing.assert_array_equal(flash_attn.flash_attn_varlen_kvpacked_func(q, packed, *offsets, causal=causal), out)


def test_no_sequences() -> None:
    q, kv, cu = normal(0, 4, 32), normal(0, 2, 4, 32), np.zeros(1, np.int32)
    assert flash_attn.flash_attn_varlen_kvpacked_func(q, kv, cu, cu, 0, 0).shape == (0, 4, 32)
    assert flash_attn.flash_attn_qkvpacked_func(normal(0, 5, 3, 4, 32)).shape == (0, 5, 4, 32)


def test_slices_are_views(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def record(q: Any, k: Any, v: Any, **_: Any) -> Any:
        seen.extend([q, k, v])
        return q

    monkeypatch.setattr("flashfit.flash_attn._call.attention", record)
    qkv, q, kv, cu = normal(2, 5, 3, 2, 8), normal(2, 5, 2, 8), normal(2, 5, 2, 2, 8), [0, 5]
    flash_attn.flash_attn_qkvpacked_func(qkv)
    flash_attn.flash_attn_varlen_qkvpacked_func(qkv[0], cu, 5)
    assert all(np.shares_memory(x, qkv) for x in seen)
    seen.clear()
    flash_attn.flash_attn_kvpacked_func(q, kv)
    flash_attn.flash_attn_varlen_kvpacked_func(q[0], kv[0], cu, cu, 5, 5)
    assert [np.shares_memory(x, kv) for x in seen] == [False, True, True] * 2
    assert seen[0] is q


Q, KV, QKV = normal(2, 5, 2, 8), normal(2, 5, 2, 2, 8), normal(2, 5, 3, 2, 8)
CU = np.array([0, 5], np.int32)
# Each function with arguments that it takes.
CALLS: dict[str, tuple[Any, ...]] = {
    "flash_attn_func": (Q, Q, Q),
    "flash_attn_kvpacked_func": (Q, KV),
    "flash_attn_qkvpacked_func": (QKV,),
    "flash_attn_varlen_func": (Q[0], Q[0], Q[0], CU, CU, 5, 5),
    "flash_attn_varlen_kvpacked_func": (Q[0], KV[0], CU, CU, 5, 5),
    "flash_attn_varlen_qkvpacked_func": (QKV[0], CU, 5),
}


def refusal(call: Callable[..., Any], *args: Any, **options: Any) -> flashfit.FlashfitError:
    with pytest.raises(flashfit.FlashfitError) as caught:
        call(*args, **options)
    words = str(caught.value)
    assert "\n" not in words
    assert "; accepted: " in words
    assert len(words) < 250
    return caught.value


UNSUPPORTED: list[tuple[str, Any, str]] = [
    ("dropout_p", 0.1, "dropout_p: 0.1 is not in flashfit yet; accepted: 0.0 (no dropout)"),
    ("dropout_p", float("nan"), "dropout_p: nan is not"),
    ("dropout_p", None, "dropout_p: None is not"),
    ("dropout_p", "x" * 100, f"dropout_p: '{'x' * 56}... is not"),
    ("dropout_p", np.ones((3, 3)), "dropout_p: ndarray of shape (3, 3) is not"),
]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("option", "value", "words"), UNSUPPORTED, ids=[f"{o}-{w[:30]}" for o, _, w in UNSUPPORTED])
def test_what_is_missing(name: str, option: str, value: Any, words: str) -> None:
    error = refusal(getattr(flash_attn, name), *CALLS[name], **{option: value})
    assert isinstance(error, flashfit.Unsupported)
    assert isinstance(error, NotImplementedError)
    assert str(error).startswith(words)


@pytest.mark.parametrize("name", CALLS)
def test_options_that_ask_for_nothing(name: str) -> None:
    call = getattr(flash_attn, name)
    want = call(*CALLS[name])
    same: dict[str, Any] = {"dropout_p": 0, "softcap": np.float32(0), "window_size": [-1, -1], "deterministic": True}
    np.testing.assert_array_equal(call(*CALLS[name], **same), want)


#: What options are wrong whatever the function.
WRONG_OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"window_size": None}, TypeError, "window_size: None; accepted: (left, right), -1 for no limit"),
    ({"window_size": 7}, TypeError, "window_size: 7; accepted: (left, right)"),
    ({"window_size": (1, 2, 3)}, TypeError, "window_size: (1, 2, 3); accepted: (left, right)"),
    ({"window_size": (-2, 0)}, ValueError, "window_size: its left is -2; accepted: 0 or more, -1"),
    ({"window_size": (0, 1.5)}, TypeError, "window_size: its right is 1.5; accepted: an integer"),
    ({"window_size": np.zeros((2, 3))}, TypeError, "window_size: ndarray of shape (2, 3); accepted: (left, right)"),
    ({"window_size": (np.zeros(2), 1)}, TypeError, "window_size: (array([0., 0.]), 1); accepted: (left, right)"),
    ({"softcap": np}, TypeError, "softcap: <module 'numpy' from "),
    ({"softcap": -1.0}, ValueError, "softcap: -1; accepted: above 0"),
    ({"softcap": "1"}, TypeError, "softcap: '1'; accepted: a number above 0"),
    ({"softmax_scale": "1"}, TypeError, "softmax_scale: '1'; accepted: a number above 0"),
    ({"softcap": "no\nne"}, TypeError, "softcap: 'no\\nne'; accepted: a number above 0"),
    ({"alibi_slopes": np.ones(7, np.float32)}, ValueError, "alibi_slopes: shape is (7); accepted: "),
    ({"alibi_slopes": "steep"}, TypeError, "alibi_slopes: str; accepted: a list, a NumPy array"),
]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("options", "kind", "words"), WRONG_OPTIONS, ids=[words for *_, words in WRONG_OPTIONS])
def test_wrong_options(name: str, options: dict[str, Any], kind: type[Exception], words: str) -> None:
    error = refusal(getattr(flash_attn, name), *CALLS[name], **options)
    assert isinstance(error, kind)
    assert str(error).startswith(words)


#: With what flashfit.attention and the reference call it.
OPTIONS_AND_MEANING: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"window_size": (3, 1)}, {"window": (3, 1)}),
    ({"window_size": [2, -1]}, {"window": (2, -1)}),
    ({"window_size": np.array([3, 1])}, {"window": (3, 1)}),
    ({"window_size": (2, 5), "causal": True}, {"window": (2, 0)}),
    ({"softcap": 0.7}, {"softcap": 0.7}),
    ({"alibi_slopes": np.array([0.5, 0.25], np.float32)}, {"alibi_slopes": [0.5, 0.25]}),
    (
        {"window_size": (4, 0), "softcap": 2.0, "alibi_slopes": [0.1, 0.9], "causal": True, "deterministic": True},
        {"window": (4, 0), "softcap": 2.0, "alibi_slopes": [0.1, 0.9], "causal": True},
    ),
]


@pytest.mark.parametrize(("options", "meaning"), OPTIONS_AND_MEANING)
@pytest.mark.parametrize("name", CALLS)
def test_options(name: str, options: dict[str, Any], meaning: dict[str, Any]) -> None:
    out, lse, _ = getattr(flash_attn, name)(*CALLS[name], **options, return_attn_probs=True)
    q, k, v = (Q, KV[:, :, 0], KV[:, :, 1]) if "_kvpacked" in name else (QKV[:, :, 0], QKV[:, :, 1], QKV[:, :, 2])
    if "packed" not in name:
        q = k = v = Q
    if "varlen" in name:
        meaning = {**meaning, "cu_seqlens_q": [0, 5], "cu_seqlens_k": [0, 5]}
        q, k, v = q[0], k[0], v[0]
    expect_right(out, lse, q, k, v, **meaning)
    plain = getattr(flash_attn, name)(*CALLS[name])
    assert not np.array_equal(plain, out), "the option changes nothing"


def test_slopes_of_each_sequence() -> None:
    slopes = np.array([[0.5, 0.25], [0.1, 1.0]], np.float32)
    out, lse, _ = flash_attn.flash_attn_func(Q, Q, Q, alibi_slopes=slopes, return_attn_probs=True)
    expect_right(out, lse, Q, Q, Q, alibi_slopes=slopes)
    varlen: Any = flash_attn.flash_attn_varlen_func
    with pytest.raises(ValueError, match=r"^alibi_slopes: shape is \(2, 2\); accepted: \(2\), \(1, 2\)"):
        varlen(*CALLS["flash_attn_varlen_func"], alibi_slopes=slopes)


@pytest.mark.parametrize("cache_seqlens", [None, 4, np.int64(4), [3, 0], np.array([1, 5], np.int32)])
@pytest.mark.parametrize("options", [{}, {"causal": True}, {"window_size": (1, 0)}, {"softcap": 1.0}])
def test_a_cache_that_is_read(cache_seqlens: Any, options: dict[str, Any]) -> None:
    q = normal(2, 3, 4, 8)
    cache = (q, Q, KV[:, :, 0])
    out, lse = flash_attn.flash_attn_with_kvcache(
        *cache, cache_seqlens=cache_seqlens, **options, return_softmax_lse=True
    )
    meaning = {"window" if name == "window_size" else name: value for name, value in options.items()}
    if cache_seqlens is not None:
        meaning["seqused_k"] = [4, 4] if np.ndim(cache_seqlens) == 0 else cache_seqlens
    expect_right(out, lse, *cache, **meaning)
    again = flash_attn.flash_attn_with_kvcache(*cache, cache_seqlens=cache_seqlens, **options, num_splits=3)
    np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize(
    "name", ["k", "v", "rotary_cos", "rotary_sin", "cache_batch_idx", "cache_leftpad", "block_table"]
)
def test_a_cache_that_would_change(name: str) -> None:
    error = refusal(flash_attn.flash_attn_with_kvcache, Q, Q, Q, **{name: np.zeros((1, 1), np.int32)})
    assert isinstance(error, flashfit.Unsupported)
    assert str(error).startswith(f"{name}: ndarray of shape (1, 1) is not in flashfit yet; accepted: None (")


def test_wrong_caches() -> None:
    cache = flash_attn.flash_attn_with_kvcache
    assert str(refusal(cache, Q, Q[:, :, :1, :4], Q)).startswith("k_cache: shape is (2, 5, 1, 4); accepted: head_dim 8")
    assert str(refusal(cache, Q, Q, Q[:1])).startswith("v_cache: shape is (1, 5, 2, 8); accepted: ")
    assert ", as k_cache" in str(refusal(cache, Q, Q, Q[:1]))  # k is another argument, of new keys
    assert str(refusal(cache, Q, Q, Q, cache_seqlens=6)).startswith("cache_seqlens: 6 at [0]; accepted: 0 to 5")
    for value, words in ((True, "True; accepted: an int"), (4.0, "4.0; accepted: an int"), (-1, "-1; accepted: 0 to")):
        assert str(refusal(cache, Q, Q, Q, cache_seqlens=value)).startswith(f"cache_seqlens: {words}")
    assert str(refusal(cache, Q, Q, Q, cache_seqlens=[1])).startswith("cache_seqlens: shape is (1); accepted: (2)")
    assert str(refusal(cache, Q[0], Q, Q)).startswith("q: ndarray of shape (5, 2, 8); accepted: a NumPy array or a ")


def test_paged_caches_are_missing() -> None:
    table = np.zeros((1, 1), np.int32)
    error = refusal(flash_attn.flash_attn_varlen_func, *CALLS["flash_attn_varlen_func"], block_table=table)
    assert str(error).startswith("block_table: ndarray of shape (1, 1) is not in flashfit yet; accepted: None")


WRONG: list[tuple[str, dict[str, Any], type[Exception], str]] = [
    ("flash_attn_func", {"k": KV}, ValueError, "k: 5 dimensions; accepted: 4, "),
    ("flash_attn_func", {"causal": "no"}, TypeError, "causal: 'no'; accepted: True, False"),
    ("flash_attn_func", {"softmax_scale": -1}, ValueError, "softmax_scale: -1; accepted: above 0"),
    (
        "flash_attn_kvpacked_func",
        {"kv": [1]},
        TypeError,
        "kv: [1]; accepted: a NumPy array or a torch tensor, [batch, seqlen_k, 2, heads_kv, head_dim]",
    ),
    ("flash_attn_kvpacked_func", {"kv": KV[0]}, ValueError, "kv: 4 dimensions; accepted: 5, [batch, seqlen_k, 2, "),
    ("flash_attn_kvpacked_func", {"kv": QKV}, ValueError, "kv: shape is (2, 5, 3, 2, 8); accepted: [batch, seqlen_k"),
    (
        "flash_attn_kvpacked_func",
        {"kv": normal(2, 5, 2, 2, 9)},
        ValueError,
        "kv[:, :, 0]: shape is (2, 5, 2, 9); accepted: head_dim 8, as q",
    ),
    ("flash_attn_qkvpacked_func", {"qkv": KV}, ValueError, "qkv: shape is (2, 5, 2, 2, 8); accepted: [batch, seqlen, "),
    (
        "flash_attn_qkvpacked_func",
        {"qkv": QKV.astype(np.float64)},
        ValueError,
        "qkv[:, :, 0]: dtype is fp64 on cpu; accepted: fp16, bf16",
    ),
    ("flash_attn_varlen_func", {"cu_seqlens_k": None}, TypeError, "cu_seqlens_k: None; accepted: int32 offsets"),
    ("flash_attn_varlen_func", {"cu_seqlens_q": [1, 5]}, ValueError, "cu_seqlens_q: starts with 1; accepted: 0"),
    ("flash_attn_varlen_func", {"max_seqlen_q": None}, TypeError, "max_seqlen_q: None; accepted: an integer"),
    ("flash_attn_varlen_func", {"max_seqlen_k": -3}, ValueError, "max_seqlen_k: -3; accepted: 0 or more"),
    ("flash_attn_varlen_kvpacked_func", {"max_seqlen_k": 5.0}, TypeError, "max_seqlen_k: 5.0; accepted: an integer"),
    ("flash_attn_varlen_kvpacked_func", {"kv": KV}, ValueError, "kv: 5 dimensions; accepted: 4, [total_k, 2, heads_kv"),
    ("flash_attn_varlen_kvpacked_func", {"q": [[]]}, TypeError, "q: builtins.list; accepted: "),
    ("flash_attn_varlen_qkvpacked_func", {"cu_seqlens": [0, 4]}, ValueError, "cu_seqlens: ends with 4; accepted: 5"),
    ("flash_attn_varlen_qkvpacked_func", {"cu_seqlens": None}, TypeError, "cu_seqlens: None; accepted: int32 offsets"),
    ("flash_attn_varlen_qkvpacked_func", {"max_seqlen": "5"}, TypeError, "max_seqlen: '5'; accepted: an integer"),
    ("flash_attn_varlen_qkvpacked_func", {"qkv": KV[0]}, ValueError, "qkv: shape is (5, 2, 2, 8); accepted: [total, 3"),
]


@pytest.mark.parametrize(("name", "bent", "kind", "words"), WRONG, ids=[f"{n[11:]}-{w[:24]}" for n, _, _, w in WRONG])
def test_wrong_arguments_by_the_callers_names(
    name: str, bent: dict[str, Any], kind: type[Exception], words: str
) -> None:
    call = getattr(flash_attn, name)
    arguments = dict(zip(inspect.signature(call).parameters, CALLS[name]))
    error = refusal(call, **{**arguments, **bent})
    assert isinstance(error, kind)
    assert str(error).startswith(words)
