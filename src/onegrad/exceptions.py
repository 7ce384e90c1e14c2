"""Exceptions and warnings that hold facts; `str` makes one line of them.

The command line maps these classes to exit codes and replaces an argument's name by its option.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final, TypeVar

_PACKAGE_FOLDER = str(Path(__file__).parent) + os.sep
_MAX_WORD_LENGTH = 400  # of a word that a message quotes in full: longer than any path
_MAX_VALUE_LENGTH, _MAX_PATH_LENGTH = 60, 200  # of a value, or a path, that a message quotes

_NOT_GIVEN: Final = inspect.Parameter.empty  # None may be the value at fault


class InvalidInput(ValueError):
    """An argument has a value that is not allowed.

    Parameters
    ----------
    argument : name of the argument, or the file or column that is at fault.
    value : the value that was passed.
    allowed : end of the sentence "argument must be ...".
    problem : what is wrong, where the argument cannot simply be something else.
    suggestion : an allowed value with nearly the same spelling.

    Examples
    --------
    >>> import onegrad as og
    >>> og.Problem(n=100, d=50, N=80, ridge=-1)
    Traceback (most recent call last):
    onegrad.exceptions.InvalidInput: ridge must be ...; got -1
    """

    def __init__(
        self,
        argument: str,
        value: object = _NOT_GIVEN,
        allowed: str = "",
        *,
        problem: str = "",
        suggestion: str = "",
    ) -> None:
        super().__init__(argument, value, allowed)
        self.argument, self.value, self.allowed = argument, value, allowed
        self.problem, self.suggestion = problem, suggestion

    def __str__(self) -> str:
        return self.describe(self.argument)

    def describe(self, name: str) -> str:
        """Return the sentence with another name for the argument, such as that of an option."""
        value = "" if self.value is _NOT_GIVEN else _quoted(self.value)
        name_and_value = f"{name} {value}".rstrip()
        if self.suggestion:
            question = f"did you mean {self.suggestion}?"
            sentence = f"{name_and_value}: {question} It must be {self.allowed}"
        elif self.allowed:
            sentence = f"{name} must be {self.allowed}" + (f"; got {value}" if value else "")
        else:
            sentence = f"{name_and_value}: {self.problem}"
        return printable(sentence)  # it may quote names from files and requests

    def renamed(self, argument: str) -> InvalidInput:
        """Return the same exception with another name for the argument."""
        return _rebuilt(type(self), self.__dict__ | {"argument": argument})

    def __reduce__(self) -> Any:
        """Pickle with any value: one that is not a plain number or text travels as its text."""
        plain = isinstance(self.value, str | int | float | Path | None)
        travels = plain or self.value is _NOT_GIVEN
        state = self.__dict__ | ({} if travels else {"value": _quoted(self.value)})
        return _rebuilt, (type(self), state)


def _rebuilt(kind: type[InvalidInput], facts: dict[str, Any]) -> InvalidInput:
    error = kind.__new__(kind)
    error.__dict__.update(facts)
    return error


def _quoted(value: object) -> str:
    if isinstance(value, Path):
        return f"{str(value)!r:.{_MAX_PATH_LENGTH}}"
    return f"{value!r:.{_MAX_VALUE_LENGTH}}"


class OutOfScope(InvalidInput):
    """A theory does not cover this value of a field of the problem.

    Parameters
    ----------
    theory : name of the theory.
    field : the field of the problem that it does not cover.
    value : the value of that field.
    covered : end of the sentence "the theory covers ...".
    instead : what answers the problem, where no theory does.

    Examples
    --------
    >>> import onegrad as og
    >>> og.predict(og.Problem(n=100, d=50, N=80, activation="H2", alpha=0.3), theory="staircase")
    Traceback (most recent call last):
    onegrad.exceptions.OutOfScope: ...
    """

    def __init__(
        self,
        theory: str,
        field: str,
        value: object = _NOT_GIVEN,
        covered: str = "",
        *,
        instead: str = "",
    ) -> None:
        super().__init__(field, value, covered)
        self.theory, self.field, self.covered, self.instead = theory, field, covered, instead

    def describe(self, name: str) -> str:
        """Return the sentence with another name for the field, such as that of an option."""
        got = "" if self.value is _NOT_GIVEN else f"; got {_quoted(self.value)}"
        instead = f"; {self.instead}" if self.instead else ""
        return printable(f"{name}: the {self.theory} theory covers {self.covered}{got}{instead}")


class UnknownArgument(InvalidInput, TypeError):
    """A function has no argument of this name.

    Parameters
    ----------
    function : name of the function or class.
    argument : the name that was passed.
    names : the arguments that there are.
    """

    def __init__(self, function: str, argument: str, names: Collection[str]) -> None:
        super().__init__(argument, suggestion=closest(argument, names))
        self.function, self.names = function, tuple(names)

    def describe(self, name: str) -> str:
        """Return the sentence with another name for the argument."""
        answer = f"its arguments are {', '.join(self.names)}"
        if self.suggestion:
            answer = f"did you mean {self.suggestion}?"
        return printable(f"{self.function}() has no argument {name!r}: {answer}")


C = TypeVar("C", bound=type)


def named_arguments(cls: C) -> C:
    """Let a class name itself, and what was meant, where its arguments are wrong."""
    init: Callable[..., None] = cls.__init__  # type: ignore[misc]
    names = [name for name in inspect.signature(init).parameters if name != "self"]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **kwargs: Any) -> None:
        for name in kwargs:
            if name not in names:
                raise UnknownArgument(type(self).__name__, name, names)
        try:
            init(self, *args, **kwargs)
        except TypeError as error:
            if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                raise  # from inside, so that it is not about the arguments of this call
            text = str(error).replace(f"{init.__qualname__}()", f"{type(self).__name__}()")
            raise TypeError(text) from None

    cls.__init__ = checked  # type: ignore[misc]
    return cls


class NotConverged(RuntimeError):
    """A solver stopped without an answer; the message has its residual and iteration count.

    Examples
    --------
    >>> import onegrad as og
    >>> try:
    ...     test_error = og.predict(og.Problem(n=100, d=50, N=80, eta=0.5)).test
    ... except og.NotConverged:
    ...     test_error = None  # nothing is returned that is not an answer
    >>> test_error is None
    False
    """


class AssumptionWarning(UserWarning):
    """A result was computed outside the assumptions behind it.

    Parameters
    ----------
    theory : the theory, or the step of an estimator, whose assumption does not hold.
    field : the field, argument or column that breaks it.
    text : one line that says what that means for the result.
    recorded_only : True for a condition of a proof beyond which networks follow the formulas too:
        results list it among their warnings, but nothing is printed.

    Examples
    --------
    >>> import warnings
    >>> import onegrad as og
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", og.AssumptionWarning)
    ...     test_error = og.predict(og.Problem(n=100, d=50, N=80), "staircase", alpha=0.25).test
    >>> "threshold" in str(caught[0].message)
    True
    """

    def __init__(self, theory: str, field: str, text: str, recorded_only: bool = False) -> None:
        super().__init__(theory, field, text, *(True,) * recorded_only)
        self.theory, self.field, self.text = theory, field, text
        self.recorded_only = recorded_only

    def __str__(self) -> str:
        return printable(self.text)


def warn(*concerns: Warning) -> None:
    """Issue each warning at the line outside this package that led here; not what is recorded."""
    frame = sys._getframe()
    # warnings.warn has skip_file_prefixes from Python 3.12 on only
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_FOLDER):
        frame = frame.f_back
    place = {
        "filename": frame.f_code.co_filename,
        "lineno": frame.f_lineno,
        "module": frame.f_globals.get("__name__", "__main__"),  # a warning of no module is dropped
        "registry": frame.f_globals.setdefault("__warningregistry__", {}),  # for once per place
    }
    for concern in concerns:
        if getattr(concern, "recorded_only", False):
            continue
        warnings.warn_explicit(concern, type(concern), **place)


def printable(text: str) -> str:
    """Return the text as one line that a terminal shows without obeying it, long words cut.

    >>> print(printable("no column 'a\\n\\x1b[2J'"))
    no column 'a\\n\\x1b[2J'
    """
    line = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return re.sub(
        rf"\S{{{_MAX_WORD_LENGTH},}}", lambda word: f"{word[0][:40]}…{word[0][-40:]}", line
    )


def check_choice(argument: str, value: Any, choices: Collection[str]) -> str:
    """Return the value if it is one of the choices, and raise InvalidInput otherwise."""
    if isinstance(value, str) and value in choices:
        return value
    raise not_a_choice(argument, value, choices)


def not_a_choice(
    argument: str, value: Any, choices: Collection[str], more: str = ""
) -> InvalidInput:
    """Return the exception for a value that is none of the choices; `more` ends their list."""
    allowed = f"one of {', '.join(choices)}{more}"
    suggestion = closest(value, choices) if isinstance(value, str) else ""
    return InvalidInput(argument, value, allowed, suggestion=suggestion)


def case_insensitive(value: str, choices: Collection[str]) -> str:
    """Return the choice that equals the value but for case; the value itself if there is none."""
    if value in choices:
        return value
    return next((name for name in choices if name.casefold() == value.casefold()), value)


def closest(value: str, choices: Collection[str]) -> str:
    """Return the choice with nearly the same spelling; an empty string if there is none."""
    spellings = {name.casefold(): name for name in choices}
    near = difflib.get_close_matches(value.casefold()[:80], spellings, 1)
    return spellings[near[0]] if near else ""
