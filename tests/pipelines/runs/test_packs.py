"""Receipts of a finished phase in packs: nothing is lost, whenever a run is killed."""

import gzip
import json
import shutil
import tracemalloc
from dataclasses import replace

import pytest

from tests.apart import apart
from tests.pipelines.runs import killed as killing
from tests.pipelines.runs.synthetic import STATS, phases, run
from tests.receipts import receipts
from tests.running import one_by_one
from tests.strategies import few
from tokenmill.pipelines.core.errors import ConfigError
from tokenmill.pipelines.runs import packs
from tokenmill.pipelines.runs.finished import manifest, missing_file
from tokenmill.pipelines.runs.manifest import open_run, read_manifest, write_manifest
from tokenmill.pipelines.runs.packs import (
    Found,
    Packing,
    find_receipts,
    receipts_of,
    sweep_receipts,
)
from tokenmill.pipelines.runs.receipt import Receipt, receipt_path, save_receipt
from tokenmill.pipelines.runs.work import Finished, Job, Work
from tokenmill.pipelines.storage.lock import PROBE

N, GROUP = 40, 7
MOMENTS = [("written", 2), ("placed", 2), ("removing", 3), ("removed", 2), ("sweeping", 1)]


def pack_receipts(out, works, receipts, found):
    return Packing(out, works, found).end(receipts)


@pytest.fixture(autouse=True)
def small_groups(monkeypatch):
    monkeypatch.setattr(packs, "GROUP", GROUP)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(packs, "GROUP", GROUP)
        run(out, N)
    return out


@pytest.fixture
def out(undisturbed, tmp_path):
    """A copy of a run that has ended, to be spoilt."""
    shutil.copytree(undisturbed, tmp_path / "run")
    return tmp_path / "run"


def contents(out):
    """Bytes of all files; of receipts, which hold seconds, the names alone.

    A probe of the store is left where the kill came before it was deleted.
    """
    return {
        (name := path.relative_to(out).as_posix()): "receipts/" in name or path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and not path.name.startswith(PROBE)
    }


def killed(out, *moment, n=N, seed=0):
    words = map(str, (out, n, GROUP, seed, *moment))
    ended = apart(killing.main, *words)
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


def works_done(out, n=N, failing=""):
    """Run it; the works that were not found done."""
    done = []

    def execute(job, phase):
        done.extend(f"{work.step}/{work.key}" for work in phase.works)
        return one_by_one(job, phase)

    run(out, n, failing, execute)
    return done


def is_unfinished(out):
    """As if the run had been killed before its manifest was written."""
    write_manifest(out, {"status": "running", "identity": read_manifest(out)["identity"]})


def test_a_phase_that_has_ended_is_packed_a_phase_of_one_work_is_not(undisturbed):
    files = sorted(path.name for path in (undisturbed / "receipts" / "first").iterdir())
    assert [name[:6] for name in files] == [f"{number:05d}-" for number in range(6)]
    assert [path.name for path in (undisturbed / "receipts" / "all").iterdir()] == ["all.json"]
    keys = [receipt.key for receipt in receipts_of(undisturbed, "first")]
    assert keys == [f"{number:05d}-of-{N:05d}" for number in range(N)]


def test_a_run_that_has_not_ended_goes_on_from_packs(out):
    before = receipts(out)
    is_unfinished(out)
    assert works_done(out) == []
    assert receipts(out) == before


@pytest.mark.parametrize(("moment", "number"), MOMENTS, ids=[moment for moment, _ in MOMENTS])
def test_killed_while_packing_it_ends_byte_identical(undisturbed, tmp_path, moment, number):
    ended = killed(tmp_path / "run", moment, number)
    assert ended["kills"] > 0
    assert ended["lost"] == 0
    assert ended["with_both"] > 0 or moment not in ("placed", "removing")
    assert contents(tmp_path / "run") == contents(undisturbed)


@pytest.mark.parametrize("seed", few(range(4), 4))
def test_killed_at_random_over_and_over_it_ends_byte_identical(undisturbed, tmp_path, seed):
    ended = killed(tmp_path / "run", seed=seed)
    assert ended["kills"] > 3
    assert ended["lost"] == 0
    assert ended["receipts"] == 2 * N + 1
    assert contents(tmp_path / "run") == contents(undisturbed)


@pytest.mark.parametrize(
    "moment",
    [("placed", 2), *(pytest.param(m, marks=pytest.mark.long) for m in [("removed", 2), ()])],
    ids=str,
)
def test_killed_on_an_object_store_it_ends_byte_identical(reached_s3, tmp_path, moment):
    name = f"packs-{moment[0] if moment else 'random'}"
    reached_s3.client().create_bucket(Bucket=name)
    ended = killed(f"s3://{name}/run", *moment, n=10)
    assert ended["kills"] > 0
    assert ended["lost"] == 0
    assert ended["with_both"] > 0 or "placed" not in moment
    run(tmp_path / "here", 10)
    (tmp_path / "here" / ".lock").unlink()
    there = reached_s3.download(name, "run/", tmp_path / "there")
    assert contents(there) == contents(tmp_path / "here")


