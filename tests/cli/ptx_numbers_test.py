"""What PTX's conversions and floating-point arithmetic give, held against exact rational numbers: every pair of types,
every rounding and clamp, on numbers of every kind (subnormal, infinite, NaN, halfway between two, far apart).

The reference shares nothing with the executor: it works with fractions and with the formats' definitions alone.
"""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, Union

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("FLASHFIT_COMMAND", str(ROOT / "build/bin/flashfit"))
LANES = 512


class Format(NamedTuple):
    """A binary floating-point type (IEEE 754-2019, table 3.5; bfloat16 has the exponents of binary32)."""

    bits: int
    digits: int  #: of the significand
    least: int  #: exponent of the smallest normal number
    most: int  #: exponent of the largest


FLOATS = {"f16": Format(16, 11, -14, 15), "bf16": Format(16, 8, -126, 127), "f32": Format(32, 24, -126, 127),
          "f64": Format(64, 53, -1022, 1023)}  # fmt: skip
INTEGERS = {f"{sign}{bits}": bits for bits in (8, 16, 32, 64) for sign in "su"}


@dataclass(frozen=True)
class Special:
    """What is no number but zero: "nan", "inf", "0", with a sign."""

    name: str
    negative: bool = False


Value = Union[Fraction, Special]
NAN, INF, ZERO = Special("nan"), Special("inf"), Special("0")


def negative(x: Value) -> bool:
    return x.negative if isinstance(x, Special) else x < 0


def signed(x: Special, minus: bool) -> Special:
    return Special(x.name, minus)


def named(x: Value, name: str) -> bool:
    return isinstance(x, Special) and x.name == name


def bits_of(t: str) -> int:
    return FLOATS[t].bits if t in FLOATS else INTEGERS[t]


def register_bits(t: str) -> int:
    return max(16, bits_of(t))


def decode(bits: int, t: str) -> Value:
    if t in INTEGERS:
        n = INTEGERS[t]
        number = bits - (1 << n) if t[0] == "s" and bits >> (n - 1) else bits
        return Fraction(number) if number else ZERO
    f = FLOATS[t]
    exponents = (1 << (f.bits - f.digits)) - 1
    mantissa, exponent = bits & ((1 << (f.digits - 1)) - 1), bits >> (f.digits - 1) & exponents
    minus = bool(bits >> (f.bits - 1))
    if exponent == exponents:
        return NAN if mantissa else signed(INF, minus)
    if exponent == 0 and mantissa == 0:
        return signed(ZERO, minus)
    whole = mantissa + (1 << (f.digits - 1) if exponent else 0)
    size = Fraction(whole) * Fraction(2) ** (max(exponent, 1) - f.most - (f.digits - 1))
    return -size if minus else size


def rounded(x: Fraction, mode: str) -> int:
    below = x.numerator // x.denominator
    rest = x - below
    if rest == 0 or mode == "rm":
        return below
    if mode == "rp":
        return below + 1
    if mode == "rz":
        return below + (x < 0)
    return below + (rest > Fraction(1, 2) or (rest == Fraction(1, 2) and below % 2 == 1))


def encode(x: Value, t: str, mode: str) -> int | None:
    """Its bits; None: any NaN."""
    f = FLOATS[t]
    infinity = ((1 << (f.bits - f.digits)) - 1) << (f.digits - 1)
    sign = int(negative(x)) << (f.bits - 1)
    if isinstance(x, Special):
        return None if x.name == "nan" else sign | (infinity if x.name == "inf" else 0)
    size = abs(x)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= Fraction(2) ** exponent > size
    step = max(exponent, f.least) - (f.digits - 1)
    whole = abs(rounded(x / Fraction(2) ** step, mode))
    if whole * Fraction(2) ** step > (2 - Fraction(2) ** (1 - f.digits)) * Fraction(2) ** f.most:
        stays = mode == "rz" or mode == ("rp" if x < 0 else "rm")
        return sign | (infinity - 1 if stays else infinity)
    if whole == 1 << f.digits:
        whole, step = whole >> 1, step + 1
    if whole < 1 << (f.digits - 1):
        return sign | whole
    return sign | (step + f.digits - 1 + f.most) << (f.digits - 1) | whole - (1 << (f.digits - 1))


def clamped(x: Value, saturates: bool, relu: bool) -> Value:
    if saturates:
        if named(x, "nan") or named(x, "0") or negative(x):
            return ZERO
        return Fraction(1) if isinstance(x, Special) else min(x, Fraction(1))
    return ZERO if relu and not named(x, "nan") and negative(x) else x


def converted(bits: int, source: str, to: str, mode: str, saturates: bool, relu: bool) -> int | None:
    x = decode(bits, source)
    if mode.endswith("i") and isinstance(x, Fraction):
        whole = rounded(x, mode[:2])
        x = Fraction(whole) if whole else signed(ZERO, x < 0)
    if to in FLOATS:
        return encode(clamped(x, saturates, relu), to, mode[:2] or "rn")
    n = INTEGERS[to]
    low, high = (-(1 << (n - 1)), (1 << (n - 1)) - 1) if to[0] == "s" else (0, (1 << n) - 1)
    if isinstance(x, Special):
        value = (low if x.negative else high) if x.name == "inf" else 0
    else:
        value = max(low, min(high, int(x)))
    return value & ((1 << register_bits(to)) - 1)  # a register holds it with its sign


