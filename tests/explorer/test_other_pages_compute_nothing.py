"""Only the page itself is answered: whatever names, origins and sites a request claims."""

import pytest

from onegrad.explorer import api

OWN = "127.0.0.1:8321"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the server was made to compute."""
    calls: list[object] = []

    def instant(problem: object) -> dict[str, object]:
        calls.append(problem)
        return {}

    monkeypatch.setattr(api, "instant_answer", instant)  # before `client` makes its routes
    return calls


FOREIGN_HOSTS = (
    "127.0.0.1@evil.com:80", "evil.com", "evil.com:8321", "127.0.0.1.evil.com", "evil.localhost",
    "evil.com#127.0.0.1", "127.0.0.1/evil.com", "", "127.0.0.1\\evil.com", "2130706433",
)  # fmt: skip
FOREIGN_ORIGINS = (
    "http://evil.com", "null", "", f"http://{OWN}.evil.com", f"http://{OWN}@evil.com",
    f"evil://{OWN}", f"//{OWN}", OWN, f"http://evil.com://{OWN}", f"http://{OWN}/",
    "http://127.0.0.1:9999",
)  # fmt: skip


def test_hosts_that_are_not_this_server_and_hosts_that_are(computed, client) -> None:
    for host in FOREIGN_HOSTS:
        answer = client.get("/api/instant", headers={"host": host})
        assert answer.status_code == 400, host
    assert not computed
    for host in (OWN, "localhost:8321", "127.0.0.1"):
        assert client.get("/api/instant", headers={"host": host}).status_code == 200, host
    assert computed


def test_foreign_origins(computed, client) -> None:
    for origin in FOREIGN_ORIGINS:
        headers = {"origin": origin}
        assert client.get("/api/instant", headers=headers).status_code == 403, origin
        answer = client.post("/api/simulations", content=b"{}", headers=headers)
        assert answer.status_code == 403, origin
    assert not computed
    headers = {"origin": f"http://{OWN}"}
    assert client.get("/api/instant", headers=headers).status_code == 200


def test_cross_site_requests_compute_nothing(computed, client) -> None:
    """A picture, a frame or a link elsewhere sends no Origin: the browser says where it is."""
    for site in ("cross-site", "same-site", "nonsense"):
        for mode in ("no-cors", "navigate", "cors", "websocket"):
            headers = {"sec-fetch-site": site, "sec-fetch-mode": mode}
            assert client.get("/api/instant", headers=headers).status_code == 403
            assert client.get("/static/app.js", headers=headers).status_code == 403
    assert not computed


def test_a_link_to_the_page_may_be_followed(computed, client) -> None:
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    assert client.get("/?n=300", headers=headers).status_code == 200
    assert not computed
    for site in ("same-origin", "none"):
        answer = client.get("/api/instant", headers={"sec-fetch-site": site})
        assert answer.status_code == 200
    assert computed
