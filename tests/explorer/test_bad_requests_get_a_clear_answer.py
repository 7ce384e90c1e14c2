"""Thousands of bad requests: never a 500, never a hang, and good ones still work after them."""

import random

import pytest

import onegrad as og
from onegrad.explorer import api
from onegrad.explorer.controls import CONTROLS, control_of, read_problem

PATHS = ("/api/instant", "/api/spectrum", "/api/here", "/api/curve", "/api/code")
NASTY = (
    "", " ", "nan", "inf", "-inf", "-1", "0", "1e999", "1e-999", "0x10", "１２", "1_000", "+", "٣",
    "None", "true", "[]", "{}", "1;2", "1,2", "../../etc/passwd", "<script>alert(1)</script>",
    "%00", "\x00", "H", "H99", "H1@2", "H1@99", "H1*H1", "H1/0", "sqrt(-1)*H1",
    "((((((((H1))))))))", "(" * 200, "H1+" * 130, "H1" * 150, "9" * 300,
    "H1 + " + "9" * 300 + "*H2", "relu:", "relu:unit", "tanh:raw", "lambda x: x",
    "__import__('os').system('id')", "1e8*H1",
    "H0", "0*H1", "σ", "💥" * 50, "a" * 5000,
)  # fmt: skip
GOOD = ("2", "3", "17", "0.5", "1", "1e-8", "1e4", "1e6", "1000000000", "0.001", "1000", "-0.9",
        "tanh", "relu", "H1", "H2", "H1 + H3", "gaussian", "sphere", "constant", "full", "n",
        "N")  # fmt: skip


def random_query(rng: random.Random) -> list[tuple[str, str]]:
    names = [*CONTROLS, "axis", "view", "nonsense", "", "n ", "__proto__"]
    pool = NASTY if rng.random() < 0.8 else GOOD
    return [(rng.choice(names), rng.choice(pool)) for _ in range(rng.randint(1, 5))]


def test_a_complaint_names_its_control() -> None:
    for query, field in (
        ({"ridge": "0"}, "ridge"),
        ({"ridge": "nan"}, "ridge"),
        ({"n": "10.5"}, "n"),
        ({"n": "1e12"}, "n"),
        ({"n": "1_000"}, "n"),
        ({"noise": "٣"}, "noise"),
        ({"d": "0"}, "d"),
        ({"phi": "-1"}, "phi"),
        ({"n": "2", "phi": "0.001"}, "phi"),
        ({"alpha": "3"}, "alpha"),
        ({"alpha": "0.1", "eta": "2"}, "eta"),
        ({"d": "10", "phi": "2"}, "phi"),
        ({"noise": "-0.1"}, "noise"),
        ({"teacher": "H1 + "}, "teacher"),
        ({"teacher": "__import__('os')"}, "teacher"),
        ({"activation": "tan"}, "activation"),
        ({"activation": "H1" * 300}, "activation"),
        ({"weights": "cauchy"}, "weights"),
    ):
        with pytest.raises(og.InvalidInput) as caught:
            read_problem(query)
        assert control_of(caught.value) == field, query
        assert "\n" not in str(caught.value)


@pytest.mark.full
def test_random_requests_never_break_the_server(client, monkeypatch) -> None:
    monkeypatch.setattr(api, "axis_values", lambda axis: [0.2])  # one point a curve
    rng, statuses = random.Random(0), set()
    for _ in range(800):
        path, query = rng.choice(PATHS), random_query(rng)
        response = client.get(path, params=query)
        assert response.status_code in (200, 414, 422, 503), (path, query, response.text)
        statuses.add(response.status_code)
        if response.status_code != 200:
            answer = response.json()
            assert 0 < len(answer["message"]) < 1000 and "\n" not in answer["message"]
            assert answer["field"] is None or answer["field"] in CONTROLS
    assert {200, 422} <= statuses
    assert client.get("/api/instant").status_code == 200


@pytest.mark.full
def test_both_ends_of_every_limit_are_answered(client) -> None:
    for name, control in CONTROLS.items():
        for value in control.limits or ():
            for path in ("/api/instant", "/api/spectrum"):
                response = client.get(path, params={name: f"{value:g}"})
                assert response.status_code in (200, 422, 503), (name, value, response.text)


BODIES = (
    b"", b"{", b"[]", b"null", b"1", b'"x"', b"{}", b'{"query": 3}', b'{"query": {"n": 3}}',
    b'{"query": {}, "seeds": "0"}', b'{"query": {}, "seeds": -3}', b'{"query": {}, "seeds": 1e9}',
    b'{"query": {}, "seeds": [1]}', b'{"query": {}, "seeds": "3", "parts": []}',
    b'{"query": {}, "seeds": "3", "parts": ["all"]}', b'{"query": {}, "seeds": "3", "axis": "d"}',
    b'{"query": {"n": "1e9", "d": "1e9", "N": "1e9"}, "seeds": "3"}',
    b'{"query": {"n": "1000000", "d": "900", "N": "20000"}, "seeds": "1000"}',
    b'{"query": {"teacher": "H1("}, "seeds": "3"}', b"\xff\xfe", b"[" * 5000,
)  # fmt: skip


def test_a_bad_simulation_is_refused(client) -> None:
    for body in BODIES:
        response = client.post("/api/simulations", content=body)
        assert response.status_code == 422 and response.json()["message"], body


def test_what_is_not_there_is_not_found(client) -> None:
    for method, path in (
        ("GET", "/api/simulations/none"),
        ("POST", "/api/simulations/none/cancel"),
        ("GET", "/api/nothing"),
        ("GET", "/static/../server.py"),
        ("GET", "/static/..%2fserver.py"),
        ("GET", "/static/%2e%2e/api.py"),
    ):
        response = client.request(method, path)
        assert response.status_code == 404 and "import" not in response.text, path


def test_large_bodies_are_refused_before_they_are_read(client) -> None:
    answer = client.post("/api/simulations", content=b"x" * 30_000)
    assert answer.status_code == 413


def test_every_answer_forbids_other_hosts(client) -> None:
    for path in ("/", "/api/controls", "/static/app.js", "/api/nothing"):
        policy = client.get(path).headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy and "*" not in policy


def test_a_repeated_name_is_refused(client) -> None:
    response = client.get("/api/instant?n=100&n=200")
    assert response.status_code == 422
    assert response.json()["field"] == "n"
