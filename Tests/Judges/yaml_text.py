"""Reads YAML with PyYAML. One JSON object on standard input, {"yaml": "…"}; prints what it says as JSON."""

import json
import sys

import yaml

json.dump(yaml.safe_load(json.load(sys.stdin)["yaml"]), sys.stdout)
