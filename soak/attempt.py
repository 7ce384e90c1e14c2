"""One attack in this process: it ends in an allowed way, or it is a fault."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from soak.ledger import AttackCounts

MAX_SECONDS = 30.0  # of processor time, after which an attack counts as hung


class Hung(BaseException):
    """Ends an attack that takes too long; nothing may catch it."""


@contextmanager
def attempt(
    counts: AttackCounts, where: str, allowed: tuple[type[Exception], ...]
) -> Iterator[None]:
    """Count an attack, which may end in one of the allowed exceptions; others are foreign."""

    def stop(*_: Any) -> None:
        raise Hung

    # the process's own time: other processes do not count
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, MAX_SECONDS)
    counts.attacks += 1
    try:
        yield
    except allowed as error:
        if "\n" in str(error):
            counts.fault("foreign", where, f"more than one line: {error!r}")
        counts.ends[type(error).__name__] += 1
    except Hung:
        counts.fault("hung", where, f"over {MAX_SECONDS:.0f} s")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        counts.fault("foreign", where, f"{error!r} at {last.filename}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
