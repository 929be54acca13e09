"""The clients of Scripts/chaos-cluster: customers, an app's server, a store and readers of events.

They use several servers at once. The history records every request and response, with the times of its start and end.
"""

import base64
import hashlib
import http.client
import json
import random
import threading
import time
import uuid

# The seconds for which a client repeats a request without an answer.
RETRY_SECONDS = 90


def digest(signed):
    """Returns the SHA-256 of a signed payload, by which a ledger identifies a fact."""
    part = signed.split(".")[1]
    return hashlib.sha256(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))).hexdigest()


def parallel(*functions):
    """Calls all functions at once, each on its own thread. Returns their results in order."""
    results, threads = [None] * len(functions), []
    for place, function in enumerate(functions):
        def run(place=place, function=function):
            results[place] = function()
        threads.append(threading.Thread(target=run, daemon=True))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


class Client:
    """Runs workloads, chosen from a seed, until it is stopped."""

    def __init__(self, number, cluster, history, seed, mode):
        self.number, self.cluster, self.history, self.mode = number, cluster, history, mode
        self.random, self.names = random.Random(f"{seed}/{number}"), 0

    def run(self, stop):
        workloads = [self.new_customer, self.notified_purchase, self.token_of_another, self.contested, self.contested,
                     self.refunds, self.repeated_key, self.promotion, self.credits, self.merge]
        while not stop.is_set():
            self.random.choice(workloads)()

    # Requests

    def request(self, op, method, path, body=None, key=None, server=None, **about):
        """Repeats a request, at other servers, until an answer shows its outcome. All tries with an idempotency key are one
        request, which begins with the first try. Without a key each try is a separate request."""
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
            if time.monotonic() - first > RETRY_SECONDS:
                return None, ""
            server = None
            time.sleep(self.random.uniform(0.005, 0.1))

    def present(self, customer, *bought, key=True, server=None):
        return self.request(
            "present", "POST", f"/v1/customers/{customer}/transactions",
            {"signedTransactions": [one["signed"] for one in bought]}, key=self.key() if key else None, server=server,
            customer=customer, facts=[without_signature(one) for one in bought])

    def notify(self, fact, kind="ONE_TIME_CHARGE", server=None):
        signed = self.cluster.store.notification(fact["signed"], kind)
        return self.request(
            "notify", "POST", "/v1/notifications/app-store", {"signedPayload": signed}, server=server,
            facts=[without_signature(fact)])

    def read(self, customer, server=None):
        return self.request("read", "GET", f"/v1/customers/{customer}", server=server, customer=customer)

    def grant(self, customer, feature, key=None, server=None):
        return self.request(
            "grant", "POST", f"/v1/customers/{customer}/grants", {"feature": feature, "reason": "support"},
            key=key or self.key(), server=server, customer=customer, feature=feature)

    def redeem(self, customer, item, group, kind="frame", server=None):
        return self.request(
            "redeem", "POST", f"/v1/customers/{customer}/credits/coins/redeem", {"items": [{"id": item, "type": kind}]},
            key=self.key(), server=server, customer=customer, item=item, group=group)

    # Keys, customers and purchases

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
        """Returns `count` servers, all different if the cluster has enough."""
        places = list(range(len(self.cluster.servers)))
        self.random.shuffle(places)
        return [places[number % len(places)] for number in range(count)]

    # Workloads

    def new_customer(self):
        """Two devices of a new customer present the same purchase, one with a key and one without."""
        customer, bought, places = self.customer(), self.buy(), self.servers(2)
        parallel(lambda: self.present(customer, bought, server=places[0]),
                 lambda: self.present(customer, bought, key=False, server=places[1]))
        self.read(customer)
        more = [self.buy() for _ in range(self.random.randint(1, 3))]
        self.present(customer, *more, bought)
        self.read(customer)

    def notified_purchase(self):
        """The store sends a notification of a purchase while the server creates its customer."""
        customer = self.key()
        bought, places = self.buy(token=customer), self.servers(2)
        other = self.buy()
        known = self.random.choice([
            lambda: self.grant(customer, f"gift-{self.key()}", server=places[1]),
            lambda: self.present(customer, other, server=places[1])])
        parallel(lambda: self.notify(bought, server=places[0]), known)
        self.read(customer)

    def token_of_another(self):
        """A customer presents a purchase with another customer's token while the server creates that customer."""
        customer, other = self.key(), self.customer()
        bought, places = self.buy(token=customer), self.servers(2)
        parallel(lambda: self.present(other, bought, server=places[0]),
                 lambda: self.grant(customer, f"gift-{self.key()}", server=places[1]))
        parallel(lambda: self.read(customer), lambda: self.read(other))

    def contested(self):
        """Several customers repeatedly present one purchase, and read whether they have it."""
        bought = self.buy()
        customers = [self.customer() for _ in range(self.random.randint(2, 3))]
        for _ in range(self.random.randint(1, 3)):
            places = self.servers(2)
            one, other = self.random.sample(customers, 2)
            parallel(lambda: self.present(one, bought, server=places[0]),
                     lambda: self.present(other, bought, server=places[1]), lambda: self.read(customers[0]))
            parallel(*[lambda customer=customer: self.read(customer) for customer in customers])

    def refunds(self):
        """Several purchases of one customer are refunded at once; one refund arrives twice."""
        customer = self.customer()
        bought = [self.buy(f"tool-{number}") for number in range(self.random.randint(2, 4))]
        self.present(customer, *bought)
        refunds = [self.refund(one) for one in bought]
        places = self.servers(len(refunds) + 1)
        parallel(lambda: self.present(customer, refunds[0], key=False, server=places[-1]),
                 *[lambda refund=refund, place=place: self.notify(refund, "REFUND", server=place)
                   for refund, place in zip(refunds, places)])
        self.read(customer)

    def repeated_key(self):
        """One grant is requested with the same key at several servers."""
        customer, key, feature = self.customer(), self.key(), f"gift-{self.key()}"
        if self.random.random() < 0.5:
            self.grant(customer, f"gift-{self.key()}")
        parallel(*[lambda place=place: self.grant(customer, feature, key=key, server=place)
                   for place in self.servers(3)])
        self.grant(customer, feature, key=key)

    def promotion(self):
        """More customers redeem a code than its limit allows."""
        code, limit = f"CODE-{self.number}-{self.random.randrange(10**9)}", self.random.randint(1, 3)
        self.request("promotion", "POST", "/v1/promotions", {"code": code, "feature": "promoted", "limit": limit},
                     key=self.key(), code=code, limit=limit)
        customers = [self.customer() for _ in range(limit + 3)]
        parallel(*[lambda customer=customer, place=place: self.request(
            "promo", "POST", f"/v1/customers/{customer}/promotions", {"code": code}, key=self.key(), server=place,
            customer=customer, code=code) for customer, place in zip(customers, self.servers(len(customers)))])

    def credits(self):
        """A customer spends a purchase at several servers at once, while another one presents and spends it too."""
        customer, other, group = self.customer(), self.customer(), self.key()
        bought, places = self.buy("coins"), self.servers(4)
        self.present(customer, bought)
        parallel(lambda: self.redeem(customer, "a", group, server=places[0]),
                 lambda: self.redeem(customer, "b", group, server=places[1]),
                 lambda: self.redeem(customer, "c", group, "filter", server=places[2]),
                 lambda: self.present(other, bought, server=places[3]))
        parallel(lambda: self.redeem(other, "d", group, server=places[0]),
                 lambda: self.redeem(customer, "e", group, "filter", server=places[1]))

    def merge(self):
        """A visitor and a customer buy while the visitor becomes an alias of the customer."""
        customer, visitor = self.customer(), f"visitor-{self.key()}"
        bought, mine, places = self.buy(), self.buy(), self.servers(3)
        if self.random.random() < 0.5:
            self.present(visitor, self.buy())
        parallel(lambda: self.present(visitor, bought, server=places[0]),
                 lambda: self.present(customer, mine, server=places[1]),
                 lambda: self.request("alias", "POST", f"/v1/customers/{customer}/aliases", {"alias": visitor},
                                      key=self.key(), server=places[2], customer=customer, alias=visitor))
        parallel(lambda: self.read(customer), lambda: self.read(visitor))


def without_signature(fact):
    return {name: value for name, value in fact.items() if name != "signed"}


def is_definite(status, text):
    """Returns whether an answer shows the outcome. A 409 can also mean that another server is processing the key."""
    if status is None or status >= 500 or status in (408, 429):
        return False
    if status == 409:
        try:
            return json.loads(text).get("code") != "idempotency_in_progress"
        except ValueError:
            return False
    return True


class Follower:
    """Reads all events in order, and changes to a random server every few seconds."""

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
