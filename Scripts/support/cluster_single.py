"""Compares the ledger of several servers with that of one: everything that Scripts/chaos-cluster left in PostgreSQL is given
to one server on a SQLite file, claims in their order, and both must answer the same about every customer.
"""

import http.client
import json
import os

from cluster_world import APP, Server

# As many differences as are named.
SHOWN = 10


class Single:
    """A server on a SQLite file, in a folder of its own, with the rules of the others."""

    def __init__(self, cluster, mode):
        folder = f"{cluster.folder}/single"
        os.mkdir(folder)
        words = [cluster.program, "serve", "--database", f"sqlite:{folder}/ledger", "--bundle-id", APP, "--environment",
                 "sandbox", "--root", f"{cluster.folder}/root.der", "--features", f"{cluster.folder}/credits.json",
                 "--customer-rate-limit", "none", "--transfer-mode", mode, "--stop-with-parent"]
        self.server, self.refused = Server(9, words, folder), []
        self.server.start_surely()
        with open(f"{folder}/ledger.{APP}.secret-key") as file:
            self.secret = file.read().strip()
        self.connection = http.client.HTTPConnection(self.server.address, timeout=30)

    def request(self, method, path, body=None):
        """The body of an answer that says yes; what says no is kept."""
        self.connection.request(method, path, json.dumps(body) if body is not None else None, {
            "Authorization": f"Bearer {self.secret}", "Content-Type": "application/json"})
        response = self.connection.getresponse()
        text = response.read().decode()
        if response.status not in (200, 201):
            self.refused.append(f"{method} {path} was answered {response.status} by one server: {text[:200]}")
        return text

    def close(self):
        self.connection.close()
        self.server.kill()


def differences(cluster, mode):
    """Returns what one server says otherwise, as sentences."""
    tables = {
        "aliases": "SELECT alias, customer FROM alias", "customers": "SELECT id FROM customer ORDER BY id",
        "claims": "SELECT original_transaction_id AS id, customer FROM claim ORDER BY sequence",
        "facts": "SELECT original_transaction_id AS id, encode(digest, 'hex') AS digest FROM fact ORDER BY sequence",
        "grants": "SELECT customer, feature FROM customer_grant ORDER BY valid_from"}
    rows = {name: cluster.postgres.rows(query) for name, query in tables.items()}
    alias = {row["alias"]: row["customer"] for row in rows["aliases"]}
    single = Single(cluster, mode)
    try:
        feed(single, cluster, alias, rows)
        return single.refused[:SHOWN] + compared(single, cluster, [row["id"] for row in rows["customers"] if row["id"] not in alias])
    finally:
        single.close()


def feed(single, cluster, alias, rows):
    """Gives the one server what the others were given."""
    first = {}
    for row in rows["facts"]:
        if row["digest"] in cluster.signed:
            first.setdefault(row["id"], cluster.signed[row["digest"]])
    for visitor, customer in alias.items():
        single.request("POST", f"/v1/customers/{customer}/aliases", {"alias": visitor})
    for row in rows["claims"]:
        single.request("POST", f"/v1/customers/{alias.get(row['customer'], row['customer'])}/transactions",
                       {"signedTransactions": [first[row["id"]]]})
    for row in rows["grants"]:
        single.request("POST", f"/v1/customers/{row['customer']}/grants", {"feature": row["feature"], "reason": "support"})
    for row in rows["facts"]:
        signed = cluster.signed[row["digest"]]
        single.request("POST", "/v1/notifications/app-store",
                       {"signedPayload": cluster.store.notification(signed, "ONE_TIME_CHARGE")})


def compared(single, cluster, customers):
    wrong = []
    for place, customer in enumerate(customers):
        path = f"/v1/customers/{customer}"
        status, text = cluster.request(place % len(cluster.servers), "GET", path)
        one, several = gist(single.request("GET", path)), gist(text) if status == 200 else status
        if one != several:
            wrong.append(f"{customer} is answered {json.dumps(several)} by several servers and {json.dumps(one)} by one")
    return wrong[:SHOWN]


def gist(text):
    """An answer without its times: grants are given at another time than they were."""
    answer = json.loads(text)
    return {"features": sorted([one["name"], one["isActive"]] for one in answer["features"]),
            "purchases": sorted(answer["purchases"], key=lambda one: one["originalTransactionID"]),
            "subscriptions": answer["subscriptions"]}
