"""The grid: every option of attention alone and together, at every kind of head_dim, length, layout and value."""

from __future__ import annotations

import random
from dataclasses import dataclass, fields
from typing import Any

#: (head_dim, head_dim of v). Compiled ones, odd ones, one less and one more than a multiple of 8, and the ends.
HEAD_DIMS: tuple[tuple[int, int], ...] = (
    *(
        (d, d)
        for d in (1, 2, 3, 5, 7, 8, 9, 16, 17, 24, 31, 32, 33, 40, 48, 56, 63, 64, 65, 72, 80, 88, 95, 96, 97, 100)
    ),
    *((d, d) for d in (104, 112, 120, 127, 128, 129, 136, 144, 160, 176, 191, 192, 193, 200, 224, 240, 255, 256, 512)),
    (192, 128),
)
COMPILED = (32, 64, 96, 128, 160, 192, 256)
#: Real lists of windows: the shifted ones of a 25-frame and of a one-frame video (tools/job/cases.py has them whole).
WINDOWS_OF_A_VIDEO = (149, 463, 448, 868, 643, 298, 158, 448)


@dataclass(frozen=True)
class GridCase:
    """One problem. Dense, or of variable length where `lengths` is given."""

    head_dim: int = 64
    head_dim_v: int = 64
    dtype: str = "fp16"
    batch: int = 2
    heads: int = 2
    heads_kv: int = 2
    seqlen_q: int = 128
    seqlen_k: int = 128
    lengths: tuple[tuple[int, int], ...] | None = None  # (queries, keys)
    layout: str = "bshd"
    memory: str = "contiguous"  # heads_first, packed, padded, expanded, unaligned
    causal: bool = False
    window: tuple[int, int] | None = None
    softcap: float = 0.0
    alibi: str = ""  # "h": [heads]; "bh": [batch, heads]
    sinks: bool = False
    bias: str = ""  # "dtype", "fp32" or "bool", and which of the four sizes are full, such as "fp32:0111"
    hidden_rows: bool = False  # the bias hides every key from some queries, and the first tile from others
    seqused: bool = False
    batch_invariant: bool = False
    softmax_scale: float | None = None
    values: str = "normal"  # large, equal, denormal, nan_q, nan_k, nan_v, inf_v
    gpu_only: bool = False  # too large for a CPU
    seed: int = 0

    @property
    def name(self) -> str:
        """What differs from the defaults."""
        shown = [f"D{self.head_dim}" + (f"/{self.head_dim_v}" if self.head_dim_v != self.head_dim else ""), self.dtype]
        heads = f"H{self.heads}" + (f"/{self.heads_kv}" if self.heads_kv != self.heads else "")
        if self.lengths is None:
            shown.append(f"B{self.batch} {heads} S{self.seqlen_q}x{self.seqlen_k}")
        else:
            shown.append(f"{heads} lengths {'+'.join(f'{q}x{k}' for q, k in self.lengths)}")
        told = ("head_dim", "head_dim_v", "dtype", "batch", "heads", "heads_kv", "seqlen_q", "seqlen_k", "lengths")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name not in told and value != field.default:
                shown.append(field.name if value is True else f"{field.name}={value}".replace(" ", ""))
        return " ".join(shown)

    @property
    def options(self) -> set[str]:
        """By the names that --option and --within take."""
        asks: dict[str, Any] = {
            "causal": self.causal,
            "window": self.window is not None,
            "softcap": self.softcap,
            "alibi": self.alibi,
            "sinks": self.sinks,
            "bias": self.bias,
            "varlen": self.lengths is not None,
            "seqused": self.seqused,
            "batch_invariant": self.batch_invariant,
            "gqa": self.heads != self.heads_kv,
            "head_dim_v": self.head_dim_v != self.head_dim,
            "padded_head_dim": self.head_dim not in COMPILED and self.head_dim != 512,
            "layout": self.layout != "bshd",
            "strides": self.memory not in ("contiguous", "unaligned"),
            "unaligned": self.memory == "unaligned",
            "scale": self.softmax_scale,
            "values": self.values != "normal",
            "huge": self.gpu_only,
        }
        return {name for name, asked in asks.items() if asked}

    def work(self) -> int:
        """Scores."""
        pairs = self.lengths or ((self.seqlen_q, self.seqlen_k),) * self.batch
        return self.heads * sum(q * k for q, k in pairs)


OPTIONS = sorted(
    [
        *("causal", "window", "softcap", "alibi", "sinks", "bias", "varlen", "seqused", "batch_invariant", "gqa"),
        *("head_dim_v", "padded_head_dim", "layout", "strides", "unaligned", "scale", "values", "huge"),
    ]
)
_LENGTHS = (0, 1, 2, 3, 7, 15, 16, 17, 31, 63, 64, 65, 100, 127, 128, 129, 191, 192, 255, 256, 257, 300, 384, 500)
_BIASES = tuple(
    f"{kind}:{sizes}"
    for kind in ("dtype", "fp32", "bool")
    for sizes in ("1111", "0111", "1011", "0011", "1101", "1001")
)


