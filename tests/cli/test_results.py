#!/usr/bin/env python3
"""docs/results.md is what `shoal help --fields` prints, and no recorded answer has a field that it does not tell.

`test_results.py --write` writes it anew."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from train_jobs import SHOAL

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
PAGE = SOURCE / "docs" / "results.md"
HEAD = """# What results have

Every field of `--json`, by command: `shoal help --fields` prints this page from the rows that JSON, CSV, tables and pages are drawn from.
Lists have `[]`, objects with names of their own `.*`. A column is there on a terminal where "shown as" names one. Numbers without a
unit are counts or plain numbers; what is not known is null. Each line of `--json` has `"v":1`, too; fields are added, never changed.

"""


def fields():
    done = subprocess.run([SHOAL, "help", "--fields"], capture_output=True, text=True, timeout=100, check=True)
    return HEAD + done.stdout.rstrip("\n") + "\n"


def told(text):
    """command -> paths of fields as lists of steps, "*" for any; and those that are JSON as it is."""
    commands = {}
    for part in re.split(r"^## ", text, flags=re.M)[1:]:
        rows = [(path.replace("[]", "").split("."), unit) for path, unit in re.findall(r"^\| `([^`]+)` \| [^|]*\| ([^|]*) \|", part, re.M)]
        commands[part.split("\n", 1)[0]] = [steps for steps, _ in rows], [steps for steps, unit in rows if unit == "JSON"]
    return commands


def fits(path, row):
    return len(path) == len(row) and all(b in (a, "*") for a, b in zip(path, row))


def paths_of(value, before, free):
    """Of the members of an answer; what is JSON as it is is not looked into."""
    if isinstance(value, list):
        for item in value:
            yield from paths_of(item, before, free)
    elif isinstance(value, dict) and not any(fits(before, row) for row in free):
        for key, item in value.items():
            yield (*before, key)
            yield from paths_of(item, (*before, key), free)


def is_told(path, known):
    """Under its name, as the start of others, or as one of a map, which is told without its names."""
    return any(fits(path, row[:len(path)]) for row in known) or (
        any(fits(path[:-1], row) for row in known) and not any(len(row) >= len(path) and fits(path[:-1], row[:len(path) - 1]) for row in known))


def check_recorded(commands, problems):
    looked = 0
    for file in sorted((SOURCE / "tests" / "cli" / "recorded").glob("*.json")):
        record = json.loads(file.read_text(encoding="utf-8"))
        words = record["command"].removeprefix("shoal ").split()
        wanted = (f"{words[0]} --plan" if "--plan" in words else "", " ".join(words[:2]), words[0])
        name = next((c for c in wanted if c in commands), None)
        if name is None or record["exit"] != 0 or "--key" in words:
            continue
        known, free = commands[name]
        looked += 1
        for answer in record["answer"]:
            missing = {p for p in paths_of(answer, (), free) if p != ("v",) and not is_told(p, known)}
            problems += [f"{file.name}: '{'.'.join(path)}' is not told of 'shoal {name}'" for path in sorted(missing)]
    return looked


def main():
    text, problems = fields(), []
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(text, encoding="utf-8")
    if PAGE.read_text(encoding="utf-8") != text:
        problems.append("docs/results.md is not what 'shoal help --fields' prints: run tests/cli/test_results.py --write and read the diff")
    commands = told(text)
    looked = check_recorded(commands, problems)
    if looked < 20:
        problems.append(f"only {looked} recorded answers were looked at")
    print("\n".join(problems))
    print(f"{len(commands)} commands, {looked} recorded answers, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
