"""The parts of a run of Scripts/chaos-cluster: PostgreSQL, proxies in front of it, servers, a store that signs, and a receiver
of webhooks. They listen on sockets in a temporary folder, or on ports that the system chooses.
"""

import contextlib
import datetime
import http.client
import http.server
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

SUPPORT = pathlib.Path(__file__).resolve().parent
APP = "com.example.chaos"
DATABASE = "chaos"
CREDITS = {"credits": {"coins": {"products": {"coins": 100}, "prices": {"frame": 60, "filter": 25}}}}
# A schema change of a later release, made while servers of the present release run.
LATER_SCHEMA_CHANGE = """
    BEGIN;
    ALTER TABLE customer ADD COLUMN of_a_later_release TEXT NOT NULL DEFAULT '';
    INSERT INTO schema_migrations (position, name, checksum, minimum_program)
    SELECT max(position) + 1, '9999 later release', '', '0016 programs' FROM schema_migrations;
    COMMIT;
"""
# wal_keep_size keeps the log that a stopped standby needs later.
SETTINGS = ("deadlock_timeout=100ms", "max_connections=200", "autovacuum_naptime=5s", "wal_keep_size=512MB")


class SetupFailure(Exception):
    """A part of the test setup did not start, end or become ready."""


def programs():
    """Returns the folder of PostgreSQL's programs: Debian's newest, otherwise the one in PATH."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    if not initdb:
        raise SetupFailure("PostgreSQL is not installed; install the package postgresql")
    return pathlib.Path(initdb).parent


class Postgres:
    """A temporary PostgreSQL server, with an optional standby."""

    def __init__(self, settings=()):
        command = ["sh", str(SUPPORT / "postgres-cluster"), *SETTINGS, *settings]
        self.disk = Disk()
        self.script = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                       env=self.disk.environment)
        self.folder = self.script.stdout.readline().strip()
        if not self.folder:
            raise SetupFailure("PostgreSQL did not start")
        self.socket_folder, self.data, self.processes = self.folder, f"{self.folder}/data", []
        self.standby, self.standby_process = None, None
        self.sql(f"CREATE DATABASE {DATABASE} TEMPLATE template0", database="postgres")

    @property
    def socket(self):
        return f"{self.socket_folder}/.s.PGSQL.5432"

    def psql(self, database=DATABASE):
        return [str(programs() / "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.socket_folder,
                "-U", "souk", "-d", database]

    def sql(self, text, database=DATABASE, timeout=60):
        """Returns the output of psql. Repeats the command until it succeeds or the timeout ends."""
        end = time.monotonic() + timeout
        while True:
            done = subprocess.run(self.psql(database), input=text, capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.strip()
            if time.monotonic() > end:
                raise SetupFailure(f"psql: {done.stderr.strip()}")
            time.sleep(0.1)

    def rows(self, query):
        """Returns the rows of a query as dictionaries."""
        return json.loads(self.sql(f"SELECT coalesce(json_agg(r), '[]') FROM ({query}) r"))

    def session(self, text):
        """Starts psql in the background with this text. Returns the process."""
        process = subprocess.Popen(self.psql(), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, text=True)
        with contextlib.suppress(OSError):
            process.stdin.write(text)
            process.stdin.close()
        return process

    def kill(self):
        """Sends SIGKILL to the server and all its processes."""
        self.end(self.data, self.socket_folder)

    def end(self, data, socket_folder):
        """Sends SIGKILL to the server of a data folder and all its processes."""
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int(pathlib.Path(data, "postmaster.pid").read_text().split()[0]), signal.SIGKILL)
        wait_until("the processes of PostgreSQL are gone", lambda: self.kill_backends(data))
        # PostgreSQL takes the server for alive while its parent has not collected its exit code, so the lock files are removed.
        for name in (f"{data}/postmaster.pid", f"{socket_folder}/.s.PGSQL.5432.lock"):
            pathlib.Path(name).unlink(missing_ok=True)

    def kill_backends(self, data):
        """Sends SIGKILL to the remaining processes of a server. Returns whether there were none."""
        left = processes_in(data)
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        return not left

    def start(self):
        """Starts the server that was killed."""
        self.processes.append(self.start_process(self.data, self.socket_folder))

    def fill_disk(self, seconds):
        """Fills the disk for some seconds. Switches to a new log file, which cannot be written, so the server and the standby
        can end. Starts the ended ones again when the disk has space."""
        self.disk.flag.touch()
        self.session("SELECT pg_switch_wal()")
        time.sleep(seconds)
        self.disk.flag.unlink()
        if not self.answers(self.socket_folder):
            self.kill()
            self.start()
        if self.standby and not self.answers(self.standby_folder):
            self.end(self.standby, self.standby_folder)
            self.start_standby()

    @property
    def standby_folder(self):
        return f"{self.folder}/other"

    def answers(self, socket_folder):
        return subprocess.run([str(programs() / "pg_isready"), "-q", "-h", socket_folder]).returncode == 0

    def start_process(self, data, socket_folder):
        """Starts a server on a data folder. Repeats the attempt until the shared memory of the previous server is free."""
        log = f"{self.folder}/log-again"
        for _ in range(100):
            process = subprocess.Popen(
                as_postgres([str(programs() / "postgres"), "-D", data, "-c", f"unix_socket_directories={socket_folder}"]),
                stdin=subprocess.DEVNULL, stdout=open(log, "a"), stderr=subprocess.STDOUT, cwd="/",
                env=self.disk.environment)
            while process.poll() is None:
                if self.answers(socket_folder) and process.poll() is None:
                    return process
                time.sleep(0.05)
            time.sleep(0.1)
        raise SetupFailure(f"PostgreSQL did not start again: {pathlib.Path(log).read_text()[-600:]}")

    # A standby

    def add_standby(self):
        """Starts a standby. From then on, PostgreSQL answers a commit when the standby has applied it."""
        with open(f"{self.data}/pg_hba.conf", "a") as rules:
            rules.write("local replication all trust\n")
        self.sql("SELECT pg_reload_conf()")
        self.standby = f"{self.folder}/standby"
        subprocess.run(as_postgres(
            [str(programs() / "pg_basebackup"), "-D", self.standby, "-R", "-c", "fast", "-d",
             f"host={self.folder} user=souk application_name=standby"]), check=True, cwd="/")
        subprocess.run(as_postgres(["mkdir", self.standby_folder]), check=True)
        self.start_standby()
        for setting in ("synchronous_standby_names = 'standby'", "synchronous_commit = 'remote_apply'"):
            self.sql(f"ALTER SYSTEM SET {setting}")
        self.sql("SELECT pg_reload_conf()")
        self.wait_for_standby()

    def start_standby(self):
        self.standby_process = self.start_process(self.standby, self.standby_folder)

    def stop_standby(self):
        self.standby_process.send_signal(signal.SIGINT)
        self.standby_process.wait()

    def wait_for_standby(self):
        wait_until("the standby has what the primary has", lambda: self.sql(
            "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync' AND replay_lsn >= "
            "(SELECT min(flush_lsn) FROM pg_stat_replication)") == "1")

    def promote(self):
        """Makes the standby the primary, after the old primary was killed."""
        self.socket_folder, self.data = self.standby_folder, self.standby
        self.sql("SELECT pg_promote()", database="postgres")
        self.processes.append(self.standby_process)
        self.standby = None

    def close(self):
        if self.standby:
            self.stop_standby()
        for process in self.processes:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                process.wait()
        self.script.stdin.close()
        self.script.wait()
        self.disk.close()


class Disk:
    """Makes the disk full for PostgreSQL while a file exists, see full_disk.c."""

    def __init__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="souk-disk-"))
        # PostgreSQL runs as another user.
        self.folder.chmod(0o711)
        library, self.flag = self.folder / "full_disk.so", self.folder / "is-full"
        clang = pathlib.Path(shutil.which("swift")).resolve().with_name("clang")
        subprocess.run([clang, "-O1", "-Wall", "-Werror", "-shared", "-fPIC", SUPPORT / "full_disk.c", "-o", library],
                       check=True)
        library.chmod(0o755)
        self.environment = {**os.environ, "LD_PRELOAD": str(library), "SOUK_FULL_DISK": str(self.flag)}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def as_postgres(words):
    """Returns a command that runs as the user postgres if this is root, because PostgreSQL refuses to run as root."""
    if os.getuid() != 0:
        return words
    return ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *words]


def processes_in(folder):
    """Returns the processes with this working folder that are not zombies."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.readlink(process / "cwd") == folder and (process / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z":
                found.append(int(process.name))
    return found


