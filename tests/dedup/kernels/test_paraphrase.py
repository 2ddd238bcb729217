"""Stems of words, and the best window of a text's terms, beside slow twins."""

from itertools import pairwise, product

import numpy as np
import pytest

from tests.dedup.kernels.plain import plain
from tokenmill.dedup.kernels import gram_words
from tokenmill.dedup.kernels import paraphrase as kernels
from tokenmill.dedup.kernels.paraphrase import Room, Terms, Texts

ENDINGS = ["", "s", "ss", "ing", "ings", "ing0", "xng", "inx", "ed", "eds", "xd", "e", "es", "ess"]
WORDS = [f"{'abcdefgh'[:n]}{ending}" for n, ending in product(range(9), ENDINGS)]
OTHERS = ["0", "9times", "/ings", ":eds", "é", "éclairings", "aéings", "abcdefghé", "ñandúes"]
OTHERS += [
    "학교에서",
    "학a교",
    "\uac00가가",
    "\ud7a3가가",
    "\ud7a4가가",
    "\uabff가가",
    "ж" * 9,
    "東京都",
]


def spelled(word):
    """As `spell_words` has it, with as much behind it as is read."""
    out, k = np.zeros(4 * len(word) + 8, np.uint8), np.uint64(0)
    for c in word:
        k = plain(gram_words.encode)(np.uint32(ord(c)), out, k)
    return out, k


def stem(word):
    if "0" <= word[0] <= "9":
        return word
    if not word.isascii():
        return word[: 2 if "가" <= word[0] <= "힣" else 6]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    for ending, least in (("ing", 5), ("ed", 4), ("e", 3)):
        if word.endswith(ending) and len(word) > least:
            return word.removesuffix(ending)[:6]
    return word[:6]


@pytest.mark.parametrize("word", [word for word in (*WORDS, *OTHERS) if word])
def test_a_stem_is_the_first_of_a_word_without_its_ending(word):
    letters, end = spelled(word)
    got = plain(kernels.stem_end)(letters, np.uint64(0), end)
    assert letters[: int(got)].tobytes() == spelled(stem(word))[0][: int(got)].tobytes()
    assert got == spelled(stem(word))[1]


def test_scripts_whose_words_are_characters_begin_and_end():
    borders = {0xE00: True, 0x10A0: False, 0x1780: True, 0x1800: False, 0x2E80: True, 0xAC00: False}
    borders |= {0xD7A4: True}
    for cp, is_alone in borders.items():
        told = [plain(kernels.is_alone)(np.uint64(c)) for c in (cp - 1, cp, cp + 1)]
        assert told == [not is_alone, is_alone, is_alone], hex(cp)
        if cp >= 0x80:
            assert plain(kernels.code_point)(spelled(chr(cp))[0], np.uint64(0)) == cp


@pytest.mark.parametrize("cp", [0x80, 0xFFFF, 0x10000, 0x20000, 0x10FFFF])
def test_a_character_is_read_as_it_was_spelled(cp):
    assert plain(kernels.code_point)(spelled(chr(cp))[0], np.uint64(0)) == cp


def hashes_of(docs):
    texts = [[spelled(word) for word in doc] for doc in docs]
    letters = [out[: int(k)] for doc in texts for out, k in doc] + [np.zeros(8, np.uint8)]
    ends = np.cumsum([int(k) for doc in texts for _, k in doc])
    doc_words = np.cumsum([0, *map(len, docs)])
    hashes = np.zeros(len(ends), np.uint64)
    plain(kernels.hash_stems)(np.concatenate(letters), ends, doc_words, hashes)
    return [hashes[a:b].tolist() for a, b in pairwise(doc_words)]


def test_hashes_are_of_stems_and_of_characters_with_the_one_before():
    doc = ["walks", "walking", "12", "1", "東", "京", "東", "京", "都", "12"]
    one, two, three = hashes_of([doc, ["京", "talk", "京", "12"], []])
    assert one[0] == one[1]
    assert {one[2], one[9]} == {two[3]}
    assert [h & 2 for h in (*one, *two)] == [
        2 * w[0].isdigit() for w in (*doc, "京", "t", "京", "1")
    ]
    assert two[0] == two[2]
    assert one[5] == one[7] != two[0]
    assert one[4] != one[6]  # alone, and behind 京
    assert len({0, *one, *two}) == 10
    assert three == []


