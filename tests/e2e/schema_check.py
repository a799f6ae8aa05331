"""The part of JSON Schema that docs/report.schema.json uses, so that the tests need no package for it."""

from __future__ import annotations

from typing import Any

TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$schema", "$defs", "$ref", "title", "description", "unit", "certainty", "type", "properties", "required", "items",
         "additionalProperties", "enum", "const", "anyOf", "allOf", "if", "then"}  # fmt: skip


def has_type(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        allowed = int if name == "integer" else (int, float)
        return isinstance(value, allowed) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def faults(value: Any, schema: dict, root: dict, where: str = "$") -> list[str]:
    """What of the value is not as the schema says."""
    unknown = set(schema) - KNOWN
    assert not unknown, f"{where}: this checker does not know {unknown}"
    found: list[str] = []
    if "$ref" in schema:
        found += faults(value, root["$defs"][schema["$ref"].removeprefix("#/$defs/")], root, where)
    types = schema.get("type", [])
    types = [types] if isinstance(types, str) else types
    if types and not any(has_type(value, name) for name in types):
        return [*found, f"{where}: {value!r} is no {' or '.join(types)}"]
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{where}: {value!r} is none of {schema['enum']}")
    if "const" in schema and value != schema["const"]:
        found.append(f"{where}: {value!r} is not {schema['const']!r}")
    if "anyOf" in schema:
        tries = [faults(value, option, root, where) for option in schema["anyOf"]]
        if all(tries):
            found += min(tries, key=len)
    for rule in schema.get("allOf", []):
        if not faults(value, rule["if"], root, where):
            found += faults(value, rule["then"], root, where)
    if isinstance(value, dict):
        found += object_faults(value, schema, root, where)
    if isinstance(value, list) and "items" in schema:
        for i, element in enumerate(value):
            found += faults(element, schema["items"], root, f"{where}[{i}]")
    return found


def object_faults(value: dict, schema: dict, root: dict, where: str) -> list[str]:
    found = [f"{where}: '{key}' is missing" for key in schema.get("required", []) if key not in value]
    properties, more = schema.get("properties", {}), schema.get("additionalProperties", {})
    for key, element in value.items():
        if key in properties:
            found += faults(element, properties[key], root, f"{where}.{key}")
        elif more is False:
            found.append(f"{where}: '{key}' is not in the schema")
        else:
            found += faults(element, more, root, f"{where}.{key}")
    return found
