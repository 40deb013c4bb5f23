#!/usr/bin/env python3
"""walk.py - the files of src that one command passes through, counted from a profile.

Usage: bench/walk.py SHOAL [-l]

Runs a `sim` under max-min, a `market` and a `train mf` with one worker on small inputs under callgrind, children too, and counts the .c
files of src of which a function ran: all, and those besides base and cli, by folder. With -l it names them. SHOAL may be of any tree
that was built with symbols; ARCHITECTURE.md has the counts.
"""
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIMIT_S = 30
APART = ("base", "cli")
INPUTS = ["gen prices --days 20 -o prices.csv", "gen ratings --users 60 --items 40 --ratings 1200 -o ratings.csv"]
WALKS = {
    "sim": "sim -c 2x4:t4,1x4:a100 -p max-min small.csv --threads 1",
    "market": "market prices.csv --kinds small --work 4d --threads 1",
    "train": "train mf ratings.csv --workers 1 --threads 1 --set rank=4",
}
# A job reserves addresses for far more memory than it uses: callgrind has too few of them, and no seals. A worker that has nothing to do
# any more is killed: it would not write its profile.
UNDER_CALLGRIND = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>
static size_t fewer(size_t size)
{
    return size > (size_t)1 << 36 ? (size_t)1 << 33 : size;
}
void *mmap(void *at, size_t size, int may, int how, int fd, off_t from)
{
    return ((void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, "mmap"))(at, fewer(size), may, how, fd, from);
}
int munmap(void *at, size_t size)
{
    return ((int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap"))(at, fewer(size));
}
int execvp(const char *path, char *const *argv)
{
    char self[4096] = "";
    if (strcmp(path, "/proc/self/exe") == 0 && readlink(path, self, sizeof self - 1) > 0)
        path = self; /* /proc has valgrind there */
    return ((int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execvp"))(path, argv);
}
int kill(pid_t process, int what)
{
    return what == SIGKILL ? 0 : ((int (*)(pid_t, int))dlsym(RTLD_NEXT, "kill"))(process, what);
}
int prctl(int what, ...)
{
    return 0; /* it is asked for the end with the parent alone */
}
int fcntl(int fd, int what, ...)
{
    va_list ap;
    va_start(ap, what);
    void *with = va_arg(ap, void *);
    va_end(ap);
    return what == F_ADD_SEALS ? 0 : ((int (*)(int, int, ...))dlsym(RTLD_NEXT, "fcntl"))(fd, what, with);
}
"""


def files_of(profile):
    """A file is written with its number once, wherever it comes first; fl= says whose functions follow."""
    text = profile.read_text(errors="replace")
    names = dict(re.findall(r"^(?:fl|fi|fe|cfi|cfl)=\((\d+)\) (\S+)$", text, re.M))
    ran = {names[number] for number in re.findall(r"^fl=\((\d+)\)", text, re.M)}
    return {found[1] for name in ran if (found := re.search(r"(?:^|/)src/(\S+\.c)$", name))}


def walk(shoal, words, work):
    done = subprocess.run(["valgrind", "--tool=callgrind", "--dump-instr=no", "--trace-children=yes",
                           f"--callgrind-out-file={work}/callgrind.%p", shoal, *words.split()], cwd=work, capture_output=True, text=True,
                          env={**os.environ, "LD_PRELOAD": str(work / "few.so")})
    profiles, until = list(work.glob("callgrind.*")), time.monotonic() + LIMIT_S
    while any(p.stat().st_size == 0 for p in profiles) and time.monotonic() < until:
        time.sleep(0.2)
    time.sleep(1)  # the last is being written
    if done.returncode != 0 or not profiles:
        sys.exit(f"walk: '{words}' failed: {done.stderr[-500:]}")
    found = set().union(*map(files_of, profiles))
    for profile in profiles:
        profile.unlink()
    return found


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    shoal = str(Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory(prefix="shoal-walk-") as folder:
        work = Path(folder)
        (work / "small.csv").write_text((HERE.parent / "examples" / "small.csv").read_text())
        (work / "few.c").write_text(UNDER_CALLGRIND)
        subprocess.run(["cc", "-shared", "-fPIC", "-o", work / "few.so", work / "few.c"], check=True)
        for line in INPUTS:
            subprocess.run([shoal, *line.split()], cwd=work, check=True, capture_output=True)
        for name, words in WALKS.items():
            by_folder = {}
            for file in sorted(walk(shoal, words, work)):
                by_folder.setdefault(file.split("/")[0], []).append(file.split("/", 1)[1])
            counts = {folder: len(files) for folder, files in by_folder.items()}
            inner = sum(count for folder, count in counts.items() if folder not in APART)
            print(f"{name}: {sum(counts.values())} files, {inner} besides {' and '.join(APART)}: "
                  + ", ".join(f"{folder} {count}" for folder, count in counts.items()))
            if "-l" in sys.argv[2:]:
                for folder, files in by_folder.items():
                    print(f"    {folder}: {' '.join(files)}")


if __name__ == "__main__":
    main()
