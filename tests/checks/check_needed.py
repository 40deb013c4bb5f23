#!/usr/bin/env python3
"""The command and the library need the libraries they are meant to, and no other: oracles and peers of tests and
benches, CLP above all, are never linked into the product."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
MEANT = re.compile(r"^(libc|libm|libpthread|libjansson|libxxhash|libcrypto|libssl|libz|ld-linux[\w-]*|linux-vdso)\.so\b")
SANITIZERS = re.compile(r"^lib(asan|ubsan|tsan|lsan|clang_rt|gcc_s|gcov|stdc\+\+|rt|dl|resolv)\b")
FOREIGN = re.compile(r"Clp|Coin", re.I)


def direct(path):
    """What readelf says the file asks for."""
    text = subprocess.run(["readelf", "-d", path], check=True, capture_output=True, text=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.+)\]", text)


def loaded(path):
    """What comes with it when it starts."""
    text = subprocess.run(["ldd", path], check=True, capture_output=True, text=True).stdout
    return [Path(line.split()[0]).name for line in text.splitlines() if line.strip()]


def main():
    if shutil.which("readelf") is None or shutil.which("ldd") is None:
        print("skipped: readelf or ldd is not installed (binutils, libc-bin)")
        return 77
    sanitized = bool(os.environ.get("SHOAL_SANITIZE"))
    problems, seen = [], 0
    for path in (os.environ["SHOAL_BIN"], os.environ["SHOAL_LIB"]):
        name = Path(path).name
        for library in direct(path):
            seen += 1
            if not MEANT.match(library) and not (sanitized and SANITIZERS.match(library)):
                problems.append(f"{name} needs {library}")
        problems += [f"{name} loads {library}" for library in loaded(path) if FOREIGN.search(library)]
    for folder in ("src", "include"):
        for file in (SOURCE / folder).rglob("*.[ch]"):
            if re.search(r"#include\s*[<\"](coin/)?(Clp|Coin)", file.read_text()):
                problems.append(f"{file.relative_to(SOURCE)} includes a header of CLP")
    print("\n".join(problems))
    print(f"{seen} libraries needed, {len(problems)} problems")
    return 1 if problems or seen == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
