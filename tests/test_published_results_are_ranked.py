"""benchmarks/published.py: the published split, the score on it, ranks beside other methods."""

import json

import numpy as np
import published
import pytest
from sklearn.model_selection import train_test_split

import onegrad as og

pytestmark = pytest.mark.full  # they guard a ranking
ROWS = 120


def test_the_split_is_the_published_one():
    y = np.arange(ROWS)
    train, val, test = published.split(y)
    rest, expected = train_test_split(np.arange(ROWS), test_size=0.2, random_state=42)
    np.testing.assert_array_equal(test, expected)
    np.testing.assert_array_equal(val, train_test_split(rest, test_size=0.2, random_state=42)[1])
    assert sorted([*train, *val, *test]) == list(range(ROWS))


def test_ranks_are_means_over_sets():
    scores: dict[str, dict[str, float | None]] = {
        "a": {"one": 0.9, "two": 0.8, "three": 0.7},
        "b": {"one": 0.5, "two": 0.6, "three": None},
        "c": {"one": 0.4, "two": 0.4, "three": 0.1},
    }
    ranks = published.mean_ranks(scores, higher=True)
    assert ranks == pytest.approx({"one": (1 + 2 + 1.5) / 3, "two": (2 + 1 + 1.5) / 3, "three": 3})
    lower = published.mean_ranks({"a": scores["a"]}, higher=False)
    assert list(lower) == ["three", "two", "one"]


@pytest.fixture
def folder(tmp_path):
    """Two sets of made data, published scores of a good and a bad method, and recorded ones."""
    rng = np.random.default_rng(0)
    sets = {}
    for name in ("flat", "steep"):
        X = rng.standard_normal((ROWS, 3))
        y = X[:, 0] * (1 if name == "flat" else 20) + 0.1 * rng.standard_normal(ROWS)
        np.savez(tmp_path / f"{name}.npz", X=X, y=y)
        scores = {"perfect": 0.0, "hopeless": 1e6}
        sets[name] = {"rows": ROWS, "published_rmse": scores, "train+val": {"rmse": -1.0}}
    (tmp_path / "published.json").write_text(json.dumps({"sets": sets}), "utf-8")
    return tmp_path


def options(folder):
    return ["--published", str(folder / "published.json"), "--data", str(folder), "--budget",
            "fast", "--out", str(folder / "out.jsonl")]  # fmt: skip


def test_the_estimator_is_ranked_beside_them(folder, capsys):
    assert published.main(options(folder)) == 0
    assert "| 2 | onegrad | 2.00 |" in capsys.readouterr().out
    cells = [json.loads(line) for line in (folder / "out.jsonl").read_text("utf-8").splitlines()]
    assert [cell["set"] for cell in cells] == ["flat", "steep"]
    arrays = np.load(folder / "flat.npz")
    train, val, test = published.split(arrays["y"])
    rows = np.concatenate([train, val])
    model = og.AlternatingRegressor(budget="fast", random_state=0)
    predicted = model.fit(arrays["X"][rows], arrays["y"][rows]).predict(arrays["X"][test])
    rmse = np.sqrt(np.mean((predicted - arrays["y"][test]) ** 2))
    assert cells[0]["rmse"] == pytest.approx(rmse, rel=1e-9) and rmse < 0.5
    (folder / "flat.npz").unlink()  # what is done is not computed again
    assert published.main([*options(folder), "--sets", "flat"]) == 0


def test_other_rows_than_the_published_ones_are_refused(folder):
    np.savez(folder / "flat.npz", X=np.ones((5, 2)), y=np.ones(5))
    with pytest.raises(SystemExit, match="flat has 5 rows here, 120 in the published table"):
        published.main(options(folder))
