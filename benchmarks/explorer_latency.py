"""From slider to repaint: how long the explorer takes, measured in the page.

    python benchmarks/explorer_latency.py        # needs the test extra and a chromium

Every slider is moved through 40 positions, one every 150 ms, in the default setting. A time runs
from the event to the frame after the repaint that shows it. `work` is the main thread's own
processor time for one position: most of what is left when nothing else wants the cores.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from statistics import median
from typing import Any

from playwright.sync_api import sync_playwright

ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
POSITIONS = 40
READY = """(() => { const m = window.onegrad?.model();
  return m?.curve?.finished && m.sizes?.finished && !onegrad.painting
         && !m.stale.curve && !m.stale.sizes && !m.stale.spectrum; })()"""
DRAG = """async ([id, positions]) => {
  const slider = document.getElementById(id);
  const [low, high] = [Number(slider.min), Number(slider.max)];
  for (let i = 1; i <= positions; i += 1) {
    slider.value = low + ((high - low) * i) / (positions + 1);
    slider.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((wake) => setTimeout(wake, 150));
  }
}"""


def main() -> int:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("no chromium found: apt-get install chromium", file=sys.stderr)
        return 1
    command = [sys.executable, "-m", "onegrad.cli", "explore", "--no-open", "--port", "0", "--json"]
    print(f"{'slider':8} {'view':9} {'median':>9} {'90 %':>9} {'n':>4} {'work':>9}")
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server,
        sync_playwright() as playwright,
    ):
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        try:
            for slider in ("alpha", "noise", "ridge"):
                measure(browser, url, slider)
        finally:
            browser.close()
            server.terminate()
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def measure(browser: Any, url: str, slider: str) -> None:
    page = browser.new_page(viewport={"width": 1400, "height": 1300})
    page.goto(url)
    while not page.evaluate(READY):
        time.sleep(0.05)
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = busy(session)
    page.evaluate(DRAG, [f"{slider}-slider", POSITIONS])
    work = (busy(session) - before) / POSITIONS
    time.sleep(0.3)
    for view, times in page.evaluate("onegrad.latencies").items():
        tail = sorted(times)[int(0.9 * len(times))]
        line = f"{slider:8} {view:9} {median(times):6.0f} ms {tail:6.0f} ms {len(times):4}"
        print(f"{line} {1000 * work:6.0f} ms", flush=True)
    page.close()


def busy(session: Any) -> float:
    """Processor seconds of the page's main thread."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


if __name__ == "__main__":
    sys.exit(main())
