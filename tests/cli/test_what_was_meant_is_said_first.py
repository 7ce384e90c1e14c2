"""A word that is nearly right is answered with the right one, first; case never matters."""

import pytest

import onegrad as og
from onegrad.cli import COMMANDS, main
from onegrad.exceptions import InvalidInput
from onegrad.studies import gallery
from programs import complaint, json_of

SIZES = ["--n", "60", "--d", "30", "--N", "40"]
MEANT = [
    ("predcit", "predict"),
    ("Predict", "predict"),
    ("complete", "completion"),
    ("sweep exprot grid.toml", "export"),
    ("predict --aplha 0.3", "--alpha"),
    ("predict --aplha=0.3", "--alpha"),
    ("predict -n 1000", "--n?"),
    ("predict -alpha=0.3", "--alpha?"),
    ("fit d.csv --traget y --out m", "--target"),
    ("sweep run grid.toml --wrokers 2", "--workers"),
    ("fit d --target y --out m --task regresion", "regression"),
    ("predict --activation tahn", "tanh"),
    ("predict --teacher softplsu", "softplus"),
    ("predict --weights shpere", "sphere"),
    ("predict --theory Unifrom", "uniform"),
    ("simulate --model traned", "trained"),
    ("reproduce ba-figure3", "ba-figure3"),
    ("completion bsh", "bash"),
    # files and columns
    ("fit sale.csv --target price --out m", "sales.csv?"),
    ("fit sales.csv --target pricee --out m", "price?"),
    ("fit sales.csv --target price --columns twon --out m", "town?"),
    ("apply price.modle sales.csv --out p.csv", "price.model?"),
    ("show price.modl", "price.model?"),
    ("sweep status gird.toml", "grid.toml?"),
]


def test_the_suggestion_comes_before_what_is_allowed(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sales.csv").write_text("town,price\na,1\nb,2\n", "utf-8")
    for name in ("price.model", "grid.toml"):
        (tmp_path / name).touch()
    for words, meant in MEANT:
        before, _, after = complaint(capsys, *words.split()).partition(f"did you mean {meant}")
        assert after and "one of" not in before, words


def test_a_word_that_resembles_nothing_gets_the_list(capsys):
    err = complaint(capsys, "zzz")
    assert "did you mean" not in err and all(command in err for command in COMMANDS)
    for word in ("--zzzzzz", "--bogus"):
        assert "did you mean" not in complaint(capsys, "predict", *SIZES, word, "1")


def test_help_is_a_command_too(capsys):
    for words in (["help", "predict"], ["predict", "--help"], ["help"]):
        with pytest.raises(SystemExit) as exit_:
            main(words)
        said = capsys.readouterr().out
        assert exit_.value.code == 0 and ("COMMAND" in said) == (words == ["help"])


def test_an_unambiguous_beginning_of_an_option_is_still_enough(capsys):
    words = ("--activ", "relu", "--theo", "random-features")
    assert json_of(capsys, "predict", *SIZES, *words)["problem"]["activation"] == "relu"


def test_functions_are_known_in_any_case():
    sizes = {"n": 60, "d": 30, "N": 40}
    for given, plain in (
        ("TANH", "tanh"), ("ReLU:RAW", "relu:raw"), ("h1 + H2/2", "H1 + H2/2"), ("Sin", "sin"),
    ):  # fmt: skip
        problem = og.Problem(**sizes, activation=given)
        assert problem.to_dict()["activation"] == plain  # one name, one cell of a sweep
        assert (problem.sigma.c == og.Problem(**sizes, activation=plain).sigma.c).all()


def test_a_registered_name_in_its_own_case_comes_first(monkeypatch):
    from onegrad.functions import registry

    monkeypatch.setattr(registry, "REGISTRY", dict(registry.REGISTRY))
    og.register(og.Function("Tanh", lambda x: 2 * x, lambda x: 0 * x + 2))
    assert og.Problem(n=9, d=9, N=9, activation="Tanh").sigma.c[1] == pytest.approx(2)
    assert og.Problem(n=9, d=9, N=9, activation="tanh").sigma.c[1] < 1
    registry._resolve_text.cache_clear()


def test_choices_laws_theories_and_figures_are_known_in_any_case(capsys):
    words = "--weights SPHERE --inputs Student-T(5) --theory Random-Features"
    answer = json_of(capsys, "predict", *SIZES, *words.split())
    assert answer["theory"] == "random-features"
    assert (answer["problem"]["weights"], answer["problem"]["inputs"]) == ("sphere", "student-t(5)")
    figures = gallery.select(["ba-figure3a", "open"])
    assert gallery.select(["BA_Figure3A", "Open"]).keys() == figures.keys()
    with pytest.raises(InvalidInput, match=r"^FIGURE 'ba-figure3x': did you mean ba-figure3"):
        gallery.select(["ba-figure3x"])
