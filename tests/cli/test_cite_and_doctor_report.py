"""onegrad cite and doctor: BibTeX of the results used; what is installed and whether it works."""

from onegrad.cli import doctor, main
from programs import json_of


def test_cite_names_each_paper_in_one_bibliography(capsys):
    entries = json_of(capsys, "cite")["entries"]
    keys = [e["key"] for e in entries]
    assert keys[:4] == ["onegrad", "moniri2024theory", "ba2022high", "cui2024asymptotics"]
    assert len(set(keys)) == len(keys) and all(e["used_for"] for e in entries)
    assert all(e["bibtex"].startswith("@") and f"{{{e['key']}," in e["bibtex"] for e in entries)
    assert main(["cite"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n@") == len(keys) - out.startswith("@") >= 20 and "VERSION" not in out


def test_doctor_finds_this_installation_well(capsys):
    report = json_of(capsys, "doctor")
    assert report["healthy"] and report["packages"]["numpy"]
    assert [check["name"] for check in report["checks"]] == list(doctor.CHECKS)


def test_doctor_fails_when_a_check_does(monkeypatch, capsys):
    def broken():
        raise ZeroDivisionError("of\nall things")

    monkeypatch.setattr(doctor, "CHECKS", {"arithmetic": broken})
    monkeypatch.setattr(doctor, "_devices", dict)
    report = json_of(capsys, "doctor", code=1)
    detail = "ZeroDivisionError: of all things"
    assert report["checks"] == [{"name": "arithmetic", "passed": False, "detail": detail}]
    assert main(["doctor"]) == 1
    assert "FAILED arithmetic" in capsys.readouterr().out
