"""`docs/check_site.py`, which `make docs` ends with, finds what is wrong with a site."""

import importlib.util
import re
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "docs" / "check_site.py"
GOOD = '<img src="a.png"><a href="other.html#here">x</a><a href="https://example.org/">y</a>'


@pytest.fixture(scope="module")
def check():
    spec = importlib.util.spec_from_file_location("check_site", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def site(tmp_path):
    (tmp_path / "a.png").touch()
    (tmp_path / "other.html").write_text(
        '<h1 id="here">x</h1><a href="index.html">back</a>', "utf-8"
    )
    (tmp_path / "index.html").write_text(GOOD, "utf-8")
    return tmp_path


def test_a_good_site_has_no_complaints(check, site):
    assert check.complaints(site) == []


def test_what_is_wrong_is_said(check, site):
    elsewhere = '<script src="https://cdn.example.org/x.js"></script>'
    for bad, complaint in {
        '<a href="gone.html">': "index.html: no file gone.html",
        '<img src="images/gone.png">': "index.html: no file images/gone.png",
        '<a href="other.html#gone">': "index.html: no anchor other.html#gone",
        '<a href="#gone">': "index.html: no anchor #gone",
        elsewhere: "index.html: loads https://cdn.example.org/x.js",
    }.items():
        (site / "index.html").write_text(GOOD + bad, "utf-8")
        assert check.complaints(site) == [complaint]


def test_make_docs_runs_it():
    assert "docs/check_site.py site" in (SCRIPT.parents[1] / "Makefile").read_text("utf-8")


def test_what_is_added_to_the_site_replaces_no_page():
    """The explorer as one file once had the name of the page about it, and was lost."""
    docs = SCRIPT.parent
    added = re.findall(r"docs/extra/(\S+)\.html:", (docs.parent / "Makefile").read_text("utf-8"))
    assert added and not {f"{name}.md" for name in added} & {p.name for p in docs.glob("*.md")}
