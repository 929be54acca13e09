"""Lets a real shell complete lines, as it does for a person who presses the tab key.

Reads {"shell": "bash" | "zsh" | "fish", "script": path, "folder": path, "lines": [...]}, and prints a JSON array with the lines
after the tab key. Bash and zsh run interactively in a pseudo-terminal; fish has a command that completes a line. A line with
several completions stays as it is, or gets what they have in common.
"""

import json
import os
import pty
import select
import subprocess
import sys

PROMPT = "READY>"
# The key that prints the line between << and >> and clears it.
SETUP = {
    "bash": """PS1='{prompt}'
source '{script}'
show() {{ printf '<<%s>>\\n' "$READLINE_LINE"; READLINE_LINE=; READLINE_POINT=0; }}
bind -x '"\\C-xp": show'
""",
    "zsh": """PS1='{prompt}'; unsetopt beep; bindkey -e
fpath=('{functions}' $fpath); autoload -U compinit; compinit -u -D
show() {{ print -r -- "<<$BUFFER>>"; BUFFER=; }}
zle -N show; bindkey '^Xp' show
""",
}
COMMANDS = {"bash": ["bash", "--norc", "--noprofile", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Terminal:
    """An interactive shell in a pseudo-terminal."""

    def __init__(self, command, folder):
        self.seen = ""
        self.child, self.screen = pty.fork()
        if self.child == 0:
            os.chdir(folder)
            environment = os.environ | {"HOME": folder, "TERM": "dumb", "PS1": PROMPT, "LC_ALL": "C.UTF-8"}
            os.execvpe(command[0], command, environment)

    def type(self, text):
        os.write(self.screen, text.encode())

    def read_until(self, mark):
        """Returns what the shell wrote up to and including the mark."""
        while mark not in self.seen:
            ready, _, _ = select.select([self.screen], [], [], 30)
            if not ready:
                raise SystemExit(f"the shell did not write {mark!r}, but {self.seen[-2000:]!r}")
            self.seen += os.read(self.screen, 1 << 16).decode(errors="replace")
        text, _, self.seen = self.seen.partition(mark)
        return text

    def close(self):
        os.close(self.screen)
        os.waitpid(self.child, 0)


def complete(request):
    """Returns the lines that bash or zsh makes of the lines of the request."""
    shell, folder = request["shell"], request["folder"]
    functions = os.path.join(folder, ".functions")
    if shell == "zsh":
        os.makedirs(functions, exist_ok=True)
        with open(request["script"]) as source, open(os.path.join(functions, "_souk"), "w") as target:
            target.write(source.read())
    setup = os.path.join(folder, ".setup")
    with open(setup, "w") as file:
        file.write(SETUP[shell].format(prompt=PROMPT, script=request["script"], functions=functions))
    terminal = Terminal(COMMANDS[shell], folder)
    terminal.read_until(PROMPT)
    terminal.type(f". '{setup}'; printf 'SET%s\\n' UP\r")
    terminal.read_until("SETUP")
    terminal.read_until(PROMPT)
    result = []
    for line in request["lines"]:
        terminal.type(line + "\t\x18p")
        terminal.read_until("<<")
        result.append(terminal.read_until(">>"))
    terminal.close()
    return result


def complete_in_fish(request):
    """Returns the lines that fish makes of the lines of the request. It adds a space after a word, but not after a folder."""
    result = []
    for line in request["lines"]:
        words = ["fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]", request["script"], line]
        done = subprocess.run(words, cwd=request["folder"], capture_output=True, text=True, check=True)
        if done.stderr:
            raise SystemExit(f"fish: {done.stderr}")
        found = [each.split("\t")[0] for each in done.stdout.splitlines()]
        start = line[:len(line) - len(line.split(" ")[-1])]
        result.append(start + found[0] + ("" if found[0].endswith("/") else " ") if len(found) == 1 else line)
    return result


def main():
    request = json.load(sys.stdin)
    lines = complete_in_fish(request) if request["shell"] == "fish" else complete(request)
    print(json.dumps(lines))


main()
