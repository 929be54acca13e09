"""The members of Apple's data types, as Apple's own client library has them.

Reads a JSON array of type names on standard input, prints an object with an array of member names for each:
    ["Summary"] -> {"Summary": ["environment", "appAppleId", ...]}
Exit status 0, or 2 when a type is not in the library.
"""

import importlib
import json
import sys

import attrs


def members(name):
    model = getattr(importlib.import_module(f"appstoreserverlibrary.models.{name}"), name)
    names = [field.name for field in attrs.fields(model)]
    # The library keeps unknown values of its enumerations in members of its own: rawStatus beside status.
    return [name for name in names if not (name.startswith("raw") and name[3:4].lower() + name[4:] in names)]


def main():
    try:
        json.dump({name: members(name) for name in json.load(sys.stdin)}, sys.stdout)
    except (ValueError, TypeError, ImportError, AttributeError) as error:
        print(f"apple_models: {error!r}", file=sys.stderr)
        return 2
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
