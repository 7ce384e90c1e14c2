"""Parameters with the types of their annotations, for numpydoc.

Our docstrings say `name : what it is`, and the types stand in the signature. numpydoc wants
`name : type` with the description below it.
"""

import inspect
import re
from typing import Any

from sphinx.application import Sphinx

SECTION = re.compile(r"^(Parameters|Attributes|Returns)$")
ENTRY = re.compile(r"^(\*{0,2}\w[\w, ]*) : (.*)$")
# types of arguments that many libraries provide, which are annotated as Any
DUCK_TYPES = {
    "X": "array, table or source",
    "y": "array or column",
    "sample_weight": "array",
    "classes": "array",
    "rows": "array",
    "ax": "matplotlib.axes.Axes",
    "figure": "matplotlib.figure.Figure",
    "client": "dask.distributed.Client",
    "progress": "callable",
    "random_state": "int, RandomState or None",
    "categorical_features": "list or None",
    "class_weight": 'dict, "balanced" or None',
    "activation": "str, Function or pair of callables",
    "teacher": "str, Function or pair of callables",
    "axes": "values or lists",
    "line": "any",
}
DUCK_RETURNS = {
    "plot": "matplotlib.axes.Axes",
    "to_dataframe": "pandas.DataFrame",
    "predict": "array",
    "predict_std": "array",
}
ALIASES = (
    ("Floats", "numpy.ndarray"),
    ("NumberOrArray", "float or numpy.ndarray"),
    ("FunctionSpec", "str, Function or pair of callables"),
    ("ArrayFunction", "callable"),
    ("InPlaceFunction", "callable"),
    ("Callable[[int, int], None]", "callable"),
    ("Mapping[str, Any]", "dict"),
    ("dict[str, Any]", "dict"),
    ("Sequence[int]", "list of int"),
    ("Sequence[str]", "list of str"),
    ("list[str]", "list of str"),
    ("tuple[str, ...]", "tuple of str"),
    ("tuple[float, ...]", "tuple of float"),
)


def typed_entries(
    app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """Write every entry of a list as `name : type`, its description below it."""
    types, section, result = annotations_of(obj), "", []
    for i, line in enumerate(lines):
        if i + 1 < len(lines) and set(lines[i + 1]) == {"-"} and line:
            section = line if SECTION.match(line) else ""
        entry = ENTRY.match(line) if section else None
        if entry and section == "Returns":
            result += [entry[1], "    " + entry[2]]
        elif entry:
            names = [part.strip(" *") for part in entry[1].split(",")]
            kinds = [readable(each, types.get(each)) for each in names]
            kind = kinds[0] if len(set(kinds)) == 1 else ", ".join(k for k in kinds if k)
            result += [f"{entry[1]} : {kind}" if kind else entry[1], "    " + entry[2]]
        else:
            result.append(line)
    kind = readable(name.rpartition(".")[2], types.get("return"), DUCK_RETURNS)
    if what in ("function", "method") and kind and "Returns" not in lines:
        at = next((i for i, line in enumerate(result) if line in ("Examples", "See Also")), None)
        returns = ["", "Returns", "-------", kind, ""]
        result = result + returns if at is None else result[:at] + returns[1:] + result[at:]
    lines[:] = result


def annotations_of(obj: Any) -> dict[str, Any]:
    """Return the annotations of a function, or of the fields and properties of a class."""
    if not inspect.isclass(obj):
        return dict(getattr(inspect.unwrap(obj), "__annotations__", {})) if callable(obj) else {}
    types: dict[str, Any] = {}
    for base in reversed(obj.__mro__):
        init = vars(base).get("__init__")
        types |= getattr(base, "__annotations__", {}) | getattr(init, "__annotations__", {})
        for name, member in vars(base).items():
            getter = getattr(member, "fget", None) or getattr(member, "func", None)
            if getter is not None and "return" in getattr(getter, "__annotations__", {}):
                types[name] = getter.__annotations__["return"]
    return types


def readable(name: str, annotation: Any, duck_types: dict[str, str] = DUCK_TYPES) -> str:
    """Return a type as a reader of the page says it; empty where it says nothing."""
    if annotation is None or annotation == "Any":
        return duck_types.get(name, "")
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    if text in ("None", "Self"):
        return {"Self": "the estimator itself"}.get(text, "")
    for alias, words in ALIASES:
        text = text.replace(alias, words)
    text = re.sub(r"Literal\[(.*?)\]", r"{\1}", re.sub(r"\bAny\b", "object", text))
    *others, last = text.split(" | ")
    return f"{', '.join(others)} or {last}" if others else last


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", typed_entries, priority=100)  # before numpydoc
    return {"parallel_read_safe": True}
