"""The pages say what `make truth` holds them to, and it reads figures as they are printed."""

import re
import subprocess

import pytest

from tests.truth.__main__ import (
    FAILS,
    HOLDS,
    ROOT,
    Claim,
    Part,
    commits,
    parts,
    provided,
    result_of,
    rows_of,
)

PARTS = parts()
PACKAGES = {"openclipart-png", "mate-icon-theme", "gimp-help-en", "gnome-icon-theme"}  # Debian's
CLAIMS = [(part, claim) for part in PARTS for claim in part.claims]


@pytest.mark.parametrize(("part", "claim"), CLAIMS, ids=lambda one: getattr(one, "name", ""))
def test_the_page_says_what_is_claimed(part, claim):
    page = " ".join((ROOT / part.page).read_text("utf-8").split())
    assert claim.said in page
    assert claim.numbers("") == []
    assert (claim.least is None) != (claim.most is None)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_corpora_and_modules_of_a_part_are_known(part):
    needs = {*part.needs, *part.files}
    assert needs <= {*commits(), *PACKAGES, ".venv-peers", ".venv-bench"}
    assert set(re.findall(r"\{files:(.+?)\}", part.command)) == set(part.files)
    module = re.search(r"-m (tests\.\S+)", part.command)
    assert module is None or (ROOT / f"{module[1].replace('.', '/')}.py").exists()


def test_parts_have_names_of_their_own():
    assert len({part.name for part in PARTS}) == len(PARTS)


@pytest.mark.parametrize(
    ("claim", "told"),
    [
        ({"pattern": r"^\| a \|(.*)$", "least": 0.5}, ("0.5", "at least 0.5", HOLDS)),
        ({"pattern": r"^\| a \|(.*)$", "most": 0.5}, ("1234", "at most 0.5", FAILS)),
        ({"row": "[ab]", "cell": 2, "least": 0.6}, ("0.5", "at least 0.6", FAILS)),
        (
            {"pattern": r"(?P<n>[\d,]+) of (?P<of>\d+)", "least": 0.2},
            ("0.25", "at least 0.2", HOLDS),
        ),
        ({"pattern": r"^c (\d+)", "most": 0.0}, ("not found", "at most 0", FAILS)),
    ],
)
def test_the_worst_number_counts(claim, told):
    printed = "| a | 1,234 | .5 |\n| b | 2 | 3 % |\n1,000 of 4000\n1000 of 2000\n"
    assert Claim(what="", said="", **claim).told(printed) == told


PYTHON = 'python -c "%s"'


def test_a_part_is_run_once_until_asked_again(tmp_path):
    part = Part(name="x", page="", command=PYTHON % "import uuid; print('found', uuid.uuid4().int)")
    first = result_of(part, tmp_path, False, {})
    assert result_of(part, tmp_path, False, {}) == first
    assert result_of(part, tmp_path, True, {})["printed"] != first["printed"]
    assert [row[-1] for row in rows_of(part, first)] == [HOLDS]


def test_a_part_that_ended_with_an_error_fails_and_is_run_again(tmp_path):
    claims = [Claim(what="a number", said="", pattern=r"^found (\d+)", least=1)]
    command = PYTHON % "print('found', 0); raise SystemExit(2)"
    part = Part(name="x", page="", command=command, claims=claims)
    first = result_of(part, tmp_path, False, {})
    assert [row[1:] for row in rows_of(part, first)] == [
        ("exit code", "2", "0", FAILS),
        ("a number", "0", "at least 1", FAILS),
    ]
    (tmp_path / "parts" / "x.json").write_text(
        (tmp_path / "parts" / "x.json").read_text("utf-8").replace("found 0", "found 9"), "utf-8"
    )
    assert result_of(part, tmp_path, False, {})["printed"] == first["printed"]


def test_a_repository_is_fetched_by_its_commits_or_told(tmp_path, monkeypatch):
    source = tmp_path / "github" / "a" / "b"
    source.mkdir(parents=True)
    run = ("git", "-c", "user.name=a", "-c", "user.email=a@b.org")
    for command in (("init", "--quiet"), ("commit", "--quiet", "--allow-empty", "-m", "one")):
        subprocess.run([*run, *command], cwd=source, check=True)
    head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=source, text=True).strip()
    url = f"url.file://{tmp_path / 'github'}/.insteadOf"
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", url)
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "https://github.com/")
    assert provided("a/b", [head], tmp_path / "corpora") is None
    assert provided("a/b", [head], tmp_path / "corpora") is None  # it is there
    assert provided("a/c", [head], tmp_path / "corpora").startswith("a/c: fatal:")
    assert [path.name for path in (tmp_path / "corpora").iterdir()] == ["a+b"]
