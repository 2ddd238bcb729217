import hashlib
import unicodedata

import numpy as np
import pytest

from tests.dedup.text.frozen import columns_of, gram_form, made_fold_tables
from tokenmill.dedup.text import fold_tables
from tokenmill.dedup.text.fold_tables import FOLD_VERSION, lookalikes, tables
from tokenmill.dedup.text.unicode import N_CODE_POINTS, UNICODE_VERSION, lower_of


def test_tables_have_not_changed():
    """Other tables mean other hits: raise FOLD_VERSION, so that no run goes on with both."""
    assert FOLD_VERSION == "2"
    held = tables()
    maps = (held.compat, held.marks, held.twins, lookalikes())
    content = [sorted(chars.items()) for chars in maps], sorted(held.latin), sorted(held.inner)
    digest = hashlib.sha256(repr(content).encode("unicode-escape")).hexdigest()
    assert digest == "d6e96db0752b02b6127aaf966ffc422b4584bac132d4f34987c49a2d1597635b"


@pytest.mark.skipif(
    unicodedata.unidata_version != UNICODE_VERSION,
    reason=f"this interpreter has Unicode {unicodedata.unidata_version}",
)
def test_tables_are_the_interpreters():
    assert made_fold_tables() == tables()


def test_tables_of_another_version_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "fold_tables.npz"
    np.savez(path, **columns_of(tables()) | {"version": np.array("15.0.0")})
    monkeypatch.setattr(fold_tables, "FILE", path)
    with pytest.raises(RuntimeError) as e:
        tables.__wrapped__()
    assert str(e.value) == (
        "fold_tables.npz holds Unicode '15.0.0', this version needs '14.0.0'; reinstall the package"
    )


def test_lookalikes_are_letters_of_other_alphabets():
    known = lookalikes()
    assert len(known) == 251
    assert all(char.isalpha() and char not in tables().latin for char in known)
    assert all(letter.isascii() and letter.isalpha() for letter in known.values())
    assert known["\u0430"] == "a"
    assert known["\u0406"] == "I"


@pytest.mark.long  # drawn letters by test_fold
def test_what_a_latin_letter_looks_like_does_not_depend_on_its_case():
    twins = tables().twins
    small = {chr(cp): chr(lower_of(cp)) for cp in range(N_CODE_POINTS)}
    assert all(char in twins for char, lower in small.items() if lower in twins)
    assert all(twins.get(small[char], to) == to for char, to in twins.items())


def test_gram_form_is_what_gram_words_see():
    assert gram_form("“A-B”\u00a0İ\tΣ$") == "ab i \u03c3"
