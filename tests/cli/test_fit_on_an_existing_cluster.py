"""onegrad fit --cluster: workers of a running scheduler read the file; the model is the same."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest

from onegrad.cli import main
from onegrad.estimators import load

RNG = np.random.default_rng(0)


@pytest.fixture(scope="module")
def scheduler():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cluster's own affair
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster:
            yield cluster.scheduler_address


def fitted(folder, name, *options):
    out = folder / name
    code = main(["fit", str(folder / "d.parquet"), "--target", "y", "--out", str(out),
                 "--width", "20", "--members", "2", "--budget", "fast", *options])  # fmt: skip
    assert code == 0
    return load(out)


def test_the_cluster_gives_the_model_of_this_process(tmp_path, scheduler, capsys):
    X = RNG.standard_normal((400, 3))
    frame = pd.DataFrame(X, columns=list("abc"))
    frame["y"] = np.tanh(X[:, 0]) + X[:, 1]
    frame.to_parquet(tmp_path / "d.parquet")
    here = fitted(tmp_path, "here")
    capsys.readouterr()
    there = fitted(tmp_path, "there", "--cluster", scheduler, "--json")
    assert len(json.loads(capsys.readouterr().out)["ridge"]) == 2
    np.testing.assert_array_equal(there.readout_, here.readout_)


def test_a_committee_is_not_for_one_step(tmp_path, capsys):
    pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": [1.0, 2.0, 3.0]}).to_parquet(tmp_path / "d.parquet")
    code = main(["fit", str(tmp_path / "d.parquet"), "--target", "y", "--out",
                 str(tmp_path / "m"), "--estimator", "one-step", "--members", "2"])  # fmt: skip
    assert code == 2
    assert "--members: it is for --estimator alternating" in capsys.readouterr().err
