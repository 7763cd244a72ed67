"""Gradients of layers of experts on a GPU: products of rows that lie sorted by expert.

Those of rows by weights are flashfit's on Hopper, all others PyTorch's. What a backward needs of the forward is
computed again from the call's inputs where the forward did not keep it, so that a training step keeps little that is
as large as its choices are many. Nothing here depends on the device, so that tests run it on the CPU. docs/moe.md has
the formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import torch

from ._binding import binding, failure
from ._gradients import GROUPED, experts_operator, experts_over_wgmma
from ._moe import Asked, activation_of, has_gate, range_of
from ._packages import TORCH

_RELEASE = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
_COLUMNS = 8  # 16 bytes of bf16: the least that a grouped product takes
_nn = torch.nn.functional
_aten = torch.ops.aten


def takes_grouped(x: Any) -> bool:
    """Whether torch._grouped_mm multiplies such rows on their GPU without asking the host where experts end."""
    if not (x.is_cuda and hasattr(torch, "_grouped_mm")):
        return False
    dtype = {torch.bfloat16: "bf16", torch.float16: "fp16"}.get(x.dtype, "")
    return experts_operator(torch.cuda.get_device_capability(x.device), dtype, _RELEASE) == GROUPED


def _has_half_on_gpu(x: Any) -> bool:
    return bool(x.is_cuda) and x.dtype in (torch.float16, torch.bfloat16)


def takes_rows(x: Any) -> bool:
    """Whether flashfit_moe_rows_product multiplies such rows on their GPU."""
    return _has_half_on_gpu(x) and experts_over_wgmma(torch.cuda.get_device_capability(x.device))


def moves_rows(x: Any) -> bool:
    """Whether flashfit gathers the rows of such a tensor, or adds them up: one launch each."""
    return _has_half_on_gpu(x) and _lies_well(x)


def _lies_well(x: Any) -> bool:
    """As flashfit_moe_rows_args' tokens have to lie: [tokens, columns]."""
    return bool(x.data_ptr() % 16 == 0 and x.shape[1] % 8 == 0 and x.stride(1) == 1 and x.stride(0) % 8 == 0)


def _memories(given: dict[str, Any], stream: int) -> dict[str, Any]:
    """What C reads of tensors; None stays None."""
    with torch.no_grad():
        return {name: None if each is None else TORCH.read(name, each, stream) for name, each in given.items()}


def gather_rows(tokens: Any, places: Any, rows: Any, stream: int) -> None:
    """Into rows[places[t, k]] tokens[t], where that is no number below 0: flashfit_moe_gather_rows."""
    given = {"tokens": tokens, "places": places, "rows": rows, "topk_weights": None}
    status = binding().gather_rows(_memories(given, stream), stream)
    if status:
        raise failure(status)


def sum_rows(rows: Any, places: Any, weights: Any, tokens: Any, stream: int) -> None:
    """Into tokens[t] the sum of weights[t, k] rows[places[t, k]], of 1 without weights: flashfit_moe_sum_rows."""
    given = {"tokens": tokens, "places": places, "rows": rows, "topk_weights": weights}
    status = binding().sum_rows(_memories(given, stream), stream)
    if status:
        raise failure(status)


def rows_product(a: Any, weights: Any, offsets: Any, out: Any, transposed: bool, stream: int, **sums: Any) -> None:
    """Into out[r] the product a[r] w of each row r of expert e: flashfit_moe_rows_product. weights: [experts, n, k],
    transposed [experts, k, n]. sums: its places, sums and topk_weights, if it adds up, too."""
    given = _memories({"a": a, "w": weights, "offsets": offsets, "out": out, **sums}, stream)
    status = binding().rows_product(given, transposed, stream, _space_beside(a))
    if status:
        raise failure(status)


def weights_product(a: Any, b: Any, offsets: Any, out: Any, stream: int) -> None:
    """Into out[e] the sum of a[r]^T b[r] over the rows of each expert: flashfit_moe_weights_product."""
    given = _memories({"a": a, "b": b, "offsets": offsets, "out": out}, stream)
    status = binding().weights_product(given, stream, _space_beside(a))
    if status:
        raise failure(status)


