"""The reference of the HTTP API, from its OpenAPI document."""

from typing import Any

from frazil.service.http.openapi import DOCUMENT

__all__ = ["page"]

_INTRODUCTION = """# HTTP

`frazil serve` answers these requests. The same reference for programs is `GET /openapi.json` of a
running service (OpenAPI 3.1); a test compares the service with it.
[The service](../how-to/service.md) explains tokens, scopes and formats.

IDs are strings in JSON. Every error is a problem of RFC 9457, with `type`, `title`, `status` and a
`detail` that says what is wrong and what to do next. `503` and `429` come with `Retry-After`.
"""


def page() -> str:
    """Every request, its parameters and its replies, and every schema."""
    parts = [_INTRODUCTION]
    for path, methods in DOCUMENT["paths"].items():
        for method, operation in methods.items():
            parts.append(_operation(method, path, operation))
    parts.append("## Schemas\n")
    for name, schema in DOCUMENT["components"]["schemas"].items():
        parts.append(_schema(name, schema))
    return "\n".join(parts)


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    text = f"## {method.upper()} {path}\n\n{operation['summary']}\n"
    parameters = [
        f"| `{one['name']}` | {one['description']} | {_type(one['schema'])} | {_place(one)} |"
        for one in operation["parameters"]
    ]
    if parameters:
        head = "| Parameter | Meaning | Type | In |\n|---|---|---|---|\n"
        text += "\n" + head + "\n".join(parameters) + "\n"
    if "requestBody" in operation:
        text += f"\nBody: JSON, {_type(_json(operation['requestBody']))}.\n"
    replies = "\n".join(
        f"| {status} | {_reply(reply)} |" for status, reply in operation["responses"].items()
    )
    return f"{text}\n| Reply | Content |\n|---|---|\n{replies}\n"


def _place(parameter: dict[str, Any]) -> str:
    """Where a parameter is sent. Those of a path are always required."""
    required = parameter["required"] and parameter["in"] != "path"
    return f"{parameter['in']}{', required' if required else ''}"


def _reply(reply: dict[str, Any]) -> str:
    if "$ref" in reply:
        return "a problem, for every other status"
    kinds = ", ".join(f"`{kind}`" for kind in reply.get("content", {}))
    schema = _json(reply)
    shape = f": {_type(schema)}" if "$ref" in schema else ""
    return f"{reply['description']} {kinds}{shape}"


def _json(part: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = part.get("content", {}).get("application/json", {}).get("schema", {})
    return found


def _schema(name: str, schema: dict[str, Any]) -> str:
    rows = "\n".join(
        f"| `{member}` | {kind.get('description', '')} | {_type(kind)} |"
        for member, kind in schema.get("properties", {}).items()
    )
    head = "| Member | Meaning | Type |\n|---|---|---|\n"
    return f"### {name}\n\n{schema.get('description', '')}\n\n{head if rows else ''}{rows}\n"


def _type(schema: dict[str, Any]) -> str:
    """A schema in a few words."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    for several in ("oneOf", "anyOf"):
        if several in schema:
            return " or ".join(_type(one) for one in schema[several])
    kind = schema.get("type", "any value")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    text = " or ".join(kind) if isinstance(kind, list) else str(kind)
    if "minimum" in schema and "maximum" in schema:
        text += f", {schema['minimum']:,} to {schema['maximum']:,}"
    return text
