"""Experts of Transformers' models: experts_implementation="fit_experts".

Transformers 5 keeps a registry of what computes a layer's experts. A model's own gate is honoured: what stands between
the two products is tried once on numbers, and taken only if it is one of flashfit's activations; all else is left to
the model's own experts, and log() says why. docs/use-it-in.md says what was tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .._errors import CudaError, FlashfitError, OutOfMemory
from .._moe import Swiglu
from ._host import Host, off

#: What a model's experts_implementation is called.
NAME = "fit_experts"

_KEPT = "_flashfit_gate"  # what was found out about a layer, on the layer


def _candidates(module: Any) -> Iterator[tuple[str | Swiglu, str]]:
    """Activations and layouts that a layer's gate may be, the likelier first."""

    def named(*names: str) -> list[float]:
        given = (getattr(module, name, None) for name in names)
        return [float(each) for each in given if isinstance(each, (int, float)) and each > 0]

    alphas = dict.fromkeys((1.0, *named("alpha", "swiglu_alpha"), 1.702))
    limits = dict.fromkeys((None, *named("limit", "swiglu_limit")))
    for layout in ("concatenated", "interleaved"):
        yield from ((name, layout) for name in ("swiglu", "geglu_tanh", "geglu_erf"))
        yield from ((Swiglu(a, m, s), layout) for a in alphas for m in limits for s in (0.0, 1.0))


def _put_in() -> Callable[[], None]:
    import torch
    from transformers.integrations.moe import ALL_EXPERTS_FUNCTIONS, ExpertsInterface

    from .. import torch_ops  # noqa: F401 - registers the operators, before anything traces
    from .._operations import fused_moe

    nn = torch.nn.functional
    setting = off(HOST.name)
    is_compiling = torch.compiler.is_dynamo_compiling

    def between(activation: Any, g: Any, u: Any) -> Any:
        """h in fp64, as flashfit defines it."""
        if isinstance(activation, Swiglu):
            if activation.limit is not None:
                g, u = g.clamp(max=activation.limit), u.clamp(-activation.limit, activation.limit)
            return g * torch.sigmoid(activation.alpha * g) * (u + activation.shift)
        if activation == "swiglu":
            return nn.silu(g) * u
        return nn.gelu(g, approximate="tanh" if activation == "geglu_tanh" else "none") * u

    def tried(module: Any) -> tuple[Any, str, str]:
        """(activation, gate_up, ""), or why it is none."""
        if getattr(module, "has_post_expert_norm", False):
            return None, "", "a norm after each expert"
        gated = getattr(module, "has_gate", True)
        weights = module.gate_up_proj if gated else module.up_proj
        count = int(weights.shape[-1 if getattr(module, "is_transposed", False) else -2])
        # From -24 to 24, and in four rows to 24,000: clamps show, and so does what is odd in g or u. Of no two columns
        # alike.
        numbers = torch.linspace(-24, 24, 16 * count, dtype=torch.float64).reshape(count, 16).T
        numbers = numbers[:, torch.randperm(count, generator=torch.Generator().manual_seed(0))]
        numbers = numbers * (1 + torch.arange(16, dtype=torch.float64)[:, None] / 16) / 2
        numbers = torch.cat((numbers, numbers[:4] * 10.0 ** torch.arange(4)[:, None]))
        try:
            if not gated:
                found = module.act_fn(numbers)
                plain = {"silu": nn.silu(numbers), "relu2": nn.relu(numbers).square()}
                for name, want in plain.items():
                    if torch.allclose(found, want, rtol=1e-5, atol=1e-7):
                        return name, "concatenated", ""
                return None, "", f"act_fn: {type(module.act_fn).__name__}"
            found = module._apply_gate(numbers)
        except Exception as error:  # whatever a model's gate needs, flashfit has it not
            return None, "", f"_apply_gate: {type(error).__name__}"
        for activation, layout in _candidates(module):
            pair = (numbers[:, 0::2], numbers[:, 1::2]) if layout == "interleaved" else numbers.chunk(2, dim=-1)
            want = between(activation, *pair)
            if found.shape == want.shape and torch.allclose(found, want, rtol=1e-5, atol=1e-7):
                return activation, layout, ""
        return None, "", "_apply_gate: none of flashfit's activations"

    def why_left(module: Any, x: Any, w13: Any, w2: Any) -> str:
        if setting:
            return f"{setting} turns it off"
        for name, w in (("gate_up_proj", w13), ("down_proj", w2)):
            if not isinstance(w, torch.Tensor) or w.dtype != x.dtype:
                return f"{name}: {getattr(w, 'dtype', type(w).__name__)} with hidden_states of {x.dtype}"
        return ""

    def fit_experts(self: Any, hidden_states: Any, top_k_index: Any, top_k_weights: Any) -> Any:
        """As Transformers calls experts: hidden_states [tokens, hidden], the others [tokens, top_k]. Ids from
        num_experts on are of other ranks, and add 0."""
        gated = getattr(self, "has_gate", True)
        w13, w2 = self.gate_up_proj if gated else self.up_proj, self.down_proj
        reason = why_left(self, hidden_states, w13, w2)
        if not reason:
            if _KEPT not in self.__dict__:
                with torch.no_grad():
                    self.__dict__[_KEPT] = tried(self)
            activation, gate_up, reason = self.__dict__[_KEPT]
        call = f"{type(self).__name__}, {str(hidden_states.dtype).split('.')[-1]} on {hidden_states.device.type}"
        if not reason:
            biased = getattr(self, "has_bias", False)
            first = "gate_up_proj_bias" if gated else "up_proj_bias"
            try:
                out = fused_moe(
                    hidden_states,
                    w13,
                    w2,
                    topk_weights=top_k_weights,
                    topk_ids=top_k_index,
                    b13=getattr(self, first) if biased else None,
                    b2=self.down_proj_bias if biased else None,
                    activation=activation,
                    gate_up=gate_up,
                    transposed=bool(getattr(self, "is_transposed", False)),
                    experts=(0, int(w13.shape[0])),
                )
            except FlashfitError as error:
                if is_compiling() or isinstance(error, (CudaError, OutOfMemory)):
                    raise
                reason = str(error)
            else:
                if not is_compiling():
                    HOST.notes.note(f"{call}, {activation}")
                return out.to(hidden_states.dtype)  # under autocast another, which Transformers' own do not return
        if not is_compiling():
            HOST.notes.note(call, reason)
        own = getattr(type(self).forward, "__wrapped__", None)
        if own is None:
            raise FlashfitError(
                f"experts: {type(self).__name__} has no forward of its own, and flashfit left: {reason}"
            )
        return own(self, hidden_states, top_k_index, top_k_weights)

    ALL_EXPERTS_FUNCTIONS.register(NAME, fit_experts)

    def take_out() -> None:
        ExpertsInterface._global_mapping.pop(NAME, None)

    return take_out


HOST = Host("transformers_experts", _put_in, even_if_off=True)
install, uninstall, installed, log = HOST.install, HOST.uninstall, HOST.installed, HOST.log
