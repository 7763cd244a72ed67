"""flashfit.flash_attn on torch tensors, and its padding helpers. flash_attn_test.py needs no torch."""

from __future__ import annotations

from typing import Any

import flashfit
import numpy as np
import pytest
from flashfit import flash_attn
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.python.compare import expect_right

torch: Any = pytest.importorskip("torch")


def normal(*shape: int, dtype: str = "float16") -> Any:
    return torch.randn(shape, generator=torch.Generator().manual_seed(7)).to(getattr(torch, dtype))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_dense(dtype: str, causal: bool) -> None:
    q, kv = normal(2, 9, 4, 32, dtype=dtype), normal(2, 33, 2, 2, 32, dtype=dtype)
    out, lse, probabilities = flash_attn.flash_attn_kvpacked_func(q, kv, causal=causal, return_attn_probs=True)
    k, v = kv.unbind(2)
    expect_right(out.numpy(), lse.numpy(), q.numpy(), k.numpy(), v.numpy(), causal=causal)
    assert (lse.shape, lse.dtype) == ((2, 4, 9), torch.float32)
    assert (probabilities.shape, probabilities.dtype) == ((0,), q.dtype)
    assert torch.equal(flash_attn.flash_attn_func(q, k, v, causal=causal), out)


def test_packed_qkv_is_not_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    qkv = normal(2, 17, 3, 2, 32)
    q, k, v = (qkv[:, :, i].contiguous() for i in range(3))
    want = flash_attn.flash_attn_func(q, k, v, causal=True)
    monkeypatch.setattr(torch.Tensor, "contiguous", None)
    assert torch.equal(flash_attn.flash_attn_qkvpacked_func(qkv, causal=True), want)
    cu = torch.tensor([0, 17, 34], dtype=torch.int32)
    flat = flash_attn.flash_attn_varlen_qkvpacked_func(qkv.flatten(0, 1), cu, torch.tensor(17), causal=True)
    assert torch.equal(flat.view(want.shape), want)


def test_a_strided_last_dimension_is_copied() -> None:
    q, k, v = (normal(2, 32, 4, 9).transpose(1, 3) for _ in range(3))
    want = flash_attn.flash_attn_func(q.contiguous(), k.contiguous(), v.contiguous())
    assert torch.equal(flash_attn.flash_attn_func(q, k, v), want)


def test_a_window_may_be_a_tensor() -> None:
    q = normal(1, 9, 2, 32)
    want = flash_attn.flash_attn_func(q, q, q, window_size=(3, 1))
    assert torch.equal(flash_attn.flash_attn_func(q, q, q, window_size=torch.tensor([3, 1])), want)
    assert not torch.equal(flash_attn.flash_attn_func(q, q, q, window_size=torch.tensor([-1, -1])), want)


def test_gradients_are_refused_by_the_callers_name() -> None:
    qkv = normal(2, 5, 3, 2, 32).requires_grad_()
    with pytest.raises(flashfit.FlashfitError, match=r"^softcap: 3 in a call that needs gradients.*; accepted: None"):
        flash_attn.flash_attn_qkvpacked_func(qkv, softcap=3.0)
    with torch.no_grad():
        assert flash_attn.flash_attn_qkvpacked_func(qkv, softcap=3.0).shape == (2, 5, 2, 32)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dynamic", [False, True])
