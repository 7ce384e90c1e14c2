"""onegrad explore: serves on this machine only, says where, and complains in one line."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import urllib.error
import urllib.request

import pytest

from onegrad.cli import main
from programs import ONEGRAD


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


@pytest.mark.parametrize("port", ["-1", "eighty", "70000", "1e3", ""])
def test_a_bad_port_is_one_line(port, capsys) -> None:
    assert main(["explore", f"--port={port}"]) == 2
    message = capsys.readouterr().err
    assert "--port must be a whole number from 0 to 65535" in message and message.count("\n") == 1


def test_a_port_in_use_is_one_line(capsys) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert main(["explore", "--no-open", "--port", str(port)]) == 2
    message = capsys.readouterr().err
    assert f"--port {port}" in message and message.count("\n") == 1
