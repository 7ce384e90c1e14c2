"""onegrad fit writes a page: scores beside baselines, importances, intervals, the worst rows."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from onegrad.cli import main
from onegrad.data import source
from onegrad.estimators import OneStepRegressor, load
from onegrad.estimators.assessment import BASELINE, CONSTANT, assess
from programs import json_of

OPTIONS = ["--estimator", "one-step", "--width", "40"]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Return a file of 400 rows whose target two columns of three explain."""
    path = tmp_path_factory.mktemp("card") / "flats.csv"
    rng = np.random.default_rng(0)
    size, town = rng.uniform(30, 200, 400).round(1), rng.choice(["Bern", "Zug"], 400)
    price = 3 * size + 100 * (town == "Zug") + rng.normal(0, 10, 400)
    frame = pd.DataFrame({"size": size, "town": town, "noise": rng.random(400)})
    frame["price"] = price.round(3)  # all different
    frame["dear"] = np.where(price + rng.normal(0, 50, 400) > 400, "yes", "no")
    frame.to_csv(path, index=False)
    return path


def fitted(table, target="price"):
    data = source(str(table), target=target, columns=["size", "town", "noise"])
    return OneStepRegressor(width=40, random_state=0).fit(data), data


def test_held_out_rows_are_those_of_the_fit(table):
    model, data = fitted(table)
    assessment = assess(model, data)
    measures = model.choice_["measures"]
    assert len(assessment.true) == model.choice_["held_out_rows"]
    assert assessment.scores["this model"] == pytest.approx(measures, rel=1e-9)
    residuals = model.fitted_.statistics.residuals[:, 0] * model.fitted_.targets.scale[0]
    np.testing.assert_allclose(
        assessment.true - assessment.predicted, residuals, atol=1e-3
    )  # their grid


def test_baselines_are_fitted_to_the_other_rows(table):
    model, data = fitted(table)
    assessment = assess(model, data)
    frame = pd.read_csv(table)
    held = frame["price"].isin(assessment.true)
    assert held.sum() == len(assessment.true) and assessment.training_rows == (~held).sum()
    x = np.column_stack([frame["size"], frame["town"] == "Bern", frame["town"] == "Zug",
                         frame["noise"]])  # fmt: skip
    trees = HistGradientBoostingRegressor(random_state=0).fit(x[~held], frame["price"][~held])
    rmse = np.sqrt(np.mean((trees.predict(x[held]) - frame["price"][held]) ** 2))
    assert assessment.scores[BASELINE]["RMSE"] == pytest.approx(rmse, rel=0.1)  # order of rows
    constant = frame["price"][~held].mean() - frame["price"][held]
    expected = np.sqrt(np.mean(constant**2))
    assert assessment.scores[CONSTANT]["RMSE"] == pytest.approx(expected, rel=1e-6)


def test_intervals_and_worst_rows(table):
    model, data = fitted(table)
    assessment = assess(model, data)
    assert 0.75 < assessment.covered < 1 and assessment.width == pytest.approx(
        model.predict_interval(pd.read_csv(table))[1][0] - model.predict(pd.read_csv(table))[0]
    )
    off = [row.off for row in assessment.worst]
    assert off == sorted(off, reverse=True) and off[0] == pytest.approx(
        np.abs(assessment.true - assessment.predicted).max(), rel=1e-4
    )
    worst, frame = assessment.worst[0], pd.read_csv(table)
    row = frame[frame["price"] == worst.true].iloc[0]
    assert dict(worst.inputs) == {name: row[name] for name in ("size", "town", "noise")}
    assert next(iter(worst.inputs)) == "size"  # the most important one


@pytest.mark.parametrize("target", ["price", "dear"])
def test_the_page_stands_alone(target, table, tmp_path, capsys):
    model = tmp_path / "m.model"
    columns = ["--columns", "size,town,noise"]
    command = ["fit", str(table), "--target", target, "--out", str(model), *columns, *OPTIONS]
    card = json_of(capsys, *command)["card"]
    page = (tmp_path / "m.model.html").read_text()
    assert card == str(model) + ".html" and "gradient boosting" in page and "size" in page
    assert not re.findall(r"(?:src|href)=[\"'](?!data:)", page)
    assert page.count("<img") == (3 if target == "price" else 2)
    score = load(model).choice_["measures"]["R2" if target == "price" else "accuracy"]
    assert f"{score:.4g}" in page


def test_no_card_and_another_name(table, tmp_path):
    command = ["fit", str(table), "--target", "price", "--columns", "size", *OPTIONS]
    assert main([*command, "--out", str(tmp_path / "a"), "--no-card"]) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    options = ["--out", str(tmp_path / "b"), "--card", str(tmp_path / "page.html")]
    assert main([*command, *options]) == 0
    assert {path.name for path in tmp_path.iterdir()} == {"a", "b", "page.html"}


def test_rows_without_inputs_have_a_card(tmp_path):
    np.save(tmp_path / "d.npy", np.random.default_rng(0).standard_normal((60, 1)))
    command = ["fit", str(tmp_path / "d.npy"), "--target", "0", "--out", str(tmp_path / "m")]
    assert main([*command, *OPTIONS]) in (0, 2)


@pytest.mark.parametrize("rows", [2, 5, 8])
def test_rows_of_which_one_is_held_out_have_a_card(rows, tmp_path):
    X = np.random.default_rng(0).standard_normal((rows, 3))
    np.save(tmp_path / "d.npy", X)
    command = ["fit", str(tmp_path / "d.npy"), "--target", "0", "--out", str(tmp_path / "m")]
    assert main([*command, *OPTIONS]) == 0
    assert (tmp_path / "m.html").exists()


def test_values_of_the_data_are_no_markup(tmp_path):
    table, size = tmp_path / "d.csv", np.arange(60.0)
    names = ["<script>alert(1)</script>", "b"] * 30
    pd.DataFrame({"<b>size</b>": size, "town": names, "y": size}).to_csv(table, index=False)
    assert main(["fit", str(table), "--target", "y", "--out", str(tmp_path / "m"), *OPTIONS]) == 0
    page = (tmp_path / "m.html").read_text()
    assert "<script" not in page and "<b>" not in page and "&lt;script&gt;" in page


def test_a_model_is_shown(table, tmp_path, capsys):
    model = str(tmp_path / "m")
    command = ["fit", str(table), "--target", "dear", "--columns", "size,town"]
    made = json_of(capsys, *command, "--out", model, *OPTIONS, "--no-card")
    shown = json_of(capsys, "show", model)
    assert shown["predicts"] == "classes no, yes" and shown["bytes"] > 1000
    assert {k: shown[k] for k in ("estimator", "rows", "inputs")} == {
        k: made[k] for k in ("estimator", "rows", "inputs")
    }
    assert main(["show", model]) == 0
    out = capsys.readouterr().out
    assert "predicts classes no, yes" in out and "columns: size, town" in out
