"""The coefficients of softcap's polynomial (src/kernels/attention/forward/wgmma/softcap.cuh).

tanh(v / SCALE) is about v (c0 + c1 v^2 + ... + c4 v^8) for |v| < LIMIT, with the least maximum of the relative error
(Remez' exchange algorithm). In units of c4 that is v ((u^2 + c)^2 + d u + e) of u = v^2 + b: four multiply-adds and one
multiplication. Prints b, c, d, e and the unit, rounded to fp32, and what is then the largest relative error.

    python -m tools.dev.tanh_polynomial
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial
from numpy.typing import NDArray

SCALE, LIMIT, TERMS = 2 / math.log(2), 2.0, 5
Doubles = NDArray[np.floating[Any]]


def wanted(square: Doubles) -> Doubles:
    """tanh(v / SCALE) / v, of v^2."""
    v = np.sqrt(square)
    return np.tanh(v / SCALE) / v


def value(coefficients: Doubles, square: Doubles) -> Doubles:
    return np.polynomial.polynomial.polyval(square, coefficients)


def relative_error(coefficients: Doubles, square: Doubles) -> Doubles:
    return value(coefficients, square) / wanted(square) - 1


def derive() -> Doubles:
    """The coefficients c0 .. c4 in double: those whose relative error has TERMS + 1 equal extrema of changing sign."""
    end = LIMIT * LIMIT
    grid = np.linspace(1e-9, end, 100_001)
    index = np.arange(TERMS + 1)
    at = end / 2 - (end / 2 - 1e-9) * np.cos(np.pi * index / TERMS)
    for _ in range(20):
        # value(at) / wanted(at) - 1 = +-error: linear in the coefficients and the error
        rows = np.column_stack([np.vander(at, TERMS, increasing=True), -((-1.0) ** index) * wanted(at)])
        coefficients: Doubles = np.linalg.solve(rows, wanted(at))[:-1]
        error = relative_error(coefficients, grid)
        parts = np.split(np.arange(grid.size), np.flatnonzero(np.diff(np.sign(error))) + 1)
        at = np.array([grid[part[np.argmax(np.abs(error[part]))]] for part in parts])
    return coefficients


def nested(coefficients: Doubles) -> Doubles:
    """b, c, d, e and the unit of a polynomial of degree 4."""
    monic = coefficients / coefficients[-1]
    b = monic[3] / 4
    of_u = Polynomial(monic)(Polynomial([-b, 1])).coef  # without a cube
    c = of_u[2] / 2
    return np.array([b, c, of_u[1], of_u[0] - c * c, coefficients[-1]])


def rounded() -> tuple[list[str], float]:
    """b, c, d, e and the unit in fp32, as C++ has them, and log2 of the largest relative error with them."""
    numbers = nested(derive()).astype(np.float32)
    b, c, d, e, unit = numbers.astype(np.float64)
    square = np.linspace(1e-9, LIMIT * LIMIT, 1_000_001)
    u = square + b
    largest = np.abs(((u * u + c) ** 2 + d * u + e) * unit / wanted(square) - 1).max()
    return [f"{x:.9g}f" for x in numbers], float(np.log2(largest))


def main() -> None:
    numbers, error = rounded()
    print(", ".join(numbers))
    print(f"largest relative error 2^{error:.2f}")


if __name__ == "__main__":
    main()
