"""Small histories with the expected result of cluster_checker: explained, or the rule that is violated."""

import copy
import json

import cluster_checker
from cluster_orders import Claim, Read, explain

NEVER = float("inf")
# (claims, reads, transfer mode, whether an order explains them)
ORDERS = [
    ([Claim(0, 2, "a", True), Claim(1, 3, "b", True)], [Read(4, 5, "a", True), Read(4, 5, "b", False)], "transfer", True),
    ([Claim(0, 2, "a", True), Claim(1, 3, "b", True)], [Read(4, 5, "a", False), Read(4, 5, "b", False)], "transfer", False),
    ([Claim(0, 1, "a", True), Claim(2, 3, "b", True)], [Read(4, 5, "a", True)], "transfer", False),
    ([Claim(0, 1, "a", True), Claim(2, 3, "b", False)], [Read(4, 5, "a", True)], "keepWithOriginal", True),
    ([Claim(0, 1, "a", True), Claim(2, 3, "b", True)], [Read(4, 5, "b", True)], "keepWithOriginal", False),
    ([Claim(0, 1, "a", True), Claim(4, 5, "b", True)], [Read(2, 3, "a", False)], "transfer", False),
    ([Claim(0, 1, "a", True), Claim(2, NEVER, "b", True, True)], [Read(4, 5, "a", False)], "transfer", True),
    ([Claim(0, 1, "a", True), Claim(2, NEVER, "b", True, True)], [Read(4, 5, "a", True)], "transfer", True),
    ([Claim(0, 1, "a", True), Claim(2, 6, "b", True)], [Read(3, 4, "b", True), Read(5, 6, "a", True)], "transfer", False),
]


def history():
    """Returns a correct history: one customer presents a purchase and reads it, another gets a grant."""
    fact = {"id": "1", "digest": "d1", "product": "tool", "token": None, "revoked": False}
    purchase = {"originalTransactionID": "1", "transactionID": "1", "revokedAt": None}
    answer = {"asOf": "2030-01-01T00:00:01Z", "features": [{"name": "tool"}], "purchases": [purchase]}
    event = json.dumps({"asOf": "2030-01-01T00:00:01Z"})
    entries = [
        {"kind": "answer", "op": "present", "customer": "a", "key": "k", "begin": 0, "tried": 0, "end": 1, "status": 200,
         "facts": [fact], "body": json.dumps({**answer, "acknowledgedTransactionIDs": ["1"]})},
        {"kind": "answer", "op": "present", "customer": "a", "key": "k", "begin": 0, "tried": 2, "end": 3, "status": 200,
         "facts": [fact], "body": json.dumps({**answer, "acknowledgedTransactionIDs": ["1"]})},
        {"kind": "answer", "op": "read", "customer": "a", "key": None, "begin": 4, "tried": 4, "end": 5, "status": 200,
         "body": json.dumps(answer)},
        {"kind": "answer", "op": "redeem", "customer": "a", "key": "r", "begin": 6, "tried": 6, "end": 7, "status": 200,
         "item": "i", "group": "g", "body": json.dumps({"items": [{"id": "i", "cost": 60}]})},
        {"kind": "answer", "op": "promotion", "key": "p", "begin": 6, "tried": 6, "end": 7, "status": 201, "code": "C",
         "limit": 1, "body": ""},
        {"kind": "answer", "op": "promo", "customer": "b", "key": "q", "begin": 8, "tried": 8, "end": 9, "status": 200,
         "code": "C", "body": ""},
        {"kind": "answer", "op": "grant", "customer": "b", "key": "g", "begin": 8, "tried": 8, "end": 9, "status": 201,
         "feature": "gift-1", "body": ""},
        {"kind": "event", "follower": 0, "id": 1, "body": event, "begin": 5},
        {"kind": "event", "follower": 0, "id": 2, "body": event, "begin": 6},
        {"kind": "webhook", "begin": 5, "end": 6, "status": 200, "body": '{"id": "1"}'},
        {"kind": "webhook", "begin": 6, "end": 7, "status": 200, "body": '{"id": "2"}'},
    ]
    final = {
        "facts": [{"digest": "d1", "id": "1", "count": 1}], "holders": [{"id": "1", "customer": "a"}],
        "customers": [{"id": "a", "revision": 2}], "aliases": [],
        "grants": [{"customer": "b", "feature": "gift-1", "count": 1}],
        "promotions": [{"code": "C", "redemptions": 1, "most": 1, "count": 1}], "spending": [{"id": "1", "spent": 60}],
        "events": [{"id": name, "customer": "a", "type": "customer.updated", "body": event} for name in (1, 2)],
        "deliveries": [{"event": 1, "webhook": "crm", "count": 1, "state": "delivered"}],
        "served": {"a": [{"originalTransactionID": "1"}]}, "replay": {"status": 0, "output": "", "errors": ""},
    }
    return entries, final


