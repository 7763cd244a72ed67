"""How models' checkpoints name a layer of experts, what their config.json says of it, and how they pack numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import torch

from ._errors import InvalidArgument, InvalidType
from ._moe import Swiglu
from ._tensors import full_name, number_of, shown

_T = TypeVar("_T")

_PLAIN = (torch.bfloat16, torch.float16, torch.float32)
_FP8 = (torch.float8_e4m3fn,)
#: The numbers of four bits, E2M1, of which a byte holds two, the low half first; 32 share a scale of 2^(byte - 127).
_FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0)
_FP4_GROUP = 32
_E8M0 = (torch.float8_e8m0fnu,) if hasattr(torch, "float8_e8m0fnu") else ()  # torch 2.7 and newer
_ACTIVATIONS = {"silu": "swiglu", "gelu": "geglu_erf", "gelu_pytorch_tanh": "geglu_tanh"}


class Names(NamedTuple):
    """Under a layer's prefix. {} is an expert's number."""

    gate: str = "gate.weight"
    gate_bias: str | None = None
    router_bias: str | None = None
    each: tuple[str, str, str] | None = None  # gate, up and down, where there is one tensor an expert
    packed: tuple[str, str] = ("experts.gate_up_proj", "experts.down_proj")  # of all experts
    transposed: bool = False  # the packed ones, but those of mxfp4
    biases: bool = False  # packed ones of both, with _bias at their ends
    shared: tuple[str, str, str] | None = None


_SPLIT = ("experts.{}.gate_proj.weight", "experts.{}.up_proj.weight", "experts.{}.down_proj.weight")
_Value = Callable[..., Any]


def _gate_of(value: _Value) -> str:
    return _among(_ACTIVATIONS, "hidden_act", value("hidden_act"))


def _among(table: dict[str, _T], name: str, value: Any) -> _T:
    """What a table has for a config's value, which may be of any type."""
    if not isinstance(value, str) or value not in table:
        raise InvalidArgument(f"config: its {name} is {shown(value)}; accepted: {', '.join(map(repr, table))}")
    return table[value]


def _number(value: _Value, name: str, **default: Any) -> float:
    found = value(name, **default)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        raise InvalidArgument(f"config: its {name} is {shown(found)}; accepted: a number")
    return number_of(name, found, "a number")


def _truth(value: _Value, name: str) -> bool:
    found = value(name)
    if not isinstance(found, bool):
        raise InvalidArgument(f"config: its {name} is {shown(found)}; accepted: True, False")
    return found


def _whole(value: _Value, name: str, least: int) -> int:
    found = value(name)
    if type(found) is not int or found < least:
        raise InvalidArgument(f"config: its {name} is {shown(found)}; accepted: an integer from {least}")
    return found


def _mixtral(value: _Value) -> tuple[dict[str, Any], Names]:
    options = {"experts": value("num_local_experts"), "intermediate": value("intermediate_size")}
    each = ("experts.{}.w1.weight", "experts.{}.w3.weight", "experts.{}.w2.weight")
    return {**options, "activation": _gate_of(value)}, Names(each=each)


def _qwen3_moe(value: _Value) -> tuple[dict[str, Any], Names]:
    options = {
        "experts": value("num_experts", "num_local_experts"),
        "intermediate": value("moe_intermediate_size"),
        "renormalize": _truth(value, "norm_topk_prob"),
        "activation": _gate_of(value),
    }
    return options, Names(each=_SPLIT)


def _deepseek_v3(value: _Value) -> tuple[dict[str, Any], Names]:
    intermediate = _whole(value, "moe_intermediate_size", 1)
    shared_experts = _whole(value, "n_shared_experts", 0)
    for name, only in (("scoring_func", "sigmoid"), ("topk_method", "noaux_tc")):  # Transformers' config has neither
        _among({only: only}, name, value(name, default=only))
    options = {
        "experts": value("n_routed_experts"),
        "intermediate": intermediate,
        "router": "sigmoid",
        "renormalize": _truth(value, "norm_topk_prob"),
        "groups": (value("n_group"), value("topk_group")),
        "scale": _number(value, "routed_scaling_factor"),
        "activation": _gate_of(value),
        "gate_dtype": torch.float32,
        "router_bias": True,
        "shared_intermediate": intermediate * shared_experts,
    }
    shared = ("shared_experts.gate_proj.weight", "shared_experts.up_proj.weight", "shared_experts.down_proj.weight")
    return options, Names(
        router_bias="gate.e_score_correction_bias", each=_SPLIT, shared=shared if shared_experts else None
    )


def _gpt_oss(value: _Value) -> tuple[dict[str, Any], Names]:
    options = {
        "experts": value("num_local_experts"),
        "intermediate": value("intermediate_size"),
        "router": "topk_softmax",
        "activation": Swiglu(
            _number(value, "swiglu_alpha", default=1.702), _number(value, "swiglu_limit", default=7.0), 1.0
        ),
        "gate_up": "interleaved",
        "gate_bias": True,
        "biases": True,
    }
    return options, Names(gate="router.weight", gate_bias="router.bias", transposed=True, biases=True)


