"""A layer with a mixture of experts as it is measured, with its router. PyTorch makes the inputs and judges: NumPy has
no bf16, and fp64 of a few tokens reads more weights than a host does in the time of a case."""

from __future__ import annotations

import importlib
import math
import random
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import flashfit

from .arrays import Arrays
from .cases import AnyCase
from .judge import Verdict
from .operation import Operation
from .peers import Peer
from .peers.experts import TorchGrouped, gated

GROUP = "moe"
DTYPE, BYTES = "bf16", 2
ROWS = 16  # tokens that are held to fp64 in one verdict
TOLERANCE = 2.0  # how many times the plain computation's error is allowed
FEWEST_ZIPF = 256  # tokens: of fewer, each distribution of choices is like any other
POISON = 255  # bytes of NaN, and of -1
CPU_SHARE = 32  # a CPU's stand-ins have hidden and intermediate sizes divided by this
CPU_TOKENS = 256  # and as many tokens at most


@dataclass(frozen=True)
class Model:
    """The sizes of a model's layers, of its config.json; `most` tokens of a layer fit into 78 GiB beside a peer's.
    `named`: the tokens that the project's goals name for it, where these are others; 0: none."""

    name: str
    experts: int
    top_k: int
    hidden: int
    intermediate: int
    most: int = 32768
    named: int = 0

    def small(self) -> Model:
        """What a CPU multiplies in no time."""
        hidden, intermediate = (16 * math.ceil(size / CPU_SHARE / 16) for size in (self.hidden, self.intermediate))
        return replace(
            self, name=f"small {self.name}", hidden=hidden, intermediate=intermediate, most=CPU_TOKENS, named=0
        )


#: The first three are what papers measure: many small experts, few large ones, and weights that are hardly read twice.
MODELS = (
    Model("Qwen3-30B-A3B", 128, 8, 2048, 768),
    Model("Mixtral-8x7B", 8, 2, 4096, 14336, named=16384),
    Model("DeepSeek-V3", 256, 8, 7168, 2048, named=8192),
    Model("GPT-OSS-20B", 32, 4, 2880, 2880),
    Model("OLMoE-1B-7B", 64, 8, 2048, 1024),
    Model("GLM-4.5-Air", 128, 8, 4096, 1408),
    Model("Qwen3-235B-A22B", 128, 8, 4096, 1536),
    Model("Qwen2-57B-A14B", 64, 8, 3584, 2560),
)
FIRST_MODELS = 3
TOKENS = {
    1: "one sequence that generates",
    8: "8 sequences that generate",
    64: "64 sequences that generate",
    256: "256 sequences that generate",
    4096: "a prompt",
}


@dataclass(frozen=True)
class MoeCase(AnyCase):
    """A softmax over all experts, top_k of them divided by their sum; swiglu."""

    tokens: int
    experts: int
    top_k: int
    hidden: int
    intermediate: int
    routing: str  # "random", or "zipf": expert of rank r is about r times rarer than the first

    def problem(self) -> dict[str, Any]:
        keys = ("dtype", "tokens", "experts", "top_k", "hidden", "intermediate", "routing")
        sizes = {key: getattr(self, key) for key in keys}
        return {**sizes, "router": "softmax", "renormalize": True, "activation": "swiglu"}

    def touching(self, experts: int) -> MoeCase:
        """The case with the work of tokens that chose so many experts."""
        rows = self.tokens * self.top_k
        read = experts * 3 * self.hidden * self.intermediate + 2 * self.tokens * self.hidden
        work = {
            "flop": 6 * rows * self.hidden * self.intermediate,
            # An exponential a logit, and one a feature of the activation.
            "exp": self.tokens * self.experts + rows * self.intermediate,
            "bytes": BYTES * read + 4 * self.tokens * self.experts,
        }
        return replace(self, work=work)


