"""The alert rules of deploy/, and Prometheus, which evaluates them on series of a test."""

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.needs import needs

PATH = Path(__file__).resolve().parents[2] / "deploy" / "alerts.yml"
ALERTS = yaml.safe_load(PATH.read_text(encoding="utf-8"))["groups"][0]["rules"]


def sample(expr: str, minute: int, value: int) -> dict[str, Any]:
    """That an expression has this one value, without labels, after some minutes."""
    return {
        "expr": expr,
        "eval_time": f"{minute}m",
        "exp_samples": [{"labels": "{}", "value": value}],
    }


def check(folder: Path, *tests: tuple[list[dict[str, str]], list[dict[str, Any]]]) -> None:
    """Check series, with a value each 15 s, and what is expected of them."""
    needs("promtool", "the alert rules")
    names = "interval", "input_series", "promql_expr_test"
    about = {
        "rule_files": [str(PATH)],
        "evaluation_interval": "15s",
        "tests": [dict(zip(names, ("15s", *test), strict=True)) for test in tests],
    }
    file = folder / "test.yml"
    file.write_text(json.dumps(about))
    done = subprocess.run(
        ["promtool", "test", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
