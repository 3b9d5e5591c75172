"""Checks of arguments, whose errors name the argument."""

from __future__ import annotations

import operator
from typing import Any


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
        raise ValueError(f"{name} must be {bounds}, not {number}")
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
    return value


def function(name: str, value: Any, *, optional: bool = False) -> Any:
    """Returns `value`, which must be callable, or None if that is allowed."""
    if value is None and optional:
        return None
    if not callable(value):
        raise TypeError(f"{name} must be a callable, not {type(value).__name__}")
    return value
