# The verbs of this house; one verb is one line. They work in the active environment.

# Style, floors and types; changes nothing.
check:
    ruff check . && ruff format --check . && mypy --strict && lint-imports

# Put right what a tool can put right.
fix:
    ruff check --fix . && ruff format .

# The tests that are not long, or those of a path, against the installed package.
test *args:
    pytest {{args}}

# Every stage of CI, or those that are named.
ci *stages:
    .ci/run {{stages}}

# Measure frazil beside its peers and write the table.
bench *args:
    python -m benchmarks {{args}}

# Take the pictures of the console in docs/ again.
pictures:
    python -m tests.browser.pictures

# Run every block of the README and of docs/.
docs:
    pytest tests/house/test_docs.py
