"""One Chromium for the page tests of a whole run: each test opens a context of its own in it."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

JUDGE = pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Judges" / "browser.py"


class SharedBrowser:
    """`Tests/Judges/browser.py --serve`, started when it is first asked for, and ended with the block."""

    def __init__(self):
        self.socket, self.opened = None, contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.opened.close()

    def environment(self):
        """Names the browser's socket; nothing where there is none, so that each test starts its own."""
        if self.socket is None:
            self.socket = self._start() or ""
        return {"SOUK_BROWSER": self.socket} if self.socket else {}

    def _start(self):
        python = os.environ.get("SOUK_PYTHON")
        if not python:
            return None
        folder = self.opened.enter_context(tempfile.TemporaryDirectory(prefix="souk-browser-"))
        socket = f"{folder}/socket"
        # A session of its own: an interrupt from the terminal is for the runner, which closes the input.
        process = subprocess.Popen([python, str(JUDGE), "--serve", socket], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, start_new_session=True)
        self.opened.callback(self._end, process)
        return socket if process.stdout.readline() == b"ready\n" else None

    @staticmethod
    def _end(process):
        process.stdin.close()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
