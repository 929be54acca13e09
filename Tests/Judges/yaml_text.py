"""Converts YAML to JSON with PyYAML. Reads {"yaml": "…"} on standard input."""

import json
import sys

import yaml

json.dump(yaml.safe_load(json.load(sys.stdin)["yaml"]), sys.stdout)
