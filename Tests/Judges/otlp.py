"""Reads a request of the OpenTelemetry Protocol in JSON with OpenTelemetry's own Protocol Buffers messages.

Reads {"request": {…}} on standard input. Prints {"resource": {name: value}, "spans": [{"name", "kind", "traceID", "spanID",
"parentID", "failed", "nanoseconds", "attributes"}, …]} with exit status 0, or {"problem": "…"} with exit status 1.
"""

import base64
import json
import re
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

DIGITS = {"traceId": 32, "spanId": 16, "parentSpanId": 16}


def with_encoded_ids(value):
    """OTLP writes ids in hexadecimal, and Protocol Buffers' own JSON in base64."""
    if isinstance(value, list):
        return [with_encoded_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    encoded = {}
    for name, member in value.items():
        if name in DIGITS:
            if not re.fullmatch(f"[0-9a-f]{{{DIGITS[name]}}}", member) or not member.strip("0"):
                raise ValueError(f"{name} is {member}")
            member = base64.b64encode(bytes.fromhex(member)).decode()
        encoded[name] = with_encoded_ids(member)
    return encoded


def values(attributes):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


try:
    request = with_encoded_ids(json.load(sys.stdin)["request"])
    message = json_format.ParseDict(request, ExportTraceServiceRequest(), ignore_unknown_fields=False)
    resource, spans = {}, []
    for group in message.resource_spans:
        resource = values(group.resource.attributes)
        for scope in group.scope_spans:
            for span in scope.spans:
                if span.end_time_unix_nano < span.start_time_unix_nano or span.start_time_unix_nano == 0:
                    raise ValueError(f"{span.name} ends before it starts")
                spans.append({
                    "name": span.name,
                    "kind": Span.SpanKind.Name(span.kind),
                    "traceID": span.trace_id.hex(),
                    "spanID": span.span_id.hex(),
                    "parentID": span.parent_span_id.hex(),
                    "failed": span.status.code == Status.STATUS_CODE_ERROR,
                    "nanoseconds": span.end_time_unix_nano - span.start_time_unix_nano,
                    "attributes": values(span.attributes),
                })
    print(json.dumps({"resource": resource, "spans": spans}))
except (ValueError, json_format.ParseError) as error:
    print(json.dumps({"problem": str(error)}))
    sys.exit(1)
