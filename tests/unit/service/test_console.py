"""The console's files: their headers, and that they need nothing else."""

import re

import pytest

from frazil.layout.drawing import COLOURS
from frazil.layout.field import ROLES
from frazil.service.console import pages

FILES = sorted(pages())
TEXTS = {path: page.body.decode() for path, page in pages().items()}
LINKS = re.compile(r"""(?:href|src)="(console/[^"]+)"|from "\./([^"]+)";""")


CONFIG = ""


@pytest.fixture
def client(service):
    return service.client


def test_there_is_a_page():
    assert "/" in FILES
    assert {"/console/main.js", "/console/base.css", "/console/colours.css"} <= set(FILES)
    assert not [path for path in FILES if path.endswith((".py", ".pyc"))]


@pytest.mark.parametrize("path", FILES)
def test_headers_of_each_file(client, path):
    reply = client.get(path)
    assert reply.status_code == 200
    assert reply.content == pages()[path].body
    policy = dict(
        rule.split(" ", 1) for rule in reply.headers["content-security-policy"].split("; ")
    )
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["connect-src"] == "'self'"
    assert "unsafe" not in str(policy)
    assert reply.headers["x-content-type-options"] == "nosniff"
    assert reply.headers["x-frame-options"] == "DENY"
    assert reply.headers["referrer-policy"] == "no-referrer"
    assert reply.headers["cache-control"] == "no-cache"
    assert reply.headers["content-type"].split(";")[0] in {
        "text/html",
        "text/css",
        "text/javascript",
        "image/svg+xml",
    }


def test_a_cached_file_is_not_sent_again(client):
    tag = client.get("/").headers["etag"]
    known = client.get("/", headers={"If-None-Match": f'"other", {tag}'})
    assert known.status_code == 304
    assert not known.content
    assert known.headers["etag"] == tag
    assert client.get("/", headers={"If-None-Match": '"other"'}).status_code == 200


def test_head_and_other_methods(client):
    head = client.head("/")
    assert head.status_code == 200
    assert int(head.headers["content-length"]) == len(client.get("/").content)
    assert not head.content
    refused = client.post("/")
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET, HEAD"


def test_every_file_that_is_named_is_there():
    named = {
        f"/{found[1]}" if found[1] else f"/console/{found[2]}"
        for text in TEXTS.values()
        for found in LINKS.finditer(text)
    }
    assert len(named) > 10
    assert named <= set(FILES)
    assert named | {"/"} == set(FILES), "a file that nothing names is dead"


@pytest.mark.parametrize("path", FILES)
def test_nothing_is_loaded_from_elsewhere_or_run_from_a_text(path):
    text = TEXTS[path].replace('"http://www.w3.org/2000/svg"', "")
    assert not re.search(r"https?:|//[a-z]+\.|@import|url\(", text)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(| on\w+=", text)
    assert "<style" not in text
    assert not re.search(r'\sstyle="', text)


def test_fields_have_the_colours_of_drawings():
    light, dark = TEXTS["/console/colours.css"].split(':root[data-theme="dark"]')
    for role in (*ROLES, "fixed"):
        assert f"--field-{role}: {COLOURS[role][0]};" in light
        assert f"--field-{role}: {COLOURS[role][1]};" in dark
        assert f"var(--field-{role})" in TEXTS["/console/colours.css"]
