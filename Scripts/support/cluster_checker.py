"""Checks the history of Scripts/chaos-cluster and the final ledger. Uses no code of the server, only its responses, events,
webhooks and tables, with their times.

`check` takes `entries`, as in `History`, and `final`, as from `observe`. It returns the violations.
"""

import collections
import json
import typing

from cluster_orders import Claim, Read, explain

NEVER = float("inf")
CREDITS_PER_PURCHASE = 100


def observe(cluster):
    """Returns the contents of the ledger. Call it when no request is open and every event is delivered."""
    postgres = cluster.postgres
    return {
        "facts": postgres.rows("SELECT encode(digest, 'hex') AS digest, original_transaction_id AS id, count(*) AS count "
                               "FROM fact GROUP BY app, environment, source, 1, 2"),
        "holders": postgres.rows("SELECT original_transaction_id AS id, customer FROM holder"),
        "customers": postgres.rows("SELECT id, revision FROM customer"),
        "aliases": postgres.rows("SELECT alias, customer FROM alias"),
        "grants": postgres.rows("SELECT customer, feature, count(*) AS count FROM customer_grant "
                                "WHERE feature LIKE 'gift-%' GROUP BY 1, 2"),
        "promotions": postgres.rows("SELECT code, redemptions, redemption_limit AS most, (SELECT count(*) FROM "
                                    "promotion_redemption r WHERE r.code = p.code) AS count FROM promotion p"),
        "spending": postgres.rows("SELECT original_transaction_id AS id, sum(amount) AS spent FROM spending GROUP BY 1"),
        "events": postgres.rows("SELECT sequence AS id, customer, type, convert_from(body, 'UTF8') AS body FROM event "
                                "ORDER BY sequence"),
        "deliveries": postgres.rows("SELECT event, webhook, count(*) AS count, max(state) AS state FROM webhook_delivery "
                                    "GROUP BY 1, 2"),
        "served": served_facts(cluster),
        "replay": cluster.replay(),
    }


def served_facts(cluster):
    """Returns the facts of each customer, as GET /v1/customers/{customer}/facts lists them."""
    served = {}
    for row in cluster.postgres.rows("SELECT id FROM customer ORDER BY id"):
        facts, cursor = [], ""
        while cursor is not None:
            status, text = cluster.request(len(served) % len(cluster.servers), "GET",
                                           f"/v1/customers/{row['id']}/facts?limit=100{cursor}")
            page = json.loads(text) if status == 200 else {"facts": [{"kind": f"status {status}"}]}
            facts += page["facts"]
            cursor = f"&cursor={page['nextCursor']}" if "nextCursor" in page else None
        served[row["id"]] = facts
    return served


class Violation(typing.NamedTuple):
    """A rule that the history or the ledger breaks, and a sentence about it."""

    rule: str
    sentence: str

    def __str__(self):
        return f"{self.rule}: {self.sentence}"


