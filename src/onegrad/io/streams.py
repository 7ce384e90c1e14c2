"""Standard streams that nothing can break: closed, full, hung up, or of a narrow alphabet."""

import codecs
import contextlib
import io
import os
import sys

IN_ASCII = {
    **{"…": "...", "–": "-", "—": "-", "’": "'", "“": '"', "”": '"', "→": "->", "\N{NBSP}": " "},
    **{"±": "+/-", "×": "x", "·": "*", "²": "^2", "³": "^3", "√": "sqrt", "≤": "<=", "≥": ">="},
    **{"α": "alpha", "η": "eta", "λ": "lambda", "σ": "sigma", "φ": "phi", "ψ": "psi"},
}


class SilentStream(io.TextIOWrapper):
    """A stream of text for whoever can read it: what cannot be written is dropped."""

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            super().flush()


def repair_streams() -> None:
    """Make the standard streams usable by a program that is not to fail because of them.

    A closed one is the null device, so that no file gets its number. Letters that the output does
    not have are written in others. Whatever standard error cannot take is dropped.
    """
    for descriptor, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            _open_null_device(descriptor, name)
    codecs.register_error("onegrad.spelled", _spelled)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="onegrad.spelled")
    if isinstance(sys.stderr, io.TextIOWrapper) and not isinstance(sys.stderr, SilentStream):
        sys.stderr = SilentStream(
            sys.stderr.buffer, sys.stderr.encoding, "onegrad.spelled", line_buffering=True
        )


def _open_null_device(descriptor: int, name: str) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    if null != descriptor:
        os.dup2(null, descriptor)
        os.close(null)
    os.set_inheritable(descriptor, True)
    mode = "r" if name == "stdin" else "w"
    stream = open(descriptor, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
    setattr(sys, name, stream)
    setattr(sys, f"__{name}__", stream)  # which keeps it open when another takes its place


def _spelled(error: UnicodeError) -> tuple[str | bytes, int]:
    """Return letters for those that an encoding lacks; bytes of file names stay what they were."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letter = error.object[error.start]
    if "\udc80" <= letter <= "\udcff":
        return bytes([ord(letter) - 0xDC00]), error.start + 1
    plain = IN_ASCII.get(letter, letter.encode("ascii", "backslashreplace").decode())
    return plain, error.start + 1


def close_standard_output() -> str:
    """Write what is still held back; return why that is impossible, or an empty text.

    Nothing is left to be written when the interpreter ends, which would complain.
    """
    try:
        sys.stdout.flush()
        return ""
    except BrokenPipeError:
        reason = "its reader has closed it"
    except OSError as error:
        reason = error.strerror or str(error)
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
        sys.stdout.flush()
    return reason
