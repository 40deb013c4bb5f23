#!/usr/bin/env python3
"""alone.py GRACE COMMAND... - runs a test and fails it if it leaves a process behind, which is ended.

Processes whose parent ends become children of this one, whatever session or group they are in. They have
GRACE seconds to end by themselves, as workers do whose driver is gone.
"""
import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def children():
    """Of this process, with what each runs; those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        return {}
    pids = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    return {int(pid): Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace") for pid in pids}


def main():
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        sys.exit("alone: cannot become the reaper of what is left")
    status = subprocess.run(sys.argv[2:]).returncode
    until = time.monotonic() + float(sys.argv[1])
    while children() and time.monotonic() < until:
        time.sleep(0.05)
    left = children()
    while now := children():  # the children of those that end come here too
        for pid in now:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    for pid, words in left.items():
        print(f"left behind: {pid} {words}")
    sys.exit(status if status > 0 else 1 if status < 0 or left else 0)


if __name__ == "__main__":
    main()
