"""The docstrings of the estimators: what they share, and an example each."""

from __future__ import annotations

# after the parameters of a family
COMMON = """    sample_rows : rows that the first layer is learned on; the readout is fitted on all.
    categorical_features : columns whose values are categories even where they are numbers: names,
        numbers or a mask; text always is.
    device : "cpu", or "cuda" for the pass over the data.
    n_jobs : processes for the passes over a source of several parts.
    random_state : seed of all random numbers.
    verbose : whether progress is told on standard error.
"""

WEIGHTS = """    class_weight : None, "balanced", or weights by label, which multiply the rows' own.
"""

ATTRIBUTES = """
    Attributes
    ----------
    choice_, held_out_score_ : what held-out rows chose, and their mean loss (lower is better).
    feature_names_in_, n_features_in_ : columns of X, by name where they have names.
    metric_, feature_importances_, spectrum_, coef_, n_rows_ : see the properties.
"""

STEP = """    eta_, alpha_ : the step that was made, and the exponent of it.
"""

SUMMARIES = {
    "AlternatingRegressor": "Ridge, first-layer update with the trained readout, ridge: numbers.",
    "AlternatingClassifier": "Ridge, first-layer update with the trained readout, ridge: classes.",
    "OneStepRegressor": "One gradient step with a random readout, then ridge: regression.",
    "OneStepClassifier": "One gradient step, then ridge on plus-minus-one labels: classes.",
    "OneStepFeatures": "The features after one gradient step, for any model on top.",
}

DATA = """
    Examples
    --------
    >>> import numpy as np
    >>> import onegrad as og
    >>> X = np.random.default_rng(0).standard_normal((400, 5))
    >>> y = np.maximum(X[:, 0] + X[:, 1], 0)
"""

EXAMPLES = {
    "AlternatingRegressor": DATA
    + """    >>> model = og.AlternatingRegressor(width=100, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.95)
    True
    >>> np.sort(np.argsort(model.feature_importances_)[-2:])  # the inputs that matter
    array([0, 1])
    >>> low, high = model.predict_interval(X[300:], coverage=0.9)
    >>> model.remove(X[:10], y[:10]).n_rows_  # forget ten rows, exactly
    290
""",
    "AlternatingClassifier": DATA
    + """    >>> label = np.where(y > 0, "on", "off")
    >>> model = og.AlternatingClassifier(width=100, random_state=0).fit(X[:300], label[:300])
    >>> bool(model.score(X[300:], label[300:]) > 0.9)
    True
    >>> model.predict_proba(X[300:]).shape
    (100, 2)
""",
    "OneStepRegressor": DATA
    + """    >>> model = og.OneStepRegressor(width=100, random_state=0).fit(X[:300], y[:300])
    >>> plain = og.OneStepRegressor(width=100, eta=0, random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > plain.score(X[300:], y[300:]))
    True
""",
    "OneStepClassifier": DATA
    + """    >>> model = og.OneStepClassifier(width=100, random_state=0).fit(X[:300], y[:300] > 0)
    >>> bool(model.score(X[300:], y[300:] > 0) > 0.9)
    True
""",
    "OneStepFeatures": DATA
    + """    >>> from sklearn.linear_model import RidgeCV
    >>> from sklearn.pipeline import make_pipeline
    >>> model = make_pipeline(og.OneStepFeatures(width=100, random_state=0), RidgeCV())
    >>> bool(model.fit(X[:300], y[:300]).score(X[300:], y[300:]) > 0.9)
    True
""",
}


def documented(name: str, parameters: str, more: str = "") -> str:
    """The docstring of the estimator of this name: parameters, attributes, example."""
    classes = WEIGHTS if name.endswith("Classifier") else ""
    return SUMMARIES[name] + parameters + COMMON + classes + ATTRIBUTES + more + EXAMPLES[name]