def wait_until(what, condition, timeout=60, pause=0.02):
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise SetupFailure(f"waited {timeout} s until {what}")
        time.sleep(pause)


class LineProgram:
    """A program that answers each line of its input with one line."""

    def __init__(self, words):
        self.lock = threading.Lock()
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        with self.lock:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        if not answer:
            raise SetupFailure(f"{self.process.args[0]} has ended")
        return answer.strip()

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Proxies(LineProgram):
    """The proxies, see cluster_proxy.py."""

    def __init__(self, socket, folders):
        super().__init__([sys.executable, str(SUPPORT / "cluster_proxy.py"), socket, *folders])
        self.process.stdout.readline()

    def order(self, do, **more):
        return json.loads(self.ask(json.dumps({"do": do, **more})))


class Store(LineProgram):
    """Signs transactions and notifications with its own certificate chain."""

    def __init__(self, tool, root):
        super().__init__([tool, "sign", f"root={root}"])
        self.numbers, self.numbers_lock = random.randrange(10**6) * 10**6, threading.Lock()

    def number(self):
        with self.numbers_lock:
            self.numbers += 1
            return str(self.numbers)

    def transaction(self, number, product, token=None, revoked=False, original=None):
        """Returns a signed transaction."""
        # Ten seconds ago, so that the date is past by the clock of every server.
        now = int(time.time() * 1000) - 10_000
        payload = {
            "transactionId": number, "originalTransactionId": original or number, "bundleId": APP, "productId": product,
            "purchaseDate": now, "originalPurchaseDate": now, "quantity": 1, "inAppOwnershipType": "PURCHASED",
            "type": "Consumable" if product == "coins" else "Non-Consumable", "signedDate": now,
            "environment": "Sandbox"}
        if token:
            payload["appAccountToken"] = token
        if revoked:
            payload["revocationDate"], payload["signedDate"] = now, now + 500
        return self.ask(json.dumps(payload))

    def notification(self, signed, kind):
        name = f"n-{self.number()}"
        payload = {
            "notificationType": kind, "notificationUUID": name, "version": "2.0", "signedDate": int(time.time() * 1000) - 9_000,
            "data": {"bundleId": APP, "environment": "Sandbox", "signedTransactionInfo": signed}}
        return self.ask(json.dumps(payload))


