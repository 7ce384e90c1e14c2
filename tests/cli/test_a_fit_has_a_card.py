"""onegrad fit writes a page: scores beside baselines, importances, intervals, the worst rows."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onegrad.cli import main
from onegrad.tables import OneStepRegressor, load, source
from onegrad.tables.assessment import BASELINE, CONSTANT, assess
from programs import json_of

OPTIONS = ["--estimator", "one-step", "--width", "40"]
INPUTS = ["size", "town", "noise"]


@pytest.fixture(scope="module")
def frame():
    """400 rows whose target two columns of three explain."""
    import pandas as pd

    rng = np.random.default_rng(0)
    size, town = rng.uniform(30, 200, 400).round(1), rng.choice(["Bern", "Zug"], 400)
    price = 3 * size + 100 * (town == "Zug") + rng.normal(0, 10, 400)
    frame = pd.DataFrame({"size": size, "town": town, "noise": rng.random(400)})
    frame["price"] = price.round(3)  # all different
    frame["dear"] = np.where(price + rng.normal(0, 50, 400) > 400, "yes", "no")
    return frame


@pytest.fixture(scope="module")
def table(frame, tmp_path_factory):
    path = tmp_path_factory.mktemp("card") / "flats.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def fitted(table):
    data = source(str(table), target="price", columns=INPUTS)
    model = OneStepRegressor(width=40, random_state=0).fit(data)
    return model, assess(model, data)


def test_held_out_rows_are_those_of_the_fit(fitted):
    model, assessment = fitted
    assert len(assessment.true) == model.choice_["held_out_rows"]
    assert assessment.scores["this model"] == pytest.approx(model.choice_["measures"], rel=1e-9)
    residuals = model.fitted_.statistics.residuals[:, 0] * model.fitted_.targets.scale[0]
    off = assessment.true - assessment.predicted
    np.testing.assert_allclose(off, residuals, atol=1e-3)  # their grid


@pytest.mark.full
def test_baselines_are_fitted_to_the_other_rows(frame, fitted):
    from sklearn.ensemble import HistGradientBoostingRegressor

    _, assessment = fitted
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


def test_intervals_and_worst_rows(frame, fitted):
    model, assessment = fitted
    width = (model.predict_interval(frame[INPUTS])[1] - model.predict(frame[INPUTS]))[0]
    assert 0.75 < assessment.covered < 1 and assessment.width == pytest.approx(width)
    off = [row.off for row in assessment.worst]
    largest = np.abs(assessment.true - assessment.predicted).max()
    assert off == sorted(off, reverse=True) and off[0] == pytest.approx(largest, rel=1e-4)
    worst = assessment.worst[0]
    row = frame[frame["price"] == worst.true].iloc[0]
    assert dict(worst.inputs) == {name: row[name] for name in INPUTS}
    assert next(iter(worst.inputs)) == "size"  # the most important one


@pytest.mark.parametrize("target", ["price", "dear"])
def test_the_page_stands_alone(target, table, tmp_path, capsys):
    model = tmp_path / "m.model"
    columns = ["--columns", "size,town,noise"]
    command = ["fit", str(table), "--target", target, "--out", str(model), *columns, *OPTIONS]
    card = json_of(capsys, *command)["card"]
    page = (tmp_path / "m.model.html").read_text("utf-8")
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


@pytest.mark.parametrize("rows", [2, 5])
def test_rows_of_which_one_is_held_out_have_a_card(rows, tmp_path):
    np.save(tmp_path / "d.npy", np.random.default_rng(0).standard_normal((rows, 3)))
    command = ["fit", str(tmp_path / "d.npy"), "--target", "0", "--out", str(tmp_path / "m")]
    assert main([*command, *OPTIONS]) == 0
    assert (tmp_path / "m.html").exists()


def test_values_of_the_data_are_no_markup(tmp_path):
    table, names = tmp_path / "d.csv", ["<script>alert(1)</script>", "b"] * 30
    lines = [f"{i},{name},{i}" for i, name in enumerate(names)]
    table.write_text("\n".join(["<b>size</b>,town,y", *lines]), "utf-8")
    assert main(["fit", str(table), "--target", "y", "--out", str(tmp_path / "m"), *OPTIONS]) == 0
    page = (tmp_path / "m.html").read_text("utf-8")
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


def test_a_date_beyond_those_of_python_is_shown(tmp_path):
    days = pa.array([2**29, 2**30] * 40, pa.int32()).cast(pa.date32())
    x = np.random.default_rng(0).standard_normal(80)
    pq.write_table(pa.table({"day": days, "x": x, "y": x}), tmp_path / "days.parquet")
    command = ["fit", str(tmp_path / "days.parquet"), "--target", "y", "--budget", "fast"]
    assert main([*command, "--out", str(tmp_path / "days.model")]) == 0
    assert "value out of range" in (tmp_path / "days.model.html").read_text("utf-8")
