"""A violation of an invariant, which ends a run."""

__all__ = ["Overlap", "Violation"]


class Violation(BaseException):
    """An invariant does not hold. Handlers of ``Exception`` do not catch it."""


class Overlap(Violation):
    """Something was granted or issued twice."""
