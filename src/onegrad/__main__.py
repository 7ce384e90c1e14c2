"""The program, `onegrad` or `python -m onegrad`.

Signals and streams are in order before anything is loaded that takes time: Ctrl-C is one line and
exit code 130 at every moment.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys

TYPE_CHECKING = False  # as that of typing, which takes a while to load

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, NoReturn

INTERRUPTED = 130  # exit code


def run_program() -> int:
    """Run the command line and return its exit code."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else: ignored
    if handled:
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _interrupt_again
    from onegrad.io.streams import close_standard_output, repair_streams

    repair_streams()
    try:
        from onegrad.cli import main as run_command

        code = run_command()
    except KeyboardInterrupt:
        _leave()
    except SystemExit as error:  # of the parser
        code = error.code if isinstance(error.code, int) else 0
    if handled:
        signal.signal(signal.SIGINT, _leave)
    if (reason := close_standard_output()) and code == 0:
        print(f"onegrad: failed: standard output: {reason}", file=sys.stderr)
        code = 1
    return code


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raise KeyboardInterrupt, but leave at once where a module is being loaded.

    Libraries that are stopped half-way through loading fail in ways of their own.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            _leave()
        frame = frame.f_back
    signal.default_int_handler(number, None)


def _interrupt_again(unraisable: sys.UnraisableHookArgs) -> None:
    """Interrupt the program where a KeyboardInterrupt could not be raised, as in a finaliser."""
    if unraisable.exc_type is KeyboardInterrupt:
        _thread.interrupt_main()
    else:
        sys.__unraisablehook__(unraisable)


def _leave(*_: Any) -> NoReturn:
    """End the process with one line; its children end with it, drafts are swept by the next."""
    try:
        os.write(2, b"onegrad: interrupted\n")
    finally:
        os._exit(INTERRUPTED)


if __name__ == "__main__":
    sys.exit(run_program())
