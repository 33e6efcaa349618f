"""Runs the fenced blocks of a Markdown page and compares what they show with what happens.

A page's blocks run from top to bottom in one empty folder; there are two kinds that run.

``python``: one namespace for the whole page. What a statement shows, its value or what it printed
or the error it raised, is written in ``# →`` comments, on its last line or in the lines below it,
one comment for each line of output. A statement without one is only run, and may not raise::

    frazil.scheme("tsid").layout.width      # → 64
    frazil.parse_duration("two")            # → ConfigError: not a duration
    print("one", "two", sep=chr(10))
    # → one
    # → two

``console``: each line that begins with ``$`` is a command for the shell (a backslash at its end
continues it), and the lines up to the next one are its output, both streams together. A command
that fails shows ``[exit 1]`` as its last line.

A block shows a whole output that was seen, without a wildcard. What differs from run to run is
told in a comment above it: ``<!-- varies: 1423871704681156227, 12.3 -->`` lets each of these parts
of its output be any text.

A block of another kind, or one that cannot run, carries the reason on the line above it:
``<!-- not run: reason -->``. One that needs a file from outside says so there:
``<!-- needs: /path (where it comes from) -->``; it runs where the file is, and in CI the file has
to be there. ``<!-- file: path -->`` there makes the block a file of that folder, for commands
further down, instead of running it.

Ports that a page names may be taken where it is run. A page that says
``<!-- free ports: 8080 6380 -->`` is run with free ones in their place. A page that says
``<!-- postgres: localhost:5432 -->`` is run with a PostgreSQL of its own, whose address stands in
place of that one; its superuser ``postgres`` needs no password, and there is a database ``app``.
"""

import ast
import contextlib
import io
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"(?P<indent> *)(?P<fence>```+|~~~+)\s*(?P<kind>\S*)")
_NOT_RUN = re.compile(r"\s*<!-- not run: (?P<reason>.+?) -->\s*")
_NEEDS = re.compile(r"\s*<!-- needs: (?P<path>\S+) (?P<origin>\(.+\)) -->\s*")
_FILE = re.compile(r"\s*<!-- file: (?P<path>[\w./-]+) -->\s*")
_VARIES = re.compile(r"\s*<!-- varies: (?P<parts>.+) -->\s*")
_POSTGRES = re.compile(r"<!-- postgres: (\S+) -->")
_PORTS = re.compile(r"<!-- free ports: ([\d ]+) -->")
_END_S = 3.0
_ARROW = re.compile(r"# → ?(.*)")


@dataclass(frozen=True)
class Block:
    """A fenced block: its page, the line its text begins on, its kind, and why it is not run.

    file: where its text is kept, instead of being run. varies: parts of its output that may differ.
    """

    page: Path
    line: int
    kind: str
    text: str
    not_run: str | None = None
    needs: str | None = None
    file: str | None = None
    varies: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def needs_postgres(page: Path) -> bool:
    """Whether a page is run with a PostgreSQL of its own."""
    return _POSTGRES.search(page.read_text(encoding="utf-8")) is not None


def blocks(page: Path, postgres: str | None = None) -> Iterator[Block]:
    """The fenced blocks of a page, in order; one that is never closed is an error.

    postgres: the address (host:port) of the server that the page needs.
    """
    text = _with_free_ports(page.read_text(encoding="utf-8"))
    named = _POSTGRES.search(text)
    if named and postgres:
        text = text.replace(named[1], postgres)
        for key, old, new in zip(
            ("HOST", "PORT"), named[1].split(":"), postgres.split(":"), strict=True
        ):
            text = text.replace(f'"{key}": "{old}"', f'"{key}": "{new}"')
    lines = iter(enumerate(text.splitlines(), 1))
    above: list[str] = []
    for number, line in lines:
        opening = _FENCE.match(line)
        if opening is None:
            if line.strip():
                above = [*above, line] if line.lstrip().startswith("<!--") else []
            continue
        body: list[str] = []
        for _, inner in lines:
            if inner.strip() == opening["fence"]:
                break
            body.append(inner.removeprefix(opening["indent"]))
        else:
            raise AssertionError(f"{page.name}:{number}: this block is never closed")
        yield _block(page, number + 1, opening["kind"], "\n".join(body), above)
        above = []


def _block(page: Path, line: int, kind: str, text: str, above: list[str]) -> Block:
    """A block with what the comments directly above it say."""

    def said(pattern: re.Pattern[str], name: str) -> str | None:
        found = next(filter(None, map(pattern.fullmatch, above)), None)
        return found and found[name]

    listed = said(_VARIES, "parts")
    varies = tuple(listed.split(", ")) if listed else ()
    for part in varies:
        if part not in text:
            raise AssertionError(f"{page.name}:{line}: {part!r} varies, and is not in the block")
    reason = said(_NOT_RUN, "reason")
    return Block(page, line, kind, text, reason, said(_NEEDS, "path"), said(_FILE, "path"), varies)


