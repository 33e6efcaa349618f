"""The README: short, without a trace of its tests, and with figures that can be found elsewhere."""

import re
from pathlib import Path

from click.testing import CliRunner

from evidence.simulator import KINDS
from frazil.cli import main
from frazil_torture.faults import FAULTS

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LAYOUTS = (ROOT / "docs" / "start" / "layout.md").read_text(encoding="utf-8")
TORTURE = (ROOT / "docs" / "evidence" / "torture.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "BENCHMARKS.md").read_text(encoding="utf-8")
LINES_MOST = 120


def compared(name):
    """The cells of a row of the README's comparison, after its name."""
    (row,) = re.findall(rf"^\| {name} \| (.+) \|$", README, re.MULTILINE)
    return row.split(" | ")


def torture_table():
    """The columns of the table of torture: for each system, a text for each line."""
    table = re.search(r"^\| fault \|.*?\n\n", TORTURE, re.MULTILINE | re.DOTALL)[0]
    rows = [
        [cell.strip(" †").replace(",", "") for cell in line.strip("|").split("|")]
        for line in table.strip().splitlines()
    ]
    return {column[0]: column[2:] for column in zip(*rows, strict=True)}


def tortured(system):
    """The IDs of a system under all faults, and how many of them repeated."""
    _, issued, *faults = torture_table()[system.replace(",", "")]
    return int(issued), sum(int(cell) for cell in faults if cell.isdigit())


def single_ns(subject):
    """The median of a subject in the first table of the benchmarks."""
    table = BENCHMARKS.partition("## One ID per call, one thread")[2].partition("## ")[0]
    (found,) = re.findall(rf"^\| {re.escape(subject)} \| (\S+) ", table, re.MULTILINE)
    return float(found)


def test_the_table_of_schemes_is_fresh():
    printed = CliRunner().invoke(main, ["plan", "--markdown"]).output
    assert printed in LAYOUTS, "run: frazil plan --markdown"


def test_it_can_be_read_in_a_minute():
    lines = README.splitlines()
    assert len(lines) <= LINES_MOST
    assert next(n for n, line in enumerate(lines, 1) if line.startswith("```")) <= 20


def test_a_reader_sees_no_wildcard():
    shown = re.sub(r"<!--.*?-->", "", README, flags=re.DOTALL)
    assert not [block for block in shown.split("```")[1::2] if "…" in block]


def test_the_repeats_are_those_of_the_table_of_torture():
    ours, uuids, flakes, _ = compared("IDs that repeated")
    frazil = [tortured(f"frazil, {store}") for store in ("sqlite:", "redis:")]
    assert ours == f"{sum(n for _, n in frazil)} of {sum(n for n, _ in frazil) // 10**6} million"
    random = [tortured("uuid-utils"), tortured("fastuuidv7")]
    assert uuids == f"{sum(n for _, n in random)} of {sum(n for n, _ in random) // 10**6} million"
    issued, repeated = tortured("oneflake")
    assert flakes == f"up to {repeated / 1e6:.1f} of {issued / 1e6:.1f} million"


def test_the_speeds_are_those_of_the_benchmarks():
    ours, uuids, flakes, _ = compared("ns per ID")
    assert ours == f"{single_ns('frazil'):.0f}"
    assert uuids == f"{single_ns('fastuuidv7, gen_id'):.0f} to {single_ns('uuid-utils, uuid7'):.0f}"
    slow = single_ns("flakeid")
    assert flakes == f"{single_ns('oneflake, 20-bit sequence'):.0f} to {slow:,.0f}"
    assert f"`object()` takes {single_ns('object()'):.0f} ns" in README


def test_the_faults_are_counted():
    _, _, *names = torture_table()["fault"]
    # Two of a server that only frazil has, and one of order, which the table does not count.
    own = {"failover", "sequences", "messages"}
    assert sorted(names) == sorted(FAULTS.keys() - own)
    assert f"under {len(names)} faults" in README
    assert f"under {len(KINDS)} kinds of faults" in " ".join(README.split())