def _space_beside(x: Any) -> Callable[[int], int]:
    """What gives C a workspace on x's GPU, for as long as it lives itself."""
    scratch = []

    def space(count: int) -> int:
        scratch.append(TORCH.scratch(x, count))
        return int(scratch[0].data_ptr())

    return space


def _layout_of(weights: Any) -> bool | None:
    """Of [experts, k, n] whether n is contiguous, False where k is; None for what flashfit's products do not take."""
    if weights.data_ptr() % 16 or any(size % 8 for size in weights.shape[1:]):
        return None
    for transposed, inner, outer in ((True, 2, 1), (False, 1, 2)):
        if weights.stride(inner) == 1 and not (weights.stride(0) % 8 or weights.stride(outer) % 8):
            return transposed
    return None


class _Products:
    """Products of the rows of each expert, from offsets[e] to offsets[e + 1], int32 [experts + 1]; each expert has one
    at least. own: they are flashfit's, where it takes the operands."""

    def __init__(self, offsets: Any, grouped: bool, own: bool = False) -> None:
        self._offsets, self._grouped, self._is_own = offsets, grouped, own

    @cached_property
    def _ends(self) -> Any:
        """Where each expert's rows end, at an address that grouped products take."""
        return self._offsets[1:].clone()

    @cached_property
    def _spans(self) -> list[slice]:
        """Each expert's rows: reading them waits for the GPU."""
        stops = self._offsets.tolist()
        return list(map(slice, stops, stops[1:]))

    def of_rows(self, a: Any, weights: Any) -> Any:
        """a[r] weights[e] of each row r of expert e, [rows, n]; a: [rows, k], weights: [experts, k, n]. Rows of no
        expert hold anything."""
        if self._own(weights) is not None:
            return self._by_own(a, weights)
        if self._grouped:
            return torch._grouped_mm(a, weights, offs=self._ends)
        out = a.new_empty((a.shape[0], weights.shape[2]))
        for span, each in zip(self._spans, weights):
            torch.mm(a[span], each, out=out[span])
        return out

    def _own(self, weights: Any) -> bool | None:
        """_layout_of() weights that flashfit's product of rows takes; None of others."""
        return _layout_of(weights) if self._is_own else None

    def _by_own(self, a: Any, weights: Any, **sums: Any) -> Any:
        """of_rows() by flashfit's product, which adds up, too: rows_product()."""
        transposed = self._own(weights)
        assert transposed is not None
        out = a.new_empty((a.shape[0], weights.shape[2]))
        rows_product(a, weights if transposed else weights.mT, self._offsets, out, transposed, _stream_of(a), **sums)
        return out

    def of_rows_and_tokens(self, a: Any, weights: Any, rows: _Rows, weighed: bool) -> tuple[Any, Any]:
        """of_rows(), and rows.added_up() of that, or None where the product does not add up itself."""
        if self._own(weights) is None or not moves_rows(a):
            return self.of_rows(a, weights), None
        sums = a.new_empty((rows.places.shape[0], weights.shape[2]))
        factors = rows.topk_weights if weighed else None
        return self._by_own(a, weights, places=rows.places, sums=sums, topk_weights=factors), sums

    def of_experts(self, a: Any, b: Any) -> Any:
        """The sum of a[r]^T b[r] over the rows of each expert, [experts, m, n]; a: [rows, m], b: [rows, n]."""
        if self._is_own and _lies_well(a) and _lies_well(b):
            out = a.new_empty((self._offsets.shape[0] - 1, a.shape[1], b.shape[1]))
            weights_product(a, b, self._offsets, out, _stream_of(a))
            return out
        if self._grouped:
            return torch._grouped_mm(a.t(), b, offs=self._ends)
        out = a.new_empty((len(self._spans), a.shape[1], b.shape[1]))
        for span, each in zip(self._spans, out):
            torch.mm(a[span].t(), b[span], out=each)
        return out

    def sums(self, a: Any, factors: Any = None) -> Any:
        """The sum of factors[r] a[r] over the rows of each expert, [experts, m]: a product with a column, since adding
        rows up one by one has no fixed order on a GPU. factors: [rows, 1], None for 1."""
        columns = a.new_zeros((a.shape[0], _COLUMNS))
        columns[:, :1] = 1 if factors is None else factors
        return self.of_experts(a, columns)[:, :, 0].contiguous()


