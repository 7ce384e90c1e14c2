"""Log-loss on scikit-learn's small tables, beside logistic regression: five folds each.

    python benchmarks/small_tables.py [--budgets fast,default]

Run with OMP_NUM_THREADS=1; seconds are CPU seconds of a fit.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import onegrad as og

TABLES = {
    "iris": load_iris,
    "wine": load_wine,
    "breast": load_breast_cancer,
    "digits": load_digits,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budgets", default="fast,default")
    budgets = parser.parse_args().budgets.split(",")
    print("| table | budget | log-loss | logistic | folds at or below | accuracy | logistic | s |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for name, load in TABLES.items():
        X, y = load(return_X_y=True)
        for budget in budgets:
            folds = []
            for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
                start = time.process_time()
                ours = og.AlternatingClassifier(budget=budget, random_state=0)
                ours.fit(X[train], y[train])
                seconds = time.process_time() - start
                linear = make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000))
                linear.fit(X[train], y[train])
                both = (ours, linear)
                losses = [log_loss(y[test], model.predict_proba(X[test])) for model in both]
                scores = [model.score(X[test], y[test]) for model in both]
                folds.append([*losses, losses[0] <= losses[1], *scores, seconds])
            mean = np.mean(folds, 0)
            print(
                f"| {name} | {budget} | {mean[0]:.3f} | {mean[1]:.3f} | {5 * mean[2]:.0f} of 5 "
                f"| {mean[3]:.3f} | {mean[4]:.3f} | {mean[5]:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
