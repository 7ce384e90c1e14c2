"""Every option that names an output: only a regular file is replaced, and that only with --force.

The options are those of the parser: one that is added without a line in the tables here fails.
Nothing here names a path outside the folder of the test.
"""

import os
import re
from pathlib import Path

import pytest
from soak.outputs import FILES, FIT, SPEC, make_inputs, special_paths

from onegrad.cli import build_parser, main
from onegrad.cli.parser import options_of, subcommands
from onegrad.exceptions import InvalidInput
from onegrad.io.files import atomic_write
from programs import PACKAGE, complaint

FOLDERS = (
    "sweep run grid.toml --store", "sweep status grid.toml --store",
    "sweep export grid.toml --store", "reproduce ba-figure3a --quick --out",
)  # fmt: skip
INPUTS = {"predict --rows", "simulate --rows", "reproduce --data"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the commands' files are, and whatever is not a regular file."""
    here = tmp_path_factory.mktemp("outputs")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("LOKY_MAX_CPU_COUNT", "1")  # in this process
        make_inputs(here)
        yield here


def identity(path):
    """What a path is, without the times at which it was looked at."""
    state = os.lstat(path)
    return state.st_mode, state.st_ino, state.st_rdev


def test_no_output_is_missing_here():
    def paths(parser, words=()):
        for action in options_of(parser):
            if action.metavar in ("FILE", "MODEL", "DIR"):
                yield " ".join((*words, action.option_strings[-1]))
        for name, inner in subcommands(parser).items():
            yield from paths(inner, (*words, name))

    def option(line):
        return re.sub(r"^(sweep \w+|\w+).* ", r"\1 ", line)

    assert set(paths(build_parser())) == INPUTS | {*map(option, FILES), *map(option, FOLDERS)}


@pytest.mark.parametrize("command", FILES, ids=lambda line: line.split()[0] + line.split()[-1])
def test_what_is_not_a_regular_file_is_refused_before_any_work(
    command, folder, tmp_path, capsys, monkeypatch
):
    suffix, work = FILES[command]
    for name in ("rows.npz", "grid.toml", "y.model", "store"):
        (tmp_path / name).symlink_to(folder / name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(work, lambda *_, **__: pytest.fail("work began"))

    def refused(_):
        raise PermissionError

    option = command.split()[-1]
    for name, reason in special_paths(suffix).items():
        before = identity(name) if os.path.lexists(name) else None
        for force in ([], ["--force"]):
            line = complaint(capsys, *command.split(), name, *force)
            assert re.search(f"error: {option} .*{reason}", line), line
        assert before is None or identity(name) == before
    monkeypatch.setattr("onegrad.io.files._locked_draft", refused)  # root may write anywhere
    assert "cannot be written to" in complaint(capsys, *command.split(), f"new{suffix}")
    assert not Path(f"new{suffix}").exists()


def test_a_report_that_cannot_be_written_is_said_before_the_work(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("onegrad.studies.reproduce.run_cells", lambda *_, **__: pytest.fail("ran"))
    os.mkfifo(tmp_path / "report.html")
    command = ("reproduce", "ba-figure3a", "--quick", "--out", str(tmp_path))
    assert "--out" in (line := complaint(capsys, *command)) and "a pipe" in line


@pytest.mark.parametrize("command", FOLDERS)
def test_what_is_not_a_folder_stays_what_it_is(command, folder, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grid.toml").write_text(SPEC, "utf-8")
    for name in ("pipe", "socket", "nowhere", "loop", *["node"] * ("node" in special_paths(""))):
        before = identity(name)
        assert main([*command.split(), name]) in (1, 2)
        assert identity(name) == before
        assert capsys.readouterr().err.count("\n") == 1


def test_a_file_is_replaced_only_with_force(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    for command in (line for line in FILES if not re.match("compare|spectrum|optimum|expl", line)):
        name, link = (f"{word}{FILES[command][0]}" for word in ("there", "link"))
        (folder / name).write_text("dear", "utf-8")
        line = complaint(capsys, *command.split(), name)
        assert name in line and "--force" in line
        assert (folder / name).read_text("utf-8") == "dear"
        if not Path(link).is_symlink():
            Path(link).symlink_to(name)  # through which the file is replaced
        assert main([*command.split(), link, "--force"]) == 0
        assert Path(link).is_symlink()
        assert (folder / name).read_bytes() != b"dear"
        capsys.readouterr()
    (folder / "new.html").write_text("dear", "utf-8")  # a card is not replaced either
    assert "--card 'new.html'" in complaint(capsys, *FIT.split(), "--out", "new")
    assert not (folder / "new").exists()
    # and none replaces what the same command reads or writes
    export = ["sweep", "export", "grid.toml", "--store", "store"]
    Path("rows.csv").write_text("x0,x1,x2\n1,2,3\n", "utf-8")
    for words in (
        [*FIT.split(), "--out", "m.model", "--card", "./m.model"],
        [*FIT.split(), "--force", "--out", "rows.npz"],
        ["apply", "y.model", "rows.csv", "--force", "--out", f"{folder}/rows.csv"],
        ["apply", "y.model", "row?.csv", "--force", "--out", "./rows.csv"],
        *([*export, "--force", "--out", str(path)] for path in Path("store").glob("*.sqlite*")),
        [*export, "--force", "--out", "grid.toml"],
    ):
        assert "an input or another output" in complaint(capsys, *words)
    for _ in range(2):  # but the table in a store is the store's own
        assert main(export) == 0


def test_python_writes_to_regular_files_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in special_paths(".x"):
        with pytest.raises(InvalidInput, match="path"), atomic_write(tmp_path / name):
            pytest.fail("it was opened")
    private = tmp_path / "private.x"
    private.touch(0o600)
    with atomic_write(private) as file:  # who may read it may read what replaces it, and no others
        assert os.fstat(file.fileno()).st_mode & 0o777 == 0o600
    for path in PACKAGE.rglob("*.py"):  # and nothing writes in another way
        if path.parent.name != "io":
            pattern = r"\.write_(text|bytes)\(|\.to_csv\(|open\([^)]*\"[wxa]b?\"|savefig\((P|p)ath"
            assert not re.search(pattern, path.read_text(encoding="utf-8")), path