class Checker:
    def __init__(self, entries, final, mode="transfer"):
        self.final, self.mode, self.wrong = final, mode, []
        by_kind = collections.defaultdict(list)
        for entry in entries:
            by_kind[entry["kind"]].append(entry)
        self.answers, self.tries = by_kind["answer"], by_kind["try"]
        self.seen, self.webhooks = by_kind["event"], by_kind["webhook"]
        self.alias = {row["alias"]: row["customer"] for row in final["aliases"]}
        self.searched = 0
        for answer in self.answers:
            try:
                answer["json"] = json.loads(answer["body"]) if answer["body"] else {}
            except ValueError:
                answer["json"] = {}

    def check(self):
        for rule in (self.statuses, self.facts, self.reads, self.holders, self.order_of_answers, self.keys, self.grants,
                     self.promotions, self.credits, self.events, self.revisions, self.deliveries, self.replay, self.single):
            rule()
        return self.wrong

    def add(self, rule, sentence, *entries):
        excerpt = "".join(f"\n      {shorten(entry)}" for entry in entries[:12])
        self.wrong.append(Violation(rule, sentence + excerpt))

    def answers_to(self, *ops):
        return [answer for answer in self.answers if answer["op"] in ops]

    # Facts

    def statuses(self):
        """Every response has a status that its request allows."""
        allowed = {"present": {200, 422}, "notify": {200}, "read": {200}, "grant": {201}, "promotion": {201},
                   "promo": {200, 409}, "redeem": {200, 409}, "alias": {200}}
        for answer in self.answers:
            if answer["status"] not in allowed[answer["op"]]:
                self.add("status", f"{answer['op']} was answered {answer['status']}", answer)

    def accepted(self, answer):
        """Returns the facts that an answer acknowledges."""
        if answer["status"] != 200:
            return []
        if answer["op"] == "notify":
            return answer["facts"]
        known = set(answer["json"].get("acknowledgedTransactionIDs", []))
        return [fact for fact in answer["facts"] if fact["id"] in known]

    def facts(self):
        """The ledger has each acknowledged fact once, and only facts that a client sent."""
        counts = collections.Counter()
        for row in self.final["facts"]:
            counts[row["digest"]] += row["count"]
        sent = {fact["digest"] for entry in self.answers + self.tries for fact in entry.get("facts", [])}
        for answer in self.answers_to("present", "notify"):
            for fact in self.accepted(answer):
                if not counts[fact["digest"]]:
                    self.add("lost", f"a fact about {fact['id']} was acknowledged and is not in the ledger", answer)
        for name, count in counts.items():
            if count > 1:
                self.add("doubled", f"the fact {name[:12]} is in the ledger {count} times")
            if name not in sent:
                self.add("invented", f"no client presented the fact {name[:12]}")
        for customer, facts in self.final["served"].items():
            texts = [json.dumps(fact, sort_keys=True) for fact in facts]
            if len(set(texts)) < len(texts):
                self.add("doubled", f"the list of facts of {customer} has a fact twice")
        held = collections.Counter((row["customer"]) for row in self.final["holders"])
        for customer, count in held.items():
            served = {fact.get("originalTransactionID") for fact in self.final["served"].get(customer, [])}
            if len(served) < count:
                self.add("served", f"{customer} has {count} purchases, and the list of facts names {len(served)}")

    # Reads

    def answers_with_purchases(self):
        """Yields each answer about a customer, the customer, and the purchases in it by id."""
        for answer in self.answers_to("read", "present", "grant", "alias"):
            if answer["status"] in (200, 201) and "purchases" in answer["json"]:
                purchases = {one["originalTransactionID"]: one for one in answer["json"]["purchases"]}
                yield answer, answer["customer"], purchases

    def reads(self):
        """Each answer has every fact acknowledged before its request, and none presented after the answer."""
        first, names, refunded, begun = {}, collections.defaultdict(set), {}, {}
        for entry in self.answers + self.tries:
            for fact in entry.get("facts", []):
                place = (fact["id"], fact["revoked"])
                begun[place] = min(begun.get(place, NEVER), entry["begin"])
                if entry["op"] == "present":
                    names[fact["id"]].add(entry["customer"])
                if fact["token"]:
                    names[fact["id"]].add(fact["token"])
        known = {}
        for answer in self.answers_to("grant", "present", "alias", "redeem", "promo"):
            if answer["status"] in (200, 201):
                known[answer["customer"]] = min(known.get(answer["customer"], NEVER), answer["end"])
        for answer in self.answers_to("present", "notify"):
            for fact in self.accepted(answer):
                if fact["revoked"]:
                    refunded[fact["id"]] = min(refunded.get(fact["id"], NEVER), answer["end"])
                else:
                    since = answer["end"]
                    if answer["op"] == "notify" or fact["token"]:
                        since = max(since, known.get(fact["token"], NEVER))
                    first[fact["id"]] = min(first.get(fact["id"], NEVER), since)
        merged = {answer["alias"]: answer for answer in self.answers_to("alias") if answer["status"] == 200}
        owners = {}
        for name in first:
            about = names[name]
            tokens = {customer for customer in about if len(customer) == 36}
            # The customer of a token has the purchase, even if others presented it.
            owners[name] = tokens if tokens else about
        by_owner = collections.defaultdict(list)
        for name, about in owners.items():
            if len(about) == 1:
                by_owner[next(iter(about))].append(name)
        for answer, customer, purchases in self.answers_with_purchases():
            # With a key, this may be the stored answer to an earlier try.
            asked_at = answer["begin"] if answer["key"] else answer["tried"]
            wanted = list(by_owner[customer])
            for visitor, merge in merged.items():
                if merge["customer"] == customer and merge["end"] < asked_at:
                    wanted += by_owner[visitor]
                if visitor == customer and merge["end"] < asked_at:
                    wanted += by_owner[merge["customer"]]
            for name in wanted:
                if first[name] < asked_at and name not in purchases:
                    self.add("stale", f"an answer about {customer} lacks {name}, which was acknowledged before", answer)
                revoked = purchases.get(name, {}).get("revokedAt") is not None
                if refunded.get(name, NEVER) < asked_at and name in purchases and not revoked:
                    self.add("stale", f"an answer about {customer} has {name} without its refund", answer)
                if revoked and begun.get((name, True), NEVER) > answer["end"]:
                    self.add("early", f"an answer about {customer} has a refund of {name} before it was presented", answer)
            for name in purchases:
                if begun.get((name, False), NEVER) > answer["end"]:
                    self.add("early", f"an answer about {customer} has {name} before it was presented", answer)
        # The final ledger has the purchases too.
        held = {(row["id"], row["customer"]) for row in self.final["holders"]}
        for owner, bought in by_owner.items():
            for name in bought:
                if first[name] < NEVER and (name, self.alias.get(owner, owner)) not in held:
                    self.add("holder", f"{owner} does not have {name} in the final ledger")

    # Holders of purchases

    def holders(self):
        """For each purchase that several customers presented, an order of the claims explains all reads."""
        claims, seen = collections.defaultdict(list), collections.defaultdict(set)
        for entry in self.answers + self.tries:
            if entry["op"] != "present" or (entry["kind"] == "try" and entry["key"]):
                continue
            for fact in entry["facts"]:
                if fact["token"] or fact["revoked"]:
                    continue
                seen[fact["id"]].add(entry["customer"])
                is_unanswered = entry["kind"] == "try"
                is_accepted = True if is_unanswered else fact in self.accepted(entry)
                claims[fact["id"]].append(Claim(entry["begin"], NEVER if is_unanswered else entry["end"], entry["customer"],
                                                is_accepted, is_unanswered))
        answered = {(answer["key"]) for answer in self.answers}
        for entry in self.tries:
            if entry["op"] == "present" and entry["key"] and entry["key"] not in answered:
                answered.add(entry["key"])
                for fact in entry["facts"]:
                    claims[fact["id"]].append(Claim(entry["begin"], NEVER, entry["customer"], True, True))
        contested = {name for name, customers in seen.items() if len(customers) > 1 and not customers & set(self.alias)}
        reads = collections.defaultdict(list)
        for answer, customer, purchases in self.answers_with_purchases():
            if answer["op"] != "read":
                continue
            for name in contested:
                if customer in seen[name]:
                    reads[name].append(Read(answer["begin"], answer["end"], customer, name in purchases))
        held = collections.defaultdict(set)
        for row in self.final["holders"]:
            held[row["id"]].add(row["customer"])
        for name in sorted(contested):
            last = [Read(NEVER, NEVER, customer, customer in held[name]) for customer in seen[name]]
            is_explained, steps = explain(claims[name], reads[name] + last, self.mode)
            self.searched += steps
            if not is_explained:
                about = [answer for answer in self.answers
                         if any(fact["id"] == name for fact in answer.get("facts", []))
                         or answer["op"] == "read" and answer["customer"] in seen[name]]
                self.add("order", f"no order of the claims explains the reads of {name}; holders: {sorted(held[name])}", *about)

    # Order

    def order_of_answers(self):
        """A later answer about a customer is never as of an earlier time."""
        by_customer = collections.defaultdict(list)
        for answer, customer, purchases in self.answers_with_purchases():
            is_stored = answer["key"] and answer["tried"] > answer["begin"]
            if "asOf" in answer["json"] and answer["json"].get("features") and not is_stored:
                by_customer[customer].append(answer)
        for customer, answers in by_customer.items():
            if customer in self.alias:
                continue
            for later in answers:
                earlier = [answer for answer in answers if answer["end"] < later["begin"]]
                newest = max(earlier, key=lambda answer: instant(answer), default=None)
                if newest and instant(newest) > instant(later):
                    self.add("older", f"an answer about {customer} is as of {later['json']['asOf']}, after "
                                      f"{newest['json']['asOf']}", newest, later)

    def keys(self):
        """All answers to one idempotency key have the same bytes."""
        by_key = collections.defaultdict(list)
        for answer in self.answers:
            if answer["key"]:
                by_key[answer["key"]].append(answer)
        for key, answers in by_key.items():
            if len({(answer["status"], answer["body"]) for answer in answers}) > 1:
                self.add("key", f"the key {key} has different answers", *answers)

    def grants(self):
        counts = {(row["customer"], row["feature"]): row["count"] for row in self.final["grants"]}
        for (customer, feature), count in counts.items():
            if count > 1:
                self.add("grant", f"{customer} was granted {feature} {count} times for one key")
        for answer in self.answers_to("grant"):
            if answer["status"] == 201 and (answer["customer"], answer["feature"]) not in counts:
                self.add("lost", f"the grant {answer['feature']} was acknowledged and is not in the ledger", answer)

    # Limits

    def promotions(self):
        redeemed, refused = collections.defaultdict(set), collections.defaultdict(set)
        for answer in self.answers_to("promo"):
            (redeemed if answer["status"] == 200 else refused)[answer["code"]].add(answer["customer"])
        rows = {row["code"]: row for row in self.final["promotions"]}
        for answer in self.answers_to("promotion"):
            code, limit, row = answer["code"], answer["limit"], rows.get(answer["code"])
            if row is None:
                self.add("lost", f"the promotion {code} was acknowledged and is not in the ledger", answer)
                continue
            count = len(redeemed[code])
            if count > limit or row["count"] > limit:
                self.add("limit", f"{code} has the limit {limit} and was redeemed {max(count, row['count'])} times")
            if row["redemptions"] != row["count"] or row["count"] < count:
                self.add("limit", f"{code} counts {row['redemptions']} redemptions, {row['count']} are in the ledger, "
                                  f"{count} were acknowledged")
            if refused[code] and row["count"] < limit:
                self.add("limit", f"{code} was refused to {len(refused[code])} customers after {row['count']} of {limit}")

    def credits(self):
        """Redemptions against a purchase never exceed its credits."""
        for row in self.final["spending"]:
            if row["spent"] > CREDITS_PER_PURCHASE:
                self.add("spent", f"{row['spent']} of the {CREDITS_PER_PURCHASE} credits of {row['id']} are spent")
        groups = collections.defaultdict(dict)
        for answer in self.answers_to("redeem"):
            if answer["status"] == 200:
                for item in answer["json"].get("items", []):
                    groups[answer["group"]][(answer["customer"], answer["item"])] = item.get("cost", 0)
        for group, costs in groups.items():
            if sum(costs.values()) > CREDITS_PER_PURCHASE:
                self.add("spent", f"customers of one purchase spent {sum(costs.values())} of {CREDITS_PER_PURCHASE}: {costs}",
                         *[answer for answer in self.answers_to("redeem") if answer["group"] == group])

    # Events

    def events(self):
        """Each reader receives every event once, in the order of the feed, from all servers. All receive the same bodies."""
        stored = {row["id"]: row for row in self.final["events"]}
        for name in [name for name in stored if name < 0]:
            self.add("feed", f"the event {name} has no number in the feed")
        streams = collections.defaultdict(list)
        for event in self.seen:
            streams[event["follower"]].append(event)
        bodies = {}
        for follower, events in streams.items():
            ids = [event["id"] for event in events]
            for earlier, later in zip(events, events[1:]):
                if later["id"] <= earlier["id"]:
                    self.add("stream", f"reader {follower} received {later['id']} after {earlier['id']}")
            missed = sorted(set(stored) - set(ids))
            if missed:
                self.add("stream", f"reader {follower} did not receive {len(missed)} events: {missed[:5]}")
            for event in events:
                if bodies.setdefault(event["id"], event["body"]) != event["body"]:
                    self.add("stream", f"the event {event['id']} has different bodies")
        ids = sorted(stored)
        if ids and ids != list(range(ids[0], ids[0] + len(ids))):
            gaps = [later for earlier, later in zip(ids, ids[1:]) if later != earlier + 1]
            self.add("feed", f"the feed has gaps before {gaps[:5]}")
        newest = {}
        for name in ids:
            row = stored[name]
            if row["type"] != "customer.updated":
                continue
            body = json.loads(row["body"])
            since = newest.get(row["customer"])
            if since and since > fraction(body["asOf"]):
                self.add("older", f"the event {name} of {row['customer']} is as of {fraction(body['asOf'])} after {since}")
            newest[row["customer"]] = fraction(body["asOf"])

    def revisions(self):
        """Each revision has one event. An empty first answer needs none."""
        counts = collections.Counter(
            row["customer"] for row in self.final["events"] if row["type"] == "customer.updated")
        for row in self.final["customers"]:
            if row["id"] in self.alias or row["id"] in self.alias.values():
                continue
            if row["revision"] - counts[row["id"]] not in (0, 1):
                self.add("revision", f"{row['id']} is at revision {row['revision']} after {counts[row['id']]} events")

    def deliveries(self):
        """Every event is delivered at least once, and the events of each customer are delivered in order."""
        for row in self.final["deliveries"]:
            if row["count"] > 1:
                self.add("webhook", f"the event {row['event']} has {row['count']} deliveries to one webhook")
        stored = {row["id"]: row["customer"] for row in self.final["events"]}
        newest, done = {}, set()
        for post in self.webhooks:
            name = int(json.loads(post["body"])["id"])
            customer = stored.get(name)
            if customer is None:
                self.add("webhook", f"the event {name} was delivered, but is not in the ledger")
                continue
            if name < newest.get(customer, 0):
                self.add("webhook", f"the event {name} of {customer} was sent after {newest[customer]} was accepted")
            if post["status"] == 200:
                done.add(name)
                newest[customer] = max(name, newest.get(customer, 0))
        missed = sorted(set(stored) - done)
        if missed:
            self.add("webhook", f"{len(missed)} events were never delivered: {missed[:5]}")

    def replay(self):
        replay = self.final["replay"]
        if replay["status"] != 0:
            self.add("replay", f"the ledger does not follow from its facts: {(replay['output'] or replay['errors'])[:600]}")

    def single(self):
        """One server with the same requests returns the same answers, see cluster_single.py."""
        for sentence in self.final.get("single", []):
            self.add("single", sentence)


def check(entries, final, mode="transfer"):
    return Checker(entries, final, mode).check()


def instant(answer):
    return fraction(answer["json"]["asOf"])


def fraction(text):
    """Returns a time of RFC 3339 in UTC with three digits of the second's fraction, so that strings compare as times."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return f"{whole}.{rest:0<3}"


def shorten(entry):
    """Returns an entry of the history on one line. An answer about a customer shows only the purchases."""
    shown = {name: value for name, value in entry.items() if name not in ("json", "facts", "kind", "body")}
    for name in ("begin", "tried", "end"):
        shown[name] = round(shown[name], 4)
    if "facts" in entry:
        shown["facts"] = [fact["id"] + (" refunded" if fact["revoked"] else "") for fact in entry["facts"]]
    answer = entry.get("json", {})
    if "purchases" in answer:
        shown["asOf"] = answer["asOf"]
        shown["purchases"] = [one["originalTransactionID"] + (" refunded" if one.get("revokedAt") else "")
                              for one in answer["purchases"]]
    else:
        shown["body"] = entry.get("body", "")[:300]
    return json.dumps(shown)