def _with_free_ports(text: str) -> str:
    """A page's text with free ports instead of those that it lists as such."""
    listed = _PORTS.search(text)
    with contextlib.ExitStack() as taken:  # all at once, so that they differ
        for port in listed[1].split() if listed else []:
            one = taken.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            text = re.sub(rf"\b{port}\b", str(one.getsockname()[1]), text)
    return text


def matches(expected: str, actual: str, varies: tuple[str, ...] = ()) -> bool:
    """Whether a text is as expected, but for what varies and for spaces at the ends of lines.

    Where something varies, so does the width of its column: spaces and rules are of any length.
    """

    def trim(text: str) -> str:
        text = "\n".join(line.rstrip() for line in text.strip("\n").splitlines())
        return re.sub(r"([ ─])\1+", r"\1", text) if varies else text

    longest_first = sorted(map(trim, varies), key=len, reverse=True)
    free = re.compile("|".join(map(re.escape, longest_first)) or "(?!)")
    pattern = ".*?".join(re.escape(part) for part in free.split(trim(expected)))
    return re.fullmatch(pattern, trim(actual), re.DOTALL) is not None


def run_python(block: Block, namespace: dict[str, Any]) -> None:
    """Run the statements of a block, and compare what each shows with its arrows."""
    lines = block.text.splitlines()
    body = ast.parse(block.text).body
    for statement, after in zip(body, [*body[1:], None], strict=True):
        first, last = statement.end_lineno or 0, after.lineno - 1 if after else len(lines)
        found = [_ARROW.search(line) for line in lines[first - 1 : last]]
        arrows = [arrow[1] for arrow in found if arrow]
        shown = _execute(statement, block, namespace, may_raise=bool(arrows))
        if arrows:
            place = f"{block.page.name}:{block.line + first - 1}"
            _compare("\n".join(arrows), shown, f"{place}: {ast.unparse(statement)}", block)


def _execute(
    statement: ast.stmt, block: Block, namespace: dict[str, Any], *, may_raise: bool
) -> str:
    """What one statement shows: its value, what it printed, or the error that it raised."""
    ast.increment_lineno(statement, block.line - 1)
    printed, value = io.StringIO(), None
    try:
        with contextlib.redirect_stdout(printed):
            if isinstance(statement, ast.Expr):
                expression = ast.Expression(statement.value)
                value = eval(compile(expression, block.page, "eval"), namespace)
            else:
                exec(compile(ast.Module([statement], []), block.page, "exec"), namespace)
    except Exception as error:
        if not may_raise:
            raise
        return f"{printed.getvalue()}{type(error).__name__}: {error}"
    return printed.getvalue() + ("" if value is None else repr(value))


def commands(block: Block) -> list[tuple[str, str]]:
    """The commands of a console block, each with the output that the page shows."""
    found: list[tuple[str, str]] = []
    for line in block.text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), ""))
        elif found:
            command, output = found[-1]
            found[-1] = (command, f"{output}{line}\n")
        else:
            raise AssertionError(f"{block}: output without a command")
    return found


def run_console(block: Block, folder: Path) -> None:
    """Run the commands of a block in ``folder``, and compare what each prints."""
    beside_python = str(Path(sys.executable).parent)
    environment = {
        **os.environ,
        "COLUMNS": "100",
        "HOME": str(folder),
        "NO_COLOR": "1",
        "PATH": os.pathsep.join([beside_python, os.environ.get("PATH", os.defpath)]),
        "PYTHONIOENCODING": "utf-8",
        "TZ": "UTC",
    }
    for command, expected in commands(block):
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
            check=False,
        )
        shown = done.stdout.decode("utf-8")
        if done.returncode:
            shown = f"{shown.rstrip()}\n[exit {done.returncode}]\n"
        _compare(expected, shown, f"{block}: $ {command}", block)


def end_all(folder: Path) -> None:
    """End what a page has started in ``folder`` and left running there, at last by SIGKILL.

    A pool of processes that all get a SIGTERM may wait for each other without end.
    """
    for signum in (signal.SIGTERM, signal.SIGKILL):
        for number in _left_in(folder):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signum)
        until = time.monotonic() + _END_S
        while _left_in(folder) and time.monotonic() < until:
            time.sleep(0.05)


def _left_in(folder: Path) -> list[int]:
    """The processes whose folder this is, without this one."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):  # gone by now, or somebody else's
            if place.resolve(strict=True) == folder:
                found.append(int(place.parent.name))
    return [number for number in found if number != os.getpid()]


def _compare(expected: str, shown: str, what: str, block: Block) -> None:
    if not matches(expected, shown, block.varies):
        raise AssertionError(f"{what}\n-- the page says\n{expected}\n-- what happens\n{shown}")
