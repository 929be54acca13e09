"""Checks values and a simulated Google Play against Google's own client library.

Reads one JSON object on standard input:
    {"values": [{"schema": "Order", "value": {...}}, ...]}
checks each value against a schema of the API's discovery document.

or
    {"googlePlay": {"url": "...", "packageName": "...", "serviceAccount": "<path>"}, "names": {"active": "<token>", ...}}
calls every method of the purchases and orders with Google's client, whose only change is the endpoint, and checks each
answer against the schema of its method.

Prints one JSON object {"faults": ["..."], "answers": 40}. Exit status 0 without faults, 1 with some, 2 for an invalid
request. A method of the discovery document that is neither called nor known to be unsupported is a fault.

Needs the PyPI packages google-api-python-client, whose wheel contains the discovery document, and google-auth.
"""

import json
import pathlib
import re
import sys

import googleapiclient
from google.oauth2 import service_account
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError

DOCUMENT = json.loads(
    (pathlib.Path(googleapiclient.__file__).parent / "discovery_cache/documents/androidpublisher.v3.json").read_text())
PATTERNS = {
    "int64": r"-?(0|[1-9][0-9]{0,18})",
    "google-datetime": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z",
    "google-duration": r"\d+(\.\d{1,9})?s",
}
TYPES = {"string": str, "boolean": bool, "integer": int, "number": (int, float), "object": dict, "array": list}


def faults(schema, value, path):
    """Yields what Google's schema does not allow in a value. Unlike JSON Schema, unknown members are faults."""
    if "$ref" in schema:
        schema = DOCUMENT["schemas"][schema["$ref"]]
    kind = schema.get("type", "any")
    if kind == "any":
        return
    if not isinstance(value, TYPES[kind]) or (isinstance(value, bool) and kind != "boolean"):
        yield f"{path} is not of the type {kind}: {value!r}"
        return
    if kind == "object":
        members = schema.get("properties", {})
        for name, member in value.items():
            if name in members:
                yield from faults(members[name], member, f"{path}.{name}")
            elif "additionalProperties" in schema:
                yield from faults(schema["additionalProperties"], member, f"{path}.{name}")
            else:
                yield f"{path} has no member {name}"
    elif kind == "array":
        for index, element in enumerate(value):
            yield from faults(schema["items"], element, f"{path}[{index}]")
    elif kind == "string":
        pattern = PATTERNS.get(schema.get("format"))
        if pattern and not re.fullmatch(pattern, value):
            yield f"{path} is not of the format {schema['format']}: {value!r}"
        if "enum" in schema and value not in schema["enum"]:
            yield f"{path} has an unknown value {value!r}"
    elif kind == "integer" and schema.get("format") == "int32" and not -2**31 <= value < 2**31:
        yield f"{path} is not of the format int32: {value!r}"


def check_values(values):
    return [fault for entry in values for fault in faults({"$ref": entry["schema"]}, entry["value"], entry["schema"])]


class Client:
    """Google's client, with a record of the methods that it called."""

    def __init__(self, play, names):
        self.package, self.names = play["packageName"], names
        self.key = json.loads(pathlib.Path(play["serviceAccount"]).read_text())
        credentials = service_account.Credentials.from_service_account_info(
            self.key, scopes=["https://www.googleapis.com/auth/androidpublisher"])
        self.api = build_from_document(
            DOCUMENT, credentials=credentials, client_options={"api_endpoint": play["url"]})
        self.called, self.faults, self.answers = set(), [], 0

    def request(self, method, **arguments):
        resource = self.api
        *path, name = method.split(".")
        for part in path:
            resource = getattr(resource, part)()
        self.called.add(method)
        arguments.setdefault("packageName", self.package)
        return getattr(resource, name)(**arguments)

    def call(self, method, **arguments):
        """Calls a method that should succeed, and checks its answer."""
        try:
            answer = self.request(method, **arguments).execute()
        except HttpError as error:
            self.faults.append(f"{method}: {error}")
            return {}
        self.answers += 1
        schema = description(method).get("response")
        if schema is None:
            if answer:
                self.faults.append(f"{method} answered {answer!r} instead of nothing")
            return {}
        self.faults += faults(schema, answer, method)
        return answer

    def refused(self, status, reason, method, **arguments):
        """Calls a method that should fail with a status and a reason."""
        try:
            answer = self.request(method, **arguments).execute()
            self.faults.append(f"{method} succeeded: {answer!r}")
        except HttpError as error:
            self.answers += 1
            found = json.loads(error.content)["error"]
            reasons = [detail["reason"] for detail in found["errors"]]
            if (error.resp.status, found["code"], reasons) != (status, status, [reason]):
                self.faults.append(f"{method} failed with {found}, not {status} {reason}")
            if not error.reason or not found["status"].isupper():
                self.faults.append(f"{method} has no reason or status: {found}")

    def equal(self, what, found, expected):
        if found != expected:
            self.faults.append(f"{what} is {found!r}, not {expected!r}")


