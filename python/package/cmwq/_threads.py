"""What threads that make calls are like."""

from __future__ import annotations

import resource
import threading

from . import _cmwq

#: Bytes of stack if neither the program nor a limit says how many.
_STACK = 8 << 20


def prepare() -> None:
    """As a thread would be that Python starts now, if nobody has used the process's threads yet."""
    soft, _ = resource.getrlimit(resource.RLIMIT_STACK)
    unlimited = soft == resource.RLIM_INFINITY
    _cmwq.prepare(threading.stack_size() or (_STACK if unlimited else soft))
