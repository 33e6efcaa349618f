"""``frazil inspect``: the content of an ID, as text, JSON and SVG.

And the search for the process that made an ID, in the program's logs.
"""

import json
import re
import subprocess
import sys
from xml.etree import ElementTree as ET

import pytest
from rich.console import Console

import frazil
from frazil.layout.drawing import draw
from frazil.schemes.scheme import scheme


def test_a_negative_number_is_passed_after_two_dashes(call, refused):
    assert "inspect -- -5" in refused(2, "inspect", "-5")
    assert "No such option" not in call("inspect", "--", "-5").output


@pytest.mark.parametrize(
    ("args", "stdin", "words"),
    [
        ([], "", "frazil inspect 1425152293497475073"),
        ([], "nothing here\n", "no ID was found on standard input"),
        (["8ZZZZZZZZZZZZZZZZZZZZZZZZZ"], "", "larger than 7ZZZZ"),  # else it were a ULID
        (["2026-11-28"], "", ""),
    ],
)
def test_what_is_no_id(refused, args, stdin, words):
    assert words in refused(1, "inspect", *args, stdin=stdin)


ID = "1375354384404488193"  # of the icicle scheme: 2026-07-10, node 842, sequence 1


def told(call, *args, stdin=""):
    result = call("inspect", *args, "--json", stdin=stdin)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_drawing_and_facts(call):
    text = call("inspect", "--scheme", "icicle", ID).stdout
    assert text.startswith(f"{ID}: scheme icicle (decimal, 64 bits)\n")
    drawing = draw(scheme().layout, int(ID), width=80).partition("\n\n")[0]
    assert drawing in text
    facts = dict(line.split(None, 1) for line in text.split("\n\n")[2].splitlines())
    assert facts["moment"].startswith("2026-07-10T15:50:38.406Z, ")
    assert facts["node"] == "842 (0 to 1,023)"
    assert facts["sequence"] == "1 (0 to 4,095)"
    assert facts["sign"] == "0 (constant)"
    assert facts["decimal"] == ID
    assert facts["hex"] == f"{int(ID):016x}"
    assert facts["JavaScript"] == "rounds it to 1375354384404488192; pass it as text"
    assert "BIGINT" not in facts
    assert "candidate" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_json(call):
    (item,) = told(call, "-s", "icicle", ID)
    assert (item["id"], item["scheme"], item["encoding"]) == (ID, "icicle", "decimal")
    assert item["moment"] == "2026-07-10T15:50:38.406Z"
    assert item["fields"]["node"] == 842
    assert set(item["texts"]) == {"decimal", "hex", "base32", "base58", "base62"}
    assert item["foreign"] == []


def test_shuffled_scheme_is_shown_unshuffled(call):
    text = call("inspect", "2VznWE2i").stdout
    assert "scheme chibrary (base62, 47 bits, shown unshuffled)" in text
    (item,) = told(call, "2VznWE2i")
    s = scheme("chibrary")
    assert s.pack(run=item["fields"]["run"], sequence=item["fields"]["sequence"]) == int(item["id"])
    assert f"{item['fields']['run']:030b}" in text


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("discord", "175928847299117063", ("worker", "32 (from all its fields)")),
        ("uniqueid-spread", "07617b3c4e802003", ("cluster",)),
        ("icicle", str(1 << 63), ("1 (constant; this scheme has 0)", "doubt",
                                  "a signed column shows -9223372036854775808")),
    ],
)  # fmt: skip
def test_fields_of_several_parts_and_constants(call, name, text, words):
    shown = call("inspect", "-s", name, text).stdout
    assert all(each in shown for each in words)


TWITTER = "580782912222633985"  # of 2015-03-25; Discord's reading of it is of 2019


@pytest.mark.parametrize("args", [(), ("--guess",)])
def test_all_plausible_readings_and_none_is_preferred(call, args):
    text = call("inspect", *args, TWITTER).stdout
    assert text.startswith(f"{TWITTER} can be an ID of 7 schemes:\n")
    rows = {line.split()[0]: line for line in text.splitlines() if "bits" in line}
    assert "2015-03-25T17:26:51Z" in rows["snowflake"]
    assert "2019-05-22T15:43:56Z" in rows["discord"]
    assert "2020-07-09T01:27:17Z" in rows["icicle"]
    assert ("its mode is 0, not 1" in text.replace("\n", " ")) is bool(args)
    assert "--scheme" in text
    assert "┌" not in text


