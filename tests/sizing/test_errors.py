"""What was written is looked for within names first; spelling comes second."""

from tokenmill.sizing.errors import nearest, shown

TIERS = ["NFS nconnect", "old FSx", "FSx Lustre 125", "FSx Lustre 250", "S3"]


def test_names_that_contain_it_come_before_those_that_look_alike():
    assert nearest("fsx", ["fs", *TIERS], most=3) == ["FSx Lustre 125", "FSx Lustre 250", "old FSx"]
    assert nearest("fsx lustre", TIERS, most=1) == ["FSx Lustre 125"]


def test_else_those_spelled_alike():
    assert nearest("FSx Lustra 250", TIERS, most=1) == ["FSx Lustre 250"]
    assert nearest("tape", TIERS, most=3) == []


def test_one_letter_is_no_part():
    assert nearest("x", TIERS, most=3) == []


def test_of_names_that_differ_in_punctuation_the_first_is_meant():
    assert nearest("s-3", ["S3", "s3"], most=3) == ["S3"]


def test_a_value_of_20000_digits_is_shown_by_its_beginning():
    assert shown("7" * 150) == repr("7" * 150)
    assert shown("7" * 20_000) == f"'{'7' * 199}… (20,002 characters)"