def test_where_both_are_there_they_say_the_same(out):
    before = receipts(out)
    for receipt in before.values():
        save_receipt(out, receipt)
    is_unfinished(out)
    assert works_done(out) == []
    assert receipts(out) == before
    assert [path.name for path in (out / "receipts").rglob("*.json")] == ["all.json"]


def test_a_receipt_of_its_own_counts_before_the_one_in_a_pack(out):
    one = next(receipts_of(out, "first"))
    newer = replace(one, seconds=(9.0, 9.0))
    save_receipt(out, newer)
    is_unfinished(out)
    assert works_done(out) == []
    assert next(receipts_of(out, "first")) == newer
    assert not receipt_path(out, "first", one.key).exists()


@pytest.mark.parametrize("harm", ["cut", "not gzip", "not JSON", "gone"])
def test_what_a_damaged_pack_had_is_done_again(undisturbed, out, harm):
    pack = sorted((out / "receipts" / "first").iterdir())[2]
    keys = [json.loads(line)["key"] for line in gzip.decompress(pack.read_bytes()).splitlines()]
    if harm == "gone":
        pack.unlink()
    else:
        data = pack.read_bytes()
        harmed = {"cut": data[:-9], "not gzip": b"{}", "not JSON": gzip.compress(b"{")}
        pack.write_bytes(harmed[harm])
    is_unfinished(out)
    assert works_done(out) == [f"first/{key}" for key in keys]
    assert contents(out) == contents(undisturbed)


def test_receipts_of_other_inputs_do_not_hold(out):
    works = [
        Work(step="first", key=receipt.key, inputs="other", call=print)
        for receipt in receipts_of(out, "first")
    ]
    assert find_receipts(out, works).receipts == {}


def test_a_work_whose_file_is_gone_is_done_again_alone(undisturbed, out):
    (lost := sorted((out / "second").iterdir())[20]).unlink()
    assert works_done(out) == [f"second/{lost.name.removeprefix('part-')}"]
    assert contents(out) == contents(undisturbed)


@pytest.mark.parametrize("number", [0, 6, 20, 39])
def test_a_shard_that_failed_moves_the_works_behind_it_between_packs(undisturbed, tmp_path, number):
    failing, out = f"{number:05d}-of-{N:05d}", tmp_path / "run"
    works_done(out, failing=failing)
    assert read_manifest(out)["status"] == "partial"
    before = {key: r for key, r in receipts(out).items() if key.startswith("first/")}
    assert len(before) == N - 1
    redone = works_done(out)
    assert redone[0] == f"first/{failing}"
    assert sum(name.startswith("first/") for name in redone) == 1
    after = receipts(out)
    assert {key: after[key] for key in before} == before
    assert contents(out) == contents(undisturbed)


class Ends(dict):
    """Receipts by key, of which one cannot be had."""

    def __contains__(self, key):
        if key == f"{2 * GROUP:06d}":
            raise KeyboardInterrupt
        return super().__contains__(key)


def test_stopped_between_two_packs_nothing_that_moves_is_lost(tmp_path):
    works, own = made(4 * GROUP, files=())
    pack_receipts(tmp_path, works[1:], own, Found())
    found = find_receipts(tmp_path, works)
    assert found.receipts.keys() == own.keys() - {works[0].key}
    with pytest.raises(KeyboardInterrupt):
        pack_receipts(tmp_path, works, Ends(own), found)
    assert find_receipts(tmp_path, works).receipts == own


def test_a_finished_run_reads_no_receipt(out):
    shutil.rmtree(out / "receipts")
    assert run(out, N) == {"works": N}
    (out / "first" / "note.txt").write_text("a file of the user's")
    found = read_manifest(out)
    assert missing_file(out, found, lambda _top: True) == out / "first", "none says what is missing"
    assert missing_file(out, found, lambda top: top != "first") is None


def test_a_file_beside_those_of_a_finished_run_changes_nothing(out):
    (out / "first" / "note.txt").write_text("a file of the user's")
    (out / "first" / "link").symlink_to("nowhere")
    assert works_done(out) == []
    assert (out / "first" / "note.txt").exists()


@pytest.mark.parametrize("layout", [None, 1, 3])
def test_a_run_of_another_layout_is_refused(out, layout):
    path = out / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "layout": layout or 1}))
    if layout is None:
        path.write_text(json.dumps({"identity": {"n": N}, "status": "running"}))
    with pytest.raises(ConfigError) as e:
        open_run(out, {"n": N})
    assert str(e.value) == (
        f"{out}: made by a version of tokenmill that keeps receipts otherwise (layout"
        f" {layout or 1}, this one reads 2); make it again into another --out, or go on with that"
        " version"
    )


