from tokenmill.pipelines.runs.work import Work, chained


def works(chains):
    return [Work(step="s", key=str(i), inputs="", call=dict, chain=c) for i, c in enumerate(chains)]


def keys(made):
    return [[work.key for work in chain] for chain in made]


def test_works_of_a_chain_stay_together_and_in_order():
    assert keys(chained(works("aab"), 1)) == [["0", "1"], ["2"]]
    assert keys(chained(works(["", "", "x", "x"]), 1)) == [["0"], ["1"], ["2", "3"]]
    assert chained([], 4) == []


def test_long_chains_are_cut_until_every_worker_has_one():
    assert keys(chained(works("aaaaa"), 2)) == [["0", "1", "2"], ["3", "4"]]
    assert keys(chained(works("aaaab"), 3)) == [["0", "1"], ["2", "3"], ["4"]]
    assert keys(chained(works("ab"), 8)) == [["0"], ["1"]]


def test_no_work_is_lost():
    for n in range(8):
        made = chained(works("abbbbbbccc"), n)
        assert [k for chain in keys(made) for k in chain] == [str(i) for i in range(10)]