def test_one_graph(dynamic: bool) -> None:
    def model(qkv: Any, cu: Any, longest: int) -> Any:
        dense = flash_attn.flash_attn_qkvpacked_func(qkv * 2, causal=True)
        ragged, lse, _ = flash_attn.flash_attn_varlen_qkvpacked_func(
            qkv.flatten(0, 1), cu, longest, softmax_scale=0.2, return_attn_probs=True
        )
        return dense + ragged.view_as(dense), lse

    torch.compiler.reset()
    compiled = torch.compile(model, backend="aot_eager", fullgraph=True, dynamic=dynamic)
    cu = torch.tensor([0, 17, 34], dtype=torch.int32)
    for rows in (17, 11) if dynamic else (17,):
        qkv = normal(34 // 17, rows, 3, 2, 32)
        for got, want in zip(compiled(qkv, cu // 17 * rows, rows), model(qkv, cu // 17 * rows, rows)):
            assert torch.equal(got, want)


SIZE = st.integers(0, 6)


@st.composite
def batches(draw: st.DrawFn) -> tuple[Any, Any]:
    """Two masks [batch, seqlen] that nothing is in both of."""
    shape = (draw(SIZE), draw(SIZE))
    kinds = draw(st.lists(st.integers(0, 2), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    kind = torch.tensor(kinds, dtype=torch.int64).view(shape)
    return kind == 1, kind == 2


@settings(max_examples=60, deadline=None, derandomize=True)
@given(batches(), st.sampled_from(["bool", "int32", "int64", "float32"]), st.booleans())
def test_unpad_and_pad(masks: tuple[Any, Any], dtype: str, with_unused: bool) -> None:
    used, unused = masks
    kept = used | unused if with_unused else used
    batch, seqlen = used.shape
    states = torch.arange(float(batch * seqlen * 6)).view(batch, seqlen, 2, 3)
    given_masks = [m.to(getattr(torch, dtype)) for m in (used, unused)[: 1 + with_unused]]
    rows, indices, cu, longest, seqused = flash_attn.unpad_input(states, *given_masks)
    wanted = [(b, s) for b in range(batch) for s in range(seqlen) if kept[b, s]]
    assert torch.equal(rows, torch.stack([states[at] for at in wanted]) if wanted else states.new_zeros(0, 2, 3))
    assert indices.tolist() == [b * seqlen + s for b, s in wanted]
    lengths = [sum(b == one for b, _ in wanted) for one in range(batch)]
    assert (cu.dtype, cu.tolist()) == (torch.int32, [sum(lengths[:b]) for b in range(batch + 1)])
    assert (type(longest), longest) == (int, max(lengths, default=0))
    assert (seqused.dtype, seqused.tolist()) == (torch.int32, used.sum(1).tolist())
    assert torch.equal(flash_attn.pad_input(rows, indices, batch, seqlen), states * kept[..., None, None])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(st.lists(st.integers(1, 4), max_size=3), max_size=4))
def test_concatenated_sequences(rows_of_lengths: list[list[int]]) -> None:
    seqlen = 12
    lengths = torch.zeros(len(rows_of_lengths), seqlen, dtype=torch.int64)
    for row, some in enumerate(rows_of_lengths):
        lengths[row, : len(some)] = torch.tensor(some, dtype=torch.int64)
    states = torch.arange(float(lengths.numel())).view(*lengths.shape, 1)
    rows, indices, cu, longest = flash_attn.unpad_input_for_concatenated_sequences(states, lengths)
    wanted = [row * seqlen + s for row, some in enumerate(rows_of_lengths) for s in range(sum(some))]
    assert indices.tolist() == wanted
    assert rows.flatten().tolist() == wanted
    flat = [n for some in rows_of_lengths for n in some]
    assert (cu.dtype, cu.tolist()) == (torch.int32, np.cumsum([0, *flat]).tolist())
    assert longest == max(flat, default=0)


def test_from_padded_to_padded() -> None:
    """What models do: unpad, attend, pad. Each sequence is as if alone."""
    qkv, mask = normal(3, 8, 3, 2, 32), torch.arange(8) < torch.tensor([[8], [0], [5]])
    rows, indices, cu, longest, _ = flash_attn.unpad_input(qkv, mask)
    out = flash_attn.pad_input(
        flash_attn.flash_attn_varlen_qkvpacked_func(rows, cu, longest, causal=True), indices, 3, 8
    )
    for b, n in enumerate([8, 0, 5]):
        assert torch.equal(out[b : b + 1, :n], flash_attn.flash_attn_qkvpacked_func(qkv[b : b + 1, :n], causal=True))
        assert not out[b, n:].any()


def test_gradients_pass_through_the_helpers() -> None:
    states = normal(2, 4, 3, dtype="float32").double().requires_grad_()
    mask = torch.tensor([[1, 1, 0, 1], [0, 1, 0, 0]])

    def there_and_back(x: Any) -> Any:
        rows, indices, *_ = flash_attn.unpad_input(x, mask)
        return flash_attn.pad_input(rows**2, indices, 2, 4)

    assert torch.autograd.gradcheck(there_and_back, states)
    indices = torch.tensor([2, 0, 2])
    assert torch.autograd.gradcheck(lambda x: flash_attn.index_first_axis(x, indices), states[0])


STATES, MASK = torch.ones(2, 4, 3), torch.ones(2, 4)
WRONG: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("unpad_input", (STATES.numpy(), MASK), TypeError, "hidden_states: ndarray of shape (2, 4, 3); accepted: a torch"),
    ("unpad_input", (STATES[0, 0], MASK), ValueError, "hidden_states: 1 dimensions; accepted: 2 or more"),
    ("unpad_input", (STATES, MASK.T), ValueError, "attention_mask: shape is (4, 2); accepted: (2, 4), [batch, seqlen]"),
    ("unpad_input", (STATES, None), TypeError, "attention_mask: None; accepted: a torch tensor"),
    ("unpad_input", (STATES, MASK, MASK[0]), ValueError, "unused_mask: 1 dimensions; accepted: 2 or more"),
    (
        "unpad_input_for_concatenated_sequences",
        (STATES, MASK[:1]),
        ValueError,
        "attention_mask_in_length: shape is (1, 4); accepted: (2, 4)",
    ),
    ("index_first_axis", (STATES, MASK), ValueError, "indices: 2 dimensions; accepted: 1"),
    ("pad_input", (STATES, torch.zeros(3, dtype=torch.int64), 2, 4), ValueError, "indices: shape is (3,); accepted: "),
    ("pad_input", ([1], torch.zeros(3, dtype=torch.int64), 2, 4), TypeError, "hidden_states: [1]; accepted: a torch"),
]


@pytest.mark.parametrize(("name", "args", "kind", "words"), WRONG, ids=[f"{n}-{w[:24]}" for n, _, _, w in WRONG])
def test_wrong_arguments_of_the_helpers(name: str, args: tuple[Any, ...], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        getattr(flash_attn, name)(*args)
    assert isinstance(caught.value, flashfit.FlashfitError)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(words)


def test_a_length_past_int32_is_refused_in_one_line() -> None:
    q = torch.zeros(2, 1, 2, 8)
    with pytest.raises(flashfit.InvalidArgument) as caught:
        flash_attn.flash_attn_with_kvcache(q, q, q, cache_seqlens=2**40)
    assert str(caught.value) == "cache_seqlens: 1099511627776; accepted: 0 to the keys of k_cache"
