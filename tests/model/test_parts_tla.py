"""The models of parts of frazil, and with a rule left out: replicas, shelves, and ``after``."""

import pytest

from tests.model.test_claims_tla import SPEC, canaries_of, run

pytestmark = pytest.mark.nightly

PARTS = {
    name: ((SPEC / f"{name}.tla").read_text("utf-8"), (SPEC / f"{name}.cfg").read_text("utf-8"))
    for name in ("after", "replicas", "shelves")
}


@pytest.mark.parametrize("name", PARTS)
def test_it_holds(tmp_path, name):
    tlc = run(tmp_path, PARTS[name][1], name)
    assert tlc.holds, tlc.output
    assert tlc.states > 10_000


@pytest.mark.parametrize(
    ("name", "canary"),
    [(name, canary) for name, (model, _) in PARTS.items() for canary in sorted(canaries_of(model))],
)
def test_a_rule_left_out_is_found(tmp_path, name, canary):
    _, small = PARTS[name]
    text = small.replace("broken = {}", 'broken = {"' + canary + '"}')
    assert text != small
    tlc = run(tmp_path, text, name)
    assert tlc.violated, tlc.output
