"""Checks values against the schemas of docs/openapi.json: types, required and unknown members, choices, items."""
import json

from processes import ROOT

DOCUMENT = json.loads((ROOT / "docs/openapi.json").read_text())
SCHEMAS = DOCUMENT["components"]["schemas"]
KINDS = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float), "null": type(None)}


def is_kind(value, kind):
    if kind in ("integer", "number") and isinstance(value, bool):
        return False
    return isinstance(value, KINDS[kind])


def faults(value, schema, place="$"):
    """The differences between a value and a schema, in words."""
    if "$ref" in schema:
        return faults(value, SCHEMAS[schema["$ref"].rsplit("/", 1)[1]], place)
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(is_kind(value, kind) for kind in kinds):
        return [f"{place}: {value!r} is no {' or '.join(kinds)}"]
    found = []
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{place}: {value!r} is none of {schema['enum']}")
    if isinstance(value, dict):
        found += [f"{place}: lacks {name}" for name in schema["required"] if name not in value]
        found += [f"{place}: {name} is not described" for name in value if name not in schema["properties"]]
        for name, member in schema["properties"].items():
            if name in value:
                found += faults(value[name], member, f"{place}.{name}")
    if isinstance(value, list):
        for i, item in enumerate(value):
            found += faults(item, schema["items"], f"{place}[{i}]")
    return found


def schema_of(path):
    return DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]["schema"]
