"""Links that registries share: who has one, when they are closed, and what a child does."""

import gc
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import pytest

from frazil.registries import shared_links
from frazil.registries.shared_links import SharedLinks
from tests.tools.forks import child


class Link:
    """A link that notes what happens to it."""

    made = 0

    def __init__(self):
        Link.made += 1
        self.number = Link.made
        self.closed = False

    def close(self):
        self.closed = True


@pytest.fixture
def share(request):
    """Makes what one more registry of this test holds."""
    Link.made = 0
    return lambda *key: SharedLinks(Link, request.node.name, *key)


def test_threads_never_have_the_same_link(share):
    registries = [share() for _ in range(8)]
    busy, twice = set(), []

    def work(registry):
        for _ in range(2000):
            with registry.taken() as link:
                twice.extend([link] if link in busy else [])
                busy.add(link)
                busy.discard(link)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, registries))
    assert twice == []


def test_a_thread_of_a_child_takes_no_link_of_the_parent_while_another_begins(share, monkeypatch):
    registry, others = share(), []
    with registry.taken() as parents:
        pass
    kept = shared_links._Kept

    def interrupted():
        """Another thread takes a link."""
        monkeypatch.undo()
        with registry.taken() as link:
            others.append(link)
        return kept()

    def in_the_child():
        monkeypatch.setattr(shared_links, "_Kept", interrupted)
        with registry.taken():
            return len(others) == 1 and others[0] is not parents

    assert child(in_the_child) == 0


def test_the_last_registry_closes_the_link(share):
    one, other = share(), share()
    with one.taken() as link:
        pass
    with other.taken():
        pass
    one.close()
    assert link.closed is False
    other.close()
    assert link.closed is True
    with one.taken() as later:
        assert later is not link
    one.close()
    assert later.closed is True


def test_a_registry_without_a_verb_closes_nothing(share):
    one, other = share(), share()
    with one.taken() as link:
        pass
    other.close()
    assert link.closed is False


def test_the_link_is_collected_with_the_last_registry(share):
    found = []

    class Noted(Link):
        def __del__(self):
            found.append(self.number)

    one, other = SharedLinks(Noted, "collected"), SharedLinks(Noted, "collected")
    for registry in (one, other):
        with registry.taken():
            pass
    gc.disable()
    try:
        del one
        assert found == []
        del other, registry
        assert found == [1]
    finally:
        gc.enable()


@pytest.mark.parametrize("inside", [False, True])
def test_a_child_takes_no_link_of_its_parent(share, inside):
    one, other = share(), share()
    with one.taken() as link:
        pass

    def is_good():
        with one.taken() as first:
            pass
        with other.taken() as second:
            pass
        one.close()
        other.close()
        return first is not link and second is first and first.closed and not link.closed

    with one.taken() if inside else nullcontext():
        assert child(is_good) == 0
    with other.taken() as kept:
        assert kept is link
        assert kept.closed is False
