"""One attack in this process: what it may end in, and what is a fault."""

from __future__ import annotations

import signal
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from soak.ledger import Tally

LONGEST = 30.0  # seconds of this process after which an attack counts as hung


class Hung(BaseException):
    """Nothing may catch it: it ends an attack that takes too long."""


@contextmanager
def attempt(tally: Tally, where: str, allowed: tuple[type[Exception], ...]) -> Iterator[None]:
    """Count an attack. Exceptions that are allowed are how it may end; others are foreign."""

    def stop(*_: Any) -> None:
        raise Hung

    # the process's own time: other people's work does not count
    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST)
    tally.attacks += 1
    try:
        yield
    except allowed as error:
        if "\n" in str(error):
            tally.fault("foreign", where, f"more than one line: {error!r}")
        tally.ends[type(error).__name__] += 1
    except Hung:
        tally.fault("hung", where, f"over {LONGEST:.0f} s")
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        tally.fault("foreign", where, f"{error!r} at {last.filename}:{last.lineno}")
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
