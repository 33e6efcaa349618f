"""Pictures of claims on a time line, from the record itself.

A page that has the comment ``<!-- timeline -->`` gets the picture there. It is not a sketch: the
requests of a story (three members, a crash, a successor, a lost store) are sent to a real `Record`,
and its replies are drawn. If the rules change, so does the picture.
"""

import re
from dataclasses import dataclass, field

from frazil.claims.claim import Claim, LastSeen, Terms, VerbRequest, Wait
from frazil.claims.record import Record

__all__ = ["Bar", "Story", "picture", "story", "with_pictures"]

_MARK = re.compile(r"^<!-- timeline -->$", re.MULTILINE)
_TERMS = Terms("story", "time:41 node:10 sequence:12 @1ms", range(4), 4, 1 << 41, 1000, 0, 5000)
_SECOND_US = 1_000_000
_LEFT, _SCALE, _TOP, _LANE, _RIGHT = 64, 33.0, 42, 38, 24
_BEGIN_S, _END_S = 4, 16


@dataclass(frozen=True, slots=True)
class Bar:
    """A claim as it ended: who had it, on which slot, and which part of it was used (seconds)."""

    member: str
    slot: int
    start_s: float
    used_s: float
    until_s: float


@dataclass(slots=True)
class Story:
    """Members of one record, at moments in seconds."""

    record: Record = field(default_factory=Record)
    seen: dict[str, LastSeen] = field(default_factory=dict)
    held: dict[str, Claim] = field(default_factory=dict)
    bars: list[Bar] = field(default_factory=list)
    incarnation: str = "one"

    def ask(self, member: str, at_s: float) -> VerbRequest:
        """The request of a member."""
        held = self.held.get(member)
        token = held.token if held else f"{member}{at_s}"
        seen, us = self.seen.get(member, LastSeen()), _us(at_s)
        return VerbRequest(seen, us, token, member, held, us)

    def grant(self, member: str, at_s: float, seconds: float) -> Claim | Wait:
        """A claim of so many seconds for a member that has none."""
        ask, want = self.ask(member, at_s), round(seconds * 1000)
        reply = self.record.grant(_TERMS, ask, _us(at_s), self.incarnation, want)
        self.seen[member] = ask.memory(reply, _us(at_s), _TERMS)
        if isinstance(reply, Claim):
            self.held[member] = reply
        return reply

    def renew(self, member: str, at_s: float, until_s: float) -> None:
        """Renew a member's claim."""
        ask, until = self.ask(member, at_s), round(until_s * 1000)
        reply = self.record.renew(_TERMS, ask, _us(at_s), self.incarnation, until)
        assert isinstance(reply, Claim)
        self.held[member], self.seen[member] = reply, ask.memory(reply, _us(at_s), _TERMS)

    def release(self, member: str, at_s: float) -> None:
        """Release a member's claim: its unused end is given back."""
        ask, used = self.ask(member, at_s), round(at_s * 1000)
        self.record.release(_TERMS, ask, _us(at_s), self.incarnation, used)
        self.end(member, at_s, until_s=at_s)

    def end(self, member: str, at_s: float, until_s: float | None = None) -> None:
        """A claim that is no longer used: its holder released it, or was killed."""
        claim = self.held.pop(member)
        whole_s = claim.until / 1000 if until_s is None else until_s
        self.bars.append(Bar(member, claim.slot, claim.start / 1000, at_s, whole_s))


def story() -> Story:
    """Three members, a crash, a successor on the same slot, and a store that lost everything."""
    told = Story()
    told.record.initialise(_TERMS, told.ask("A", 5.0), _us(5.0), told.incarnation, 0)
    for member, at_s in (("A", 5.0), ("B", 5.1), ("C", 5.2)):
        told.grant(member, at_s, 3.0)
    told.renew("A", 7.0, 9.0)
    told.renew("B", 7.1, 9.5)
    told.end("B", 7.5)  # killed: the rest of its claim is not used
    told.release("C", 7.0)
    told.grant("D", 7.6, 1.2)
    told.end("D", 8.2)
    told.end("A", 9.0)
    told.record, told.incarnation = Record(), "two"  # the store restarts empty
    assert isinstance(told.grant("E", 9.0, 2.0), Wait)  # E waits for 9/8 of a horizon
    told.grant("E", 14.7, 0.8)
    told.end("E", 15.5)
    return told


def picture() -> str:
    """The story as one SVG element."""
    bars = story().bars
    slots = sorted({bar.slot for bar in bars})
    height = _TOP + _LANE * len(slots) + 34
    body = [_axis(height)]
    for lane, slot in enumerate(slots):
        y = _TOP + lane * _LANE
        body.append(f'<text x="0" y="{y + 18}">node {slot}</text>')
        body += [_bar(bar, y) for bar in bars if bar.slot == slot]
    body += [_event(7.5, "B is killed", height), _event(9.0, "the store loses its data", height)]
    told = "; ".join(
        f"{bar.member} has node {bar.slot} from {bar.start_s:g} s to {bar.until_s:g} s"
        for bar in sorted(bars, key=lambda bar: bar.start_s)
    )
    width = _LEFT + _SCALE * (_END_S - _BEGIN_S) + _RIGHT
    return (
        f'<div class="chart claims"><svg viewBox="0 0 {width:g} {height}" role="img" '
        f'aria-label="Claims on a time line. {told}">{"".join(body)}</svg>'
        "<p>Filled: timestamps that a process has used. Dashed: claimed, and never used again.</p>"
        "</div>\n"
    )


def with_pictures(markdown: str) -> str:
    """The page with the picture in place of each mark."""
    return _MARK.sub(lambda _: picture(), markdown)


def _bar(bar: Bar, y: int) -> str:
    start, used, until = (_x(at_s) for at_s in (bar.start_s, bar.used_s, bar.until_s))
    text = f'<rect class="used" x="{start}" y="{y + 4}" width="{used - start:g}" height="20"/>'
    if until > used:
        text += f'<rect class="lost" x="{used}" y="{y + 4}" width="{until - used:g}" height="20"/>'
    return f'{text}<text x="{start}" y="{y}">{bar.member}</text>'


def _axis(height: int) -> str:
    y = height - 26
    ticks = "".join(
        f'<text class="quiet" x="{_x(second)}" y="{y + 18}" text-anchor="middle">{second} s</text>'
        for second in range(_BEGIN_S, _END_S + 1, 2)
    )
    return f'<line class="axis" x1="{_x(_BEGIN_S)}" x2="{_x(_END_S)}" y1="{y}" y2="{y}"/>{ticks}'


def _event(at_s: float, words: str, height: int) -> str:
    x = _x(at_s)
    anchor = "end" if at_s < 8 else "start"
    side = x - 5 if at_s < 8 else x + 5
    return (
        f'<line class="fault" x1="{x}" x2="{x}" y1="8" y2="{height - 26}"/>'
        f'<text class="fault" x="{side:g}" y="18" text-anchor="{anchor}">{words}</text>'
    )


def _x(at_s: float) -> float:
    return round(_LEFT + (at_s - _BEGIN_S) * _SCALE, 1)


def _us(at_s: float) -> int:
    return round(at_s * _SECOND_US)
