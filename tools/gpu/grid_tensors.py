"""The tensors of a case of the grid: each inside a larger buffer of sentinels, so that a stray read shows in the result
and a stray write in the buffer."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass
from typing import Any

import torch

from tools.gpu.grid_cases import GridCase

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}
BYTES = {torch.bool: torch.uint8, torch.float16: torch.int16, torch.bfloat16: torch.int16, torch.float32: torch.int32}
GUARD = 256  # elements before and after
#: NaN of fp16, bf16 and fp32, with bits that no computation makes.
_SENTINEL = {torch.int16: 0x7FA5, torch.int32: 0x7FA5A5A5, torch.uint8: 1}
#: Values whose products are subnormal in the dtype.
TINY = {"fp16": 3e-7, "bf16": 2e-39, "fp32": 2e-39}


@dataclass
class Room:
    """A tensor and the buffer that it is a part of."""

    view: Any
    buffer: Any

    def outside_is_untouched(self) -> bool:
        """Of a room whose view was written: whether all else still holds sentinels. Ends with the view undone."""
        kind = BYTES[self.buffer.dtype]
        bits = self.buffer.view(kind)
        self.view.view(kind).fill_(_SENTINEL[kind])
        return bool((bits == _SENTINEL[kind]).all())


def room(shape: tuple[int, ...], dtype: Any, device: str, offset: int = 0) -> Room:
    """Row-major, `offset` elements past a multiple of what any alignment asks for."""
    count = 1
    for size in shape:
        count *= size
    kind = BYTES[dtype]
    buffer = torch.full((count + 2 * GUARD + offset,), _SENTINEL[kind], dtype=kind, device=device).view(dtype)
    start = GUARD + offset
    return Room(buffer[start : start + count].view(shape), buffer)


def _place(case: GridCase, rows: tuple[int, ...], heads: int, dim: int, dtype: Any, device: str) -> Room:
    """Memory for [*rows, heads, dim] as the case says, seen in the case's layout."""
    memory = "heads_first" if (case.memory == "heads_first") != (case.layout == "bhsd") else "tokens_first"
    pad = 8 if case.memory == "padded" else 0
    sizes = (*rows, heads) if memory == "tokens_first" else (*rows[:-1], heads, rows[-1])
    made = room((*sizes, dim + pad), dtype, device, 1 if case.memory == "unaligned" else 0)
    view = made.view[..., :dim]
    if (memory == "heads_first") != (case.layout == "bhsd"):
        view = view.transpose(-3, -2)
    return Room(view, made.buffer)


@dataclass
class GridInputs:
    """A call's tensors. `keys`: how many keys each sequence has to begin with."""

    q: Any
    k: Any
    v: Any
    options: dict[str, Any]
    lengths: list[tuple[int, int]]
    rooms: dict[str, Room]


def _values(case: GridCase, view: Any, generator: Any, name: str) -> None:
    factor = 1.0
    if case.values == "large" and name == "q":
        factor = 30.0
    if case.values == "denormal" and name != "q":
        factor = TINY[case.dtype]
    tokens = -2 if case.layout == "bhsd" else -3
    shape = list(view.shape)
    if case.values == "equal":
        shape[tokens] = min(1, shape[tokens])
    # A head at a time: what fp32 takes of the largest cases would not fit.
    if view.numel() > 2**28:
        for part in view.unbind(-3 if case.layout == "bhsd" else -2):
            part.copy_(torch.randn(part.shape, generator=generator, device=view.device, dtype=torch.float16))
        return
    view.copy_(torch.randn(shape, generator=generator, device=view.device) * factor)


