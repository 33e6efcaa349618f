"""No password is shown: not in a repr, an error, or an attribute of an error."""

import traceback

import pytest

import frazil
import frazil.aio
from frazil.inputs.masking import masked

SECRET = "hunter2"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://a:hunter2@h:6379/0", "redis://a:***@h:6379/0"),
        ("redis://:hunter2@h,k/0?timeout=1s", "redis://:***@h,k/0?timeout=1s"),
        ("redis://a:hun@ter2@h", "redis://a:***@h"),
        ("redis://me@corp:hunter2@h:6379", "redis://me@corp:***@h:6379"),
        ("redis://me@h:6379", "redis://me@h:6379"),
        ("postgresql://h/d?password=hunter2&user=a", "postgresql://h/d?password=***&user=a"),
        ("sqlite:///a:b@c", "sqlite:///a:b@c"),
        ("no file sqlite:///home/a:b@c", "no file sqlite:///home/a:b@c"),
        ("'redis//a:hunter2@h' and redis:/a:hunter2@h", "'redis//a:***@h' and redis:/a:***@h"),
        ("redis:a:hunter2@h", "redis:***@h"),
        ("database 'a:hunter2@h'", "database 'a:***@h'"),
        ("redis://h:6379/0", "redis://h:6379/0"),
        ("a://b:c@d and e://f:g@h.", "a://b:***@d and e://f:***@h."),
        (ValueError("a://b:c@d"), "a://b:***@d"),
    ],
)
def test_masked(text, expected):
    assert masked(text) == expected


URLS = [
    "redis://me:hunter2@127.0.0.1:1/0",
    "redis://me:hunter2@127.0.0.1:1,127.0.0.1:2/0",
    "valkey://:hunter2@127.0.0.1:1/0?cluster=1",
    "etcd://me:hunter2@127.0.0.1:1",
    "postgresql://me:hunter2@127.0.0.1:1/ids",
    "postgresql://127.0.0.1:1/ids?user=me&password=hunter2",
    "icicle://me:hunter2@127.0.0.1:1",
]
WITHOUT_SLASHES = ["redis:", "redis:/", "redis//", "postgresql:", "icicle:", "static:", "foo:", ""]
FAULTS = ["?bogus=1", "?timeout=1s&timeout=2s", "?horizon=never", "?timeout=never", ":x", "?"]


def told(error):
    """The texts of an error and its causes."""
    while error is not None:
        yield repr(error)
        yield str(error)
        yield repr(getattr(error, "facts", ""))
        error = error.__cause__


@pytest.mark.parametrize("url", URLS)
def test_generator(url):
    ids = frazil.open(url, timeout=0.05)
    shown = [repr(ids), str(ids.config)]
    with pytest.raises(frazil.FrazilError) as caught:
        ids()
    ids.close()
    shown += told(caught.value)
    assert not [text for text in shown if SECRET in text]
    assert any("127.0.0.1" in text for text in shown)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("url", [*URLS, "mysql://me:hunter2@127.0.0.1:1", "redis://me:hunter2@["])
def test_invalid_url(url, fault):
    if "?" in url:
        fault = fault.replace("?", "&")
    with pytest.raises(frazil.FrazilError) as caught, frazil.open(url + fault, timeout=0.05) as ids:
        ids()
    assert not [text for text in told(caught.value) if SECRET in text]


@pytest.mark.parametrize("begin", WITHOUT_SLASHES)
def test_a_url_without_its_slashes_shows_no_password(begin):
    with pytest.raises(frazil.errors.FrazilError) as caught:
        frazil.open(f"{begin}me:{SECRET}@h/0?timeout=1ms", timeout="1ms")()
    error = caught.value
    shown = "".join(traceback.format_exception(error)) + repr(error.facts)
    assert SECRET not in shown
