"""Every text that people and files bring in: it is read, or refused as theirs to fix.

The checks are those of ``python -m evidence.fuzz``. Texts are random, or valid ones with something
changed, since random text alone is refused at the first character; and valid ones a hundred
thousand times over, which a reading in square time would not come to the end of.
"""

import signal
from contextlib import contextmanager

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import frazil
from evidence.fuzz.accepted import accepted
from evidence.fuzz.targets import TARGETS
from evidence.fuzz.urls import check_url
from frazil.inputs.kinds import KINDS
from frazil.schemes.scheme import PRESETS

LAYOUTS = [preset.layout for preset in PRESETS.values()]
LONG = 200_000
HANG_S = 30
EXAMPLES = settings.default.max_examples // 2  # for each of many ways in
SLOW = {"inspect", "codec"}  # a command, and many codecs, for each input


@st.composite
def changed(draw, inputs):
    """One of the inputs with a few bytes replaced, added or left out, or some of another."""
    data = draw(st.sampled_from(inputs))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(data)))
        cut = draw(st.integers(0, 3))
        other = draw(st.sampled_from(inputs))
        start = draw(st.integers(0, len(other)))
        put = draw(st.binary(max_size=3) | st.just(other[start : start + 8]))
        data = data[:at] + put + data[at + cut :]
    return data


@pytest.mark.parametrize("name", TARGETS)
def test_an_input_near_a_valid_one_is_read_or_refused(name):
    target = TARGETS[name]
    texts = st.text(st.characters(exclude_categories=()), max_size=60)
    written = texts.map(lambda text: text.encode("utf-8", "surrogatepass"))

    @settings(max_examples=EXAMPLES // 2 if name in SLOW else EXAMPLES)
    @given(written | changed(target.seeds))
    def check(data):
        target.check(data)

    check()


@contextmanager
def in_time():
    """Ends what does not come to its end by itself; regular expressions let themselves be ended.

    The time is the processor's, which a busy machine does not lengthen much.
    """

    def hang(*_):
        raise AssertionError(f"it takes more than {HANG_S} s")

    before = signal.signal(signal.SIGPROF, hang)
    signal.setitimer(signal.ITIMER_PROF, HANG_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@pytest.mark.parametrize("name", TARGETS)
def test_long_inputs_come_to_their_end(name):
    target = TARGETS[name]
    for seed in target.seeds:
        target.check(seed)
    with in_time():
        for seed in (target.seeds[0], target.seeds[-1]):
            first, middle = seed[:1], seed[len(seed) // 2 :][:1]
            for long in (seed * (LONG // len(seed)), seed + middle * LONG, first * LONG):
                target.check(long)
        for pair in (b" a", b"a:", b"://:", b"0_", b"[[", b'"', b"9", b"\n", b"a_", b"?a=&"):
            target.check(target.seeds[0][:1] + pair * (LONG // len(pair)))


@pytest.mark.parametrize("kind", sorted(KINDS))
@settings(max_examples=EXAMPLES // 2)
@given(rest=st.text(max_size=30))
@example(rest="//h:" + "9" * 5000)  # more digits than int() takes
@example(rest="//h:99999")
@example(rest="//h:0")
@example(rest="//user:secret1Ahost:6379")  # a mistyped @
@example(rest="//h:\u0663")  # a digit, of another script
@example(rest="//h/" + "1" * 5000)
@example(rest="//h?replicas=" + "9" * 5000)
@example(rest="//h?shards=\u0663")
@example(rest="//h?prefetch=" + "9" * 5000)
@example(rest="//h/path")
@example(rest="///a#1.db")
@example(rest="env:\ud800")
@example(rest="///a%00b")
@example(rest="//us\x1der:secret1@h")  # what hides passwords takes it for a space
@example(rest="//us\ner:secret1@h")  # what takes URLs apart leaves it out
@example(rest="//user:se cret1@h")
@example(rest="//me@corp:secret1@h")
@example(rest="//a,[::1]:7,[not-an-address]:7")
@example(rest="7?state=a\0b")
@example(rest="//h/\udc80")
@example(rest="//h?timeout=999999999999999999d")
def test_urls_of_each_kind(kind, rest):
    check_url(f"{kind}:{rest}")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("epoch", b"2025W01T05"),  # a time of day of no zone
        ("epoch", b"20250101T000000+0100\0"),
        ("holder", b"h:1 " + b"9" * 5000 + b"/s"),
        ("holder", b"h:1 007/s"),
        ("settings", b"a=" + b"[" * 100_000),
        ("settings", b"a=" + b"9" * 5000),
    ],
)
def test_inputs_that_once_failed(name, data):
    TARGETS[name].check(data)


@given(st.sampled_from(LAYOUTS), st.integers(), st.text(max_size=8))
def test_numbers_and_names(text, number, name):
    """Values that do not fit a layout are refused by field, value and limit."""
    layout = frazil.Layout.parse(text)
    values = dict.fromkeys((field.name for field in layout.fields if field.fixed is None), number)
    packed = accepted(layout.pack, **values)
    if packed is not None:
        read = layout.unpack(packed)
        assert all(read[field] == number for field in values)
    accepted(layout.pack, **{**values, name: 1})
    accepted(layout.unpack, number)
