"""What the method claims of itself."""

import numpy as np
import pytest

from tests.pipelines.contamination.disguises import DISGUISES
from tests.pipelines.contamination.planting import (
    edited,
    fitting,
    plants,
    read_documents,
    read_index,
    results,
)
from tokenmill.pipelines.contamination.model import Settings
from tokenmill.pipelines.contamination.report import EDITED_FRAC, method_section


@pytest.mark.parametrize(
    ("settings", "halves", "fewer"),
    [
        ({"verdict": 0.5}, True, True),
        ({"verdict": "gpt3"}, True, False),
        ({"verdict": 0.5, "ngram": 13}, True, False),
        ({"verdict": 0.5, "words": "whitespace"}, False, False),
    ],
)
def test_it_says_what_a_word_of_scripts_without_spaces_is(settings, halves, fewer):
    folding = {"entities": True}
    of = Settings(**{"ngram": "auto", "folding": folding, "most_docs": 10, **settings})
    procedure = method_section(of).blocks[0]
    assert ("characters or grapheme clusters" in procedure) == halves
    assert ("an n-gram is 16 of Han and Kana, 16 to 20 clusters" in procedure) == fewer


@pytest.mark.long  # by test_planted's edited copies
def test_as_many_edited_copies_are_seen_as_is_said(shared_data):
    index, documents = read_index(shared_data), fitting(read_documents(shared_data))
    for one_in, said in EDITED_FRAC.items():
        name = f"one word in {one_in}"
        planted = plants(index, documents, DISGUISES[name], 60, name)
        found = [np.mean([r.found for r in seen(index, planted)]) for seen in (results, edited)]
        assert found == pytest.approx(said, abs=0.03)
