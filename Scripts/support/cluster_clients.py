"""The clients of Scripts/chaos-cluster: customers, an app's server, a store and readers of events, which use several servers
at once. Every request and response goes into the history, with the times of its start and end.
"""

import base64
import hashlib
import http.client
import json
import random
import threading
import time
import uuid

# For how many seconds a client repeats a request that got no answer.
PATIENCE = 90


def digest(signed):
    """SHA-256 of what was signed: how a ledger tells facts apart."""
    part = signed.split(".")[1]
    return hashlib.sha256(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))).hexdigest()


def together(*works):
    """Does all at once, and returns what each returned."""
    results, threads = [None] * len(works), []
    for place, work in enumerate(works):
        def run(place=place, work=work):
            results[place] = work()
        threads.append(threading.Thread(target=run, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Client:
    """Lives scenes from a seed until it has to stop."""

    def __init__(self, number, cluster, history, seed, mode):
        self.number, self.cluster, self.history, self.mode = number, cluster, history, mode
        self.random, self.names = random.Random(f"{seed}/{number}"), 0

    def live(self, stop):
        scenes = [self.newcomer, self.awaited, self.awaited_by_two, self.contested, self.contested, self.refunds,
                  self.one_key, self.promotion, self.credits, self.merge]
        while not stop.is_set():
            self.random.choice(scenes)()

    # Requests

    def insist(self, op, method, path, body=None, key=None, server=None, **about):
        """Repeats a request, at other servers, until it gets an answer that says what happened. A request with a key begins
        with its first try; one without is another request each time."""
        first = time.monotonic()
        headers = {"Idempotency-Key": key} if key else {}
        while True:
            place = self.random.randrange(len(self.cluster.servers)) if server is None else server
            begin, status, text = time.monotonic(), None, ""
            try:
                status, text = self.cluster.request(place, method, path, body, headers)
            except (OSError, http.client.HTTPException):
                pass
            entry = {"op": op, "begin": first if key else begin, "tried": begin, "end": time.monotonic(),
                     "status": status, "key": key, "server": place, "client": self.number, **about}
            if is_definite(status, text):
                self.history.add("answer", body=text, **entry)
                return status, text
            self.history.add("try", **entry)
            if time.monotonic() - first > PATIENCE:
                return None, ""
            server = None
            time.sleep(self.random.uniform(0.005, 0.1))

    def present(self, customer, *bought, key=True, server=None):
        return self.insist(
            "present", "POST", f"/v1/customers/{customer}/transactions",
            {"signedTransactions": [one["signed"] for one in bought]}, key=self.key() if key else None, server=server,
            customer=customer, facts=[without_signature(one) for one in bought])

    def notify(self, fact, kind="ONE_TIME_CHARGE", server=None):
        signed = self.cluster.store.notification(fact["signed"], kind)
        return self.insist(
            "notify", "POST", "/v1/notifications/app-store", {"signedPayload": signed}, server=server,
            facts=[without_signature(fact)])

    def read(self, customer, server=None):
        return self.insist("read", "GET", f"/v1/customers/{customer}", server=server, customer=customer)

    def grant(self, customer, feature, key=None, server=None):
        return self.insist(
            "grant", "POST", f"/v1/customers/{customer}/grants", {"feature": feature, "reason": "support"},
            key=key or self.key(), server=server, customer=customer, feature=feature)

    def redeem(self, customer, item, group, kind="frame", server=None):
        return self.insist(
            "redeem", "POST", f"/v1/customers/{customer}/credits/coins/redeem", {"items": [{"id": item, "type": kind}]},
            key=self.key(), server=server, customer=customer, item=item, group=group)

    # What they are about

    def key(self):
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def customer(self):
        self.names += 1
        return f"customer-{self.number}-{self.names}"

    def buy(self, product=None, token=None):
        number = self.cluster.store.number()
        product = product or f"tool-{self.random.randrange(5)}"
        return self.fact(number, product, self.cluster.store.transaction(number, product, token), token)

    def refund(self, bought):
        signed = self.cluster.store.transaction(bought["id"], bought["product"], bought["token"], revoked=True)
        return {**self.fact(bought["id"], bought["product"], signed, bought["token"]), "revoked": True}

    def fact(self, number, product, signed, token):
        name = digest(signed)
        self.cluster.signed[name] = signed
        return {"id": number, "product": product, "digest": name, "signed": signed, "token": token, "revoked": False}

    def servers(self, count):
        """Different servers, as far as there are so many."""
        places = list(range(len(self.cluster.servers)))
        self.random.shuffle(places)
        return [places[number % len(places)] for number in range(count)]

    # Scenes

    def newcomer(self):
        """Two devices of a new customer present the same purchase, with a key and without."""
        customer, bought, places = self.customer(), self.buy(), self.servers(2)
        together(lambda: self.present(customer, bought, server=places[0]),
                 lambda: self.present(customer, bought, key=False, server=places[1]))
        self.read(customer)
        more = [self.buy() for _ in range(self.random.randint(1, 3))]
        self.present(customer, *more, bought)
        self.read(customer)

    def awaited(self):
        """A store notifies of a purchase while its customer becomes known."""
        customer = self.key()
        bought, places = self.buy(token=customer), self.servers(2)
        other = self.buy()
        known = self.random.choice([
            lambda: self.grant(customer, f"gift-{self.key()}", server=places[1]),
            lambda: self.present(customer, other, server=places[1])])
        together(lambda: self.notify(bought, server=places[0]), known)
        self.read(customer)

    def awaited_by_two(self):
        """Another customer presents a purchase while the one whose token it states becomes known."""
        customer, other = self.key(), self.customer()
        bought, places = self.buy(token=customer), self.servers(2)
        together(lambda: self.present(other, bought, server=places[0]),
                 lambda: self.grant(customer, f"gift-{self.key()}", server=places[1]))
        together(lambda: self.read(customer), lambda: self.read(other))

    def contested(self):
        """Several customers present one purchase, again and again, and look whether they have it."""
        bought = self.buy()
        customers = [self.customer() for _ in range(self.random.randint(2, 3))]
        for _ in range(self.random.randint(1, 3)):
            places = self.servers(2)
            one, other = self.random.sample(customers, 2)
            together(lambda: self.present(one, bought, server=places[0]),
                     lambda: self.present(other, bought, server=places[1]), lambda: self.read(customers[0]))
            together(*[lambda customer=customer: self.read(customer) for customer in customers])

    def refunds(self):
        """Several purchases of one customer are refunded at once; one refund arrives twice."""
        customer = self.customer()
        bought = [self.buy(f"tool-{number}") for number in range(self.random.randint(2, 4))]
        self.present(customer, *bought)
        refunds = [self.refund(one) for one in bought]
        places = self.servers(len(refunds) + 1)
        together(lambda: self.present(customer, refunds[0], key=False, server=places[-1]),
                 *[lambda refund=refund, place=place: self.notify(refund, "REFUND", server=place)
                   for refund, place in zip(refunds, places)])
        self.read(customer)

    def one_key(self):
        """One grant is asked for with one key at several servers."""
        customer, key, feature = self.customer(), self.key(), f"gift-{self.key()}"
        if self.random.random() < 0.5:
            self.grant(customer, f"gift-{self.key()}")
        together(*[lambda place=place: self.grant(customer, feature, key=key, server=place)
                   for place in self.servers(3)])
        self.grant(customer, feature, key=key)

    def promotion(self):
        """More customers redeem a code than may."""
        code, limit = f"CODE-{self.number}-{self.random.randrange(10**9)}", self.random.randint(1, 3)
        self.insist("promotion", "POST", "/v1/promotions", {"code": code, "feature": "promoted", "limit": limit},
                    key=self.key(), code=code, limit=limit)
        customers = [self.customer() for _ in range(limit + 3)]
        together(*[lambda customer=customer, place=place: self.insist(
            "promo", "POST", f"/v1/customers/{customer}/promotions", {"code": code}, key=self.key(), server=place,
            customer=customer, code=code) for customer, place in zip(customers, self.servers(len(customers)))])

    def credits(self):
        """Customers spend a purchase at several servers at once, and another one presents and spends it too."""
        customer, other, group = self.customer(), self.customer(), self.key()
        bought, places = self.buy("coins"), self.servers(4)
        self.present(customer, bought)
        together(lambda: self.redeem(customer, "a", group, server=places[0]),
                 lambda: self.redeem(customer, "b", group, server=places[1]),
                 lambda: self.redeem(customer, "c", group, "filter", server=places[2]),
                 lambda: self.present(other, bought, server=places[3]))
        together(lambda: self.redeem(other, "d", group, server=places[0]),
                 lambda: self.redeem(customer, "e", group, "filter", server=places[1]))

    def merge(self):
        """A visitor buys while the visitor is merged into a customer, who buys too."""
        customer, visitor = self.customer(), f"visitor-{self.key()}"
        bought, mine, places = self.buy(), self.buy(), self.servers(3)
        if self.random.random() < 0.5:
            self.present(visitor, self.buy())
        together(lambda: self.present(visitor, bought, server=places[0]),
                 lambda: self.present(customer, mine, server=places[1]),
                 lambda: self.insist("alias", "POST", f"/v1/customers/{customer}/aliases", {"alias": visitor},
                                     key=self.key(), server=places[2], customer=customer, alias=visitor))
        together(lambda: self.read(customer), lambda: self.read(visitor))


def without_signature(fact):
    return {name: value for name, value in fact.items() if name != "signed"}


def is_definite(status, text):
    """Whether an answer says what happened. 409 may only say that another server is busy with the key."""
    if status is None or status >= 500 or status in (408, 429):
        return False
    if status == 409:
        try:
            return json.loads(text).get("code") != "idempotency_in_progress"
        except ValueError:
            return False
    return True


class Follower:
    """Reads the events from the first one on, at one server after the other."""

    def __init__(self, number, cluster, history, seed):
        self.number, self.cluster, self.history = number, cluster, history
        self.random, self.last = random.Random(f"{seed}/follower/{number}"), 0

    def follow(self, stop):
        while not stop.is_set():
            server = self.random.randrange(len(self.cluster.servers))
            try:
                self.read(server, stop, time.monotonic() + self.random.uniform(0.3, 4))
            except (OSError, http.client.HTTPException, ValueError):
                time.sleep(0.05)

    def read(self, server, stop, until):
        address = self.cluster.servers[server].address
        if address is None:
            raise ConnectionRefusedError
        connection = http.client.HTTPConnection(address, timeout=2)
        try:
            connection.request("GET", "/v1/events", headers={
                "Authorization": f"Bearer {self.cluster.secret}", "Last-Event-ID": str(self.last)})
            response = connection.getresponse()
            if response.status != 200:
                raise ValueError
            fields = {}
            while not stop.is_set() and time.monotonic() < until:
                line = response.readline()
                if not line:
                    return
                name, _, value = line.decode().rstrip("\n").partition(": ")
                if name:
                    fields[name] = value
                elif "id" in fields:
                    self.last = int(fields["id"])
                    self.history.add("event", follower=self.number, id=self.last, server=server, type=fields["event"],
                                     body=fields["data"], begin=time.monotonic())
                    fields = {}
                else:
                    fields = {}
        finally:
            connection.close()
