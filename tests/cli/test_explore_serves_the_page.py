"""onegrad explore: serves on this machine only, and says where."""

from __future__ import annotations

import json
import signal
import subprocess
import urllib.error
import urllib.request

import pytest

from programs import ONEGRAD


@pytest.mark.full
def test_it_serves_the_page_and_stops_when_told() -> None:
    command = [*ONEGRAD, "explore", "--no-open", "--port", "0", "--json"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stdout is not None and server.stderr is not None
            url = json.loads(server.stdout.readline())["url"]
            assert url.startswith("http://127.0.0.1:")
            with urllib.request.urlopen(url, timeout=120) as response:
                assert b"What one gradient step learns" in response.read()
            foreign = urllib.request.Request(url, headers={"Host": "evil.example"})
            with pytest.raises(urllib.error.HTTPError, match="421") as caught:
                urllib.request.urlopen(foreign, timeout=120)
            caught.value.close()
        finally:
            server.send_signal(signal.SIGINT)
        assert server.wait(120) == 130
        assert server.stderr.read() == "onegrad explore: interrupted\n"
