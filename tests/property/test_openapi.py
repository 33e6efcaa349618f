"""The OpenAPI document compared with the running service."""

import json
import re
import subprocess
import sys
from copy import deepcopy

import pytest

from frazil.service.http.openapi import DOCUMENT
from tests.needs import needs
from tests.unit.service.conftest import Service, token

needs("schemathesis", "the OpenAPI document against the live service")

TOKEN = "frazil_all"
CONFIG = """
[namespaces.js]
scheme = "time:33 node:1 sequence:19 @100ms since 2025-01-01T00:00:00Z"
registry = "memory:?horizon=1s"
[namespaces.shop]
scheme = "tsid"
prefix = "order_"
registry = "memory:"
"""
# A schema cannot describe layouts, times and IDs exactly: some values that match it are refused.
PLAN = """
[dictionaries]
served = {{ values = ["{namespace}"] }}
layouts = {{ values = ["icicle", "js53", "time:41 node:10 sequence:12 @1ms", "time:64 @1us"] }}
counts = {{ values = [1, 2, 300, 20_000] }}

[parameters]
"path.ns" = {{ dictionary = "served", probability = 0.8 }}
"query.n" = {{ dictionary = "counts", probability = 0.8 }}
"body.layout" = {{ dictionary = "layouts", probability = 0.5 }}
{parameters}

[phases.fuzzing]
generation.max-examples = 12
[phases.stateful]
generation.max-examples = 6

[[operations]]
include-operation-id = ["find", "inspect", "plan", "window"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 404]
[[operations]]
include-operation-id = ["issueOne", "issueMany"]
checks.positive_data_acceptance.expected-statuses = ["2xx", 400, 401, 403, 404, 503]
"""

PHASES = "examples,coverage,fuzzing,stateful"
NOT_AS_NUMBER = '"query.number" = "0"'  # 1 is for IDs of at most 53 bits
WITH_TOKEN = ["--header", f"Authorization: Bearer {TOKEN}"]
SHAPE = {"description": "x", "content": {"application/json": {"schema": {"type": "string"}}}}


def asked(url, folder, document, *options, namespace="shop", parameters="", phases=PHASES):
    """Return the output of schemathesis for a service and a document, and its exit code."""
    plan = folder / "schemathesis.toml"
    plan.write_text(PLAN.format(namespace=namespace, parameters=parameters), encoding="utf-8")
    command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(plan), "run"]
    command += [str(document), "--url", url, "--checks", "all", "--phases", phases]
    command += ["--generation-deterministic", "--suppress-health-check", "all", "--no-color"]
    command += options
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(command, **pipes, text=True, cwd=folder, check=False)
    return done.stdout, done.returncode


@pytest.mark.parametrize("namespace", ["js", pytest.param("shop", marks=pytest.mark.long)])
def test_every_answer_is_one_of_those_promised(tmp_path, namespace):
    more = {"phases": "coverage,fuzzing"} if namespace == "js" else {"parameters": NOT_AS_NUMBER}
    with Service(tmp_path, CONFIG) as service:
        at = f"{service.url}/openapi.json"
        found, code = asked(service.url, tmp_path, at, namespace=namespace, **more)
    assert code == 0, found
    assert re.search("1[34] passed", found), found  # later versions skip what takes no parameter


@pytest.mark.long
def test_nothing_that_needs_a_token_is_answered_without(tmp_path):
    with Service(tmp_path, CONFIG + token(TOKEN, "issue", "inspect", "admin")) as service:
        at = f"{service.url}/openapi.json"
        options = {"parameters": NOT_AS_NUMBER, "phases": "coverage"}
        found, code = asked(service.url, tmp_path, at, *WITH_TOKEN, **options)
    assert code == 0, found


@pytest.mark.long
@pytest.mark.parametrize(
    ("lie", "words"),
    [
        ({"security": [{"token": []}]}, "accepts requests without authentication"),
        ({"responses": {"200": SHAPE}}, "Response violates schema"),
    ],
    ids=["token", "shape"],
)
def test_a_promise_that_is_not_kept_is_found(tmp_path, lie, words):
    document = deepcopy(DOCUMENT)
    document["paths"] = {"/livez": {"get": {**DOCUMENT["paths"]["/livez"]["get"], **lie}}}
    file = tmp_path / "lie.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    with Service(tmp_path, CONFIG) as service:
        found, code = asked(service.url, tmp_path, file, *WITH_TOKEN, phases="coverage")
    assert code == 1, found
    assert words in found