def sorts_rows(ids: Any) -> bool:
    """Whether flashfit sorts such choices on their GPU."""
    return bool(ids.is_cuda)


def sort_rows(ids: Any, low: int, experts: int) -> tuple[Any, Any, Any]:
    """places, choices and offsets of _Rows: flashfit_moe_sort_rows."""
    ids = ids.to(torch.int32).contiguous()
    places = torch.empty_like(ids)
    choices, offsets = ids.new_empty((ids.numel() + experts,)), ids.new_empty((experts + 1,))
    stream = _stream_of(ids)
    given = _memories({"topk_ids": ids, "places": places, "choices": choices, "offsets": offsets}, stream)
    status = binding().sort_rows(given, low, stream, _space_beside(ids))
    if status:
        raise failure(status)
    return places, choices, offsets


def _sorted_by_torch(ids: Any, low: int, experts: int) -> tuple[Any, Any, Any]:
    """The same by PyTorch's operations, on any device."""
    chosen = ids.reshape(-1).long() - low
    known = (chosen >= 0) & (chosen < experts)
    first = torch.arange(experts, dtype=torch.int16, device=ids.device)
    keys = torch.cat([first, torch.where(known, chosen, experts).to(torch.int16)])
    of_rows, order = torch.sort(keys, stable=True)
    ends = torch.searchsorted(of_rows, first, right=True).to(torch.int32)
    choices = torch.where(of_rows < experts, order - experts, -1).to(torch.int32)
    choices = choices.clamp_(min=-1)  # a row of no token has the order of its expert
    numbers = torch.arange(len(order), dtype=torch.int32, device=ids.device)
    place = torch.empty_like(numbers).scatter_(0, order, numbers)[experts:]
    places = torch.where(known, place, -1).view_as(ids)
    return places, choices, torch.cat([ends.new_zeros(1), ends])


