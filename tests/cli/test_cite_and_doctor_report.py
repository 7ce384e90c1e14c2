"""onegrad cite and doctor: BibTeX of the results used; what is installed and whether it works."""

import json

from onegrad.cli import doctor, main


def json_of(capsys, *arguments, code=0):
    assert main([*arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


def test_cite_names_each_paper(capsys):
    entries = json_of(capsys, "cite")["entries"]
    assert [e["key"] for e in entries] == [
        "onegrad", "moniri2024theory", "ba2022high", "cui2024asymptotics",
    ]  # fmt: skip
    assert all(e["bibtex"].startswith("@") for e in entries)


def test_doctor_finds_this_installation_well(capsys):
    report = json_of(capsys, "doctor")
    assert report["healthy"]
    assert report["packages"]["numpy"]
    assert {c["name"] for c in report["checks"]} >= {"theory against simulation"}


def test_cite_prints_one_bibliography(capsys):
    assert main(["cite"]) == 0
    out = capsys.readouterr().out
    assert out.count("@") == 4 and "VERSION" not in out


def test_doctor_says_in_words_that_all_is_well(capsys):
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert out.endswith("all checks passed\n") and "FAILED" not in out


def test_doctor_fails_when_a_check_does(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("of\nall things")

    monkeypatch.setattr(doctor, "CHECKS", {"arithmetic": broken})
    report = json_of(capsys, "doctor", code=1)
    detail = "ZeroDivisionError: of all things"
    assert report["checks"] == [{"name": "arithmetic", "passed": False, "detail": detail}]
    assert main(["doctor"]) == 1
    assert "FAILED arithmetic" in capsys.readouterr().out
