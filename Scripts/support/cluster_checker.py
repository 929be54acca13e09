"""Checks the history of Scripts/chaos-cluster and the final ledger. Uses no code of the server, only its responses, events,
webhooks and tables, with their times.

What it takes: `entries`, as `History` has them, and `final`, see `observe`. `check` returns what does not hold.
"""

import collections
import json
import typing

from cluster_orders import Claim, Sight, explain

NEVER = float("inf")
GIVEN = 100


def observe(cluster):
    """Returns the contents of the ledger, once everything is quiet."""
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
    """The facts of each customer, as GET /v1/customers/{customer}/facts lists them."""
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
    """Something that does not hold."""

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

    def say(self, rule, sentence, *entries):
        excerpt = "".join(f"\n      {shorten(entry)}" for entry in entries[:12])
        self.wrong.append(Violation(rule, sentence + excerpt))

    def of(self, *ops):
        return [answer for answer in self.answers if answer["op"] in ops]

    # Facts

    def statuses(self):
        """Every request has one of the answers that it may have."""
        allowed = {"present": {200, 422}, "notify": {200}, "read": {200}, "grant": {201}, "promotion": {201},
                   "promo": {200, 409}, "redeem": {200, 409}, "alias": {200}}
        for answer in self.answers:
            if answer["status"] not in allowed[answer["op"]]:
                self.say("status", f"{answer['op']} was answered {answer['status']}", answer)

    def accepted(self, answer):
        """The facts that an answer acknowledges."""
        if answer["status"] != 200:
            return []
        if answer["op"] == "notify":
            return answer["facts"]
        known = set(answer["json"].get("acknowledgedTransactionIDs", []))
        return [fact for fact in answer["facts"] if fact["id"] in known]

    def facts(self):
        """Each acknowledged fact is there once, and nothing else."""
        counts = collections.Counter()
        for row in self.final["facts"]:
            counts[row["digest"]] += row["count"]
        sent = {fact["digest"] for entry in self.answers + self.tries for fact in entry.get("facts", [])}
        for answer in self.of("present", "notify"):
            for fact in self.accepted(answer):
                if not counts[fact["digest"]]:
                    self.say("lost", f"a fact about {fact['id']} was acknowledged and is not there", answer)
        for name, count in counts.items():
            if count > 1:
                self.say("doubled", f"the fact {name[:12]} is there {count} times")
            if name not in sent:
                self.say("invented", f"the fact {name[:12]} was presented by no one")
        for customer, facts in self.final["served"].items():
            texts = [json.dumps(fact, sort_keys=True) for fact in facts]
            if len(set(texts)) < len(texts):
                self.say("doubled", f"{customer} is served a fact twice")
        held = collections.Counter((row["customer"]) for row in self.final["holders"])
        for customer, count in held.items():
            served = {fact.get("originalTransactionID") for fact in self.final["served"].get(customer, [])}
            if len(served) < count:
                self.say("served", f"{customer} has {count} purchases and is served facts about {len(served)}")

    # Reads

    def sights(self):
        """Yields each answer about a customer, the customer, and the purchases in it by id."""
        for answer in self.of("read", "present", "grant", "alias"):
            if answer["status"] in (200, 201) and "purchases" in answer["json"]:
                purchases = {one["originalTransactionID"]: one for one in answer["json"]["purchases"]}
                yield answer, answer["customer"], purchases

    def reads(self):
        """An answer holds every fact that was acknowledged before the question, and none that was presented after it."""
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
        for answer in self.of("grant", "present", "alias", "redeem", "promo"):
            if answer["status"] in (200, 201):
                known[answer["customer"]] = min(known.get(answer["customer"], NEVER), answer["end"])
        for answer in self.of("present", "notify"):
            for fact in self.accepted(answer):
                if fact["revoked"]:
                    refunded[fact["id"]] = min(refunded.get(fact["id"], NEVER), answer["end"])
                else:
                    since = answer["end"]
                    if answer["op"] == "notify" or fact["token"]:
                        since = max(since, known.get(fact["token"], NEVER))
                    first[fact["id"]] = min(first.get(fact["id"], NEVER), since)
        merged = {answer["alias"]: answer for answer in self.of("alias") if answer["status"] == 200}
        owners = {}
        for name in first:
            about = names[name]
            tokens = {customer for customer in about if len(customer) == 36}
            # The customer of a token has the purchase, even when others presented it.
            owners[name] = tokens if tokens else about
        by_owner = collections.defaultdict(list)
        for name, about in owners.items():
            if len(about) == 1:
                by_owner[next(iter(about))].append(name)
        for answer, customer, purchases in self.sights():
            # Perhaps the answer that was kept for an earlier try.
            asked_at = answer["begin"] if answer["key"] else answer["tried"]
            wanted = list(by_owner[customer])
            for visitor, merge in merged.items():
                if merge["customer"] == customer and merge["end"] < asked_at:
                    wanted += by_owner[visitor]
                if visitor == customer and merge["end"] < asked_at:
                    wanted += by_owner[merge["customer"]]
            for name in wanted:
                if first[name] < asked_at and name not in purchases:
                    self.say("stale", f"{customer} was answered without {name}, acknowledged before", answer)
                revoked = purchases.get(name, {}).get("revokedAt") is not None
                if refunded.get(name, NEVER) < asked_at and name in purchases and not revoked:
                    self.say("stale", f"{customer} was answered {name} without its refund", answer)
                if revoked and begun.get((name, True), NEVER) > answer["end"]:
                    self.say("early", f"{customer} was answered a refund of {name} before it was presented", answer)
            for name in purchases:
                if begun.get((name, False), NEVER) > answer["end"]:
                    self.say("early", f"{customer} was answered {name} before it was presented", answer)
        # In the end too.
        held = {(row["id"], row["customer"]) for row in self.final["holders"]}
        for owner, bought in by_owner.items():
            for name in bought:
                if first[name] < NEVER and (name, self.alias.get(owner, owner)) not in held:
                    self.say("holder", f"{owner} does not have {name} in the end")

    # Whose a purchase is

    def holders(self):
        """An order of the acknowledged claims explains every sight of a purchase that several customers presented."""
        claims, seen = collections.defaultdict(list), collections.defaultdict(set)
        for entry in self.answers + self.tries:
            if entry["op"] != "present" or (entry["kind"] == "try" and entry["key"]):
                continue
            for fact in entry["facts"]:
                if fact["token"] or fact["revoked"]:
                    continue
                seen[fact["id"]].add(entry["customer"])
                is_open = entry["kind"] == "try"
                is_accepted = True if is_open else fact in self.accepted(entry)
                claims[fact["id"]].append(Claim(entry["begin"], NEVER if is_open else entry["end"], entry["customer"],
                                                is_accepted, is_open))
        answered = {(answer["key"]) for answer in self.answers}
        for entry in self.tries:
            if entry["op"] == "present" and entry["key"] and entry["key"] not in answered:
                answered.add(entry["key"])
                for fact in entry["facts"]:
                    claims[fact["id"]].append(Claim(entry["begin"], NEVER, entry["customer"], True, True))
        contested = {name for name, customers in seen.items() if len(customers) > 1 and not customers & set(self.alias)}
        sights = collections.defaultdict(list)
        for answer, customer, purchases in self.sights():
            if answer["op"] != "read":
                continue
            for name in contested:
                if customer in seen[name]:
                    sights[name].append(Sight(answer["begin"], answer["end"], customer, name in purchases))
        held = collections.defaultdict(set)
        for row in self.final["holders"]:
            held[row["id"]].add(row["customer"])
        for name in sorted(contested):
            last = [Sight(NEVER, NEVER, customer, customer in held[name]) for customer in seen[name]]
            is_explained, steps = explain(claims[name], sights[name] + last, self.mode)
            self.searched += steps
            if not is_explained:
                about = [answer for answer in self.answers
                         if any(fact["id"] == name for fact in answer.get("facts", []))
                         or answer["op"] == "read" and answer["customer"] in seen[name]]
                self.say("order", f"no order of the claims explains who has {name}: in the end {sorted(held[name])}", *about)

    # Order

    def order_of_answers(self):
        """The answers to a customer never get older."""
        by_customer = collections.defaultdict(list)
        for answer, customer, purchases in self.sights():
            is_kept = answer["key"] and answer["tried"] > answer["begin"]
            if "asOf" in answer["json"] and answer["json"].get("features") and not is_kept:
                by_customer[customer].append(answer)
        for customer, answers in by_customer.items():
            if customer in self.alias:
                continue
            for later in answers:
                earlier = [answer for answer in answers if answer["end"] < later["begin"]]
                newest = max(earlier, key=lambda answer: instant(answer), default=None)
                if newest and instant(newest) > instant(later):
                    self.say("older", f"{customer} was answered as of {later['json']['asOf']} after "
                                      f"{newest['json']['asOf']}", newest, later)

    def keys(self):
        """All answers to one key are the same bytes."""
        by_key = collections.defaultdict(list)
        for answer in self.answers:
            if answer["key"]:
                by_key[answer["key"]].append(answer)
        for key, answers in by_key.items():
            if len({(answer["status"], answer["body"]) for answer in answers}) > 1:
                self.say("key", f"the key {key} has different answers", *answers)

    def grants(self):
        counts = {(row["customer"], row["feature"]): row["count"] for row in self.final["grants"]}
        for (customer, feature), count in counts.items():
            if count > 1:
                self.say("grant", f"{customer} was granted {feature} {count} times for one key")
        for answer in self.of("grant"):
            if answer["status"] == 201 and (answer["customer"], answer["feature"]) not in counts:
                self.say("lost", f"the grant {answer['feature']} was acknowledged and is not there", answer)

    # Limits

    def promotions(self):
        redeemed, refused = collections.defaultdict(set), collections.defaultdict(set)
        for answer in self.of("promo"):
            (redeemed if answer["status"] == 200 else refused)[answer["code"]].add(answer["customer"])
        rows = {row["code"]: row for row in self.final["promotions"]}
        for answer in self.of("promotion"):
            code, limit, row = answer["code"], answer["limit"], rows.get(answer["code"])
            if row is None:
                self.say("lost", f"the promotion {code} was acknowledged and is not there", answer)
                continue
            count = len(redeemed[code])
            if count > limit or row["count"] > limit:
                self.say("limit", f"{code} may be redeemed {limit} times and was {max(count, row['count'])} times")
            if row["redemptions"] != row["count"] or row["count"] < count:
                self.say("limit", f"{code} counts {row['redemptions']} redemptions, {row['count']} are in the ledger, "
                                  f"{count} were acknowledged")
            if refused[code] and row["count"] < limit:
                self.say("limit", f"{code} was refused to {len(refused[code])} customers after {row['count']} of {limit}")

    def credits(self):
        """Redemptions against a purchase never exceed what it gave."""
        for row in self.final["spending"]:
            if row["spent"] > GIVEN:
                self.say("spent", f"of {row['id']}, which gave {GIVEN}, {row['spent']} are spent")
        groups = collections.defaultdict(dict)
        for answer in self.of("redeem"):
            if answer["status"] == 200:
                for item in answer["json"].get("items", []):
                    groups[answer["group"]][(answer["customer"], answer["item"])] = item.get("cost", 0)
        for group, costs in groups.items():
            if sum(costs.values()) > GIVEN:
                self.say("spent", f"customers of one purchase spent {sum(costs.values())} of {GIVEN}: {costs}",
                         *[answer for answer in self.of("redeem") if answer["group"] == group])

    # Events

    def events(self):
        """Each reader sees every event once, in the order of the feed, on whatever servers; all see the same."""
        kept = {row["id"]: row for row in self.final["events"]}
        for name in [name for name in kept if name < 0]:
            self.say("feed", f"the event {name} has no place in the feed")
        streams = collections.defaultdict(list)
        for event in self.seen:
            streams[event["follower"]].append(event)
        bodies = {}
        for follower, events in streams.items():
            ids = [event["id"] for event in events]
            for earlier, later in zip(events, events[1:]):
                if later["id"] <= earlier["id"]:
                    self.say("stream", f"reader {follower} was sent {later['id']} after {earlier['id']}")
            missed = sorted(set(kept) - set(ids))
            if missed:
                self.say("stream", f"reader {follower} never saw {len(missed)} events: {missed[:5]}")
            for event in events:
                if bodies.setdefault(event["id"], event["body"]) != event["body"]:
                    self.say("stream", f"the event {event['id']} has different bodies")
        ids = sorted(kept)
        if ids and ids != list(range(ids[0], ids[0] + len(ids))):
            gaps = [later for earlier, later in zip(ids, ids[1:]) if later != earlier + 1]
            self.say("feed", f"the feed has gaps before {gaps[:5]}")
        newest = {}
        for name in ids:
            row = kept[name]
            if row["type"] != "customer.updated":
                continue
            body = json.loads(row["body"])
            since = newest.get(row["customer"])
            if since and since > fraction(body["asOf"]):
                self.say("older", f"the event {name} of {row['customer']} is as of {fraction(body['asOf'])} after {since}")
            newest[row["customer"]] = fraction(body["asOf"])

    def revisions(self):
        """One event for each revision; none for a first answer that is empty."""
        counts = collections.Counter(
            row["customer"] for row in self.final["events"] if row["type"] == "customer.updated")
        for row in self.final["customers"]:
            if row["id"] in self.alias or row["id"] in self.alias.values():
                continue
            if row["revision"] - counts[row["id"]] not in (0, 1):
                self.say("revision", f"{row['id']} is at revision {row['revision']} after {counts[row['id']]} events")

    def deliveries(self):
        """Every event is delivered at least once, and those of a customer in their order."""
        for row in self.final["deliveries"]:
            if row["count"] > 1:
                self.say("webhook", f"the event {row['event']} is in line {row['count']} times")
        kept = {row["id"]: row["customer"] for row in self.final["events"]}
        newest, done = {}, set()
        for post in self.webhooks:
            name = int(json.loads(post["body"])["id"])
            customer = kept.get(name)
            if customer is None:
                self.say("webhook", f"the event {name} was delivered and is not in the ledger")
                continue
            if name < newest.get(customer, 0):
                self.say("webhook", f"the event {name} of {customer} came after {newest[customer]} was taken")
            if post["status"] == 200:
                done.add(name)
                newest[customer] = max(name, newest.get(customer, 0))
        missed = sorted(set(kept) - done)
        if missed:
            self.say("webhook", f"{len(missed)} events were never delivered: {missed[:5]}")

    def replay(self):
        replay = self.final["replay"]
        if replay["status"] != 0:
            self.say("replay", f"the ledger is not what its facts say: {(replay['output'] or replay['errors'])[:600]}")


    def single(self):
        """One server that is given the same answers the same, see cluster_single.py."""
        for sentence in self.final.get("single", []):
            self.say("single", sentence)


def check(entries, final, mode="transfer"):
    return Checker(entries, final, mode).check()


def instant(answer):
    return fraction(answer["json"]["asOf"])


def fraction(text):
    """RFC 3339 in UTC as strings that compare: with three digits of a second's fraction."""
    whole, _, rest = text.rstrip("Z").partition(".")
    return f"{whole}.{rest:0<3}"


def shorten(entry):
    """An entry of the history in a line: of an answer about a customer only the purchases."""
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