def case_of(model: Model, tokens: int, routing: str, group: str = GROUP) -> MoeCase:
    whose = "as a CPU may stand in for it" if model.name.startswith("small ") else "as it is"
    found = MoeCase(
        name=f"{group}/{model.name} T{tokens} {routing} {DTYPE}",
        group=group,
        stands_for=f"a layer of {model.name.removeprefix('small ')} {whose}, {TOKENS.get(tokens, 'prompts')}",
        work={},
        dtype=DTYPE,
        tokens=tokens,
        experts=model.experts,
        top_k=model.top_k,
        hidden=model.hidden,
        intermediate=model.intermediate,
        routing=routing,
    )
    return found.touching(min(model.experts, tokens * model.top_k))


def cases(device: str = "cuda") -> list[MoeCase]:
    """Every case, the most telling ones first, as a run may be cut off: three models at 64, 4096, the named and the
    most tokens, then the other models there, uneven choices, and the other numbers of tokens."""
    models = MODELS if device != "cpu" else tuple(model.small() for model in MODELS)
    first, others = models[:FIRST_MODELS], models[FIRST_MODELS:]

    found: dict[str, MoeCase] = {}

    def add(some: Sequence[Model], rank: Callable[[Model], Sequence[int]], routing: str) -> None:
        for model in some:
            for tokens in rank(model):
                case = case_of(model, tokens, routing)
                found.setdefault(case.name, case)

    def telling(model: Model) -> list[int]:
        named = [model.named] if model.named else []
        return [tokens for tokens in (64, 4096) if tokens < model.most] + named + [model.most]

    def every(model: Model) -> list[int]:
        return [tokens for tokens in TOKENS if tokens < model.most] + [model.most]

    def uneven(model: Model) -> list[int]:
        return [tokens for tokens in every(model) if tokens >= FEWEST_ZIPF]

    add(first, telling, "random")
    add(others, telling, "random")
    add(models, uneven, "zipf")
    add(models, every, "random")
    return list(found.values())


@dataclass
class MoeInputs:
    """x and out [tokens, hidden], w13 [experts, 2 intermediate, hidden], w2 [experts, hidden, intermediate], fp32
    logits [tokens, experts]; bytes of workspace as soon as a call has said how many, on a CPU none. `copies` has what
    copies w13 for a peer that takes its rows in another order; the copy is the peer's."""

    x: Any
    w13: Any
    w2: Any
    logits: Any
    out: Any
    workspace: Any = None
    copies: list[tuple[Callable[[Any, Any], None], Callable[[], Any]]] = field(default_factory=list)

    def copied(self, copy: Callable[[Any, Any], None]) -> Any:
        """What copy(w13, it) makes of w13, now and whenever other numbers have been filled in, for as long as somebody
        holds it. It is not held here: with a peer that has run out of memory, its weights must go."""
        torch: Any = importlib.import_module("torch")
        found = torch.empty_like(self.w13)
        self.copies.append((copy, weakref.ref(found)))
        copy(self.w13, found)
        return found

    def copy_anew(self) -> None:
        for copy, kept in self.copies:
            into = kept()
            if into is not None:
                copy(self.w13, into)


def popularity(case: MoeCase) -> list[float]:
    """What is added to a logit: nothing, or -log of the expert's place in a random order."""
    if case.routing == "random":
        return [0.0] * case.experts
    places = list(range(1, case.experts + 1))
    random.Random(case.name).shuffle(places)
    return [-math.log(place) for place in places]


