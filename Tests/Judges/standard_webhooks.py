"""Verifies webhooks with the library of Standard Webhooks.

Reads {"secret": "…", "body": "…", "headers": {name: value}} on standard input. Prints {"content": …}, the parsed body,
with exit status 0, or {"problem": "…"} with exit status 1.
"""

import json
import sys

from standardwebhooks.webhooks import Webhook, WebhookVerificationError

request = json.load(sys.stdin)
try:
    content = Webhook(request["secret"]).verify(request["body"], request["headers"])
    print(json.dumps({"content": content}))
except WebhookVerificationError as error:
    print(json.dumps({"problem": str(error)}))
    sys.exit(1)
