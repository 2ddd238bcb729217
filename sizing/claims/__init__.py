"""Published claims, recomputed: sizing.claims.check_all()."""

from tokenmill.sizing.claims.check import ClaimVerdict, FigureVerdict, check, check_all

__all__ = ["ClaimVerdict", "FigureVerdict", "check", "check_all"]
