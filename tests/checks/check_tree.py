#!/usr/bin/env python3
"""The tree stays tidy: a README per folder, no machine's paths, no open marks, no huge files."""
import os
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
SIZE_MAX = 1_000_000
LINES_MAX = 1000  # of a source file: split before
CODE = {".c", ".h", ".py", ".sh", ".cmake", ".js", ".css", ""}

MACHINE_PATH = re.compile(r"/(work|farm|root|home)/")
OPEN_MARK = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK")) + r")\b")
EMPTY_ASSERT = re.compile(r"\bassert(_true)?\((1|true)\)")


def tree_files():
    """Tracked and new files, not the ignored ones; without git, everything but build/."""
    command = ["git", "-C", str(SOURCE), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, capture_output=True, check=True).stdout.decode().split("\0")
        return [SOURCE / name for name in listed if name and (SOURCE / name).is_file()]
    except (OSError, subprocess.CalledProcessError):
        found = (p for p in SOURCE.rglob("*") if p.is_file())
        return [p for p in found if p.relative_to(SOURCE).parts[0] not in ("build", ".git")]


def check_text(path, problems):
    name = path.relative_to(SOURCE)
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return
    code = path.suffix in CODE and name.parts[0] in ("src", "include", "tests", "tools", "cmake", "bench")
    if name.parts[:2] == ("tests", "fuzz") and "corpus" in name.parts:
        return
    for number, line in enumerate(text.splitlines(), 1):
        if MACHINE_PATH.search(line):
            problems.append(f"{name}:{number}: an absolute path of some machine")
        if OPEN_MARK.search(line):
            problems.append(f"{name}:{number}: an open mark; finish it or write it down as a decision")
        if code and EMPTY_ASSERT.search(line):
            problems.append(f"{name}:{number}: an assertion that cannot fail")
        if path.suffix in (".c", ".h", ".py", ".sh") and line != line.rstrip():
            problems.append(f"{name}:{number}: space at the end of the line")
    if path.suffix in (".c", ".h") and text.count("\n") > LINES_MAX:
        problems.append(f"{name}: {text.count(chr(10))} lines; split it before {LINES_MAX}")
    if path.suffix in (".c", ".h") and name.parts[0] in ("src", "include") and not text.startswith("/* "):
        problems.append(f"{name}: does not open with a comment that says what it is for")


def named_tests(text):
    """What comments say of tests: paths, with * and {a,b} for several; a name alone is beside the path before it."""
    for comment in re.findall(r"/\*.*?\*/", text, re.S):
        folder = None
        for word in re.findall(r"\btests/[\w./*{,}-]+|(?<![\w/])test_[\w*]+\.(?:c|py)\b", comment):
            word = word.rstrip(".,")
            if not word.startswith("tests/"):
                word = f"{folder}/{word}" if folder else "tests/**/" + word
            folder = word.rsplit("/", 1)[0]
            braces = re.search(r"\{([^}]*)\}", word)
            for one in braces[1].split(",") if braces else [""]:
                yield word[:braces.start()] + one + word[braces.end():] if braces else word


def check_named_tests(path, problems):
    """Sources and headers say where their tests are, and there they are."""
    name = path.relative_to(SOURCE)
    if name.parts[0] in ("src", "include") and path.suffix in (".c", ".h", ".inc", ".js", ".css"):
        problems += [f"{name}: names {named}, which is not there"
                     for named in named_tests(path.read_text(encoding="utf-8")) if not any(SOURCE.glob(named))]


def main():
    files = tree_files()
    problems = []
    folders = set()
    for path in files:
        name = path.relative_to(SOURCE)
        if path.stat().st_size > SIZE_MAX:
            problems.append(f"{name}: larger than {SIZE_MAX} bytes")
            continue
        check_text(path, problems)
        check_named_tests(path, problems)
        parts = name.parts
        if len(parts) > 1 and not parts[0].startswith("."):
            folders.add(SOURCE / parts[0])
        if len(parts) > 2 and parts[0] == "src":
            folders.add(SOURCE / "src" / parts[1])
    for folder in sorted(folders):
        readme = folder / "README.md"
        if folder != SOURCE / "src" and not (readme.is_file() and readme.stat().st_size > 100):
            problems.append(f"{folder.relative_to(SOURCE)}: no README.md that says what is in it")
    print("\n".join(problems))
    print(f"{len(files)} files, {len(problems)} problems")
    return 1 if problems or len(files) < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
