"""Every block of Python and every command in README and docs is run, and prints what it says.

A page is one session: its blocks run in order, in an empty folder. A comment that begins with a
value (`0.546 ± 0.014: one step`, `array([1, 2.5])`, `True`) shows that of its line: the words are
the same, numbers differ by at most half a unit of the last digit shown, and what follows a colon is
explained, not compared. A comment that begins with words, such as `about 3 s`, shows no value: so
is written what depends on the machine. Blocks that cannot be run here say so in their first line
(```python no-run, ```console no-run): their commands, targets, options and files are held to what
there is.
"""

import ast
import contextlib
import importlib
import io
import re
import shlex
import tokenize
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import onegrad as og
from onegrad.cli import main
from onegrad.cli.output import print_table
from onegrad.functions import REGISTRY
from onegrad.networks import ENTRY_LAWS
from onegrad.problem import INPUT_LAWS
from onegrad.theory import THEORIES

ROOT = Path(__file__).parent.parent
PAGES = {
    page.relative_to(ROOT).as_posix(): page
    for page in (
        ROOT / "README.md",
        ROOT / "CONTRIBUTING.md",
        *sorted((ROOT / "docs").rglob("*.md")),
    )
    if not {"gallery", "generated", "open", "report"} & set(page.parts)
}
BLOCK = re.compile(r"^```(\S+)([^\n]*)\n(.*?)^```$", re.S | re.M)
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[-+]?\d+)?")
VALUE = re.compile(r"""-?\d|[\[("']|array\(|True\b|False\b|None\b|[A-Z]\w*\(|\.\.\. """)
LINK = re.compile(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)")
SCRIPT = re.compile(r"\bpython ((?:docs|benchmarks|tests)/\S+?\.py)")
TABLES = (REGISTRY, THEORIES, INPUT_LAWS, ENTRY_LAWS)  # that pages add to


def blocks(text: str) -> Iterator[tuple[str, bool, str]]:
    """Language, whether it is run, and code of every block."""
    for language, option, code in BLOCK.findall(text):
        if language in ("python", "console"):
            assert option in ("", " no-run"), option
            yield language, not option, code


def agrees(found: str, shown: str) -> bool:
    """Whether a text is the one shown: `...` is any text, a number is rounded as it is shown."""
    found, shown = (" ".join(text.split()) for text in (found, shown))
    numbers, pattern, end = NUMBER.findall(shown), "", 0
    for part in re.finditer(rf"{NUMBER.pattern}|\.\.\.", shown):
        pattern += re.escape(shown[end : part.start()])
        pattern += ".*" if part[0] == "..." else f"({NUMBER.pattern})"
        end = part.end()
    match = re.fullmatch((pattern + re.escape(shown[end:])).replace("\\ ", r"\s*"), found)
    pairs = zip(match.groups(), numbers, strict=True) if match else ()
    return match is not None and all(
        abs(float(x) - float(number)) <= 0.5000001 * unit(number) for x, number in pairs
    )


def unit(number: str) -> float:
    """Unit of the last digit of a number as it is shown."""
    digits, _, exponent = number.partition("e")
    return 10.0 ** (int(exponent or 0) - len(digits.partition(".")[2]))


def as_shown(value: object) -> str:
    """A value as pages show it: its repr, with all digits and without the types of NumPy."""
    with np.printoptions(precision=12, linewidth=10_000):
        text = repr(value)
    text = re.sub(r"np\.(?:float|int|str_|bool)\w*\(([^()]*)\)", r"\1", text)
    text = re.sub(r"np\.(True|False)_", r"\1", text)
    return re.sub(r"(?<=\[) +| +(?=[],])", "", text)


def without_explanation(comment: str) -> str:
    """A comment up to its first colon that is outside all brackets."""
    for colon in re.finditer(": ", comment):
        before = comment[: colon.start()]
        if all(before.count(a) == before.count(b) for a, b in ("()", "[]")):
            return before
    return comment


