"""A violation: what ends a run in which something does not hold."""

__all__ = ["Violation"]


class Violation(BaseException):
    """An invariant does not hold. No handler for mere errors may stop it."""
