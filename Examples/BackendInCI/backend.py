"""A small backend that decides which customers may use the app.

It accepts only data that is signed under the App Store's root. For each notification with a transaction it requests the
status from the App Store, so that the order and repetition of notifications do not matter. Customers are identified by
`appAccountToken`.

    backend.py STORE.json PORT        STORE.json is the first line of `souk simulate`

Needs the PyPI package app-store-server-library.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from appstoreserverlibrary.api_client import AppStoreServerAPIClient
from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.models.Status import Status
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException


class Customers:
    def __init__(self, store):
        api = store["serverAPI"]
        self.verifier = SignedDataVerifier(
            root_certificates=[Path(store["rootCertificate"]).read_bytes()], enable_online_checks=False,
            environment=Environment.SANDBOX, bundle_id=store["bundleID"])
        self.client = AppStoreServerAPIClient(
            Path(api["privateKey"]).read_bytes(), api["keyID"], api["issuerID"], store["bundleID"], Environment.SANDBOX)
        # Sends the requests to the simulator. A backend in production does not have this line.
        self.client._base_url = store["listening"]
        self.lock = threading.Lock()
        self.known = {}
        self.seen = set()

    def notify(self, signed_payload):
        """Processes a notification. Raises VerificationException if the store did not sign it."""
        notification = self.verifier.verify_and_decode_notification(signed_payload)
        if notification.notificationUUID in self.seen or not notification.data:
            return
        if notification.data.signedTransactionInfo:
            transaction = self.verifier.verify_and_decode_signed_transaction(notification.data.signedTransactionInfo)
            self.look_up(transaction.originalTransactionId)
        self.seen.add(notification.notificationUUID)

    def look_up(self, original):
        """Requests the current status of the customer's subscriptions."""
        for group in self.client.get_all_subscription_statuses(original).data:
            for latest in group.lastTransactions:
                transaction = self.verifier.verify_and_decode_signed_transaction(latest.signedTransactionInfo)
                with self.lock:
                    self.known[transaction.appAccountToken.lower()] = {
                        "product": transaction.productId, "status": latest.status.name,
                        "access": latest.status in (Status.ACTIVE, Status.BILLING_GRACE_PERIOD),
                        "until": transaction.expiresDate // 1000,
                    }


class Handler(BaseHTTPRequestHandler):
    customers = None

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self.customers.notify(body["signedPayload"])
        except (VerificationException, ValueError, KeyError):
            return self.answer(400, {"error": "not a notification that the App Store signed"})
        except Exception as error:  # The App Store sends the notification again.
            print(error, file=sys.stderr)
            return self.answer(500, {"error": "try again"})
        self.answer(200, {})

    def do_GET(self):
        token = self.path.rpartition("/")[2].lower()
        with self.customers.lock:
            self.answer(200, self.customers.known.get(token, {"access": False}))

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    Handler.customers = Customers(json.loads(Path(sys.argv[1]).read_text()))
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[2])), Handler)
    # Port 0 lets the system choose a port. The line has the form that `souk wait` reads.
    print(json.dumps({"listening": f"http://127.0.0.1:{server.server_port}"}), flush=True)
    server.serve_forever()
