"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

#: A timeout of so many seconds, or more, is none.
_FOR_EVER = 1e9


def integer(name: str, value: Any, least: int, most: int | None = None) -> int:
    """Returns `value` as an int within its range."""
    try:
        if isinstance(value, bool):
            raise TypeError
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}") from None
    if number < least or (most is not None and number > most):
        bounds = f"from {least} to {most}" if most is not None else f"at least {least}"
        # A huge one cannot be written in decimal.
        shown = f", not {number}" if abs(number) < 1 << 128 else ""
        raise ValueError(f"{name} must be {bounds}{shown}")
    return number


def flag(name: str, value: Any) -> bool:
    """Returns `value`, which must be a bool."""
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")
    return value


def text(name: str, value: Any) -> str:
    """Returns `value`, which must be a str without NUL."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} must not contain a null character")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} must not contain a lone surrogate") from None
    return value


def seconds(name: str, value: Any) -> float | None:
    """Returns `value`, which must be a number, or None for ever."""
    if value is None:
        return None
    if isinstance(value, (bool, str, bytes)):
        raise TypeError(f"{name} must be a number or None, not {type(value).__name__}")
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or None, not {type(value).__name__}") from None
    except OverflowError:
        raise ValueError(f"{name} is too large") from None
    if number != number:
        raise ValueError(f"{name} must not be NaN")
    # Locks refuse centuries.
    return number if number < _FOR_EVER else None


def iterables(name: str, values: tuple[Any, ...]) -> list[Iterator[Any]]:
    """Returns iterators over `values`."""
    iterators = []
    for at, value in enumerate(values, 1):
        try:
            iterators.append(iter(value))
        except TypeError:
            if hasattr(type(value), "__iter__"):
                raise
            kind = type(value).__name__
            raise TypeError(f"{name} must be iterable; number {at} is {kind}") from None
    return iterators


def function(name: str, value: Any, *, optional: bool = False) -> Any:
    """Returns `value`, which must be callable, or None if that is allowed."""
    if value is None and optional:
        return None
    if not callable(value):
        raise TypeError(f"{name} must be a callable, not {type(value).__name__}")
    return value
