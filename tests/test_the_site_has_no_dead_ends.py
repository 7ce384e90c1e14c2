"""`docs/check_site.py`, which `make docs` ends with, finds what is wrong with a site."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "docs"))

import check_site

GOOD = '<img src="a.png"><a href="other.html#here">x</a><a href="https://example.org/">y</a>'
WRONG = {
    "": [],
    '<a href="gone.html">': ["index.html: no file gone.html"],
    '<a href="other.html#gone">': ["index.html: no anchor other.html#gone"],
    '<img src="https://example.org/x.png">': ["index.html: loads https://example.org/x.png"],
}


@pytest.mark.parametrize(("wrong", "complaints"), WRONG.items())
def test_what_is_wrong_is_said(wrong, complaints, tmp_path):
    (tmp_path / "a.png").touch()
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>', "utf-8")
    (tmp_path / "index.html").write_text(GOOD + wrong, "utf-8")
    assert check_site.complaints(tmp_path) == complaints
