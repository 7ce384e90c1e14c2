"""onegrad explore: the interactive page, served on this machine."""

import argparse
import os
import socket
import sys
import threading
import webbrowser
from typing import Any

from onegrad.cli.options import add_command, add_force
from onegrad.cli.output import print_json, print_note
from onegrad.exceptions import InvalidInput
from onegrad.io.files import output_file
from onegrad.io.progress import TerminalProgress
from onegrad.parallel.cores import core_count

_EXAMPLES = ("onegrad explore --port 8321", "onegrad explore --export page.html")
LOOPBACK_ADDRESS = "127.0.0.1"


def add_parser(subparsers: Any) -> None:
    """Add `onegrad explore`."""
    description = (
        "Start the explorer on this machine and open it in the browser, or write it as one file "
        "that needs no server."
    )
    parser = add_command(subparsers, "explore", "the interactive page", description, *_EXAMPLES)
    add = parser.add_argument
    add("--port", default="8321", help="port; 0 chooses a free one (default %(default)s)")
    host = "address to listen on (default %(default)s: this machine only)"
    add("--host", default=LOOPBACK_ADDRESS, help=host)
    add("--no-open", action="store_true", help="do not open the browser")
    export = "write a self-contained page with precomputed numbers, and exit"
    add("--export", metavar="FILE", help=export)
    add_force(parser)


def run(args: argparse.Namespace) -> None:
    """Serve the page until it is stopped, or write it to a file."""
    if args.export is not None:
        _export(args)
        return
    import uvicorn

    from onegrad.explorer.controls import read_whole
    from onegrad.explorer.server import LOOPBACK_HOSTS, create_app

    listener = _listen(args.host, read_whole("--port", args.port, 0, 65535))
    host, port = listener.getsockname()[:2]
    local = args.host in (LOOPBACK_ADDRESS, "localhost")
    url = f"http://{LOOPBACK_ADDRESS if host == '0.0.0.0' else host}:{port}/"
    if args.json:
        print_json({"url": url})
    else:
        print(f"onegrad explorer at {url} (stop with Ctrl-C)")
    sys.stdout.flush()
    if not local:
        print_note("onegrad explore", "other machines can reach this page")
    app = create_app(hosts=LOOPBACK_HOSTS if local else ["*"])
    config = uvicorn.Config(
        app,
        log_level="error" if os.environ.get("ONEGRAD_TRACEBACK") else "critical",
        timeout_graceful_shutdown=1,
        server_header=False,
    )
    if not args.no_open:  # once the server listens; the socket does already
        threading.Timer(0.5, webbrowser.open, (url,)).start()
    uvicorn.Server(config).run(sockets=[listener])


def _export(args: argparse.Namespace) -> None:
    """Compute the numbers of the page on all cores and write it."""
    from onegrad.explorer.export import Grids, write_page

    path = output_file(args.export, "--export", replace=args.force)
    progress = TerminalProgress("export", quiet=args.json)
    size = write_page(path, Grids(), core_count(), progress)
    if args.json:
        print_json({"file": str(path), "bytes": size})
    else:
        print(f"{path}: {size / 1e6:.1f} MB; open it in any browser")


def _listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise InvalidInput if the address cannot be used."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)  # a browser that connects before the server is ready waits
    except OSError as error:
        listener.close()
        problem = f"cannot be used on {host} ({error.strerror}); give another, or 0"
        raise InvalidInput("--port", port, problem=problem) from None
    return listener