def shown_values(code: str) -> dict[int, str]:
    """The comments of a block that show a value, by line."""
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    return {line: without_explanation(c) for line, c in comments.items() if VALUE.match(c)}


def run_python(code: str, names: dict[str, object]) -> None:
    """Run a block and compare its lines with the values that their comments show."""
    shown = shown_values(code)
    for node in ast.parse(code).body:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            if isinstance(node, ast.Expr):
                found = eval(compile(ast.Expression(node.value), "page", "eval"), names)
            else:
                exec(compile(ast.Module([node], []), "page", "exec"), names)
                found = None
        said = shown.pop(node.end_lineno or 0, None)
        if said is None:
            continue
        if isinstance(node, ast.Assign):
            found = eval(ast.unparse(node.targets[0]), names)
        text = printed.getvalue() or as_shown(found)
        if isinstance(found, tuple) and not said.startswith("("):
            text = text[1:-1]
        assert agrees(text, said), f"{ast.unparse(node)} gives {text}, not {said}"
    assert not shown, f"values that are shown where nothing is evaluated: {shown}"


def run_console(code: str) -> None:
    """Run the commands of a block; the lines below a command are what it prints."""
    commands = re.split(r"^\$ ", code.replace("\\\n", ""), flags=re.M)
    assert not commands[0].strip(), code
    for command in commands[1:]:
        line, _, shown = command.partition("\n")
        words = shlex.split(line, comments=True)
        assert words[0] == "onegrad", line
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert main(words[1:]) in (0, None), line
        if shown.strip():
            assert agrees(printed.getvalue(), shown), printed.getvalue()


@pytest.fixture(autouse=True)
def left_as_it_was(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    before = [dict(table) for table in TABLES]
    yield
    for table, entries in zip(TABLES, before, strict=True):
        table.clear()  # type: ignore[attr-defined]
        table.update(entries)  # type: ignore[attr-defined]


@pytest.mark.full
@pytest.mark.parametrize("name", PAGES)
def test_blocks_run(name):
    names: dict[str, object] = {"og": og}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore", og.AssumptionWarning)
        for language, is_run, code in blocks(PAGES[name].read_text(encoding="utf-8")):
            if is_run:
                run_python(code, names) if language == "python" else run_console(code)
    if name == "README.md":
        quoted = " ".join(re.findall(r"^> (.*)$", PAGES[name].read_text(encoding="utf-8"), re.M))
        comparison = names["comparison"]
        assert quoted == comparison.sentence  # type: ignore[attr-defined]
        for other in ("docs/index.md", "docs/start/ten_minutes.md"):
            check_comparison(comparison, PAGES[other].read_text(encoding="utf-8"))


def check_comparison(comparison, text: str) -> None:
    """Compare the output of `onegrad compare` on a page that does not run it again."""
    output = re.compile(r"^\$ onegrad compare --seeds 5\nn = [^\n]*\n(.*?)^```", re.S | re.M)
    (shown,) = output.findall(text)
    rows = comparison.table()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        print_table(rows, list(rows[0]))
        print(comparison.sentence)
    assert agrees(printed.getvalue(), shown), printed.getvalue()


def test_every_block_says_what_it_is():
    """A block without a language would be run by nobody."""
    for name, page in PAGES.items():
        fences = re.findall(r"^```(.*)$", page.read_text(encoding="utf-8"), re.M)
        assert all(fences[::2]), name


def check_command(line: str, monkeypatch) -> None:
    """Parse a command that is not run: its target, options and files are those that there are."""
    words = [w for w in shlex.split(line, comments=True) if not re.match(r"[A-Z_]+=", w)]
    program, *rest = words[: words.index("&&")] if "&&" in words else words
    if program.endswith("onegrad"):
        monkeypatch.setattr(importlib.import_module(f"onegrad.cli.{rest[0]}"), "run", lambda _: 0)
        assert main(rest) == 0
    elif program == "make":
        assert re.search(rf"^{rest[0]}:.*##", (ROOT / "Makefile").read_text("utf-8"), re.M), line
    elif program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        named = re.fullmatch(r"(?:onegrad|\.)(?:\[(\w+)\])?", rest[1])
        assert named and (named[1] or "test") in extras["optional-dependencies"], line
    elif program == "python":
        path = rest[1].replace(".", "/") if rest[0] == "-m" else rest[0]
        assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), line
    elif program == "git":
        assert rest[0] == "clone", line
    else:
        assert program == "dask" or words == ["source", ".venv/bin/activate"], line


