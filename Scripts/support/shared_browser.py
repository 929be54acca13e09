"""One Chromium for the page tests of a whole run: each test opens a context of its own in it."""

import contextlib
import os
import pathlib
import shutil
import subprocess
import tempfile
import time


class SharedBrowser:
    """Started when it is first asked for, and ended with the block."""

    def __init__(self):
        self.address, self.opened = None, contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.opened.close()

    def environment(self):
        """Names the browser for `Tests/Judges/browser.py`; nothing where there is none, which then starts its own."""
        if self.address is None:
            self.address = self._start() or ""
        return {"SOUK_BROWSER": self.address} if self.address else {}

    def _start(self):
        program = shutil.which(os.environ.get("CHROMIUM") or "chromium")
        if not program:
            return None
        folder = self.opened.enter_context(tempfile.TemporaryDirectory(prefix="souk-browser-", ignore_cleanup_errors=True))
        process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.opened.callback(self._end, process)
        # Chromium writes the port that the system chose, and the path, on two lines.
        written = pathlib.Path(folder) / "DevToolsActivePort"
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            lines = written.read_text().splitlines() if written.exists() else []
            if len(lines) == 2:
                return f"http://127.0.0.1:{lines[0]}"
            time.sleep(0.05)
        return None

    @staticmethod
    def _end(process):
        process.terminate()
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
