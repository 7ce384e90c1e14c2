"""onegrad fit --cluster: workers of a running scheduler read the file; the model is the same."""

import json
import warnings

import numpy as np
import pytest

from onegrad.cli import main

pytestmark = pytest.mark.full


@pytest.fixture
def scheduler():
    distributed = pytest.importorskip("distributed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cluster's own affair
        with distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster:
            yield cluster.scheduler_address


def test_the_cluster_gives_the_model_of_this_process(tmp_path, scheduler, capsys):
    from onegrad.estimators import load

    X = np.random.default_rng(0).standard_normal((400, 3))
    lines = [f"{a},{b},{c},{np.tanh(a) + b}" for a, b, c in X]
    (tmp_path / "d.csv").write_text("a,b,c,y\n" + "\n".join(lines) + "\n")

    def fitted(name, *options):
        command = ["fit", str(tmp_path / "d.csv"), "--target", "y", "--out", str(tmp_path / name)]
        sizes = ["--width", "20", "--members", "2", "--budget", "fast"]
        assert main([*command, *sizes, *options]) == 0
        return load(tmp_path / name)

    here = fitted("here")
    capsys.readouterr()
    there = fitted("there", "--cluster", scheduler, "--json")
    assert len(json.loads(capsys.readouterr().out)["ridge"]) == 2
    np.testing.assert_array_equal(there.readout_, here.readout_)