def numbers_of(t: str, count: int, rng: random.Random) -> list[int]:
    """Every other one of any bits, the others of moderate size, halves of integers among them."""
    n = bits_of(t)
    edges = [0, 1, 1 << (n - 1), (1 << (n - 1)) | 1, (1 << n) - 1, (1 << (n - 1)) - 1]
    numbers = edges + [rng.getrandbits(n) for _ in range(count - len(edges))]
    if t in FLOATS:
        for i in range(len(edges), count, 2):
            half = i % 8 == 0
            x = rng.randrange(-601, 601, 2) / 2 if half else rng.gauss(0, 1) * 10.0 ** rng.randrange(-6, 12)
            numbers[i] = encode(Fraction(x), t, "rn") or 0
    return numbers


REGISTER = {16: "%h", 32: "%r", 64: "%d"}
UNSIGNED = {8: np.uint8, 16: np.uint16, 32: np.uint32, 64: np.uint64}


def run(folder: Path, operands: list[tuple[str, list[int]]], codes: list[tuple[str, str]]) -> Iterator[list[int]]:
    """What each instruction (its text, the type of its result) makes of the operands (type, numbers), in order."""
    arguments, loads = [], ""
    for i, (t, numbers) in enumerate(operands):
        n = bits_of(t)
        file = folder / f"operand{i}"
        np.array(numbers, dtype=UNSIGNED[n]).tofile(file)
        arguments += ["--arg", f"in:u{n}[{LANES}]@{file}"]
        kind = f"{t[0]}{n}" if t in INTEGERS else f"b{n}"
        loads += f"ld.param.u64 %rd1, [a{i}]; mad.wide.u32 %rd1, %q0, {n // 8}, %rd1;\n"
        loads += f"ld.global.{kind} {REGISTER[register_bits(t)]}{i}, [%rd1];\n"
    body = ""
    for k, (code, to) in enumerate(codes):
        n = register_bits(to)
        named_operands = ", ".join(f"{REGISTER[register_bits(t)]}{i}" for i, (t, _) in enumerate(operands))
        body += f"{code} {REGISTER[n]}8, {named_operands}; st.global.b{n} [%rd2+{k * LANES * 8}], {REGISTER[n]}8;\n"
    params = "".join(f".param .u64 a{i}, " for i in range(len(operands)))
    path = folder / "numbers.ptx"
    path.write_text(
        f".version 8.8\n.target sm_90\n.address_size 64\n.visible .entry k({params}.param .u64 to)\n"
        "{ .reg .b16 %h<9>; .reg .b32 %r<9>; .reg .b64 %d<9>; .reg .b64 %rd<4>; .reg .b32 %q<1>;\n"
        f"mov.u32 %q0, %tid.x; ld.param.u64 %rd2, [to]; mad.wide.u32 %rd2, %q0, 8, %rd2;\n{loads}{body}ret; }}\n"
    )
    out = folder / "to"
    ran = subprocess.run(
        [COMMAND, "emulate", "--ptx", str(path), "--entry", "k", "--block", str(LANES), *arguments,
         "--arg", f"to=inout:u64[{len(codes)},{LANES}]=0", "--save", f"to={out}"],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stderr) == (0, "")
    for row in np.fromfile(out, dtype=np.uint64).reshape(len(codes), LANES):
        yield [int(x) for x in row]


def assert_is(code: str, to: str, given: tuple[int, ...], got: int, expected: int | None) -> None:
    right = decode(got, to) == NAN if expected is None else got == expected
    assert right, (
        f"{code} of {[hex(x) for x in given]}: {got:#x}, expected {'NaN' if expected is None else hex(expected)}"
    )


def conversions(source: str) -> Iterator[tuple[str, str, str, bool, bool]]:
    """Text, type, rounding, clamps of all conversions of a type."""
    integral, plain = ("rni", "rzi", "rmi", "rpi"), ("rn", "rz", "rm", "rp")
    if source in FLOATS:
        for mode in integral:
            yield from ((f"cvt.{mode}.{to}.{source}", to, mode, False, False) for to in (*INTEGERS, source))
        for to in FLOATS:
            if FLOATS[to].digits < FLOATS[source].digits and FLOATS[to].most <= FLOATS[source].most:
                yield from ((f"cvt.{mode}.{to}.{source}", to, mode, False, False) for mode in plain)
                yield f"cvt.rn.sat.{to}.{source}", to, "rn", True, False
            elif FLOATS[to].bits > FLOATS[source].bits:
                yield f"cvt.{to}.{source}", to, "", False, False
        if source == "f32":
            for to in ("f16", "bf16"):
                yield from ((f"cvt.{m}.relu.{to}.f32", to, m, False, True) for m in ("rn", "rz"))
        yield f"cvt.sat.{source}.{source}", source, "", True, False
    else:
        for to in FLOATS:
            yield from ((f"cvt.{mode}.{to}.{source}", to, mode, False, False) for mode in plain)
        yield from ((f"cvt.sat.{to}.{source}", to, "", True, False) for to in INTEGERS)


