"""softcap.cuh has the coefficients that tools/dev/tanh_polynomial.py derives."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from tools.dev import tanh_polynomial

FOLDER = Path(__file__).parents[2] / "src/kernels/attention/forward/wgmma"


def numbers_of(text: str) -> list[str]:
    return re.findall(r"-?\d+\.\d+(?:e-\d+)?f", text)


def test_kernel_has_the_derived_coefficients() -> None:
    text = (FOLDER / "softcap.cuh").read_text()
    first = re.search(r"kOfSquare = (\S+);", text)
    body = text[text.index("inline float tanh_of_small(") :]
    b, d, e = numbers_of(body[: body.index("\n}\n")])
    assert first
    unit = numbers_of((FOLDER / "softcap_unit.hpp").read_text())
    numbers, error = tanh_polynomial.rounded()
    assert [b, first[1], d, e, *unit] == numbers
    assert -22 < error < -21.5
    bit = re.search(r"kBitOfLarge = (0x[0-9a-f]+)", text)
    assert bit
    assert struct.unpack("<f", struct.pack("<I", int(bit[1], 16)))[0] == tanh_polynomial.LIMIT


def test_error_has_equal_extrema() -> None:
    """Chebyshev: no polynomial of that degree has a smaller largest error."""
    grid = np.linspace(1e-9, tanh_polynomial.LIMIT**2, 100_001)
    error = tanh_polynomial.relative_error(tanh_polynomial.derive(), grid)
    ends = np.flatnonzero(np.diff(np.sign(error)))
    extrema = np.array([np.abs(part).max() for part in np.split(error, ends + 1)])
    assert len(extrema) == tanh_polynomial.TERMS + 1
    assert extrema.max() / extrema.min() < 1.001