def description(method):
    node = DOCUMENT
    *path, name = method.split(".")
    for part in path:
        node = node["resources"][part]
    return node["methods"][name]


def methods():
    """Returns the methods of the purchases and orders."""
    def walk(node, path):
        for name in node.get("methods", {}):
            yield ".".join(path + [name])
        for name, child in node.get("resources", {}).items():
            yield from walk(child, path + [name])
    return {name for part in ("purchases", "orders") for name in walk(DOCUMENT["resources"][part], [part])}


STATES = {
    "hold": "ON_HOLD", "paused": "PAUSED", "expired": "EXPIRED", "grace": "IN_GRACE_PERIOD", "trial": "ACTIVE",
    "replaced": "EXPIRED", "replacing": "ACTIVE", "instalments": "ACTIVE", "active": "ACTIVE",
}


def check_client(play, names):
    client = Client(play, names)
    subscription = "purchases.subscriptionsv2"
    for name, state in STATES.items():
        answer = client.call(subscription + ".get", token=names[name])
        client.equal(name, answer.get("subscriptionState"), "SUBSCRIPTION_STATE_" + state)
    client.refused(404, "purchaseTokenNotFound", subscription + ".get", token=names["active"][:-2] + "AA")
    client.refused(400, "invalid", subscription + ".get", token=names["active"][:-2])
    client.refused(404, "applicationNotFound", subscription + ".get", token=names["active"], packageName="a.b")

    items = client.call(subscription + ".get", token=names["deferred"])["lineItems"]
    client.equal("the deferred items", [item.get("deferredItemReplacement") for item in items],
                 [{"productId": "plus"}, None])
    plan = client.call(subscription + ".get", token=names["raised"])["lineItems"][0]["autoRenewingPlan"]
    client.equal("the price change", plan["priceChangeDetails"]["priceChangeState"], "OUTSTANDING")

    # The acknowledgement, cancellation and deferral of the older version.
    token, old = names["active"], {"subscriptionId": "plus", "token": names["active"]}
    client.call("purchases.subscriptions.acknowledge", **old, body={"developerPayload": "p"})
    answer = client.call(subscription + ".get", token=token)
    client.equal("the state", answer.get("acknowledgementState"), "ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED")
    client.refused(400, "purchaseTokenDoesNotMatchSubscriptionId", "purchases.subscriptions.acknowledge",
                   subscriptionId="plus", token=names["coins"], body={})
    client.refused(400, "invalid", "purchases.subscriptions.defer", **old, body={})
    body = {"deferralContext": {"etag": answer["etag"], "deferDuration": "172800s", "validateOnly": True}}
    trial = client.call(subscription + ".defer", token=token, body=body)
    client.equal("the deferred item", [item["productId"] for item in trial["itemExpiryTimeDetails"]], ["plus"])
    body["deferralContext"]["validateOnly"] = False
    client.equal("the deferral", client.call(subscription + ".defer", token=token, body=body), trial)
    client.refused(409, "etagMismatch", subscription + ".defer", token=token, body=body)
    expiry = names["now"] + 3 * 365 * 86_400_000
    client.refused(400, "expectedExpiryTimeMismatch", "purchases.subscriptions.defer", **old, body={
        "deferralInfo": {"expectedExpiryTimeMillis": str(expiry), "desiredExpiryTimeMillis": str(expiry + 1)}})
    client.call("purchases.subscriptions.cancel", **old)
    client.refused(400, "invalidSubscriptionState", "purchases.subscriptions.cancel", **old)
    cancel = {"cancellationContext": {"cancellationType": "USER_REQUESTED_STOP_RENEWALS"}}
    client.refused(400, "invalid", subscription + ".cancel", token=names["trial"], body={})
    client.call(subscription + ".cancel", token=names["trial"], body=cancel)
    client.call(subscription + ".revoke", token=names["revoked"], body={"revocationContext": {"fullRefund": {}}})
    client.refused(400, "invalidSubscriptionState", subscription + ".revoke", token=names["revoked"],
                   body={"revocationContext": {"proratedRefund": {}}})

    # One-time products.
    coins = {"productId": "coins", "token": names["coins"]}
    for name, state in {"coins": 0, "charged": 1, "pending": 2}.items():
        answer = client.call("purchases.products.get", productId="coins", token=names[name])
        client.equal(name, answer.get("purchaseState"), state)
        client.call("purchases.productsv2.getproductpurchasev2", token=names[name])
    client.refused(400, "purchaseTokenDoesNotMatchProductId", "purchases.products.get", productId="x",
                   token=names["coins"])
    client.refused(400, "purchaseTokenDoesNotMatchProductId", "purchases.productsv2.getproductpurchasev2", token=token)
    client.call("purchases.products.acknowledge", **coins, body={})
    client.call("purchases.products.consume", **coins)
    client.refused(400, "productNotOwnedByUser", "purchases.products.consume", **coins)
    for name in ("pending", "charged", "unacknowledged"):
        client.refused(400, "productNotOwnedByUser", "purchases.products.acknowledge", productId="coins",
                       token=names[name], body={})

    # Orders and voided purchases.
    client.call("orders.get", orderId=names["activeOrder"])
    order = client.call("orders.get", orderId=names["chargedOrder"])
    client.equal("the reason", order["orderHistory"]["refundEvent"]["refundReason"], "CHARGEBACK")
    ids = [names["coinsOrder"], names["trialOrder"]]
    answer = client.call("orders.batchget", orderIds=ids)
    client.equal("the orders", [order["orderId"] for order in answer["orders"]], ids)
    client.refused(404, "orderNotFound", "orders.get", orderId="GPA.0")
    client.refused(404, "orderNotFound", "orders.batchget", orderIds=ids + ["GPA.0"])
    client.call("orders.refund", orderId=names["coinsOrder"], revoke=True)
    client.refused(400, "orderNotRefundable", "orders.refund", orderId=names["coinsOrder"])
    client.refused(400, "invalid", "orders.reviewrefund", orderId=names["reviewedOrder"], body={})
    review = {"pendingRefundToken": names["review"], "refundPreference": "DECLINE", "sampleContentProvided": True,
              "consumptionPercentageMilliunits": 45200,
              "consumptionUsageEvents": [{"consumptionTime": "2026-01-31T10:00:00Z", "ipAddress": "192.0.2.1"}]}
    client.refused(400, "invalid", "orders.reviewrefund", orderId=names["coinsOrder"], body=review)
    client.refused(404, "orderNotFound", "orders.reviewrefund", orderId="GPA.0", body=review)
    for _ in range(2):
        client.call("orders.reviewrefund", orderId=names["reviewedOrder"], body=review)
    order = client.call("orders.get", orderId=names["partialOrder"])
    client.equal("the partial refund", order["state"], "PARTIALLY_REFUNDED")
    partial = client.call("purchases.voidedpurchases.list", includeQuantityBasedPartialRefund=True)
    client.equal("the voided quantity", [entry["voidedQuantity"] for entry in partial["voidedPurchases"]
                                         if entry["orderId"] == names["partialOrder"]], [1])
    voided = client.call("purchases.voidedpurchases.list", type=1, maxResults=2)
    client.equal("the page", len(voided["voidedPurchases"]), 2)
    rest = client.call("purchases.voidedpurchases.list", type=1, token=voided["tokenPagination"]["nextPageToken"])
    orders = [entry["orderId"] for entry in voided["voidedPurchases"] + rest["voidedPurchases"]]
    client.equal("the last voided order", orders[-1], names["coinsOrder"])
    client.equal("a voided order", len(orders), len(set(orders)))
    client.refused(400, "invalid", "purchases.voidedpurchases.list", startTime="0")
    client.refused(400, "invalid", "purchases.voidedpurchases.list", maxResults=4_000_000_000)

    client.faults += [f"{name} was not called" for name in sorted(methods() - client.called)]
    return client


def main():
    request = json.load(sys.stdin)
    if "values" in request:
        found, answers = check_values(request["values"]), 0
    elif "googlePlay" in request:
        client = check_client(request["googlePlay"], request["names"])
        found, answers = client.faults, client.answers
    else:
        print("the request has neither values nor googlePlay", file=sys.stderr)
        return 2
    print(json.dumps({"faults": found, "answers": answers}))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