@pytest.mark.parametrize("source", [*FLOATS, *INTEGERS])
def test_conversions(source: str, tmp_path: Path) -> None:
    numbers = numbers_of(source, LANES, random.Random(source))
    codes = list(conversions(source))
    for (code, to, mode, saturates, relu), got in zip(
        codes, run(tmp_path, [(source, numbers)], [(code, to) for code, to, *_ in codes]), strict=True
    ):
        for given, result in zip(numbers, got, strict=True):
            assert_is(code, to, (given,), result, converted(given, source, to, mode, saturates, relu))


def product(a: Value, b: Value) -> Value:
    if isinstance(a, Fraction) and isinstance(b, Fraction):
        return a * b
    kinds = {x.name if isinstance(x, Special) else "number" for x in (a, b)}
    if "nan" in kinds or kinds == {"inf", "0"}:
        return NAN
    return signed(INF if "inf" in kinds else ZERO, negative(a) != negative(b))


def total(a: Value, b: Value, mode: str) -> Value:
    for x, other in ((a, b), (b, a)):
        if named(x, "nan") or (named(x, "inf") and named(other, "inf") and negative(x) != negative(other)):
            return NAN
    for x in (a, b):
        if named(x, "inf"):
            return x
    exact = sum((x for x in (a, b) if isinstance(x, Fraction)), Fraction(0))
    if exact:
        return exact
    both_minus = named(a, "0") and named(b, "0") and negative(a) and negative(b)
    both_plus = named(a, "0") and named(b, "0") and not negative(a) and not negative(b)
    return signed(ZERO, both_minus or (mode == "rm" and not both_plus))


def opposite(x: Value) -> Value:
    return signed(x, not x.negative) if isinstance(x, Special) else -x


def computed(op: str, x: list[Value], mode: str) -> Value:
    if op == "mul":
        return product(x[0], x[1])
    if op == "fma":
        return total(product(x[0], x[1]), x[2], mode)
    return total(x[0], opposite(x[1]) if op == "sub" else x[1], mode)


def flushed(x: Value, t: str) -> Value:
    return signed(ZERO, x < 0) if isinstance(x, Fraction) and abs(x) < Fraction(2) ** FLOATS[t].least else x


def arithmetic(op: str, t: str) -> Iterator[tuple[str, str, bool, bool, bool]]:
    """Text, rounding; whether it flushes, saturates, is a relu."""
    if t in ("f32", "f64"):
        yield from ((f"{op}.{mode}.{t}", mode, False, False, False) for mode in ("rn", "rz", "rm", "rp"))
    else:
        yield f"{op}.rn.{t}", "rn", False, False, False
        if op == "fma":
            yield f"fma.rn.relu.{t}", "rn", False, False, True
    if t in ("f32", "f16"):
        yield f"{op}.rn.sat.{t}", "rn", False, True, False
        yield f"{op}.rn.ftz.{t}", "rn", True, False, False
        yield f"{op}.rn.ftz.sat.{t}", "rn", True, True, False


def operands_of(op: str, t: str) -> list[list[int]]:
    """Numbers of every kind; pairs that cancel; products to which next to nothing is added."""
    rng = random.Random(op + t)
    all_of = [numbers_of(t, LANES, rng) for _ in range(3 if op == "fma" else 2)]
    minus = 1 << (bits_of(t) - 1)
    for i in range(7, LANES, 4):
        all_of[1][i] = all_of[0][i] ^ minus ^ rng.randrange(4)
    for i in range(9, LANES if op == "fma" else 0, 8):
        for operand in all_of[:2]:
            operand[i] = encode(1 + Fraction(rng.randrange(16), 16), t, "rn") or 0
        all_of[2][i] = (encode(Fraction(2) ** rng.randrange(FLOATS[t].least, -8), t, "rn") or 0) ^ rng.choice(
            (0, minus)
        )
    return all_of


@pytest.mark.parametrize("op", ["add", "sub", "mul", "fma"])
@pytest.mark.parametrize("t", FLOATS)
def test_arithmetic(op: str, t: str, tmp_path: Path) -> None:
    operands = operands_of(op, t)
    codes = list(arithmetic(op, t))
    results = run(tmp_path, [(t, numbers) for numbers in operands], [(code, t) for code, *_ in codes])
    for (code, mode, flushes, saturates, relu), got in zip(codes, results, strict=True):
        for *given, result in zip(*operands, got, strict=True):
            x = [flushed(decode(bits, t), t) if flushes else decode(bits, t) for bits in given]
            exact = computed(op, x, mode)
            if flushes:
                once = encode(exact, t, mode)
                exact = NAN if once is None else flushed(decode(once, t), t)
            assert_is(code, t, tuple(given), result, encode(clamped(exact, saturates, relu), t, mode))