class MoeExpected:
    """What a case gives: a sample of tokens in fp64. Beside it the same tokens as PyTorch computes them in bf16 with
    plain products, one expert after another, whose error bounds what is allowed."""

    def __init__(self, arrays: Any, case: MoeCase, inputs: MoeInputs, seed: int) -> None:
        self._arrays, self._torch = arrays, arrays.torch
        draw = random.Random(f"{case.name} {seed}")
        drawn = draw.sample(range(case.tokens), min(ROWS - 2, case.tokens))
        self._rows = arrays.integers(sorted({0, case.tokens - 1, *drawn})).long()
        self._shape = (case.tokens, case.hidden)
        self._exact, plain = self._computed(case, inputs)
        self.bound = TOLERANCE * float((plain.double() - self._exact).abs().max())

    def _computed(self, case: MoeCase, inputs: MoeInputs) -> tuple[Any, Any]:
        torch, x = self._torch, inputs.x[self._rows]
        logits = inputs.logits[self._rows].double()
        ids = logits.topk(case.top_k, -1).indices
        weights = torch.softmax(logits, -1).gather(1, ids)
        weights = weights / weights.sum(-1, keepdim=True)
        exact = torch.zeros((*ids.shape, case.hidden), dtype=torch.float64, device=x.device)
        plain = exact.to(x.dtype)
        for expert in ids.unique().tolist():
            token, rank = (ids == expert).nonzero(as_tuple=True)
            for into in (exact, plain):
                first, second, rows = (y.to(into.dtype) for y in (inputs.w13[expert], inputs.w2[expert], x[token]))
                y = gated(rows @ first.T) @ second.T
                into[token, rank] = y * weights[token, rank, None].to(y.dtype)
        return exact.sum(1), plain.sum(1)

    def judge(self, out: Any) -> Verdict:
        """Of an output [tokens, hidden]."""
        if tuple(out.shape) != self._shape:
            return Verdict(math.nan, self.bound, f"the result has shape {tuple(out.shape)}, not {self._shape}")
        error = float((out[self._rows].double() - self._exact).abs().max())
        if self._arrays.has_nan(out):
            return Verdict(math.nan, self.bound, "the result holds NaN, or was not written everywhere")
        if not error <= self.bound:
            return Verdict(error, self.bound, f"error {error:.3g} against fp64 is above {self.bound:.3g}")
        return Verdict(error, self.bound)


class Moe(Operation):
    """flashfit.fused_moe, from logits on."""

    schema = "moe 1"

    def listed(self, device: str) -> Sequence[MoeCase]:
        return cases(device)

    def peers(self) -> list[Peer]:
        return [TorchGrouped()]

    def make(self, arrays: Arrays, case: MoeCase, seed: int) -> MoeInputs:
        rows, hidden, intermediate = (case.tokens, case.hidden), case.hidden, case.intermediate
        inputs = MoeInputs(
            x=arrays.empty(rows, case.dtype),
            w13=arrays.empty((case.experts, 2 * intermediate, hidden), case.dtype),
            w2=arrays.empty((case.experts, hidden, intermediate), case.dtype),
            logits=arrays.empty((case.tokens, case.experts), "fp32"),
            out=arrays.empty(rows, case.dtype),
        )
        self.fill(arrays, inputs, case, seed)
        return inputs

    def fill(self, arrays: Arrays, inputs: MoeInputs, case: MoeCase, seed: int) -> None:
        """x, the sums of products and the logits have variance 1; out and the workspace are NaN."""
        normal = arrays.normal(seed)
        normal(inputs.x, 1)
        normal(inputs.w13, case.hidden**-0.5)
        normal(inputs.w2, case.intermediate**-0.5)
        normal(inputs.logits, 1)
        inputs.logits += arrays.numbers(popularity(case))
        arrays.poison(inputs.out)
        if inputs.workspace is not None:
            inputs.workspace.fill_(POISON)
        inputs.copy_anew()

    def weighed(self, case: MoeCase, inputs: MoeInputs) -> MoeCase:
        return case.touching(len(inputs.logits.topk(case.top_k, -1).indices.unique()))

    def expected(self, arrays: Arrays, case: MoeCase, inputs: MoeInputs, seed: int) -> MoeExpected:
        return MoeExpected(arrays, case, inputs, seed)

    def prepare(self, case: MoeCase, inputs: MoeInputs) -> Callable[[], Any]:
        torch: Any = importlib.import_module("torch")
        layer, x, w13, w2 = flashfit.fused_moe, inputs.x, inputs.w13, inputs.w2
        options: dict[str, Any] = {"router_logits": inputs.logits, "top_k": case.top_k, "out": inputs.out}

        def space(size: int) -> Any:
            inputs.workspace = torch.full((size,), POISON, dtype=torch.uint8, device=x.device)
            return inputs.workspace

        layer(x, w13, w2, **options, workspace=space)
        options["workspace"] = inputs.workspace
        return lambda: layer(x, w13, w2, **options)

    def plan(self, case: MoeCase, index: int) -> dict[str, Any]:
        """No variant: which products a layer takes there is nothing that says."""
        return {"variant": None}


MOE = Moe()
