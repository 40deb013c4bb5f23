#!/usr/bin/env python3
"""Every header compiles alone, and twice; public ones also as plain C11 and as C++11.

A header without an include guard is a table: comments and ROW(...) lines, nothing else.
"""
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
WARNINGS = "-Wall -Wextra -Wshadow -Werror".split()
C_WARNINGS = "-Wconversion -Wstrict-prototypes -Wmissing-prototypes".split()
INTERNAL = ["-xc", "-std=c17", "-D_GNU_SOURCE", "-I", "src", *C_WARNINGS]
PUBLIC_C = ["-xc", "-std=c11", "-pedantic", *C_WARNINGS]
PUBLIC_CXX = ["-xc++", "-std=c++11", "-pedantic"]


def compile_alone(job):
    compiler, flags, header = job
    text = f'#include "{header}"\n#include "{header}"\ntypedef int not_empty;\n'
    command = [compiler, "-fsyntax-only", *flags, *WARNINGS, "-I", "include", "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, cwd=SOURCE)
    return None if result.returncode == 0 else f"{header} ({flags[0][2:]}):\n{result.stderr}"


def check_table(header):
    text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
    bad = [line for line in text.splitlines() if line.strip() and not re.fullmatch(r"ROW\(.*\)", line.strip())]
    return f"{header.relative_to(SOURCE)}: no include guard, and more than rows: {bad[0]}" if bad else None


def main():
    cc = os.environ.get("CC", "cc")
    cxx = next((c for c in ("g++", "c++", "clang++") if shutil.which(c)), None)
    jobs = []
    problems = []
    for header in sorted(SOURCE.glob("include/**/*.h")):
        name = str(header.relative_to(SOURCE / "include"))
        jobs.append((cc, PUBLIC_C, name))
        if cxx:
            jobs.append((cxx, PUBLIC_CXX, name))
    for header in sorted(SOURCE.glob("src/**/*.h")):
        if "#ifndef" not in header.read_text():
            problems.append(check_table(header))
        else:
            jobs.append((cc, INTERNAL, str(header.relative_to(SOURCE / "src"))))
    with ThreadPoolExecutor(2) as pool:
        problems.extend(pool.map(compile_alone, jobs))
    problems = [p for p in problems if p]
    for problem in problems:
        print(problem)
    print(f"{len(jobs)} compilations, {len(problems)} problems" + ("" if cxx else "; no C++ compiler found"))
    return 1 if problems or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
