"""Hashes that are near each other, slowly: every pair."""


def first_near(hashes, distance):
    """Of each hash the first that differs in no more than `distance` bits, itself included."""
    return [
        next(j for j, other in enumerate(hashes) if (h ^ other).bit_count() <= distance)
        for h in hashes
    ]
