# The project's commands, one line each. They use the active environment.

# Style, types, import contracts and the rules of the tree; changes nothing.
check:
    ruff check . && ruff format --check . && mypy --strict && pyright && lint-imports && pytest tests/house/test_tidy.py

# Correct what ruff can correct.
fix:
    ruff check --fix . && ruff format .

# The tests that are not long, or those of a path, against the installed package.
test *args:
    pytest {{args}}

# Every stage of CI, or those that are named.
ci *stages:
    .ci/run {{stages}}

# Measure frazil beside other packages and write the table.
bench *args:
    python -m evidence.benchmarks {{args}}

# Take the screenshots of the console in docs/how-to/console/ again.
pictures:
    python -m tests.browser.pictures

# Build the documentation site in build/site, and refuse a link that leads nowhere.
site:
    mkdocs build --strict

# Run every block of the README and of docs/.
docs:
    pytest tests/house/test_docs.py

# Build the source distribution and the wheel into dist/, twice, and compare the two.
build:
    release/build
