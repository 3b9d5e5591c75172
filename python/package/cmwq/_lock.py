"""The interpreter's lock."""

from __future__ import annotations

import sys

from . import _cmwq


def follow() -> bool:
    """Whether there is one. If so, our threads give it back as often as it is set to be now."""
    has_lock: bool = getattr(sys, "_is_gil_enabled", lambda: True)()
    if has_lock:
        _cmwq.set_switch_interval(sys.getswitchinterval())
    return has_lock
