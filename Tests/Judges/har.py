"""Reads a HAR file with haralyzer, an independent library.

Reads {"document": {…}} on standard input. Prints what haralyzer reads: {"creator": "…", "version": "…", "entries":
[{"method", "url", "status", "milliseconds", "started", "requestHeaders", "query", "posted", "responseHeaders", "text",
"size", "wait"}, …], "post": number of POST requests, "server errors": number of responses with a status from 500 on}. Fails
if haralyzer cannot read the document.
"""

import json
import sys

from haralyzer import HarParser
from haralyzer.http import Request


def entry(found):
    return {
        "method": found.request.method, "url": found.request.url, "status": found.response.status,
        "milliseconds": found.time, "started": found.startTime.isoformat(),
        "requestHeaders": found.request.headers, "query": found.request.queryString,
        "posted": found.request.get("postData", {}).get("text"),
        "responseHeaders": found.response.headers, "text": found.response.text, "size": found.response.contentSize,
        "wait": found.timings["wait"],
    }


document = json.load(sys.stdin)["document"]
parser = HarParser(document)
entries = [found for page in parser.pages for found in page.entries]
assert all(isinstance(found.request, Request) for found in entries)
print(json.dumps({
    "creator": parser.creator["name"], "version": parser.version, "entries": [entry(found) for found in entries],
    "post": len([found for found in entries if HarParser.match_request_type(found, "POST")]),
    "server errors": len([found for found in entries if HarParser.match_status_code(found, "5..")]),
}))