def _lengths(r: random.Random) -> tuple[tuple[int, int], ...]:
    kind = r.randrange(4)
    if kind == 0:
        few = r.sample(WINDOWS_OF_A_VIDEO, 4)
        return tuple((n, n) for n in few)
    if kind == 1:  # one long, the rest short
        return ((r.choice((300, 511, 700)),) * 2, *((n, n) for n in r.choices(range(40), k=6)))
    return tuple((r.choice(_LENGTHS), r.choice(_LENGTHS)) for _ in range(r.randint(1, 5)))


def _random_case(r: random.Random, dims: tuple[int, int], dtype: str, seed: int) -> GridCase:
    """Each option with its own odds, so that most cases have two or three."""
    ragged = r.random() < 0.25
    heads_kv = r.choice((1, 1, 2, 2, 3))
    heads = heads_kv * r.choice((1, 1, 2, 3, 4, 8))
    decode = not ragged and r.random() < 0.2
    seqlen_q = r.randint(1, 16) if decode else r.choice(_LENGTHS)
    seqlen_k = r.choice((500, 1000, 1025, 2049)) if decode else (seqlen_q if r.random() < 0.4 else r.choice(_LENGTHS))
    window = None
    if r.random() < 0.3:
        sizes = (-1, 0, 1, 16, 63, 64, 100, 128, 200)
        window = (r.choice(sizes), r.choice(sizes))
    memory = r.choice(("contiguous", "contiguous", "heads_first", "packed", "padded", "expanded"))
    if memory == "packed" and (ragged or seqlen_q != seqlen_k or dims[0] != dims[1]):
        memory = "padded"
    bias = r.choice(_BIASES) if not ragged and r.random() < 0.3 else ""
    return GridCase(
        *dims,
        dtype=dtype,
        batch=r.choice((1, 1, 2, 3)),
        heads=heads,
        heads_kv=heads_kv,
        seqlen_q=seqlen_q,
        seqlen_k=seqlen_k,
        lengths=_lengths(r) if ragged else None,
        layout=r.choice(("bshd", "bshd", "bhsd")),
        memory=memory,
        causal=r.random() < 0.4,
        window=window,
        softcap=r.choice((0.5, 15.0, 50.0)) if r.random() < 0.2 else 0.0,
        alibi=r.choice(("h", "bh")) if r.random() < 0.2 else "",
        sinks=r.random() < 0.2,
        bias=bias,
        hidden_rows=bool(bias) and r.random() < 0.4,
        seqused=r.random() < 0.2,
        batch_invariant=r.random() < 0.15,
        softmax_scale=r.choice((0.02, 0.5)) if r.random() < 0.1 else None,
        values=r.choice(("large", "equal", "denormal")) if r.random() < 0.12 else "normal",
        seed=seed,
    )


def _few_queries() -> list[dict[str, Any]]:
    """A few queries of grouped heads, whose rows may share a tile: what tells rows and heads apart, alone."""
    few: dict[str, Any] = {"seqlen_q": 5, "seqlen_k": 3000, "heads": 8, "heads_kv": 2, "causal": True}
    return [
        *({**few, "seqlen_q": q, "heads": h, "heads_kv": kv} for q in (2, 4, 8, 16, 33) for h, kv in ((8, 2), (16, 2))),
        {**few, "heads": 6},  # three rows a query
        {**few, "causal": False},
        {**few, "window": (70, 0)},
        {**few, "seqlen_q": 40, "window": (3, 2), "causal": False},
        {**few, "sinks": True},
        {**few, "seqlen_q": 1, "sinks": True, "window": (127, 0)},
        {**few, "seqused": True, "batch": 4},
        {**few, "batch_invariant": True, "batch": 5},
        {**few, "lengths": ((3, 900), (20, 20), (0, 5), (17, 2000), (9, 4))},
        {**few, "lengths": ((3, 900), (20, 20), (17, 2000)), "sinks": True, "seqused": True},
        {**few, "layout": "bhsd"},
        {**few, "memory": "heads_first"},
        {**few, "memory": "padded"},
        {**few, "seqlen_q": 16, "seqlen_k": 16},
        {**few, "seqlen_q": 40, "seqlen_k": 17},
        *({**few, "values": each} for each in ("large", "nan_q", "nan_k", "nan_v", "inf_v")),
    ]


