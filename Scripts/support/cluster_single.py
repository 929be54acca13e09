"""Compares the ledger of several servers with that of one server.

Sends everything that Scripts/chaos-cluster stored in PostgreSQL to one server on a SQLite file, claims in their order. Both
must return the same answer about every customer.
"""

import http.client
import json
import os

from cluster_world import APP, Server

# The largest number of differences that are listed.
SHOWN = 10


class SingleServer:
    """A server on a SQLite file in its own folder, with the settings of the other servers."""

    def __init__(self, cluster, mode):
        folder = f"{cluster.folder}/single"
        os.mkdir(folder)
        words = [cluster.program, "serve", "--database", f"sqlite:{folder}/ledger", "--bundle-id", APP, "--environment",
                 "sandbox", "--root", f"{cluster.folder}/root.der", "--features", f"{cluster.folder}/credits.json",
                 "--customer-rate-limit", "none", "--transfer-mode", mode, "--stop-with-parent"]
        self.server, self.refused = Server(9, words, folder), []
        self.server.start_with_retries()
        with open(f"{folder}/ledger.{APP}.secret-key") as file:
            self.secret = file.read().strip()
        self.connection = http.client.HTTPConnection(self.server.address, timeout=30)

    def request(self, method, path, body=None):
        """Sends a request and returns the body of the response. Records a response with another status than 200 or 201."""
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {
            "Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read().decode()
        if response.status not in (200, 201):
            self.refused.append(f"one server answered {method} {path} with {response.status}: {text[:200]}")
        return text

    def close(self):
        self.connection.close()
        self.server.kill()


def differences(cluster, mode):
    """Returns a sentence about each difference between the answers of several servers and of one."""
    tables = {
        "aliases": "SELECT alias, customer FROM alias", "customers": "SELECT id FROM customer ORDER BY id",
        "claims": "SELECT original_transaction_id AS id, customer FROM claim ORDER BY sequence",
        "facts": "SELECT original_transaction_id AS id, encode(digest, 'hex') AS digest FROM fact ORDER BY sequence",
        "grants": "SELECT customer, feature FROM customer_grant ORDER BY valid_from"}
    rows = {name: cluster.postgres.rows(query) for name, query in tables.items()}
    alias = {row["alias"]: row["customer"] for row in rows["aliases"]}
    single = SingleServer(cluster, mode)
    try:
        send_all(single, cluster, alias, rows)
        return single.refused[:SHOWN] + compare(single, cluster, [
            row["id"] for row in rows["customers"] if row["id"] not in alias])
    finally:
        single.close()


def send_all(single, cluster, alias, rows):
    """Sends the aliases, claims, grants and facts of the other servers to the single server."""
    first = {}
    for row in rows["facts"]:
        if row["digest"] in cluster.signed:
            first.setdefault(row["id"], cluster.signed[row["digest"]])
    for alias_id, customer in alias.items():
        single.request("POST", f"/v1/customers/{customer}/aliases", {"alias": alias_id})
    for row in rows["claims"]:
        single.request("POST", f"/v1/customers/{alias.get(row['customer'], row['customer'])}/transactions",
                       {"signedTransactions": [first[row["id"]]]})
    for row in rows["grants"]:
        single.request("POST", f"/v1/customers/{row['customer']}/grants", {"feature": row["feature"], "reason": "support"})
    for row in rows["facts"]:
        signed = cluster.signed[row["digest"]]
        single.request("POST", "/v1/notifications/app-store",
                       {"signedPayload": cluster.store.notification(signed, "ONE_TIME_CHARGE")})


def compare(single, cluster, customers):
    wrong = []
    for place, customer in enumerate(customers):
        path = f"/v1/customers/{customer}"
        status, text = cluster.request(place % len(cluster.servers), "GET", path)
        one, several = without_times(single.request("GET", path)), without_times(text) if status == 200 else status
        if one != several:
            wrong.append(f"for {customer} several servers answer {json.dumps(several)} and one answers {json.dumps(one)}")
    return wrong[:SHOWN]


def without_times(text):
    """Returns an answer without its times, because the single server gives grants at other times."""
    answer = json.loads(text)
    return {"features": sorted([one["name"], one["isActive"]] for one in answer["features"]),
            "purchases": sorted(answer["purchases"], key=lambda one: one["originalTransactionID"]),
            "subscriptions": answer["subscriptions"]}
