#!/usr/bin/env python3
"""Manual pages from the rows: every option of --help is on its page, and mandoc has nothing to say about them."""
import os
import re
import shutil
import subprocess
import sys

SHOAL = os.environ["SHOAL_BIN"]


def shoal(*words):
    return subprocess.run([SHOAL, *words], capture_output=True, text=True, check=True, timeout=100).stdout


def lint(page):
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "style"], input=page, capture_output=True, text=True, timeout=100)
    return [line for line in (done.stdout + done.stderr).splitlines() if "referenced manual not found" not in line]


def main():
    problems = []
    names = shoal("help", "--list").splitlines()
    main_page = shoal("help", "--man")
    pages = {"": main_page, **{name: shoal("help", "--man", *name.split()) for name in names}}
    for name, page in pages.items():
        if name and f".Xr shoal-{name.replace(' ', '-')} 1" not in main_page:
            problems.append(f"shoal(1) does not name '{name}'")
        for option in re.findall(r"^  (?:-.,|   ) --([a-z0-9-]+)", shoal("help", *name.split()), re.M):
            if f"Fl Fl {option}" not in page:
                problems.append(f"page of '{name}' lacks --{option}")
        if shutil.which("mandoc"):
            problems += [f"page of '{name}': {line}" for line in lint(page)]
    print("\n".join(problems))
    print(f"{len(pages)} pages")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
