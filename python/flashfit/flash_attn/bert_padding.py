"""From padded batches to rows without padding and back, for the varlen functions. torch tensors on any device.

The names, parameters and results of FlashAttention-2's bert_padding. All of them let gradients through.
"""

from __future__ import annotations

import sys
from typing import Any, TypeVar

from .._errors import InvalidArgument, InvalidType
from .._packages import TORCH
from .._tensors import shown

T = TypeVar("T")


def _tensor(name: str, x: Any, least: int) -> Any:
    if not TORCH.owns(x):
        raise InvalidType(f"{name}: {shown(x)}; accepted: a torch tensor")
    if x.ndim < least:
        raise InvalidArgument(f"{name}: {x.ndim} dimensions; accepted: {least} or more")
    return x


def _mask(name: str, x: Any, hidden_states: Any) -> Any:
    mask = _tensor(name, x, 2)
    if mask.shape != hidden_states.shape[:2]:
        raise InvalidArgument(
            f"{name}: shape is {tuple(mask.shape)}; accepted: {tuple(hidden_states.shape[:2])}, [batch, seqlen] as "
            "hidden_states"
        )
    return mask


def _offsets(lengths: Any) -> tuple[Any, int]:
    """cu_seqlens, int32 [sequences + 1], and the longest; the latter waits for a GPU."""
    torch: Any = sys.modules["torch"]
    cu_seqlens = torch.nn.functional.pad(lengths.cumsum(0, dtype=torch.int32), (1, 0))
    return cu_seqlens, int(lengths.max()) if lengths.numel() else 0


def index_first_axis(input: T, indices: T) -> T:  # noqa: A002 - FlashAttention-2's name
    """Rows of a tensor: input[indices].

    input: [rows, ...], any dtype; indices: [n], int32 or int64, each below rows. Returns [n, ...].
    Raises InvalidType for what is not a torch tensor, InvalidArgument for other shapes.
    """
    rows, wanted = _tensor("input", input, 1), _tensor("indices", indices, 1)
    if wanted.ndim != 1:
        raise InvalidArgument(f"indices: {wanted.ndim} dimensions; accepted: 1")
    result: T = rows.index_select(0, wanted)
    return result


def index_put_first_axis(values: T, indices: T, first_axis_dim: int) -> T:
    """The inverse of index_first_axis: zeros with values in the rows `indices`.

    values: [n, ...], any dtype; indices: [n], int32 or int64, all different, each below first_axis_dim. Returns
    [first_axis_dim, ...]. Raises InvalidType for what is not a torch tensor, InvalidArgument for other shapes.
    """
    rows, wanted = _tensor("values", values, 1), _tensor("indices", indices, 1)
    if wanted.shape != rows.shape[:1]:
        raise InvalidArgument(f"indices: shape is {tuple(wanted.shape)}; accepted: ({rows.shape[0]},), the rows given")
    result: T = rows.new_zeros((first_axis_dim, *rows.shape[1:])).index_copy(0, wanted.long(), rows)
    return result


def unpad_input(hidden_states: T, attention_mask: T, unused_mask: T | None = None) -> tuple[T, T, T, int, T]:
    """The tokens that masks select, one after another, and where they were.

    hidden_states: [batch, seqlen, ...], any dtype. attention_mask: [batch, seqlen], bool or integers; not 0 for a token
    that is used. unused_mask: alike, not 0 for a token that has a row but is not used; None for none.

    Returns (hidden_states [total, ...], indices, cu_seqlens, max_seqlen_in_batch, seqused): indices int64 [total], the
    rows' places in [batch * seqlen]; cu_seqlens int32 [batch + 1]; the most rows of a sequence, an int, for which a GPU
    is waited for; seqused int32 [batch], each sequence's tokens in attention_mask alone.
    Raises InvalidType for what is not a torch tensor, InvalidArgument for masks of another shape.
    """
    torch: Any = sys.modules.get("torch")
    states = _tensor("hidden_states", hidden_states, 2)
    used = _mask("attention_mask", attention_mask, states) != 0
    kept = used if unused_mask is None else used | (_mask("unused_mask", unused_mask, states) != 0)
    indices: Any = kept.flatten().nonzero().flatten()
    cu_seqlens, longest = _offsets(kept.sum(1, dtype=torch.int32))
    return index_first_axis(states.flatten(0, 1), indices), indices, cu_seqlens, longest, used.sum(1, dtype=torch.int32)


def unpad_input_for_concatenated_sequences(hidden_states: T, attention_mask_in_length: T) -> tuple[T, T, T, int]:
    """unpad_input for rows of a batch that hold several sequences, one after another, then padding.

    hidden_states: [batch, seqlen, ...], any dtype. attention_mask_in_length: [batch, seqlen], integers: the lengths of
    the row's sequences in order and 0 elsewhere; [2, 3, 0, 0, 0, 0] is a row of two sequences and one token of padding.

    Returns (hidden_states [total, ...], indices, cu_seqlens, max_seqlen_in_batch): indices int64 [total], the rows'
    places in [batch * seqlen]; cu_seqlens int32 [sequences + 1]; the longest sequence, an int, for which a GPU is
    waited for. Raises InvalidType for what is not a torch tensor, InvalidArgument for lengths of another shape.
    """
    torch: Any = sys.modules.get("torch")
    states = _tensor("hidden_states", hidden_states, 2)
    lengths = _mask("attention_mask_in_length", attention_mask_in_length, states)
    places = torch.arange(states.shape[1], device=lengths.device)
    indices: Any = (places < lengths.sum(1, keepdim=True)).flatten().nonzero().flatten()
    flat = lengths.flatten()
    cu_seqlens, longest = _offsets(flat[flat != 0])
    return index_first_axis(states.flatten(0, 1), indices), indices, cu_seqlens, longest


def pad_input(hidden_states: T, indices: T, batch: int, seqlen: int) -> T:
    """The inverse of unpad_input: tokens back in their places, 0 elsewhere.

    hidden_states: [total, ...], any dtype; indices: int32 or int64 [total], from unpad_input. Returns [batch, seqlen,
    ...]. Raises InvalidType for what is not a torch tensor, InvalidArgument for indices of another shape.
    """
    rows: Any = _tensor("hidden_states", hidden_states, 1)
    result: T = index_put_first_axis(rows, indices, batch * seqlen).unflatten(0, (batch, seqlen))
    return result
