"""Prints the members of Apple's data types and the values of its enumerations, from Apple's own client library.

Reads a JSON array of type names on standard input. Prints an object that has for each type the names of its members, or
for an enumeration its values by name. APIError is the enumeration of error codes:
    ["Summary", "Status"] -> {"Summary": ["environment", ...], "Status": {"ACTIVE": 1, ...}}
Exit status 0, or 2 if a type is not in the library.
"""

import enum
import importlib
import json
import sys

import attrs


def describe(name):
    module = "api_client" if name == "APIError" else f"models.{name}"
    model = getattr(importlib.import_module(f"appstoreserverlibrary.{module}"), name)
    if issubclass(model, enum.Enum):
        return {value.name: value.value for value in model}
    names = [field.name for field in attrs.fields(model)]
    # For an enumeration, the library also keeps the undecoded value: rawStatus beside status.
    return [name for name in names if not (name.startswith("raw") and name[3:4].lower() + name[4:] in names)]


def main():
    try:
        json.dump({name: describe(name) for name in json.load(sys.stdin)}, sys.stdout)
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        print(f"apple_models: {error!r}", file=sys.stderr)
        return 2
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