def made(n, files=(("first/part", 7, "0" * 32),)):
    works = [Work(step="first", key=f"{i:06d}", inputs="i", call=print) for i in range(n)]
    own = {
        work.key: Receipt(
            step=work.step,
            key=work.key,
            inputs=work.inputs,
            files=files,
            stats=tuple((name, STATS) for name in ("read", "exact", "near")),
        )
        for work in works
    }
    return works, own


@pytest.mark.long  # of few works by the other tests of packs
def test_of_twelve_thousand_works_the_manifest_has_a_line(tmp_path, monkeypatch):
    monkeypatch.setattr(packs, "GROUP", 1000)
    works, own = made(12_000)
    names = pack_receipts(tmp_path, works, own, Found())
    assert len(names) == 12
    sizes = [path.stat().st_size for path in (tmp_path / "receipts" / "first").iterdir()]
    assert sum(sizes) < 100 * len(works)
    write_manifest(tmp_path, {"identity": {}})
    finished = Finished(receipts=list(own.values()))
    write_manifest(tmp_path, manifest(Job(out=tmp_path, identity=""), {}, finished))
    assert (tmp_path / "manifest.json").stat().st_size < 500
    assert sum(1 for _ in receipts_of(tmp_path, "first")) == len(works)


def test_packing_takes_the_memory_of_a_group(tmp_path, monkeypatch):
    monkeypatch.setattr(packs, "GROUP", 100)
    peaks = []
    for n in (100, 500):
        works, own = made(n)
        pack_receipts(tmp_path / f"warm-{n}", works, own, Found())
        found = []
        for turn in ("once", "again"):  # in one of them Python's table of names may grow
            tracemalloc.start()
            pack_receipts(tmp_path / f"{turn}-{n}", works, own, Found())
            found.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
        peaks.append(min(found))
    assert peaks[1] < 2 * peaks[0]  # of 5 times as many works; other threads allocate too


def test_what_is_packed_takes_less_than_half_of_the_memory(tmp_path):
    works, own = made(50 * GROUP)
    told = {key: json.dumps(receipt.to_json()) for key, receipt in own.items()}
    pack_receipts(tmp_path / "warm", works, own, Found())
    shares = []
    for turn in range(3):  # other threads allocate too: in one they don't
        tracemalloc.start()
        own = {key: Receipt.from_json(json.loads(text)) for key, text in told.items()}
        loose = tracemalloc.get_traced_memory()[0]
        pack_receipts(tmp_path / f"packed-{turn}", works, own, Found())
        shares.append(tracemalloc.get_traced_memory()[0] / loose)
        tracemalloc.stop()
    assert min(shares) < 1 / 2
    assert {key: json.dumps(receipt.to_json()) for key, receipt in own.items()} == told


def test_what_no_work_of_the_run_left_is_swept(out):
    stray = Receipt(step="first", key="of-an-earlier-plan", inputs="other")
    save_receipt(out, stray)
    pack_receipts(out, [stray, stray], {stray.key: stray}, Found())
    save_receipt(out, stray)
    is_unfinished(out)
    before = contents(out)
    assert works_done(out) == []
    gone = before.keys() - contents(out).keys()
    assert {name.rpartition(".")[2] for name in gone} == {"json", "gz"}
    assert len(gone) == 2
    sweep_receipts(out, {"nothing": []})


def test_the_phases_of_the_synthetic_run_are_what_they_seem(tmp_path):
    first = next(phases(Job(out=tmp_path, identity="i"), N))
    assert len(first.works) == N


def test_a_group_is_packed_as_soon_as_its_last_work_has_ended(tmp_path):
    """The works of a phase may end in any order, and fail; a pack of what there is comes then."""
    works = next(phases(Job(out=tmp_path, identity="i"), 2 * GROUP)).works
    spent = []
    packing = Packing(tmp_path, works, Found(), lambda *of: spent.append(of))
    made = {w.key: Receipt(step=w.step, key=w.key, inputs=w.inputs) for w in works}
    folder = tmp_path / "receipts" / works[0].step

    def there():
        return sorted(path.suffix for path in folder.iterdir())

    ended = [*works[:GROUP:2], works[GROUP], *works[1:GROUP:2]]
    for n, work in enumerate(ended, start=1):
        save_receipt(tmp_path, made[work.key])
        packing.note(work.key, made[work.key])
        assert there() == ([".json"] * n if n < len(ended) else [".gz", ".json"])
    assert spent == [(0, works[:GROUP])]
    for work in works[GROUP + 1 : -1]:
        save_receipt(tmp_path, made[work.key])
        packing.note(work.key, made[work.key])
    packing.note(works[-1].key, None)  # it failed
    assert there() == [".gz", ".gz"]
    assert len(spent) == 1
    keys = [receipt.key for receipt in receipts_of(tmp_path, works[0].step)]
    assert keys == [work.key for work in works[:-1]]
    assert packing.end({}) == sorted(path.name for path in folder.iterdir())