class _Rows:
    """A call's choices as rows, sorted by expert. The first row of each expert is of no token and holds zeros, for then
    every expert has a row, and one without tokens gets gradients of 0 from the same products. Choices of no expert come
    last, and their rows may hold anything. Nothing waits for the GPU."""

    def __init__(self, ids: Any, topk_weights: Any, low: int, experts: int) -> None:
        #: Each choice's row, int32 [tokens, top_k], below 0 of choices of no expert; each row's choice, int32 [rows],
        #: below 0 of rows of no token and of choices of no expert; where each expert's rows begin, and the last one's
        #: end, int32 [experts + 1].
        self.places, self.choices, self.offsets = (sort_rows if sorts_rows(ids) else _sorted_by_torch)(
            ids, low, experts
        )
        #: Each choice's weight, fp32 [tokens, top_k].
        self.topk_weights = topk_weights.float().contiguous()
        self._ids, self._low = ids, low

    @cached_property
    def expert(self) -> Any:
        """Each row's expert, int64 [rows]."""
        numbers = torch.arange(self.choices.shape[0], dtype=torch.int32, device=self.choices.device)
        ends = self.offsets[1:].contiguous()
        return torch.searchsorted(ends, numbers, right=True).clamp(max=ends.shape[0] - 1)

    @cached_property
    def weights(self) -> Any:
        """Each row's weight, fp32 [rows, 1]."""
        return self.cleared(self.topk_weights.reshape(-1).index_select(0, self._choice)[:, None])

    @cached_property
    def _choice(self) -> Any:
        """Each row's choice, int64 [rows], any of rows of none."""
        return self.choices.long().clamp(min=0)

    @cached_property
    def _padding(self) -> Any:
        """The rows of no token that experts begin with, int64 [experts]."""
        return self.offsets[:-1].long()

    @cached_property
    def _place(self) -> Any:
        """Each choice's row, int64 [tokens, top_k]: of choices of no expert row 0, the first expert's zeros."""
        return self.places.long().clamp(min=0)

    def cleared(self, rows: Any) -> Any:
        """rows, with zeros in those of no token, whatever stood there."""
        return rows.index_fill_(0, self._padding, 0)

    def of_tokens(self, x: Any) -> Any:
        """Each row's token's of x, [rows, n]."""
        if not moves_rows(x):
            return self.cleared(x.index_select(0, self._choice // self.places.shape[1]))
        rows = x.new_empty((self.choices.shape[0], x.shape[1]))
        gather_rows(x, self.places, rows, _stream_of(x))
        return self.cleared(rows)

    def to_choices(self, values: Any) -> Any:
        """Values [rows] as [tokens, top_k], 0 for choices of no expert."""
        return torch.where(self.places >= 0, values[self._place], 0)

    def of_their_experts(self, values: Any) -> Any:
        """Each choice's of values [tokens, experts], [tokens, top_k]; 0 for choices of no expert."""
        known = self.places >= 0
        return torch.where(known, values.gather(1, torch.where(known, self._ids.long() - self._low, 0)), 0)

    def added_up(self, rows: Any, weighed: bool) -> Any:
        """The sum of each token's rows, by their weights if weighed, [tokens, n], in fp32 and in the order of its
        choices."""
        if not moves_rows(rows):
            rows = rows.mul_(self.weights) if weighed else rows
            return _nn.embedding_bag(self._place, rows, mode="sum", padding_idx=0)
        out = rows.new_empty((self.places.shape[0], rows.shape[1]))
        sum_rows(rows, self.places, self.topk_weights if weighed else None, out, _stream_of(rows))
        return out


def _activate(activation: Any, g: Any, u: Any, dh: Any, dg: Any, du: Any) -> Any:
    """h of gate and up, and into dg and du its gradients by them, given that of h. Without a gate g and dg are None."""
    kind, alpha, limit, shift = activation_of(activation)
    if kind == 0:
        gate, up = (g.clamp(max=limit), u.clamp(-limit, limit)) if limit else (g, u)
        up = up + shift if shift else up
        scaled = alpha not in (0, 1)
        inner = gate * alpha if scaled else gate
        share = _nn.silu(inner)
        share = share.div_(alpha) if scaled else share
        torch.mul(dh, share, out=du)
        _aten.silu_backward.grad_input(dh * up, inner, grad_input=dg)
        if limit:
            dg.masked_fill_(g > limit, 0)
            du.masked_fill_(u.abs() > limit, 0)
        return share.mul_(up)
    if g is not None:
        approximate = "tanh" if kind == 1 else "none"
        share = _nn.gelu(g, approximate=approximate)
        torch.mul(dh, share, out=du)
        _aten.gelu_backward.grad_input(dh * u, g, approximate=approximate, grad_input=dg)
        return share.mul_(u)
    if kind == 3:
        _aten.silu_backward.grad_input(dh, u, grad_input=du)
        return _nn.silu(u)
    share = _nn.relu(u)
    torch.mul(dh, share, out=du).mul_(2)
    return share.square_()


def has_kernel(x: Any, features: int) -> bool:
    """Whether activations' gradients of such tensors are one launch of flashfit's own."""
    return _has_half_on_gpu(x) and features % 8 == 0


def in_one_launch(
    z: Any, dh: Any, choices: Any, weights: Any, dz: Any, dweights: Any, asked: Asked, stream: int
) -> None:
    """Into dz, dweights (None: not wanted) and, as h, dh: flashfit_moe_activation_backward. z: gates, then ups."""
    given = {"z": z, "dh": dh, "choices": choices, "topk_weights": weights, "dz": dz, "h": dh}
    given["dtopk_weights"] = dweights
    interleaved = has_gate(asked.activation) and asked.gate_up == "interleaved"
    activation = activation_of(asked.activation)
    status = binding().activation_backward(_memories(given, stream), interleaved, activation, stream)
    if status:
        raise failure(status)


def _stream_of(x: Any) -> int:
    return int(torch.cuda.current_stream(x.device).cuda_stream) if x.is_cuda else 0


def _sides(z: Any, asked: Asked, gate_up: str) -> tuple[Any, Any]:
    """Gate and up of z; without a gate None and z."""
    if not has_gate(asked.activation):
        return None, z
    return (z[:, 0::2], z[:, 1::2]) if gate_up == "interleaved" else z.chunk(2, dim=1)


def experts_gradients(
    dout: Any, x: Any, w13: Any, w2: Any, asked: Asked, wanted: list[bool], z: Any = None
) -> tuple[Any, ...]:
    """Gradients of x, w13, w2, b13, b2 and topk_weights, contiguous; those that are not wanted have no elements.

    dout and x: [tokens, hidden]. asked: with topk_weights, fp32, and topk_ids, both [tokens, top_k]; ids outside of
    asked.experts add nothing. z: what the forward kept, flashfit_fused_moe_args' z, whose rows are those of _Rows; None
    computes it.
    """
    of_x, of_w13, of_w2, of_b13, of_b2, of_weights = wanted
    given = (x, w13, w2, asked.b13, asked.b2, asked.topk_weights)
    found: list[Any] = [x.new_empty((0,)) for _ in wanted]
    if not x.shape[0]:
        return tuple(y.new_zeros(y.shape) if asks else none for y, asks, none in zip(given, wanted, found))
    experts, on_input, transposed = w13.shape[0], asked.weight_on == "input", asked.transposed
    rows = _Rows(asked.topk_ids, asked.topk_weights, (range_of(asked.experts) or (0, 0))[0], experts)
    products = _Products(rows.offsets, takes_grouped(x), takes_rows(x))
    first, second = (w13, w2) if transposed else (w13.mT, w2.mT)

    def inputs() -> Any:
        """Each row's x, as w13 multiplies it."""
        xs = rows.of_tokens(x)
        return torch.mul(xs, rows.weights, out=xs) if on_input else xs

    gate_up = asked.gate_up if has_gate(asked.activation) else "concatenated"
    multiplied = None
    if z is None:
        multiplied = inputs()
        z = products.of_rows(multiplied, first)
        if asked.b13 is not None:
            z.add_(asked.b13[rows.expert])
    else:
        gate_up = "concatenated"
    douts = rows.of_tokens(dout)
    dh = products.of_rows(douts, second.mT)
    dz = torch.empty_like(z)
    if gate_up == "concatenated" and has_kernel(x, dh.shape[1]):
        h, chosen = dh, None if on_input else rows.topk_weights.reshape(-1)
        dweights = torch.zeros_like(chosen) if of_weights and chosen is not None else None
        in_one_launch(z, dh, rows.choices, chosen, dz, dweights, asked, _stream_of(x))
        if dweights is not None:
            found[5] = dweights.view_as(asked.topk_weights)
    else:
        h = _activate(asked.activation, *_sides(z, asked, gate_up), dh, *_sides(dz, asked, asked.gate_up))
        h, dz = rows.cleared(h), rows.cleared(dz)
        if not on_input:
            if of_weights:
                found[5] = rows.to_choices(dh.mul_(h).sum(1, dtype=torch.float32))
            dz.mul_(rows.weights)
            h.mul_(rows.weights)
    if of_weights and not on_input and asked.b2 is not None:
        found[5] += rows.of_their_experts(dout @ asked.b2.mT)
    del z, dh
    if of_b13:
        found[3] = products.sums(dz)
    if of_w2:
        found[2] = products.of_experts(h, douts) if transposed else products.of_experts(douts, h)
    if of_b2:
        found[4] = products.sums(douts, None if on_input else rows.weights)
    del h, douts
    if of_w13:
        multiplied = inputs() if multiplied is None else multiplied
        found[1] = products.of_experts(multiplied, dz) if transposed else products.of_experts(dz, multiplied)
    del multiplied
    if of_x or (on_input and of_weights):
        by_x = None
        if of_x:
            of_rows, by_x = products.of_rows_and_tokens(dz, first.mT, rows, weighed=on_input)
        else:
            of_rows = products.of_rows(dz, first.mT)
        del dz
        if on_input and of_weights:
            found[5] = rows.to_choices(rows.of_tokens(x).mul_(of_rows).sum(1, dtype=torch.float32))
        if of_x:
            found[0] = rows.added_up(of_rows, weighed=on_input) if by_x is None else by_x
    return tuple(found)
