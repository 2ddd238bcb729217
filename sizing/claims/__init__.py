"""Published claims, recomputed: sizing.claims.check_all()."""

from sizing.claims.check import ClaimVerdict, FigureVerdict, check, check_all

__all__ = ["ClaimVerdict", "FigureVerdict", "check", "check_all"]
