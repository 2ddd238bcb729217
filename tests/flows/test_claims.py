"""`tokenmill claims` as a user types it."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from tokenmill.flows.cli import main
from tokenmill.flows.commands.claims import counted, exit_code
from tokenmill.sizing.claims import check_all

ROOT = Path(__file__).parent.parent.parent


def test_every_claim_is_listed_with_its_verdict(capsys):
    assert main(["claims"]) == 0
    out = capsys.readouterr().out
    assert all(v.id in out for v in check_all())
    assert counted(check_all()) in out


def test_one_claim_is_shown_with_what_explains_it(capsys):
    assert main(["claims", "--id", "tiramisu-full-scale"]) == 0
    out = capsys.readouterr().out
    assert "4,560 nodes of Summit" in out
    assert "what explains it" in out
    assert "1.161 TB/s" in out


def test_as_json(capsys):
    assert main(["claims", "--json"]) == 0
    claims = json.loads(capsys.readouterr().out)
    assert len(claims) == len(check_all())
    assert claims[0]["verdict"] == "agrees"
    assert set(claims[0]["figures"][0]) == {"of", "published", "computed", "ratio", "within"}


def test_an_unknown_claim_is_the_users_mistake(capsys):
    assert main(["claims", "--id", "tiramisu-full"]) == 2
    assert capsys.readouterr().err == (
        "tokenmill claims: no claim 'tiramisu-full'; did you mean 'tiramisu-full-scale'?\n"
    )
    assert main(["claims", "--id", "c4"]) == 2
    assert "did you mean 'c4-bytes-per-token'?" in capsys.readouterr().err


def test_one_that_differs_makes_the_answer_no():
    red = replace(check_all()[0], verdict="differs")
    assert exit_code(check_all()) == 0
    assert exit_code([*check_all(), red]) == 1
    told = "1 claims: 0 agree as printed, 0 as worked out, 0 contradict themselves and are"
    assert counted([red]) == f"{told} explained, 1 differ"


def test_nothing_heavy_is_imported():
    code = (
        "import sys; from tokenmill.flows.cli import main; main(['claims'])\n"
        "print({'prefect', 'datasets', 'numba', 'pyarrow', 'numpy'} & set(sys.modules),"
        " file=sys.stderr)"
    )
    ended = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ended.stderr.strip() == "set()"


def test_systems_are_shown_with_predicted_published_ratio_and_reason(capsys):
    assert main(["claims", "--systems"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    within = r"(\d+) systems: (\d+) figures within our bounds of what was published"
    found = re.search(rf"{within}, 6 apart for what was not, 0 differ", told)
    assert found is not None
    assert (int(found[1]), int(found[2])) >= (19, 21)  # there only come more
    assert "DeepSeek-V3" in told
