"""Parses metrics in the text format of Prometheus with Prometheus' own Python client.

Reads {"text": "…"} on standard input. Prints {"families": {name: {"type": "…", "help": "…"}},
"samples": [[name, {label: value}, number], …]} with exit status 0, or {"problem": "…"} with exit status 1.
"""

import json
import sys

from prometheus_client.parser import text_string_to_metric_families

try:
    families, samples = {}, []
    for family in text_string_to_metric_families(json.load(sys.stdin)["text"]):
        if family.name in families:
            raise ValueError(f"the family {family.name} appears twice")
        if family.type == "unknown" or not family.documentation:
            raise ValueError(f"the family {family.name} has no type or no help text")
        families[family.name] = {"type": family.type, "help": family.documentation}
        for sample in family.samples:
            samples.append([sample.name, sample.labels, sample.value])
        if len({(s.name, tuple(sorted(s.labels.items()))) for s in family.samples}) != len(family.samples):
            raise ValueError(f"the family {family.name} has the same sample twice")
    print(json.dumps({"families": families, "samples": samples}))
except ValueError as error:
    print(json.dumps({"problem": str(error)}))
    sys.exit(1)