def test_commands_that_are_not_run_exist(monkeypatch):
    for page in PAGES.values():
        for language, is_run, code in blocks(page.read_text(encoding="utf-8")):
            if not is_run and language == "console":
                for line in code.splitlines():
                    if line.startswith("$ "):  # the others are what it prints
                        check_command(line.removeprefix("$ "), monkeypatch)


def anchors(text: str) -> set[str]:
    """What headings are called in links: small letters, hyphens, no punctuation."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.S | re.M), re.M)
    return {re.sub(r"[^\w\- ]", "", h.lower()).strip().replace(" ", "-") for h in headings}


def test_links_and_scripts_that_are_named_exist():
    made = ("gallery/", "moving.html")  # when the site is built
    for name, page in PAGES.items():
        text = page.read_text(encoding="utf-8")
        for script in SCRIPT.findall(text):
            assert (ROOT / script).exists(), f"{name}: {script}"
        for target, anchor in LINK.findall(text):
            aim = page.parent / target if target else page
            if not any(part in target for part in made):
                assert aim.exists(), f"{name}: {target}"
            elif "gallery/plot" in target:
                script = ROOT / "examples" / Path(target).with_suffix(".py").name
                assert script.exists(), f"{name}: {target}"
            if anchor:
                headings = anchors(aim.read_text(encoding="utf-8"))
                assert anchor in headings, f"{name}: {target}#{anchor}"


RIGHT = (
    "1.5 + 1   # 2.5: the sum\n",
    "[2.0449, 1.006]  # [2.04, 1.0]\n",
    "np.array([0, 1 / 3])  # array([0, 0.333])\n",
    "(1,\n 2.04)  # 1, 2.0\n",
    "x = 1e-7 / 3  # 3.33e-8\n",
    "np.float64(0.70711)  # 0.7071\n",
    "np.True_  # True\n",
    "print('theory', 0.5767, '±', 0.0022)   # ... 0.577 ± 0.0022\n",
    "0.1  # about 3 s\n",
)
WRONG = (
    "1.5 + 1   # 2.6: the sum\n",
    "[2.0449]  # [2.04, 1.0]\n",
    "[2.0449, 1.0]  # [2.04]\n",
    "2.0449  # 2.05\n",
    "2.0451  # 2.04\n",
    "-2.5  # 2.5\n",
    "1 < 2  # False\n",
    "'H3'  # 'H2'\n",
    "(1,\n 2.04)  # 1, 2.1\n",
    "print('theory', 0.5767)   # ... 0.578\n",
    "if True:\n    1.5  # 1.5\n",
)


@pytest.mark.parametrize("code", RIGHT)
def test_a_value_that_is_shown_is_that_of_its_line(code):
    run_python(code, {"np": np})


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_value_is_seen(code):
    with pytest.raises(AssertionError):
        run_python(code, {"np": np})


def test_a_wrong_output_is_seen():
    assert agrees("a 0.5767 ± 0.0022\n", "a   0.577 ± 0.0022\n")
    for shown in ("a 0.5797 ± 0.0022", "b 0.5767 ± 0.0022", "a 0.5767"):
        assert not agrees("a 0.5767 ± 0.0022\n", shown)