@pytest.mark.parametrize("args", [(), ("--guess",)])
def test_json_of_several_readings(call, args):
    (item,) = told(call, *args, TWITTER)
    assert (item["id"], item["scheme"], item["moment"]) == (TWITTER, None, None)
    assert "snowflake" in item["doubt"]
    found = {each["scheme"]: each for each in item["candidates"]}
    assert found["snowflake"]["moment"] == "2015-03-25T17:26:51.355Z"
    assert found["discord"]["fields"]["worker"] == 18
    scores = [candidate["score"] for candidate in item["candidates"]]
    assert scores == sorted(scores, reverse=True)


def test_the_evidence_prefers_an_id_of_now(call):
    text = call("mint", "--url", "memory:").stdout.strip()
    (item,) = told(call, text)
    assert (item["scheme"], item["candidates"][0]["scheme"]) == ("icicle", "icicle")
    drawn = call("inspect", text).stdout
    assert drawn.startswith(f"{text}: scheme icicle")
    assert "evidence" in call("inspect", "--guess", text).stdout


def test_lines_from_standard_input(call):
    log = f"start\n2026 id={ID} ok\n\xff\n/orders/2VznWE2i\n".encode("latin-1")
    items = told(call, stdin=log)
    assert [item["scheme"] for item in items] == [None, "chibrary"]
    assert items[0]["candidates"][0]["scheme"] == "icicle"


def test_text_without_an_id_does_not_hide_others(call):
    result = call("inspect", "-s", "icicle", "12x", ID)
    assert result.exit_code == 1
    assert ID in result.stdout
    assert "Error: not the decimal text" in result.output
    assert "    12x\n      ^" in result.output


def test_svg(call, refused, tmp_path):
    path = tmp_path / "id.svg"
    assert "name one with --scheme" in call("inspect", ID, "--svg", str(path)).output
    assert not path.exists()
    assert call("inspect", "-s", "icicle", ID, "--svg", str(path)).exit_code == 0
    root = ET.parse(path).getroot()  # our own drawing
    assert f"ID {ID} of 64 bits" in "".join(root.itertext())
    assert call("inspect", "foo", "--svg", str(tmp_path / "none.svg")).exit_code == 1
    assert not (tmp_path / "none.svg").exists()
    said = refused(2, "inspect", "-s", "icicle", ID, "--svg", str(tmp_path / "no" / "id.svg"))
    assert "id.svg" in said


