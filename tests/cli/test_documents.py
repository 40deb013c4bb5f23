#!/usr/bin/env python3
# ctest: full timeout=300
"""Runs the commands of README.md and of documents in docs/, as they are printed there and in their order, and compares what they print.

Commands are the lines that begin with "$ " in ``` blocks, with lines that go on after a backslash or with "> ". Those of a document run in
one shell, in an empty folder of its own that has the build and the examples, and each must end with status 0. Where a document
shows output, its lines must have the same form: the same words in the same columns. Figures may differ, "..." stands for any
lines, and what a command says on standard error follows or is left out.

    test_documents.py [FILE...]            all documents, or these
    test_documents.py --write FILE...      puts what is printed now into them, to be read before it is kept
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
DOCUMENTS = ("README.md", "docs/advise.md", "docs/solve.md")  # test_market.py and test_study.py have theirs, to the last figure
LIMIT_S = 280
UNITS = {"us", "ms", "s", "B", "kB", "MB", "GB", "M", "k"}


class Command:
    """A command of a document: its text, the lines it takes (from, to) and those of what it prints, which follow."""

    def __init__(self, first, line):
        self.first, self.last, self.text, self.shown = first, first + 1, line[2:], []

    def goes_on(self, line):
        return self.text.endswith("\\") or line == ">" or line.startswith("> ")

    def add(self, line):
        self.text += "\n" + (line if self.text.endswith("\\") else line[2:])
        self.last += 1


def commands_of(lines):
    found, fenced = [], False
    for number, line in enumerate(lines):
        if line.startswith("```"):
            fenced, inside = not fenced, None
        elif fenced and line.startswith("$ "):
            inside = Command(number, line)
            found.append(inside)
        elif fenced and inside is not None and not inside.shown and inside.goes_on(line):
            inside.add(line)
        elif fenced and inside is not None:
            inside.shown.append(line)
    for command in found:
        while command.shown and not command.shown[-1]:  # blank lines between two commands
            command.shown.pop()
    return found


def run(commands, folder):
    """What each printed, what it said on standard error, and its status; None: it did not end, or the one before it."""
    marker = "end of a command of the document"
    script = "".join(f"{{ {command.text}\n}} 2> said-{number}\necho; echo \"{marker} $?\"\n" for number, command in enumerate(commands))
    env = {"PATH": f"{folder / 'build'}:{os.environ['PATH']}", "HOME": str(folder), "TERM": "dumb", "LC_ALL": "C.UTF-8",
           "XDG_RUNTIME_DIR": str(folder)}
    with subprocess.Popen(["bash", "-s"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder, env=env,
                          start_new_session=True) as shell:
        try:
            out = shell.communicate(script, timeout=LIMIT_S)[0]
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            out = shell.communicate()[0]
    parts = re.split(rf"\n{marker} (\d+)\n", out)
    printed, status = parts[::2], [int(word) for word in parts[1::2]]
    for number in range(len(commands)):
        said = folder / f"said-{number}"
        yield (printed[number].rstrip("\n").splitlines() if number < len(printed) else [],
               said.read_text().splitlines() if said.exists() else [], status[number] if number < len(status) else None)


def form(line):
    """Its words in their order, with every word that has a figure in it as #; units go with their figure."""
    words = []
    for word in line.split():
        if re.search(r"\d", word) or word == "-":
            words.append("#")
        elif not (words and words[-1] == "#" and word.strip(",;()") in UNITS):
            words.append(word)
    return " ".join(words)


def same_form(shown, printed):
    """Whether lines match, "..." any number of them."""
    if not shown:
        return not printed
    if shown[0] == "...":
        return any(same_form(shown[1:], printed[skip:]) for skip in range(len(printed) + 1))
    return bool(printed) and form(shown[0]) == form(printed[0]) and same_form(shown[1:], printed[1:])


def check(document, write):
    lines = (SOURCE / document).read_text().splitlines()
    commands = commands_of(lines)
    problems = [] if commands else [f"{document}: no command"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "build" / "demo").mkdir(parents=True)  # as make demo leaves it
        (folder / "build" / "shoal").symlink_to(SHOAL)
        (folder / "examples").symlink_to(SOURCE / "examples")
        folder.chmod(0o700)
        results = list(run(commands, folder))
    for command, (printed, said, status) in reversed(list(zip(commands, results))):
        where = f"{document}:{command.first + 1}: $ {command.text}"
        if status != 0:
            problems.append("\n".join([where, f"ends with {status}:", *printed, *said]))
        elif command.shown and not same_form(command.shown, printed) and not same_form(command.shown, printed + said):
            problems.append("\n".join([where, "prints", *printed, *said, "", "and not", *command.shown]))
        if write and command.shown and "..." not in command.shown and status == 0:
            with_said = len(command.shown) > len(printed)
            lines[command.last:command.last + len(command.shown)] = printed + (said if with_said else [])
    if write:
        (SOURCE / document).write_text("\n".join(lines) + "\n")
    return problems


def main():
    if os.environ.get("SHOAL_SANITIZE"):
        print("skipped: documents are run without sanitizers, which make some of the commands take minutes")
        return 77
    write = sys.argv[1:2] == ["--write"]
    problems = [problem for document in sys.argv[1 + write:] or DOCUMENTS for problem in check(document, write)]
    print("\n\n".join(problems) or "ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
