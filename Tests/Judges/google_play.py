"""Checks values and a simulated Google Play against Google's own client library.

Reads one JSON object on standard input:
    {"values": [{"schema": "Order", "value": {...}}, ...]}
checks each value against a schema of the API's discovery document.

Prints one JSON object {"faults": ["..."]}. Exit status 0 without faults, 1 with some, 2 for an invalid request.

Needs the PyPI package google-api-python-client, whose wheel contains the discovery document.
"""

import json
import pathlib
import re
import sys

import googleapiclient

DOCUMENT = json.loads(
    (pathlib.Path(googleapiclient.__file__).parent / "discovery_cache/documents/androidpublisher.v3.json").read_text())
PATTERNS = {
    "int64": r"-?(0|[1-9][0-9]{0,18})",
    "google-datetime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z",
    "google-duration": r"\d+(\.\d{1,9})?s",
}
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "object": dict, "array": list}


def faults(schema, value, path):
    """Yields what Google's schema does not allow in a value. Unlike JSON Schema, unknown members are faults."""
    if "$ref" in schema:
        schema = DOCUMENT["schemas"][schema["$ref"]]
    kind = schema.get("type", "any")
    if kind == "any":
        return
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{path} is not of the type {kind}: {value!r}"
        return
    if kind == "object":
        members = schema.get("properties", {})
        for name, member in value.items():
            if name in members:
                yield from faults(members[name], member, f"{path}.{name}")
            elif "additionalProperties" in schema:
                yield from faults(schema["additionalProperties"], member, f"{path}.{name}")
            else:
                yield f"{path} has no member {name}"
    elif kind == "array":
        for index, element in enumerate(value):
            yield from faults(schema["items"], element, f"{path}[{index}]")
    elif kind == "string":
        pattern = PATTERNS.get(schema.get("format"))
        if pattern and not re.fullmatch(pattern, value):
            yield f"{path} is not of the format {schema['format']}: {value!r}"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{path} has an unknown value {value!r}"
    elif kind == "integer" and schema.get("format") == "int32" and not -2**31 <= value < 2**31:
        yield f"{path} is not of the format int32: {value!r}"


def check_values(values):
    return [fault for entry in values for fault in faults({"$ref": entry["schema"]}, entry["value"], entry["schema"])]


def main():
    request = json.load(sys.stdin)
    if "values" not in request:
        print("the request has no values", file=sys.stderr)
        return 2
    found = check_values(request["values"])
    print(json.dumps({"faults": found}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
