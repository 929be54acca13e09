"""Converts YAML to JSON with PyYAML. Reads one JSON object on standard input, {"yaml": "…"}."""

import json
import sys

import yaml

json.dump(yaml.safe_load(json.load(sys.stdin)["yaml"]), sys.stdout)