def test_stems_are_found_in_the_table_they_were_entered_in():
    hashes = np.array([7, 1 << 63, 9, 7 + (1 << 40), 11, 0xFFFFFFFFFFFFFFFF, 13], np.uint64)
    terms, shift = np.array([3, 0, 3, 1, 2, 5, 4], np.int32), np.uint64(61)
    table, of_slots = np.zeros(8, np.uint64), np.zeros(8, np.int32)
    plain(kernels.enter_terms)(hashes, terms, table, of_slots, shift)
    assert sorted(table.tolist()) == sorted([0, *hashes.tolist()])
    asked = np.append(hashes[::-1], np.array([8, 10], np.uint64))
    found = np.zeros(9, np.int32)
    plain(kernels.look_up)(asked, Terms(table, of_slots, shift), found)
    assert found.tolist() == [*terms[::-1].tolist(), -1, -1]


def best_of(words, own, weights, start, stop, reach):
    """Weight, last and first word of the best window; the one that ends first."""
    best = (0, 0)
    for last in range(start, stop):
        there = {w for w in words[max(last + 1 - reach, start) : last + 1] if w in own}
        weight = sum(weights[own.index(w)] for w in there)
        best = (weight, last) if weight > best[0] else best
    weight, last = best
    first = last + 1
    while sum(weights[own.index(w)] for w in set(words[first : last + 1]) & set(own)) < weight:
        first -= 1
    return weight, last, first


@pytest.mark.parametrize("seed", range(40))
def test_the_best_window_is_the_heaviest_that_ends_first_and_is_cut_to_its_terms(seed):
    rng = np.random.default_rng(seed)
    n_words = int(rng.integers(1, 4))
    own = rng.permutation(6)[:3].astype(np.int32)
    other = np.array([0], np.int32)
    terms = np.concatenate([other, own])  # those of the text before, and its own
    weights, numbers = rng.integers(1, 9, 4), rng.integers(0, 2, 4).astype(np.uint8)
    offsets = np.array([0, 1, 4])
    texts = Texts(np.array([9, n_words]), offsets, terms, weights, numbers, np.zeros(2, np.int64))
    words = rng.integers(-1, 6, 40).astype(np.int32)
    start, stop = np.sort(rng.integers(0, 41, 2)).tolist()
    near = np.array([[0, 0, 0, 0], [start, stop, 0, 0]])
    room = Room(
        words, np.zeros((2, 3), np.int64), near, np.zeros(2, np.int64), np.zeros(6, np.int32),
        np.zeros(8, np.int64),
    )  # fmt: skip
    plain(kernels.weigh)(1, texts, room)
    reach = n_words + n_words // 2 + 4
    weight, last, first = best_of(
        words.tolist(), own.tolist(), weights[1:].tolist(), start, stop, reach
    )
    assert near[1].tolist() == [start, stop, weight, last]
    assert not room.places.any()
    assert not room.counts.any()
    if weight:
        hit = np.zeros(7, np.int64)
        plain(kernels.note)(1, texts, room, hit)
        there = [k for k, term in enumerate(own.tolist()) if term in words[first : last + 1]]
        of_numbers = [int(weights[1 + k]) for k in there if numbers[1 + k]]
        assert hit.tolist() == [0, 1, first, last, weight, sum(of_numbers), len(of_numbers)]
        assert not room.places.any()
        assert not room.counts.any()


@pytest.mark.parametrize("begin", [0, 5])
def test_three_anchors_that_differ_stand_within_reach(begin):
    rng, most = np.random.default_rng(begin), kernels.MOST_ANCHORS
    for _ in range(30):
        lasts, met, reach = np.full(3, -1), [], 6
        for i in np.flatnonzero(rng.random(20) < 0.6) + begin:
            slot = int(rng.integers(0, 4))
            told = plain(kernels.met_last)(int(i), begin, slot, reach, lasts)
            met = [(i, slot), *(one for one in met if one[1] != slot)]
            assert lasts.tolist()[: len(met)] == [at * most + of for at, of in met[:3]]
            assert told == (len(met) > 2 and met[2][0] >= max(i + 1 - reach, begin))
