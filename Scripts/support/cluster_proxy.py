#!/usr/bin/env python3
"""Relays connections between servers and PostgreSQL, one proxy for each server, and injects the requested faults.

It runs in its own process, so that it can relay while the clients are busy. It reads one JSON object from each line of standard
input and answers each with a line. It ends at the end of its input.

- `{"do": "delay", "most": 0.005}`: delays each piece of data by up to this many seconds, in both directions.
- `{"do": "cut", "share": 0.5}`: ends this share of the connections at once.
- `{"do": "hold", "seconds": 1}`: relays nothing for this time.
- `{"do": "half", "side": "server", "share": 0.5, "seconds": 2}`: ends one side of connections, and the other side later.
- `{"do": "commit", "plan": "after", "count": 3}`: interrupts the next transactions at their COMMIT, see `PLANS`.
- `{"do": "retarget", "to": PATH}`: new connections go to another socket.
- `{"do": "calm"}`: removes delays, holds and plans.

Each applies to all proxies, or to the one that `"proxy": 0` names.

Usage: cluster_proxy.py SOCKET FOLDER…
"""

import asyncio
import json
import os
import random
import sys

SOCKET = ".s.PGSQL.5432"
# ReadyForQuery: PostgreSQL has answered everything. A byte follows that shows whether a transaction is open.
READY = b"Z\x00\x00\x00\x05"
# The faults at a COMMIT; each ends the connection. "before": drops the COMMIT. "after": relays it and drops the answer. "late":
# the same, with a pause before the end. "race": ends the connection while PostgreSQL reads the COMMIT.
PLANS = ("before", "after", "late", "race")


class Proxy:
    def __init__(self, folder):
        self.folder, self.delay, self.plans, self.connections = folder, 0.0, [], set()
        self.open = asyncio.Event()
        self.open.set()


class Connection:
    """A client's connection and the proxy's connection to PostgreSQL for it."""

    def __init__(self, proxy, client, server, counts):
        self.proxy, self.client, self.server, self.counts = proxy, client, server, counts
        self.plan, self.is_half_closed = None, False

    async def run(self):
        self.proxy.connections.add(self)
        pumps = [asyncio.ensure_future(pump) for pump in (self.relay_to_server(), self.relay_to_client())]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
            while self.is_half_closed:
                await asyncio.sleep(0.02)
        finally:
            for pump in pumps:
                pump.cancel()
            self.proxy.connections.discard(self)
            self.end()

    def end(self):
        for _, writer in (self.client, self.server):
            writer.transport.abort()

    async def relay_to_server(self):
        while data := await read(self.client[0]):
            await self.wait()
            if b"COMMIT" in data and self.proxy.plans and self.plan is None:
                self.plan = self.proxy.plans.pop(0)
                self.counts[self.plan] = self.counts.get(self.plan, 0) + 1
                if self.plan == "before":
                    return
            if not await write(self.server[1], data):
                return
            if self.plan == "race":
                # Some of these commits arrive, and some do not.
                await asyncio.sleep(random.choice((0, 0.001, 0.005)))
                return

    async def relay_to_client(self):
        answer = b""
        while data := await read(self.server[0]):
            if self.plan in ("after", "late"):
                answer = (answer + data)[-len(READY) - 1:]
                if answer.startswith(READY):
                    await asyncio.sleep(random.uniform(0.5, 3) if self.plan == "late" else 0)
                    return
                continue
            await self.wait()
            if not await write(self.client[1], data):
                return

    async def wait(self):
        await self.proxy.open.wait()
        if self.proxy.delay:
            await asyncio.sleep(random.uniform(0, self.proxy.delay))

    async def half(self, side, seconds):
        """Ends one side, and the other side later. Relays nothing between."""
        self.is_half_closed = True
        (self.server if side == "server" else self.client)[1].transport.abort()
        await asyncio.sleep(seconds)
        self.is_half_closed = False
        self.end()


async def read(reader):
    try:
        return await reader.read(1 << 16)
    except OSError:
        return b""


async def write(writer, data):
    try:
        writer.write(data)
        await writer.drain()
        return True
    except OSError:
        return False


class Proxies:
    def __init__(self, target, folders):
        self.target, self.proxies, self.counts, self.tasks = target, [Proxy(folder) for folder in folders], {}, set()

    async def run(self):
        servers = []
        for proxy in self.proxies:
            servers.append(await asyncio.start_unix_server(self.accept(proxy), os.path.join(proxy.folder, SOCKET)))
        lines = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
        print("{}", flush=True)
        while line := await lines.readline():
            self.apply(json.loads(line))
            print(json.dumps(self.counts), flush=True)

    def accept(self, proxy):
        async def accepted(*client):
            try:
                await proxy.open.wait()
                server = await asyncio.open_unix_connection(self.target)
            except OSError:
                client[1].transport.abort()
                return
            # A separate task, because asyncio logs an error for a handler that is cancelled at the end.
            self.start(Connection(proxy, client, server, self.counts).run())
        return accepted

    def apply(self, order):
        chosen = [self.proxies[order["proxy"]]] if "proxy" in order else self.proxies
        for proxy in chosen:
            match order["do"]:
                case "delay":
                    proxy.delay = order["most"]
                case "cut":
                    for connection in list(proxy.connections):
                        if random.random() < order["share"]:
                            connection.is_half_closed = False
                            connection.end()
                case "hold":
                    proxy.open.clear()
                    asyncio.get_running_loop().call_later(order["seconds"], proxy.open.set)
                case "half":
                    for connection in list(proxy.connections):
                        if random.random() < order.get("share", 1):
                            self.start(connection.half(order["side"], order["seconds"]))
                case "commit":
                    proxy.plans += [order["plan"]] * order["count"]
                case "calm":
                    proxy.delay, proxy.plans = 0.0, []
                    proxy.open.set()
        if order["do"] == "retarget":
            self.target = order["to"]

    def start(self, work):
        task = asyncio.ensure_future(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)


if __name__ == "__main__":
    asyncio.run(Proxies(sys.argv[1], sys.argv[2:]).run())
