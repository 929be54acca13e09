"""One Chromium for the page tests of a run. Each test opens its own context in it."""

import contextlib
import os
import pathlib
import subprocess
import tempfile

JUDGE = pathlib.Path(__file__).resolve().parents[2] / "Tests" / "Judges" / "browser.py"


class SharedBrowser:
    """Starts `Tests/Judges/browser.py --serve` on the first use, and ends it with the block."""

    def __init__(self):
        self.socket, self.opened = None, contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.opened.close()

    def environment(self):
        """Returns a variable with the browser's socket. It is empty if there is no browser; each test then starts its own."""
        if self.socket is None:
            self.socket = self._start() or ""
        return {"SOUK_BROWSER": self.socket} if self.socket else {}

    def _start(self):
        python = os.environ.get("SOUK_PYTHON")
        if not python:
            return None
        folder = self.opened.enter_context(tempfile.TemporaryDirectory(prefix="souk-browser-"))
        socket = f"{folder}/socket"
        # In its own session, so that an interrupt from the terminal reaches only the runner, which then closes the input.
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
