#!/usr/bin/env python3
"""libshoal.so exports exactly the symbols the package promises, and every public function is one."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
LIBRARY = os.environ["SHOAL_LIB"]
PROMISED = SOURCE / "packaging" / "debian" / "libshoal0.symbols"


def exported():
    text = subprocess.run(["nm", "-D", "--defined-only", LIBRARY], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[-1].split("@")[0] for row in rows if row[-2] != "A"}


def promised():
    return set(re.findall(r"^ (shoal_\w+)@SHOAL_0 ", PROMISED.read_text(), re.M))


def declared():
    names = set()
    for header in SOURCE.glob("include/**/*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        names.update(re.findall(r"SHOAL_API\b[^;{]*?\b(shoal_\w+)\s*\(", text))
    return names


def main():
    if shutil.which("nm") is None:
        print("skipped: nm is not installed (binutils)")
        return 77
    if os.environ.get("SHOAL_SANITIZE"):
        print("skipped: sanitizers add symbols of their own")
        return 77
    have, want, headers = exported(), promised(), declared()
    problems = [f"exported without the prefix shoal_: {n}" for n in sorted(have) if not n.startswith("shoal_")]
    problems += [f"exported but not in {PROMISED.name}: {n}" for n in sorted(have - want)]
    problems += [f"in {PROMISED.name} but not exported: {n}" for n in sorted(want - have)]
    problems += [f"declared SHOAL_API but not exported: {n}" for n in sorted(headers - have)]
    problems += [f"exported but in no public header: {n}" for n in sorted(have - headers)]
    print("\n".join(problems))
    print(f"{len(have)} symbols exported, {len(problems)} problems")
    return 1 if problems or not have else 0


if __name__ == "__main__":
    sys.exit(main())
