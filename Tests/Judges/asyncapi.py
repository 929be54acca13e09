"""Checks an AsyncAPI 3.0 document with the models of the PyPI package asyncapi3, and with further rules.

Reads a JSON array on standard input, [{"document": {…}, "views": [view document, …]}, …]. Prints [{"problems": ["…"]}, …]
in the same order. Exit status 0 if there are no problems, else 1.

The further rules are: every reference has a target, the messages of an operation are messages of its channel, the messages
of a reply are messages of the reply's channel, and the schemas are valid. Each view must match the schema viewDocument.
"""

import json
import sys
import warnings

# Fields of asyncapi3 have the names of members of pydantic's base class. pydantic warns of this on every import.
warnings.filterwarnings("ignore", message="Field name .* shadows")

import jsonschema
import pydantic
from asyncapi3 import AsyncAPI3


def resolved(document, reference):
    """Returns the target of a local reference (RFC 6901); raises LookupError if there is none."""
    if not reference.startswith("#/"):
        raise LookupError(reference)
    place = document
    for part in reference[2:].split("/"):
        place = place[part.replace("~1", "/").replace("~0", "~")]
    return place


def references(value, path="#"):
    if isinstance(value, dict):
        if "$ref" in value:
            yield path, value["$ref"]
        for name, member in value.items():
            yield from references(member, f"{path}/{name}")
    elif isinstance(value, list):
        for index, element in enumerate(value):
            yield from references(element, f"{path}/{index}")


def problems(document, views):
    try:
        AsyncAPI3.model_validate(document)
    except pydantic.ValidationError as error:
        for fault in error.errors():
            yield f"asyncapi3: {'/'.join(map(str, fault['loc']))}: {fault['msg']}"
        return
    for path, reference in references(document):
        try:
            resolved(document, reference)
        except LookupError:
            yield f"{path}: {reference} has no target"
    for name, operation in document.get("operations", {}).items():
        for part in filter(None, (operation, operation.get("reply"))):
            channel = part["channel"]["$ref"]
            for message in part.get("messages", []):
                if not message["$ref"].startswith(f"{channel}/messages/"):
                    yield f"operation {name}: {message['$ref']} is not a message of {channel}"
    schemas = document.get("components", {}).get("schemas", {})
    for name, schema in schemas.items():
        try:
            jsonschema.Draft7Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            yield f"schema {name}: {error.message}"
    for index, view in enumerate(views):
        for error in jsonschema.Draft7Validator(schemas["viewDocument"]).iter_errors(view):
            yield f"view {index}: {error.message}"


def main():
    found = [list(problems(request["document"], request.get("views", []))) for request in json.load(sys.stdin)]
    json.dump([{"problems": each} for each in found], sys.stdout)
    print()
    return 1 if any(found) else 0


if __name__ == "__main__":
    sys.exit(main())