def change(entries, place, **more):
    """Changes members of an entry. `body` changes members of the answer's JSON."""
    entries[place].update(more)


def body(entries, place, **more):
    entries[place]["body"] = json.dumps({**json.loads(entries[place]["body"]), **more})


# (the rule that must find the violation, the change that causes it)
CHANGES = [
    ("lost", lambda entries, final: final.update(facts=[])),
    ("doubled", lambda entries, final: final["facts"][0].update(count=2)),
    ("invented", lambda entries, final: final["facts"].append({"digest": "d2", "id": "2", "count": 1})),
    ("stale", lambda entries, final: body(entries, 2, purchases=[])),
    ("early", lambda entries, final: (change(entries, 0, begin=10, tried=10, end=11), change(entries, 1, begin=10))),
    ("holder", lambda entries, final: final.update(holders=[])),
    ("older", lambda entries, final: body(entries, 2, asOf="2030-01-01T00:00:00.5Z")),
    ("key", lambda entries, final: body(entries, 1, acknowledgedTransactionIDs=["1", "1"])),
    ("grant", lambda entries, final: final["grants"][0].update(count=2)),
    ("lost", lambda entries, final: final.update(grants=[])),
    ("limit", lambda entries, final: final["promotions"][0].update(count=2, redemptions=2)),
    ("limit", lambda entries, final: final["promotions"][0].update(redemptions=0)),
    ("spent", lambda entries, final: final["spending"][0].update(spent=120)),
    ("spent", lambda entries, final: body(entries, 3, items=[{"id": "i", "cost": 120}])),
    ("stream", lambda entries, final: entries.pop(7)),
    ("stream", lambda entries, final: entries.insert(7, entries.pop(8))),
    ("feed", lambda entries, final: final["events"][1].update(id=3)),
    ("revision", lambda entries, final: final["customers"][0].update(revision=1)),
    ("webhook", lambda entries, final: entries.pop(10)),
    ("webhook", lambda entries, final: entries.insert(9, entries.pop(10))),
    ("webhook", lambda entries, final: final["deliveries"][0].update(count=2)),
    ("replay", lambda entries, final: final["replay"].update(status=1)),
    ("single", lambda entries, final: final.update(single=["anna is answered otherwise"])),
    ("status", lambda entries, final: change(entries, 2, status=404)),
]
COUNT = len(ORDERS) + len(CHANGES) + 1


def wrong_cases():
    """Returns a sentence about each case with an unexpected result."""
    wrong = []
    for place, (claims, reads, mode, expected) in enumerate(ORDERS):
        if explain(claims, reads, mode)[0] != expected:
            wrong.append(f"order {place} should {'' if expected else 'not '}be explained")
    found = cluster_checker.check(*history())
    if found:
        wrong.append(f"the correct history has violations: {'; '.join(map(str, found))}")
    for place, (rule, alter) in enumerate(CHANGES):
        entries, final = copy.deepcopy(history())
        alter(entries, final)
        found = cluster_checker.check(entries, final)
        if rule not in {one.rule for one in found}:
            wrong.append(f"change {place} should violate the rule {rule}, not {[str(one) for one in found]}")
    return wrong
