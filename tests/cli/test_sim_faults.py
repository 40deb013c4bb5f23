#!/usr/bin/env python3
"""`shoal sim` in a world that misbehaves: pipes that break, garbage without end, signals, readers that leave.

Ctrl-C (or SIGTERM) during a run: it says "stopped", removes the unfinished event log, leaves older files as they were
and ends by that signal. A second one ends it at once. kill -9 may leave FILE.part behind, never a half FILE.
"""
# ctest: fast disturb timeout=300
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHOAL = os.environ["SHOAL_BIN"]
HEAD = "#shoal-trace v1\nname,submit_s,gpus,duration_s\n"
FORMATS = ("auto", "shoal", "gavel", "pollux", "philly", "alibaba")
SLOW = 5 if os.environ.get("SHOAL_SANITIZE") else 1
LIMIT_S = 100 * SLOW
problems = []


def check(holds, text):
    if not holds:
        problems.append(text)


def sim(*words, **options):
    return subprocess.run([SHOAL, "sim", *words], capture_output=True, timeout=LIMIT_S, **options)


def refused(name, result, words=""):
    """Exit 1, one line on stderr that says what is wrong, nothing on stdout."""
    err = result.stderr.decode(errors="replace")
    check(result.returncode == 1 and result.stdout == b"" and err.startswith("shoal sim: ") and
          err.count("\n") == 1 and words in err, f"{name}: exit {result.returncode}, {result.stdout!r}, {err!r}")


def a_writer_that_dies_in_a_line(_):
    refused("cut line", sim("-", input=(HEAD + "a,0,1,100\nb,0,1").encode()), "line 4")
    reader, writer = os.pipe()
    child = subprocess.Popen([SHOAL, "sim", "-"], stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(reader)
    os.write(writer, (HEAD + "a,0,1,100\nb,0").encode())
    os.close(writer)
    out, err = child.communicate(timeout=LIMIT_S)
    refused("killed writer", subprocess.CompletedProcess([], child.returncode, out, err), "line 4")


def garbage(_):
    dice = random.Random(7)
    for form in FORMATS:
        refused(f"bytes as {form}", sim("--format", form, "-", input=dice.randbytes(1 << 20)))
        words = [dice.choice(["1", "a", ",", "\t", "\n", "-", "e9", "nan", '"', "é"]) for _ in range(100000)]
        refused(f"text as {form}", sim("--format", form, "-", input="".join(words).encode()))
    for seed in range(40):  # a good trace with some bytes changed runs, or is refused
        dice = random.Random(seed)
        text = bytearray((HEAD + "".join(f"j{i},{i},1,{10 + i}\n" for i in range(50))).encode())
        for _ in range(3):
            text[dice.randrange(len(text))] = dice.randrange(256)
        result = sim("-p", "las", "-", input=bytes(text))
        check(result.returncode in (0, 1), f"changed bytes, seed {seed}: exit {result.returncode}, {result.stderr!r}")


def endless(_):
    """Input without end is refused at its first bad line, in little memory."""
    sources = {
        "zeros": "cat /dev/zero",
        "one line": "yes | tr -d '\\n'",
        "one job again and again": f"printf '{HEAD}'; yes a,0,1,1",
        "one name without end": f"printf '{HEAD}'; yes x | tr -d '\\n'",
    }
    for name, source in sources.items():
        with subprocess.Popen(["bash", "-c", source], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True) as writer:
            try:
                refused(name, sim("-", stdin=writer.stdout))
            finally:
                writer.stdout.close()
                os.killpg(writer.pid, signal.SIGKILL)
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    check(used < 200 * 1024 * SLOW, f"a child used {used} KiB")


def parts(folder):
    """What is written but has not taken its name yet."""
    return list(folder.glob(".shoal-*"))


def start_long_run(folder, *words):
    trace, events = folder / "long.csv", folder / "events.jsonl"
    trace.write_text(HEAD + "".join(f"j{i},{i},1,1000000000\n" for i in range(500)))
    events.write_text("old\n")
    child = subprocess.Popen([SHOAL, "sim", "-p", "las", "--events", str(events), *words, str(trace)],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until = time.monotonic() + LIMIT_S
    while not any(part.stat().st_size > 0 for part in parts(folder)) and time.monotonic() < until:
        time.sleep(0.01)
    check(parts(folder), "the run did not begin to write events")
    return child, events


def signals(folder):
    for number in (signal.SIGINT, signal.SIGTERM):
        child, events = start_long_run(folder)
        child.send_signal(number)
        out, err = child.communicate(timeout=LIMIT_S)
        check(child.returncode == -number, f"{number.name}: exit {child.returncode}")
        check(out == b"" and err == b"shoal sim: stopped\n", f"{number.name}: {out!r}, {err!r}")
        check(not parts(folder) and events.read_text() == "old\n", f"{number.name}: files are not as before")
    child, events = start_long_run(folder, "--json")
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=LIMIT_S)
    check(b'"code":"SHOAL_E_CANCELLED"' in out and err == b"", f"--json: {out!r}, {err!r}")
    child, events = start_long_run(folder)
    child.kill()
    child.communicate(timeout=LIMIT_S)
    check(events.read_text() == "old\n", "kill -9: the old file is not whole")


def readers_that_leave(folder):
    trace = folder / "t.csv"
    trace.write_text(HEAD + "a,0,1,100\n")
    quiet = subprocess.run(["bash", "-c", 'exec 3> >(true); wait $!; "$0" sim -p las "$1" >&3', SHOAL, str(trace)],
                           capture_output=True, text=True, timeout=LIMIT_S)
    check(quiet.returncode == 1 and "cannot" not in quiet.stderr, f"reader left: {quiet}")
    closed = subprocess.run(["bash", "-c", '"$0" sim -p las "$1" >&-', SHOAL, str(trace)],
                            capture_output=True, text=True, timeout=LIMIT_S)
    check(closed.returncode == 1 and "cannot write to standard output" in closed.stderr, f"closed: {closed}")
    fifo = folder / "fifo"
    os.mkfifo(fifo)
    with subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE) as cat:
        result = sim("-p", "las", "--events", str(fifo), str(trace))
        lines = cat.stdout.read().splitlines()
    check(result.returncode == 0 and len(lines) == 3 and fifo.is_fifo(), f"events to a pipe: {result}, {lines}")


def main():
    for test in (a_writer_that_dies_in_a_line, garbage, endless, signals, readers_that_leave):
        before = len(problems)
        with tempfile.TemporaryDirectory() as folder:
            test(Path(folder))
        print(f"{test.__name__}: {'ok' if len(problems) == before else 'FAILED'}")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