class Server:
    """One server, which can be killed and started again. Each start gives it a new address."""

    def __init__(self, number, words, folder, older=None):
        self.number, self.words, self.folder = number, words, folder
        # The program of an older release, which alternates with the present one.
        self.older = older
        self.process, self.address, self.starts = None, None, 0

    def start(self, more=()):
        log = open(f"{self.folder}/server-{self.number}.log", "a")
        is_older = self.older and (self.number + self.starts) % 2
        process = subprocess.Popen([self.older if is_older else self.words[0], *self.words[1:], *more], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                                   text=True, cwd=self.folder)
        line = process.stdout.readline()
        if not line:
            process.wait()
            return False
        self.process, self.starts = process, self.starts + 1
        self.address = json.loads(line)["listening"].removeprefix("http://")
        return True

    def start_with_retries(self, timeout=90):
        wait_until(f"server {self.number} starts", self.start, timeout)

    def kill(self):
        self.address = None
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Receiver:
    """Receives webhooks. Answers a share of them, `refused`, with the status 500."""

    def __init__(self, history):
        self.refused = 0.1
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                begin = time.monotonic()
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = 500 if random.random() < receiver.refused else 200
                history.add("webhook", begin=begin, end=time.monotonic(), status=status, body=body.decode())
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", "0")
                    self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/hook"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Clock:
    """Serves a clock with an offset in seconds, as a simulator serves its clock."""

    def __init__(self, seconds):
        clock = self
        self.is_closed = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                clock.is_closed.wait(float(query.get("wait", ["0"])[0]))
                now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
                text = json.dumps({"now": f"{now:%Y-%m-%dT%H:%M:%S.%fZ}", "rate": 1, "revision": 1}).encode()
                with contextlib.suppress(OSError):
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(text)))
                    self.end_headers()
                    self.wfile.write(text)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.is_closed.set()
        self.server.shutdown()
        self.server.server_close()


