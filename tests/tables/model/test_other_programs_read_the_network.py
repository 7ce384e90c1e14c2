"""An ONNX graph of a fitted model predicts what the model predicts."""

import numpy as np
import pytest
from sklearn.base import clone

import onegrad as og
from onegrad.exceptions import InvalidInput

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 4)) * [1, 10, 0.1, 3]
X_NEW = RNG.standard_normal((50, 4)) * [2, 10, 0.1, 5]


@pytest.fixture(autouse=True)
def onnx():
    return pytest.importorskip("onnx")


def run(path):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(path)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, {"X": X_NEW}), strict=True))


@pytest.mark.parametrize(
    "settings", [{"width": 30}, {"width": 30, "members": 2, "inputs": "robust"}, {"budget": "fast"}]
)
def test_regression(tmp_path, settings):
    y = np.column_stack([np.maximum(X[:, 0], 0), X[:, 1]])
    model = og.AlternatingRegressor(corrections="none", random_state=0, **settings).fit(X, y)
    model.save_onnx(tmp_path / "m.onnx")
    predicted = run(tmp_path / "m.onnx")["predicted"]
    np.testing.assert_allclose(predicted, model.predict(X_NEW), rtol=1e-9, atol=1e-9)


WITH_HEAD = og.AlternatingClassifier(30, rounds=1, corrections="auto", random_state=0)


@pytest.mark.parametrize("estimator", [og.OneStepClassifier(30, random_state=0), WITH_HEAD])
@pytest.mark.parametrize("classes", [2, 3])
def test_classification(tmp_path, estimator, classes):
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [0, 0.7][: classes - 1])]
    model = clone(estimator).fit(X, labels)
    assert len(model.fitted_.parts) == (estimator is WITH_HEAD)
    model.save_onnx(tmp_path / "m.onnx")
    outputs = run(tmp_path / "m.onnx")
    np.testing.assert_array_equal(model.classes_[outputs["label"]], model.predict(X_NEW))
    np.testing.assert_allclose(outputs["probabilities"], model.predict_proba(X_NEW), atol=1e-12)


def test_what_has_no_graph_is_refused(tmp_path):
    table = og.OneStepRegressor(10, random_state=0).fit({"x": X[:, 0]}, X[:, 0])
    with pytest.raises(InvalidInput, match="fitted on a table"):
        table.save_onnx(tmp_path / "m.onnx")
    stairs = og.AlternatingRegressor(30, rounds=0, corrections="auto", random_state=0)
    with pytest.raises(InvalidInput, match="BoostedTrees has no ONNX graph"):
        stairs.fit(X, 1.0 * (X[:, 0] * X[:, 1] > 0)).save_onnx(tmp_path / "m.onnx")
    smooth = og.OneStepRegressor(10, activation="tanh", random_state=0).fit(X, X[:, 0])
    with pytest.raises(InvalidInput, match="only ReLU"):
        smooth.save_onnx(tmp_path / "m.onnx")
