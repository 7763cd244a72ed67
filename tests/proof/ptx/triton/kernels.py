"""Kernels in Triton, of which the PTX beside this file was made: kernels.py FOLDER, with Triton 3.5.1 and no GPU.

tests/ptx/triton_test.cpp runs that PTX.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

os.environ["TRITON_DISABLE_LINE_INFO"] = "1"  # it would hold this machine's folders

import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource


@triton.jit  # type: ignore[untyped-decorator]
def softmax(x, out, columns, block: tl.constexpr):  # type: ignore[no-untyped-def]
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < columns
    values = tl.load(x + row * columns + at, mask=inside, other=-float("inf")).to(tl.float32)
    values = tl.exp(values - tl.max(values, 0))
    tl.store(out + row * columns + at, values / tl.sum(values, 0), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def histogram(x, counts, most, n, block: tl.constexpr):  # type: ignore[no-untyped-def]
    at = tl.program_id(0) * block + tl.arange(0, block)
    inside = at < n
    value = tl.load(x + at, mask=inside, other=0)
    tl.atomic_add(counts + value % 16, 1, mask=inside)
    tl.atomic_max(most + at * 0, value, mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def matmul(a, b, c, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):  # type: ignore[no-untyped-def]
    rows = tl.program_id(0) * bm + tl.arange(0, bm)
    cols = tl.program_id(1) * bn + tl.arange(0, bn)
    at = tl.arange(0, bk)
    sums = tl.zeros((bm, bn), tl.float32)
    left = a + rows[:, None] * k + at[None, :]
    right = b + at[:, None] * n + cols[None, :]
    for _ in range(0, k, bk):
        x = tl.load(left, mask=rows[:, None] < m, other=0.0)
        y = tl.load(right, mask=cols[None, :] < n, other=0.0)
        sums = tl.dot(x, y, sums)
        left += bk
        right += bk * n
    inside = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * n + cols[None, :], sums.to(tl.float16), mask=inside)


@triton.jit  # type: ignore[untyped-decorator]
def attention(  # type: ignore[no-untyped-def]
    q, k, v, out, rows, keys, scale, dim: tl.constexpr, bm: tl.constexpr, bn: tl.constexpr
):
    head = tl.program_id(1)
    row = tl.program_id(0) * bm + tl.arange(0, bm)
    d = tl.arange(0, dim)
    here = head * rows * dim + row[:, None] * dim + d[None, :]
    tile = tl.load(q + here, mask=row[:, None] < rows, other=0.0)
    top = tl.full((bm,), -float("inf"), tl.float32)
    total = tl.zeros((bm,), tl.float32)
    sums = tl.zeros((bm, dim), tl.float32)
    for first in range(0, keys, bn):
        key = first + tl.arange(0, bn)
        x = tl.load(k + head * keys * dim + key[None, :] * dim + d[:, None], mask=key[None, :] < keys, other=0.0)
        s = tl.dot(tile, x) * (scale * 1.44269504)
        s = tl.where((key[None, :] < keys) & (key[None, :] <= row[:, None] + keys - rows), s, -float("inf"))
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        decay = tl.exp2(top - new)
        total = total * decay + tl.sum(p, 1)
        y = tl.load(v + head * keys * dim + key[:, None] * dim + d[None, :], mask=key[:, None] < keys, other=0.0)
        sums = tl.dot(p.to(tl.float16), y, sums * decay[:, None])
        top = new
    tl.store(out + here, (sums / total[:, None]).to(tl.float16), mask=row[:, None] < rows)


def make(
    folder: Path, kernel: Any, arguments: dict[str, str], sizes: dict[str, int], target: int, stages: int = 2
) -> None:
    names = [*arguments, *sizes]
    source = ASTSource(
        fn=kernel,
        signature={**arguments, **dict.fromkeys(sizes, "constexpr")},
        constexprs=sizes,
        # Pointers and sizes are multiples of 16: loads of 16 bytes and cp.async.
        attrs={(names.index(n),): [["tt.divisibility", 16]] for n, t in arguments.items() if t[0] == "*" or t == "i32"},
    )
    made = triton.compile(source, target=GPUTarget("cuda", target, 32), options={"num_warps": 4, "num_stages": stages})
    name = f"{kernel.__name__}_{target}{'_pipelined' if target == 90 and stages > 1 else ''}.ptx"
    (folder / name).write_text(f"// {made.metadata.shared} bytes of dynamic shared memory\n" + made.asm["ptx"])


def main() -> None:
    folder = Path(sys.argv[1])
    make(folder, softmax, {"x": "*fp16", "out": "*fp32", "columns": "i32"}, {"block": 256}, 80)
    make(folder, histogram, {"x": "*i32", "counts": "*i32", "most": "*i32", "n": "i32"}, {"block": 256}, 80)
    half = ("*fp16", "*fp16", "*fp16")
    for target in (80, 90):
        product = {**dict(zip("abc", half)), "m": "i32", "n": "i32", "k": "i32"}
        # Pipelined, products for 9.0 lack a fence (tests/proof/ptx/triton_test.cpp): those that must be right are not.
        stages = 1 if target == 90 else 2
        make(folder, matmul, product, {"bm": 64, "bn": 64, "bk": 32}, target, stages)
        fused = {**dict(zip("qkv", half)), "out": "*fp16", "rows": "i32", "keys": "i32", "scale": "fp32"}
        make(folder, attention, fused, {"dim": 64, "bm": 64, "bn": 32}, target, stages)

    make(folder, matmul, product, {"bm": 64, "bn": 64, "bk": 32}, 90)


if __name__ == "__main__":
    main()
