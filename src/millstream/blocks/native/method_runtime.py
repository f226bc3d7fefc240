"""What native methods call: numbers as Python has them, or an error, after which Python is asked.

The text of this file stands in every program, so that it is part of what is kept under its name.
"""

from __future__ import annotations

import math

from numba import njit

LARGE = 9007199254740992
"""Whole numbers up to this are doubles."""


@njit(error_model="numpy")
def added(x, y):
    z = x + y
    if (x ^ z) & (y ^ z) < 0:
        raise OverflowError
    return z


@njit(error_model="numpy")
def less(x, y):
    z = x - y
    if (x ^ y) & (x ^ z) < 0:
        raise OverflowError
    return z


@njit(error_model="numpy")
def times(x, y):
    if abs(float(x) * float(y)) >= 9.0e18:
        raise OverflowError
    return x * y


@njit(error_model="numpy")
def divided(x, y):
    if y == 0 or y == -1:
        raise ZeroDivisionError
    return x // y


@njit(error_model="numpy")
def rest(x, y):
    if y == 0 or y == -1:
        raise ZeroDivisionError
    return x % y


@njit(error_model="numpy")
def over(x, y):
    if y == 0.0:
        raise ZeroDivisionError
    return x / y


@njit(error_model="numpy")
def real(x):
    if x > LARGE or x < -LARGE:
        raise OverflowError
    return float(x)


@njit(error_model="numpy")
def whole(x):
    if not abs(x) < 9.0e18:
        raise OverflowError
    return int(x)


@njit(error_model="numpy")
def size(x):
    return less(0, x) if x < 0 else x


@njit(error_model="numpy")
def least(x, y):
    return y if y < x else x


@njit(error_model="numpy")
def most(x, y):
    return y if y > x else x


@njit(error_model="numpy")
def m_sqrt(x):
    if x < 0.0:
        raise ValueError
    return math.sqrt(x)


@njit(error_model="numpy")
def m_exp(x):
    if x > 700.0:
        raise OverflowError
    return math.exp(x)


@njit(error_model="numpy")
def m_log(x):
    if x <= 0.0:
        raise ValueError
    return math.log(x)


@njit(error_model="numpy")
def m_fabs(x):
    return abs(x)


@njit(error_model="numpy")
def m_floor(x):
    if not abs(x) < 9.0e18:
        raise OverflowError
    return math.floor(x)


@njit(error_model="numpy")
def m_ceil(x):
    if not abs(x) < 9.0e18:
        raise OverflowError
    return math.ceil(x)