_MODELS = {"mixtral": _mixtral, "qwen3_moe": _qwen3_moe, "deepseek_v3": _deepseek_v3, "gpt_oss": _gpt_oss}


def _value(config: Any, *names: str, default: Any = None) -> Any:
    """What a config says under the first of the names that it has."""
    for name in names:
        found = config.get(name) if isinstance(config, dict) else getattr(config, name, None)
        if found is not None:
            return found
    if default is None:
        raise InvalidArgument(f"config: it has no {names[0]}; accepted: what the model's config.json holds")
    return default


def written_as(config: Any) -> tuple[dict[str, Any], Names]:
    """MoeLayer's options and the checkpoint's names of a model."""
    model = _among(_MODELS, "model_type", _value(config, "model_type"))

    def value(*names: str, default: Any = None) -> Any:
        return _value(config, *names, default=default)

    options, names = model(value)
    return {"hidden": value("hidden_size"), "top_k": value("num_experts_per_tok"), **options}, names


class Checkpoint:
    """The tensors of a layer, by the end of their names. Each is taken once; packed numbers only if `unpack`."""

    def __init__(self, tensors: Any, prefix: str, config: Any, unpack: bool) -> None:
        if not isinstance(prefix, str):
            raise InvalidType(f"prefix: {shown(prefix)}; accepted: what the layer's names begin with, as a text")
        self._prefix = prefix if not prefix or prefix.endswith(".") else f"{prefix}."
        #: What reads each tensor of the layer, by its whole name.
        self._reader: dict[str, Callable[[str], Any]] = {}
        for file in tensors if isinstance(tensors, (list, tuple)) else (tensors,):
            if not callable(getattr(file, "keys", None)):
                accepted = "a mapping, an opened safetensors file, or a list of these"
                raise InvalidType(f"tensors: {full_name(file)}; accepted: {accepted}")
            get = getattr(file, "get_tensor", None) or file.__getitem__
            for name in file.keys():  # noqa: SIM118
                if not isinstance(name, str) or not name.startswith(self._prefix):
                    continue
                if name in self._reader:
                    raise InvalidArgument(f"tensors: {name} is in two of them; accepted: each tensor in one")
                self._reader[name] = get
        self._left = {name[len(self._prefix) :] for name in self._reader}
        quantized = _value(config, "quantization_config", default={})
        block = _value(quantized, "weight_block_size", default=(128, 128))
        if (
            not isinstance(block, (list, tuple))
            or len(block) != 2
            or not all(type(each) is int and 1 <= each < 2**31 for each in block)
        ):
            raise InvalidArgument(f"config: its weight_block_size is {shown(block)}; accepted: two integers from 1")
        self._block = block
        self._unpack = unpack

    def has(self, name: str) -> bool:
        return name in self._left

    def _named(self, name: str) -> str:
        return f"{self._prefix}{name}"

    def _take_of(self, dtypes: tuple[Any, ...], name: str, *shape: int) -> Any:
        """_take(), where other dtypes would be read as other numbers."""
        found = self._take(name, *shape)
        if found.dtype not in dtypes:
            accepted = ", ".join(map(str, dtypes))
            raise InvalidArgument(f"{self._named(name)}: dtype is {found.dtype}; accepted: {accepted}")
        return found

    def _read(self, name: str) -> Any:
        found = self._reader[self._named(name)](self._named(name))
        if not isinstance(found, torch.Tensor):
            raise InvalidType(f"{self._named(name)}: {full_name(found)}; accepted: a torch tensor")
        return found

    def _take(self, name: str, *shape: int) -> Any:
        if name not in self._left:
            raise InvalidArgument(f"tensors: there is no {self._named(name)}; accepted: a checkpoint that has it")
        self._left.remove(name)
        found = self._read(name)
        if tuple(found.shape) != shape:
            raise InvalidArgument(f"{self._named(name)}: shape is {tuple(found.shape)}; accepted: {shape}")
        return found

    def dtype_of_experts(self, names: Names, options: dict[str, Any], dtype: Any) -> Any:
        """The dtype in which experts are to be held: dtype, or where it is None as they are, bf16 of packed ones."""
        first = names.packed[0]
        what = "mxfp4"
        if not self.has(f"{first}_blocks"):
            first = names.each[0].format(0) if names.each and not self.has(first) else first
            if not self.has(first):
                raise InvalidArgument(f"tensors: there is no {self._named(first)}; accepted: a checkpoint that has it")
            stored = self._read(first).dtype
            if stored in _PLAIN:
                return dtype or stored
            scaled = self.has(f"{first}_scale_inv")
            if stored not in _FP8 or not scaled:
                raise InvalidArgument(
                    f"{self._named(first)}: dtype is {stored}{'' if scaled else ' without weight_scale_inv'}; "
                    "accepted: torch.bfloat16, torch.float16, torch.float32, torch.float8_e4m3fn with weight_scale_inv"
                )
            what = str(stored)
        kind = dtype or torch.bfloat16
        if not self._unpack:
            features = options["intermediate"] * options["experts"] + options.get("shared_intermediate", 0)
            size = torch.empty(0, dtype=kind).element_size() * 3 * options["hidden"] * features
            raise InvalidArgument(
                f"unpack: False, and {self._named(first)} is stored as {what}; accepted: True, which unpacks the "
                f"experts to {size:,} bytes of {kind}"
            )
        return kind

    def put(self, name: str, into: Any) -> None:
        """A tensor's numbers, unpacked from fp8 where they are."""
        found = self._take(name, *into.shape)
        if found.dtype in _FP8 and into.dim() > 1:
            if not self._unpack:
                raise InvalidArgument(
                    f"unpack: False, and {self._named(name)} is stored as {found.dtype}; accepted: True, which unpacks "
                    f"it to {into.dtype}"
                )
            *experts, rows, columns = into.shape
            high, wide = self._block
            blocks = (*experts, -(-rows // high), -(-columns // wide))
            scales = self._take_of((*_PLAIN, *_E8M0), f"{name}_scale_inv", *blocks).float()
            # An expert at a time: unpacked numbers take four bytes each, and so do their scales.
            for mine, packed, scale in zip(into, found, scales) if experts else [(into, found, scales)]:
                each = scale.repeat_interleave(high, 0)[:rows].repeat_interleave(wide, 1)[:, :columns]
                mine.copy_(packed.to(each.device).float() * each)
            return
        if found.dtype not in _PLAIN:
            raise InvalidArgument(f"{self._named(name)}: dtype is {found.dtype}; accepted: torch.bfloat16, "
                                  "torch.float16, torch.float32, torch.float8_e4m3fn")  # fmt: skip
        into.copy_(found)

    def is_transposed(self, names: Names) -> bool:
        """Whether the experts' weights are stored with the outputs contiguous, not the depth."""
        return names.transposed and not self.has(f"{names.packed[0]}_blocks")

    def put_blocks(self, name: str, into: Any) -> None:
        """All experts' numbers, unpacked from mxfp4; into: [experts, outputs, depth]."""
        experts, outputs, depth = into.shape
        if depth % _FP4_GROUP:
            raise InvalidArgument(f"{self._named(name)}_blocks: for a depth of {depth}; accepted: multiples of 32")
        groups = depth // _FP4_GROUP
        blocks = self._take_of((torch.uint8,), f"{name}_blocks", experts, outputs, groups, _FP4_GROUP // 2)
        scales = self._take_of((torch.uint8, *_E8M0), f"{name}_scales", experts, outputs, groups).view(torch.uint8)
        numbers = torch.tensor(_FP4, device=blocks.device)
        for mine, packed, scale in zip(into, blocks, scales):  # an expert at a time: indices take eight bytes each
            halves = torch.stack([packed & 15, packed >> 4], dim=-1).flatten(-2)
            powers = torch.ldexp(torch.ones(scale.shape, device=scale.device), scale.int() - 127)
            powers = powers.masked_fill(scale == 255, torch.nan)  # E8M0's NaN
            mine.copy_((numbers[halves.long()] * powers[..., None]).flatten(-2))

    def finish(self) -> None:
        """Refuses what nothing took."""
        if self._left:
            name = min(self._left)
            raise InvalidArgument(f"tensors: {self._named(name)} is no weight of such a layer; accepted: none such")


def fill(layer: Any, checkpoint: Checkpoint, names: Names) -> None:
    """A layer's parameters with a checkpoint's numbers."""
    checkpoint.put(names.gate, layer.gate)
    if names.gate_bias:
        checkpoint.put(names.gate_bias, layer.gate_bias)
    if names.router_bias:
        checkpoint.put(names.router_bias, layer.router_bias)
    half = layer.intermediate
    if checkpoint.has(f"{names.packed[0]}_blocks"):
        for name, into in zip(names.packed, (layer.w13, layer.w2)):
            checkpoint.put_blocks(name, into)
    elif checkpoint.has(names.packed[0]) or names.each is None:
        for name, into in zip(names.packed, (layer.w13, layer.w2)):
            checkpoint.put(name, into)
    else:
        for e, (w13, w2) in enumerate(zip(layer.w13, layer.w2)):
            for name, into in zip(names.each, (w13[:half], w13[half:], w2)):
                checkpoint.put(name.format(e), into)
    if names.biases:
        for name, into in zip(names.packed, (layer.b13, layer.b2)):
            checkpoint.put(f"{name}_bias", into)
    if names.shared:
        first, half = layer.shared_w13, layer.shared_w2.shape[1]
        for name, into in zip(names.shared, (first[:half], first[half:], layer.shared_w2)):
            checkpoint.put(name, into)
    checkpoint.finish()
