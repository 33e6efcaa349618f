"""Fuzz every parser with random input; each must read it correctly or refuse it with an error.

A parser's tests show the texts that its author thought of. Here a *check* says what must hold for
any input at all: nothing comes out but a value or an error for the caller, and a value is what a
second, slow reading of the same text gives, or comes back equal from its own text. Hypothesis calls
the checks with texts near valid ones (tests/property), and ``python -m fuzz`` with inputs that
atheris grows towards lines of the parser that no input has reached.
"""

__all__: list[str] = []