def _each_option(dims: tuple[int, int], dtype: str) -> list[GridCase]:
    """Each option alone, where nothing else can hide what it does wrong."""
    base: dict[str, Any] = {
        "head_dim": dims[0],
        "head_dim_v": dims[1],
        "dtype": dtype,
        "seqlen_q": 200,
        "seqlen_k": 200,
    }
    wide: dict[str, Any] = {"seqlen_q": 70, "seqlen_k": 333}
    tall: dict[str, Any] = {"seqlen_q": 333, "seqlen_k": 70}
    alone: list[dict[str, Any]] = [
        {},
        wide,
        tall,
        {"causal": True},
        {**wide, "causal": True},
        {**tall, "causal": True},
        *({"window": each} for each in ((64, 0), (0, 0), (17, 33), (-1, 5), (128, -1))),
        {**wide, "window": (30, 40)},
        {**tall, "window": (30, 40)},
        {"window": (100, 0), "causal": True},
        {"softcap": 20.0},
        {"softcap": 1.0, "values": "large"},
        {"alibi": "h"},
        {"alibi": "bh", "causal": True},
        {**wide, "alibi": "h"},
        {"sinks": True},
        {**tall, "sinks": True, "causal": True},
        *({"bias": each} for each in _BIASES),
        *({"bias": f"{kind}:1111", "hidden_rows": True} for kind in ("dtype", "fp32", "bool")),
        {"seqused": True, "batch": 4},
        {"seqused": True, "batch": 4, "causal": True},
        {"lengths": tuple((n, n) for n in WINDOWS_OF_A_VIDEO)},
        {"lengths": ((5, 90), (0, 3), (70, 0), (1, 1), (130, 200)), "causal": True},
        {"lengths": ((60, 90), (64, 64), (200, 100)), "window": (20, 10)},
        {"lengths": ((60, 90), (64, 64), (200, 100)), "seqused": True},
        {"batch_invariant": True, "batch": 5},
        {"batch_invariant": True, "lengths": ((3, 900), (100, 100), (256, 31), (1, 2000))},
        {"batch_invariant": True, "seqlen_q": 1, "seqlen_k": 2049, "batch": 3},
        *({"heads": h, "heads_kv": kv} for h, kv in ((8, 1), (6, 2), (12, 3))),
        {"layout": "bhsd"},
        *({"memory": each} for each in ("heads_first", "packed", "padded", "expanded", "unaligned")),
        *({"values": each} for each in ("large", "equal", "denormal")),
        *({"values": each, "causal": c} for each in ("nan_q", "nan_k", "nan_v", "inf_v") for c in (False, True)),
        {"values": "nan_k", "window": (40, 10)},
        {"values": "nan_v", "window": (40, 10)},
        {"values": "nan_k", "lengths": ((50, 50), (70, 70), (60, 60))},
        {"values": "nan_v", "seqused": True, "batch": 3},
        *({"seqlen_q": q, "seqlen_k": k} for q, k in ((0, 100), (100, 0), (0, 0))),
        {"seqlen_q": 100, "seqlen_k": 0, "sinks": True},
        *({"seqlen_q": q, "seqlen_k": 3000, "batch": 1} for q in (1, 5, 16)),
        {"seqlen_q": 1, "seqlen_k": 8000, "batch": 1, "heads": 8, "heads_kv": 1},
        *_few_queries(),
    ]
    if dims[0] != dims[1]:
        alone = [each for each in alone if each.get("memory") != "packed"]
    return [GridCase(**{**base, **each}) for each in alone]


def _huge() -> list[GridCase]:
    """Past 16-bit grids and 32-bit offsets: for GPUs with 80 GB."""
    many = [
        GridCase(64, 64, dtype="bf16", batch=9000, heads=8, heads_kv=8, seqlen_q=16, seqlen_k=16, gpu_only=True),
        GridCase(64, 64, batch=9000, heads=8, heads_kv=4, seqlen_q=9, seqlen_k=20, causal=True, gpu_only=True),
        GridCase(128, 128, batch=70000, heads=1, heads_kv=1, seqlen_q=3, seqlen_k=5, gpu_only=True),
        GridCase(32, 32, heads=2, heads_kv=2, lengths=((3, 4),) * 40000, gpu_only=True, window=(2, 1)),
    ]
    rows = 2**31 // (16 * 128) + 200
    large = [
        GridCase(128, 128, dtype="bf16", batch=1, heads=16, heads_kv=16, seqlen_q=rows, seqlen_k=64, gpu_only=True),
        GridCase(128, 128, dtype="bf16", batch=1, heads=16, heads_kv=16, seqlen_q=5, seqlen_k=rows, gpu_only=True),
    ]
    return many + large


def grid() -> list[GridCase]:
    """All cases, those of one head_dim side by side."""
    r = random.Random(20)
    cases: list[GridCase] = []
    for dims in HEAD_DIMS:
        for dtype in ("fp16", "bf16"):
            if dims in ((32, 32), (64, 64), (128, 128), (256, 256), (192, 128), (80, 80), (17, 17), (512, 512)):
                cases += _each_option(dims, dtype)
            cases += [_random_case(r, dims, dtype, seed) for seed in range(26)]
    return cases + _huge()