@pytest.mark.parametrize("name", ["icicle", "uniqueid-spread", "globalid-128", "chibrary"])
def test_colour_follows_the_environment_and_changes_no_character(name, call, monkeypatch):
    words = ("inspect", "-s", name, scheme(name).format(12345))
    plain = call(*words).stdout
    monkeypatch.setattr(
        "frazil.cli.show.terminal.console",
        lambda: Console(highlight=False, force_terminal=True, color_system="truecolor", width=80),
    )
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = call(*words).stdout
    assert len(set(re.findall(r"\x1b\[[\d;]*48;2;[\d;]+m", coloured))) >= 2
    shown = re.sub(r"\x1b\[[\d;]*m", "", coloured)
    assert [line.rstrip() for line in shown.splitlines()] == plain.splitlines()
    monkeypatch.delenv("FORCE_COLOR")
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[38;2;" not in call(*words).stdout


KEY = "2b7e151628aed2a6abf7158809cf4f3c"


def test_keyed_text(call, monkeypatch):
    """Minted by the newest key, read by all; a key on the command line is refused, not shown."""
    monkeypatch.setenv("ORDER_KEY", KEY)
    monkeypatch.setenv("NEW_KEY", KEY[::-1])
    old = ("--prefix", "order_", "--key", "env:ORDER_KEY")
    both = ("--prefix", "order_", "--key", "1=env:ORDER_KEY", "--key", "2=env:NEW_KEY")
    texts = [call("mint", "--url", "memory:", *of).stdout.strip() for of in (old, both)]
    assert [text[:7] for text in texts] == ["order_1", "order_2"]
    for text in texts:
        for line in (text, f"GET /orders/{text} 200"):
            result = call("inspect", *both, "--json", line)
            (found,) = json.loads(result.stdout)
            assert found["texts"]["keyed"].startswith("order_2")
            assert not found["doubt"]
            assert KEY not in result.output
    refused = call("inspect", *old, texts[1])
    assert (refused.exit_code, "known: 1" in refused.output) == (1, True)
    literal = call("mint", "--url", "memory:", "--key", KEY)
    assert literal.exit_code == 2
    assert "name it, like 'env:ORDER_KEY'" in literal.output
    assert KEY not in literal.output


KSUID = "0ujtsYcgvSTl8PAuAdqWYSMnLOv"


def test_an_id_of_another_system(call, refused, tmp_path):
    text = call("inspect", KSUID).stdout
    assert text.startswith(f"{KSUID}: KSUID (base62, 160 bits)\n")
    assert "│ timestamp" in text
    facts = dict(line.split(None, 1) for line in text.split("\n\n")[2].splitlines())
    assert facts["moment"].startswith("2017-10-10T04:00:47Z, ")
    assert facts["payload"] == "b5a1cd34b5f99d1154fb6853345c9735"
    assert max(map(len, text.splitlines())) <= 80
    assert "of xid" in call("inspect", "507c7f79bcf86cd7994f6c0e").stdout
    assert "doubt" in call("inspect", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ").stdout
    (item,) = told(call, "prefix_01h455vb4pex5vsknk084sn02q")
    assert set(item) == set(told(call, ID)[0])
    assert (item["scheme"], item["prefix"]) == ("TypeID", "prefix_")
    assert "not a KSUID" in refused(1, "inspect", "--svg", str(tmp_path / "x.svg"), KSUID)


OWN = "alphabet:BCDFGHJKMNPQRSTVWXZ"


@pytest.mark.parametrize(
    ("look", "options"),
    [
        ({"encoding": "base32", "group": 4}, ()),
        ({"encoding": "base32", "group": 4, "check": True}, ()),
        ({"group": 4, "check": True}, ()),
        (
            {"encoding": OWN, "group": 5, "check": True},
            ("--encoding", OWN, "--group", "5", "--check"),
        ),
        ({"encoding": "base62", "group": 3}, ("--encoding", "base62", "--group", "3")),
    ],
    ids=lambda each: each.get("encoding", "decimal") if isinstance(each, dict) else "",
)
def test_text_for_people(call, look, options):
    s = scheme(**look, prefix="" if options else "order_")
    text = s.format(int(ID))
    typed = [text, text.replace("-", ""), f"15:50:39Z web-server-01 GET {text}, 200 in 12ms"]
    typed += [] if look.get("encoding") == "base62" else [text.lower()]
    for line in typed:
        (item,) = told(call, "-s", "icicle", *options, line)
        assert (item["id"], item["prefix"]) == (ID, s.prefix)
    if "--check" in options:
        wrong = call("inspect", "-s", "icicle", *options, text[:-1] + "BC"[text[-1] == "B"])
        assert "the check characters do not fit" in wrong.stderr


def test_the_number_of_a_text_has_no_prefix(call):
    """It is what a database keeps."""
    text = scheme("icicle", prefix="order_", encoding="base62").format(int(ID))
    assert f"\ndecimal     {ID}\n" in call("inspect", text, "--scheme", "icicle").stdout
    [found] = told(call, text)
    assert found["id"] == found["texts"]["decimal"] == ID
    assert found["texts"]["base62"] == text


LAYOUT = "sign:1=0 time:41 node:1 sequence:21 @1ms since 2025-01-01T00:00:00Z"
MEMBER = """
import logging, os, sys, frazil
url, layout, log = sys.argv[1:]
logging.basicConfig(level=20, filename=log, format="%(asctime)s %(levelname)s %(message)s")
with frazil.open(url, layout, namespace="fleet") as ids:
    print(os.getpid(), ids(), ids())
"""


def test_from_an_id_to_its_process_by_logs_alone(tmp_path, call):
    """Of four processes, one after the other, with two node numbers."""
    url = f"sqlite://{tmp_path}/claims.db"
    frazil.init(url, LAYOUT, namespace="fleet", new=True)
    made = []
    for number in range(4):
        command = [sys.executable, "-c", MEMBER, url, LAYOUT, str(tmp_path / f"{number}.log")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        made.append(done.stdout.split())
    assert len({scheme(LAYOUT).unpack(int(n)).node for _, n, _ in made}) < 4
    for pid, *numbers in made:
        for n in numbers:
            shown = call("inspect", "--scheme", LAYOUT, n)
            assert shown.exit_code == 0, shown.output
            search = shown.stdout[shown.stdout.index("  grep ") :]
            command = ["/bin/sh", "-c", search]
            found = subprocess.run(
                command, cwd=tmp_path, capture_output=True, text=True, check=True
            )
            assert found.stdout.rpartition(":")[2].strip() == pid, (search, found.stdout)


def test_the_search_of_a_counter_is_by_number_and_a_text_without_a_value_has_none(call):
    shown = call("inspect", "--scheme", "sign:1=0 sequence:63", "1234").stdout
    assert "sort -n -k 5" in shown
    assert "$5 <= 1234" in shown
    shown = call("inspect", "--scheme", "globalid", "--epoch", "1970-01-01T00:00:00Z", "1" * 18)
    assert "grep" in shown.stdout
    assert "grep" not in call("inspect", "01ARZ3NDEKTSV4RRFFQ69G5FAV").stdout
