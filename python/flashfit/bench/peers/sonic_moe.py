"""SonicMoE, a layer with a mixture of experts over QuACK's products."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import Any

from .base import Call, ModulePeer, version_of


class GivenLogits:
    """Stands where SonicMoE's layer takes the router's weights [experts, hidden], which it multiplies x with: the
    product is the case's logits, as every part of a case begins at those."""

    def __init__(self, logits: Any) -> None:
        self.logits = logits

    def size(self, dim: int) -> int:
        """How many experts there are: dim is 0, as the layer asks for nothing else."""
        assert dim == 0
        return int(self.logits.shape[1])

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Sequence[Any], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        linear: Any = importlib.import_module("torch.nn.functional").linear
        return args[1].logits if function is linear and isinstance(args[1], cls) else NotImplemented


def paired(w13: Any, out: Any) -> None:
    """w13 [experts, 2 intermediate, hidden], gates before ups, into out with each gate before its up."""
    rows = w13.unflatten(1, (2, -1)).transpose(1, 2)
    out.view(rows.shape).copy_(rows)


def calling(layer: Any, x: Any, w13: Any, w2: Any, logits: Any, top_k: int, backward: bool = False) -> Call:
    """A call of SonicMoE's layer, of w13 with each gate before its up; backward: whether one follows."""

    def call() -> Any:
        first, second = (w.permute(1, 2, 0) for w in (w13, w2))
        experts = first, None, second, None
        # The weights of the chosen ones are a softmax over them: the same as all divided by their sum.
        found = layer(x, GivenLogits(logits), *experts, top_k, 0, "swiglu", is_inference_mode_enabled=not backward)
        return found[0]

    return call


class SonicMoe(ModulePeer):
    """Its layer, told that no backward follows. The first call compiles its kernels and tries its tiles, for which it
    takes up to a minute. It is given w13 in the order that is its own, in a copy."""

    name = "sonic-moe"
    package = "sonic-moe"
    modules = ("sonicmoe",)
    function = "moe_TC_softmax_topk_layer"

    def version(self) -> str | None:
        """With those of what its products are made of."""
        found = [(name, version_of(name)) for name in (self.package, "quack-kernels", "nvidia-cutlass-dsl")]
        if found[0][1] is None:
            return None
        return ", ".join([str(found[0][1]), *(f"{name} {version}" for name, version in found[1:])])

    def prepare(self, case: Any, inputs: Any) -> Call:
        return calling(self.layer(), inputs.x, inputs.copied(paired), inputs.w2, inputs.logits, case.top_k)

    def layer(self) -> Any:
        return getattr(self.module(), self.function)
