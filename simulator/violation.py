"""A violation of an invariant, which ends a run."""

__all__ = ["Violation"]


class Violation(BaseException):
    """An invariant does not hold. Handlers of ``Exception`` do not catch it."""
