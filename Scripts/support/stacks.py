"""Finds the processes of a session and the stacks of their threads."""

import pathlib
import shutil
import subprocess


def session(leader):
    """Returns the processes of a session, each with its parent, from /proc."""
    found = {}
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            _state, parent, _group, of, *_ = stat.read_text().rpartition(")")[2].split()
        except (OSError, ValueError):
            continue  # The process has ended.
        if int(of) == leader:
            found[int(stat.parent.name)] = int(parent)
    return found


def of_session(leader):
    """Returns the stacks of all processes in the leader's session, from gdb."""
    if not shutil.which("gdb"):
        return "gdb is not installed, so the stacks are unknown; run Scripts/install-dependencies test"
    found = []
    for process in sorted(session(leader)):
        try:
            done = subprocess.run(
                ["gdb", "-p", str(process), "-batch", "-ex", "thread apply all backtrace 30"],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", timeout=120)
            found.append(f"process {process}")
            found += [line for line in done.stdout.splitlines() if line.startswith(("Thread ", "#"))]
        except subprocess.TimeoutExpired:
            found.append(f"gdb could not read the stacks of process {process} in time")
    return "\n".join(found) or "the process had ended before gdb could read its stacks"
