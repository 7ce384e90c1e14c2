"""Every complaint about a spec is one line that names the key and what is allowed."""

from pathlib import Path
from typing import Any

import pytest

from onegrad import InvalidInput
from onegrad.experiments import cells_of, read_spec
from onegrad.experiments.spec import parse_spec
from onegrad.studies.measures import MEASURES

GOOD: dict[str, Any] = {
    "measure": "rehearsal",
    "seeds": 3,
    "problem": {"n": 100, "d": 50, "N": 75, "alpha": "0:0.5:3"},
}


BAD_KEYS: list[tuple[dict[str, Any], str]] = [
    ({"measur": "errors"}, r"grid\[0\]\.measur: unknown key; did you mean measure\?"),
    ({"measure": "error"}, r"\.measure 'error': did you mean errors\? .*rehearsal"),
    ({"seeds": 0}, r"grid\[0\]\.seeds must be a whole number from 1 to 1000000000; got 0"),
    ({"seeds": True}, r"grid\[0\]\.seeds must be a whole number"),
    ({"seeds_per_cell": 1.5}, r"grid\[0\]\.seeds_per_cell must be a whole number"),
    ({"dtype": "half"}, r"grid\[0\]\.dtype must be one of float64, float32; got 'half'"),
    ({"convention": "bo"}, r"grid\[0\]\.convention must be one of .*moniri"),
    ({"options": {"wat": 1}}, r"grid\[0\]\.options\.wat: unknown key; did you mean wait\?"),
    ({"options": {"wait": []}}, r"grid\[0\]\.options\.wait must be a number"),
    ({"options": {"wait": float("nan")}}, r"grid\[0\]\.options\.wait must be .* finite"),
    ({"name": "a, b"}, r"grid\[0\]\.name must be a text without '/' and ', '"),
    ({"problem": {"n": 1, "noize": 2}}, r"problem\.noize: unknown key; did you mean noise\?"),
    ({"problem": {"n": "ten"}}, r"problem\.n must be a number, a list or a range; got 'ten'"),
    ({"problem": {"ridge": "0:1:3:log"}}, r"problem\.ridge '0:1:3:log': a logarithmic range"),
    ({"problem": {"n": []}}, r"problem\.n: an empty list"),
    ({"problem": {"n": ["a"]}}, r"problem\.n must be a number"),
    ({"problem": {"teacher": 3}}, r"problem\.teacher must be a text; got 3"),
    ({"problem": {"alpha": 1, "eta": 1}}, r"problem\.alpha: give alpha or eta, not both"),
    ({"problem": 3}, r"grid\[0\]\.problem must be a table"),
    ({"quick": {"name": "x"}}, r"grid\[0\]\.quick\.name: unknown key"),
]
BAD_FILES: list[tuple[dict[str, Any], str]] = [
    ({}, "grid: at least one"),
    ({"grid": []}, "grid: at least one"),
    ({"gird": 1}, "gird: unknown key"),
    ({"grid": [GOOD, GOOD]}, "grid: names must differ"),
    ({"name": "", "grid": GOOD}, "name must be a text"),
    ({"name": "../x", "grid": GOOD}, "name must be a text without '/'"),
    ({"name": "\x1b[2J", "grid": GOOD}, "name must be a text of 1 to 100 characters that can be"),
    ({"order": "first", "grid": GOOD}, "order must be a whole number"),
    ({"module": 3, "grid": GOOD}, "module must be a text"),
    ({"text": "a title", "grid": GOOD}, "text must be a table; got 'a title'"),
]
BAD_VALUES: list[tuple[dict[str, Any], str]] = [
    ({"d": -1}, r"grid\[0\]\.problem\.d must be a whole number >= 1; got -1"),
    ({"teacher": "tahn"}, r"grid\[0\]\.problem\.teacher 'tahn': did you mean tanh\?"),
    ({"ridge": 0}, r"grid\[0\]\.problem\.ridge must be"),
]


def test_a_bad_key_or_file_is_one_line() -> None:
    tables = [({"grid": [GOOD | change]}, message) for change, message in BAD_KEYS]
    for table, message in [*tables, *BAD_FILES]:
        with pytest.raises(InvalidInput, match=message) as caught:
            parse_spec(table, "test", MEASURES, quick=True)
        assert "\n" not in str(caught.value)


def test_a_bad_value() -> None:
    for change, message in BAD_VALUES:
        spec = parse_spec({"grid": GOOD | {"problem": GOOD["problem"] | change}}, "test", MEASURES)
        with pytest.raises(InvalidInput, match=message):
            cells_of(spec.grids[0])


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"missing\.toml: cannot be read: No such file"):
        read_spec(tmp_path / "missing.toml", MEASURES)
    contents = {
        b"[[grid\n": "not valid TOML: .*line 1",
        b"a = " + b"[" * 20_000: "not valid TOML: nested too deeply",
        b"a = " + b"9" * 20_000: "not valid TOML: .*digits",
        b"\xff\xfe": "not valid TOML",
    }
    for content, message in contents.items():
        (tmp_path / "bad.toml").write_bytes(content)
        with pytest.raises(InvalidInput, match=rf"bad\.toml: {message}"):
            read_spec(tmp_path / "bad.toml", MEASURES)


def test_quick_changes_what_it_names_and_nothing_else() -> None:
    table = {"grid": GOOD | {"quick": {"seeds": 1, "problem": {"n": 10}}}}
    full, quick = (parse_spec(table, "test", MEASURES, quick=q).grids[0] for q in (False, True))
    assert (full.seeds, full.problem["n"]) == (3, 100)
    assert (quick.seeds, quick.problem["n"]) == (1, 10)
    assert quick.problem["alpha"] == full.problem["alpha"] == (0.0, 0.25, 0.5)


def test_what_a_file_shares_a_grid_may_change() -> None:
    table = {
        "convention": "ba",
        "seeds": 7,
        "problem": {"d": 10, "psi1": 2, "psi2": 3},
        "quick": {"seeds": 2, "problem": {"d": 5}},
        "grid": [
            {"name": "as it is", "measure": "rehearsal"},
            {"name": "own", "measure": "rehearsal", "seeds": 3, "problem": {"psi1": [1, 4]}},
        ],
    }
    for quick, d, seeds in ((False, 10, (7, 3)), (True, 5, (2, 3))):
        grids = parse_spec(table, "test", MEASURES, quick=quick).grids
        assert tuple(g.seeds for g in grids) == seeds
        assert [[c.problem.n for c in cells_of(g)] for g in grids] == [[2 * d], [d, 4 * d]]


def test_every_sweep_of_the_repository_is_valid() -> None:
    specs = sorted((Path(__file__).parents[2] / "sweeps").glob("*.toml"))
    assert specs
    for path in specs:
        for quick in (False, True):
            assert all(cells_of(grid) for grid in read_spec(path, MEASURES, quick=quick).grids)
