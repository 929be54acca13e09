"""The faults of Scripts/chaos-cluster and their schedule."""

import random
import threading
import time

# The relative frequency of each fault.
WEIGHTS = {
    "kill a server": 5, "end backends": 5, "cut": 3, "cut before the commit": 2, "cut after the commit": 7,
    "cut late after the commit": 3, "cut during the commit": 3, "cut commits in a row": 4,
    "half-open to the server": 2, "half-open to the database": 2, "hold": 2, "delay": 4, "lock rows": 4,
    "deadlock": 4, "kill PostgreSQL": 1, "full disk": 1,
}
PLANS = {"cut before the commit": "before", "cut after the commit": "after", "cut late after the commit": "late",
         "cut during the commit": "race"}


class Faults:
    """Injects faults one after another. Some continue while the next begins."""

    def __init__(self, cluster, history, seed, gap):
        self.cluster, self.history, self.gap = cluster, history, gap
        self.random, self.counts, self.sessions, self.restarts = random.Random(f"{seed}/faults"), {}, [], []

    def run(self, count, kinds=None, failover=None):
        """Injects `count` faults.

        - failover: halfway, the standby takes over: "plain", or after "cancelled" commits.
        """
        weights = {kind: weight for kind, weight in WEIGHTS.items() if kinds is None or kind in kinds}
        # Each kind once, if `count` allows it; then random ones.
        kinds = self.random.sample(list(weights), len(weights))[:count]
        kinds += self.random.choices(list(weights), list(weights.values()), k=max(0, count - len(kinds)))
        self.random.shuffle(kinds)
        for number, kind in enumerate(kinds):
            if failover and number == len(kinds) // 2:
                self.fail_over(failover == "cancelled")
            time.sleep(self.random.uniform(0.3, 1.7) * self.gap)
            begin = time.monotonic()
            self.inject(kind)
            self.counts[kind] = self.counts.get(kind, 0) + 1
            self.history.add("fault", what=kind, begin=begin, end=time.monotonic())

    def inject(self, kind):
        proxy = self.random.randrange(len(self.cluster.servers))
        order = self.cluster.proxies.order
        match kind:
            case "kill a server":
                running = [server for server in self.cluster.servers if server.address]
                if running:
                    self.kill_and_restart(self.random.choice(running))
            case "end backends":
                share = self.random.choice((0.1, 0.5, 1))
                self.session(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'souk' "
                             f"AND random() < {share}")
            case "cut":
                order("cut", proxy=proxy, share=self.random.choice((0.2, 1)))
            case _ if kind in PLANS:
                order("commit", proxy=proxy, plan=PLANS[kind], count=self.random.randint(1, 6))
            case "cut commits in a row":
                # Loses a commit, and then the commits of the requests that ask for its outcome.
                for _ in range(8):
                    order("commit", proxy=proxy, plan=self.random.choice(("before", "race", "after", "after")), count=1)
            case "half-open to the server":
                # PostgreSQL's side stays open and keeps its transactions and locks.
                order("half", proxy=proxy, side="client", seconds=self.random.uniform(0.2, 4), share=0.5)
            case "half-open to the database":
                order("half", proxy=proxy, side="server", seconds=self.random.uniform(0.2, 4), share=0.5)
            case "hold":
                order("hold", proxy=proxy, seconds=self.random.uniform(0.2, 2))
            case "delay":
                order("delay", proxy=proxy, most=self.random.choice((0, 0.002, 0.01, 0.03)))
            case "lock rows":
                table = self.random.choice(("customer", "purchase", "token", "webhook_cursor", "feed", "promotion"))
                self.session(f"BEGIN; SELECT 1 FROM (SELECT 1 FROM {table} ORDER BY random() LIMIT 5 FOR UPDATE) t; "
                             f"SELECT pg_sleep({self.random.uniform(0.1, 1.5)}); ROLLBACK;")
            case "deadlock":
                self.deadlock()
            case "kill PostgreSQL":
                self.cluster.postgres.kill()
                time.sleep(self.random.uniform(0, 0.5))
                self.cluster.postgres.start()
            case "full disk":
                self.cluster.postgres.fill_disk(self.random.uniform(0.5, 3))

    def kill_and_restart(self, server):
        """Kills a server and starts it again in the background."""
        server.kill()
        self.restarts = [thread for thread in self.restarts if thread.is_alive()]
        restart = threading.Thread(target=server.start_with_retries, daemon=True)
        restart.start()
        self.restarts.append(restart)

    def deadlock(self):
        """Locks recent customers and then their purchases, in two directions, against the order in which servers lock."""
        for order in ("ASC", "DESC"):
            self.session(
                f"BEGIN; CREATE TEMP TABLE chosen ON COMMIT DROP AS SELECT customer, original_transaction_id AS id "
                f"FROM holder ORDER BY original_transaction_id DESC LIMIT 6; "
                f"SELECT 1 FROM (SELECT 1 FROM customer WHERE id IN (SELECT customer FROM chosen) ORDER BY id {order} "
                f"FOR UPDATE) t; SELECT pg_sleep(0.2); "
                f"SELECT 1 FROM (SELECT 1 FROM purchase WHERE original_transaction_id IN (SELECT id FROM chosen) "
                f"ORDER BY original_transaction_id {order} FOR UPDATE) t; "
                f"SELECT 1 FROM (SELECT 1 FROM customer ORDER BY id {order} LIMIT 20 FOR UPDATE) t; ROLLBACK;")

    def fail_over(self, cancels):
        """Kills the primary and promotes the standby. With `cancels` the standby stops first, and the commits that wait for it
        are cancelled: PostgreSQL answers them with a warning, and they are lost with the primary."""
        postgres = self.cluster.postgres
        self.cluster.proxies.order("calm")
        begin = time.monotonic()
        postgres.wait_for_standby()
        if cancels:
            postgres.stop_standby()
            end = time.monotonic() + 3
            while time.monotonic() < end:
                postgres.sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")
                time.sleep(0.05)
        postgres.kill()
        if cancels:
            postgres.start_standby()
        postgres.promote()
        self.cluster.proxies.order("retarget", to=postgres.socket)
        self.cluster.proxies.order("cut", share=1)
        self.counts["fail over"] = self.counts.get("fail over", 0) + 1
        self.history.add("fault", what="fail over", begin=begin, end=time.monotonic())

    def session(self, text):
        self.sessions = [session for session in self.sessions if session.poll() is None]
        self.sessions.append(self.cluster.postgres.session(text))

    def end_all(self):
        """Ends all faults that continue: delays, open sessions and restarts."""
        self.cluster.proxies.order("calm")
        for session in self.sessions:
            session.wait()
        for restart in self.restarts:
            restart.join()
