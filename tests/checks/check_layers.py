#!/usr/bin/env python3
"""The include table holds over the whole tree, and tools/layers notices each kind of breach."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
LAYERS = [sys.executable, str(SOURCE / "tools" / "layers")]

# file, its text, words the report must hold (None: must be silent)
CASES = [
    ("src/base/a.c", '#include "env/env.h"\n', "base may not include env"),
    ("src/sched/a.c", '#include "sim/run.h"\n', "sched may not include sim"),
    ("src/sched/policy/a.c", '#include "env/env.h"\n', "sched may not include env"),
    ("src/sim/a.c", '#include "cli/cli.h"\n', "sim may not include cli"),
    ("src/sim/a.c", '#include "nowhere/a.h"\n', "in no folder of the map"),
    ("include/shoal/a.h", '#include "base/buf.h"\n', "public header includes the private"),
    ("src/sim/a.c", "long f(void)\n{\n    return time (0);\n}\n", "a.c:3: time() belongs in"),
    ("src/sched/a.c", "int f(void) { return rand(); }\n", "rand() belongs in"),
    ("src/base/a.c", 'char *f(void) { return getenv("A"); }\n', "getenv() belongs in"),
    ("src/sim/a.c", "int f(void) { return socket(1, 1, 0); }\n", "socket() belongs in"),
    ("src/sim/a.c", "int f(void) { return open (path, 0); }\n", "open() belongs in"),
    ("src/sim/a.c", 'FILE *f(void) { return fopen("a", "r"); }\n', "fopen() belongs in"),
    ("src/sched/a.c", "void *f(void) { return opendir(path); }\n", "opendir() belongs in"),
    ("src/sim/a.c", "long f(void)\n{\n    return read(fd, buf, 1);\n}\n", "a.c:3: read() belongs in"),
    ("src/base/a.c", "int f(void) { return pthread_create(&t, 0, g, 0); }\n", "pthread_create() belongs in"),
    ("src/extra/a.c", "int x;\n", "not a folder of the map"),
    ("src/serve/a.c", "int x;\n", "not a folder of the map"),
    ("src/cli/a.c", 'int f(void) { return open("a", 0) + read(0, b, 1); }\n', None),
    ("src/sim/a.c", "int f(struct s *x) { return x->open(x) + x->ops.read(1) + my_read(2) + env_open(3); }\n", None),
    ("src/sim/a.c", "static int read(int x)\n{\n    return x;\n}\nint f(void) { return read(3); }\n", None),
    ("src/sim/a.h", "struct s { int (*open)(int path); int (*read)(int x); };\n", None),
    ("src/env/a.c", "long f(void) { return time(0); }\n", None),
    ("src/cli/a.c", '#include "sim/run.h"\n#include "sched/plan.h"\n', None),
    ("src/sim/a.c", '#include "sched/plan.h"\n#include "env/env.h"\n', None),
    ("src/sim/a.c", "/* time() */ int f(struct s *x) { return x->time(x) + run_time(3); }\n", None),
]


def run_on(path, text):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path
        file.parent.mkdir(parents=True)
        file.write_text(text)
        return subprocess.run(LAYERS + [folder], capture_output=True, text=True)


def main():
    failed = 0
    for path, text, words in CASES:
        result = run_on(path, text)
        ok = result.returncode == 0 if words is None else result.returncode == 1 and words in result.stdout
        if not ok:
            failed += 1
            print(f"tools/layers misjudged {path}: {text!r}\n{result.stdout}{result.stderr}")
    tree = subprocess.run(LAYERS + [str(SOURCE)], capture_output=True, text=True)
    print(tree.stdout, tree.stderr)
    return 1 if failed or tree.returncode != 0 else 0


if __name__ == "__main__":
    sys.exit(main())