class History:
    """The requests, responses, events and faults, in the order of their recording. All times are of one monotonic clock."""

    def __init__(self):
        self.entries, self.lock = [], threading.Lock()

    def add(self, kind, **entry):
        with self.lock:
            self.entries.append({"kind": kind, "number": len(self.entries), **entry})


class Cluster:
    """PostgreSQL, the proxies, the servers, the store, the receiver of webhooks and the clocks."""

    def __init__(self, folder, history, isolation, mode, program, tool, fault=None, servers=3, options="",
                 has_standby=False, clocks=(), older=None):
        self.folder, self.fault, self.program = folder, fault, program
        # The payloads that the store signed, by digest.
        self.signed = {}
        self.postgres = Postgres()
        self.receiver = Receiver(history)
        self.store = Store(tool, f"{folder}/root.der")
        # The store writes its root certificate before its first signature.
        self.store.transaction("1", "pro")
        pathlib.Path(folder, "credits.json").write_text(json.dumps({"features": {}, **CREDITS}))
        pathlib.Path(folder, "secret").write_text("0123456789abcdef0123456789abcdef\n")
        pathlib.Path(folder, "config.json").write_text(json.dumps({"webhooks": [
            {"name": "crm", "bundleId": APP, "url": self.receiver.url, "secretFiles": [f"{folder}/secret"]}]}))
        proxied = []
        for number in range(servers):
            os.mkdir(f"{folder}/proxy-{number}")
            proxied.append(f"{folder}/proxy-{number}")
        os.chmod(folder, 0o711)
        self.proxies = Proxies(self.postgres.socket, proxied)
        self.servers = [
            Server(number, self.words(f"postgres://souk@/{DATABASE}?host={place}{options}", isolation, mode, tool),
                   folder, older) for number, place in enumerate(proxied)]
        self.clocks = [Clock(seconds) for seconds in clocks]
        for server, clock in zip(self.servers, self.clocks):
            server.words += ["--clock", clock.url]
        rules = ["rules=remove"] if fault else []
        if not self.servers[0].start(rules) or not all(server.start() for server in self.servers[1:]):
            raise SetupFailure(f"a server did not start; its log is in {folder}")
        if older:
            self.postgres.sql(LATER_SCHEMA_CHANGE)
        if has_standby:
            self.postgres.add_standby()
        self.secret = pathlib.Path(folder, f"souk.{APP}.secret-key").read_text().strip()

    def words(self, url, isolation, mode, tool):
        folder = self.folder
        if self.fault:
            return [tool, "serve", f"database={url}", f"isolation={isolation}", f"fault={self.fault}", f"app={APP}",
                    f"root={folder}/root.der", f"features={folder}/credits.json", f"mode={mode}",
                    f"webhook={self.receiver.url}", f"secret={folder}/secret"]
        return [self.program, "serve", "--database", url, "--database-isolation", isolation, "--bundle-id", APP,
                "--environment", "sandbox", "--root", f"{folder}/root.der", "--features", f"{folder}/credits.json",
                "--customer-rate-limit", "none", "--transfer-mode", mode, "--config", f"{folder}/config.json",
                "--stop-with-parent"]

    def request(self, server, method, path, body=None, headers=None, timeout=4):
        """Returns the status and body of the response. Throws OSError or HTTPException if there is none."""
        address = self.servers[server].address
        if address is None:
            raise ConnectionRefusedError
        connection = http.client.HTTPConnection(address, timeout=timeout)
        try:
            connection.request(method, path, json.dumps(body) if body is not None else None, {
                "Authorization": f"Bearer {self.secret}", "Content-Type": "application/json", **(headers or {})})
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def replay(self):
        """Returns the exit code and output of `souk ledger replay`."""
        url = f"postgres://souk@/{DATABASE}?host={self.postgres.socket_folder}"
        words = ["ledger", "replay", "--database", url, "--features", f"{self.folder}/credits.json", "--json"]
        done = subprocess.run([self.program, *words], capture_output=True, text=True, cwd=self.folder)
        return {"status": done.returncode, "output": done.stdout[-4000:], "errors": done.stderr[-2000:]}

    def close(self):
        for server in self.servers:
            if server.address:
                server.kill()
        for part in (self.proxies, self.store, self.receiver, *self.clocks, self.postgres):
            part.close()
