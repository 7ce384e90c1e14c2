"""onegrad cite and doctor: BibTeX of the results used; what is installed and whether it works."""

import re
from pathlib import Path

from onegrad.cli import doctor, main
from programs import json_of

ROOT = Path(__file__).parents[2]


def works_named_in(text: str) -> set[tuple[str, str]]:
    """First author and year of every work that a text names, as in `Ba et al. 2022`."""
    name = r"(?:Ben )?[A-Z][a-zé]+(?:-[A-Z][a-z]+)?"
    more = rf"(?: et al\.?|(?:, {name})+(?: et al\.?)?(?:,? and {name})?| and {name})"
    return {(match[1], match[2]) for match in re.finditer(rf"({name}){more},? \(?(20\d\d)\b", text)}


def test_every_work_that_a_page_or_a_docstring_names_can_be_cited(capsys):
    entries = json_of(capsys, "cite")["entries"]
    pattern = re.compile(r"author\s*= \{([^,}]+),.*?year\s*= \{(\d{4})\}", re.DOTALL)
    known = {match.groups() for e in entries if (match := pattern.search(e["bibtex"]))}
    files = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    files += [f for kind in ("py", "toml") for f in (ROOT / "src").rglob(f"*.{kind}")]
    named = {
        (*work, str(file.relative_to(ROOT)))
        for file in files
        for work in works_named_in(file.read_text(encoding="utf-8"))
    }
    assert len({work[:2] for work in named}) > 10, "the pages name works"
    assert not {work for work in named if work[:2] not in known}


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
