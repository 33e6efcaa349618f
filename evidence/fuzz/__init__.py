"""Fuzz every parser with random input; each must read it correctly or refuse it with an error.

A parser's tests contain the texts that its author thought of. A *check* here states what holds for
any input: the parser returns a value or raises an error for the caller. The value equals that of a
second, slow reader, or its own text parses to the same value. Hypothesis calls the checks with
texts near valid ones (tests/property), and ``python -m evidence.fuzz`` with inputs that atheris
develops towards lines of the parser that no input has reached.
"""