def _bias(case: GridCase, generator: Any, device: str) -> Any:
    kind, sizes = case.bias.split(":")
    whole = (case.batch, case.heads, case.seqlen_q, case.seqlen_k)
    shape = [size if full == "1" else 1 for size, full in zip(whole, sizes)]
    values = torch.randn(shape, generator=generator, device=device)
    hidden = torch.zeros(shape, dtype=torch.bool, device=device)
    if case.hidden_rows:
        if sizes[2] == "1":
            hidden[:, :, ::7] = True
            hidden[:, :, 1::5, :70] = True
        elif sizes[3] == "1":
            hidden[..., :70] = True
    if kind == "bool":
        bias = (values > -0.8) & ~hidden
    else:
        bias = values.masked_fill(hidden, float("-inf")).to(torch.float32 if kind == "fp32" else DTYPES[case.dtype])
    place = case.seed % 3
    if place == 1 and sizes == "1111":  # keys with a stride
        wide = torch.zeros((*shape[:3], 2 * shape[3]), dtype=bias.dtype, device=device)[..., ::2]
        return wide.copy_(bias)
    if place == 1 and sizes.startswith("00"):
        return bias[0, 0]  # broadcasting gives it the first dimensions
    if place == 2:  # broadcast by strides of 0
        return bias.expand(whole)
    return bias


def make(case: GridCase, device: str) -> GridInputs:
    """The inputs of a case."""
    generator = torch.Generator(device).manual_seed(case.seed)
    r = random.Random(case.seed)
    dtype = DTYPES[case.dtype]
    lengths = list(case.lengths) if case.lengths is not None else [(case.seqlen_q, case.seqlen_k)] * case.batch
    rows_q: tuple[int, ...]
    rows_k: tuple[int, ...]
    if case.lengths is not None:
        rows_q, rows_k = (sum(q for q, _ in lengths),), (sum(k for _, k in lengths),)
    else:
        rows_q, rows_k = (case.batch, case.seqlen_q), (case.batch, case.seqlen_k)
    rooms: dict[str, Room] = {}
    heads_of = {"q": case.heads, "k": case.heads_kv, "v": case.heads_kv}
    if case.memory == "packed":
        packed = room((*rows_q, case.heads + 2 * case.heads_kv, case.head_dim), dtype, device)
        parts = packed.view.split([case.heads, case.heads_kv, case.heads_kv], -2)
        for name, part in zip("qkv", parts):
            rooms[name] = Room(part.transpose(-3, -2) if case.layout == "bhsd" else part, packed.buffer)
    else:
        for name, rows, dim in (
            ("q", rows_q, case.head_dim),
            ("k", rows_k, case.head_dim),
            ("v", rows_k, case.head_dim_v),
        ):
            shared = case.memory == "expanded" and name != "q"
            rooms[name] = _place(case, rows, 1 if shared else heads_of[name], dim, dtype, device)
    for name in "qkv":
        _values(case, rooms[name].view, generator, name)
    q, k, v = (rooms[name].view for name in "qkv")
    if case.memory == "expanded":
        heads_axis = -3 if case.layout == "bhsd" else -2
        k, v = (x.expand(*x.shape[:heads_axis], case.heads_kv, *x.shape[heads_axis:][1:]) for x in (k, v))
    rooms["out"] = _place(case, rows_q, case.heads, case.head_dim_v, dtype, device)
    options: dict[str, Any] = {
        "causal": case.causal,
        "softmax_scale": case.softmax_scale,
        "layout": case.layout,
    }
    # Options that a case leaves alone are not given, so that it runs through what plain calls run through.
    if case.window is not None:
        options["window"] = case.window
    if case.softcap:
        options["softcap"] = case.softcap
    if case.alibi:
        shape = (case.heads,) if case.alibi == "h" else (len(lengths), case.heads)
        options["alibi_slopes"] = 0.3 * torch.rand(shape, generator=generator, device=device)
    if case.sinks:
        options["sinks"] = torch.randn((case.heads,), generator=generator, device=device)
    if case.bias:
        options["bias"] = _bias(case, generator, device)
    if case.lengths is not None:
        for name, counts in (("cu_seqlens_q", [q for q, _ in lengths]), ("cu_seqlens_k", [k for _, k in lengths])):
            options[name] = torch.tensor([0, *itertools.accumulate(counts)], dtype=torch.int32, device=device)
    if case.seqused:
        used = [r.choice((0, keys // 2, max(keys - 1, 0), keys, min(keys, 65))) for _, keys in lengths]
        options["seqused_k"] = torch.tensor(used, dtype=torch.int32, device=device)
    if case.batch_invariant:
        options["batch_invariant"] = True
    return GridInputs(q, k, v, options, lengths, rooms)
