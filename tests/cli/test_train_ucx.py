#!/usr/bin/env python3
"""A training job over UCX, on loopback: workers of its own, one that joins, one that is killed, strangers at its door; the
model must be that of a job over TCP, bit for bit. Skipped where UCX is not built in (-DSHOAL_UCX=ON) or not installed.
"""
# ctest: fast disturb timeout=240
import os
import signal
import socket
from pathlib import Path

import test_train_tls as jobs
from train_jobs import Held, check, good, in_own_folder, job, shoal, start, told, workers_up


def why_not():
    """Why there is no UCX here; None: there is."""
    Path("no.key").touch(0o600)
    Path("no.key").write_text("00" * 32)
    done = shoal("join", "ucx://127.0.0.1:1", "--key", "no.key")
    missing = "no transport 'ucx'" in done.stderr or "cannot load libuc" in done.stderr
    return done.stderr.strip() if missing else None


def strangers_cost_nothing(address):
    host, port = address.removeprefix("ucx://").rsplit(":", 1)
    for words in (b"", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 16 + b"x" * 30, os.urandom(5000)):
        with socket.create_connection((host, int(port))) as stranger:
            stranger.sendall(words)
    jobs.refused(1, "speaks TLS, this side was not told to", "join", f"{host}:{port}", "--key", "no.key")
    jobs.refused(1, "does not know this key", "join", address, "--key", "no.key")


def a_job_over_ucx():
    held = Held(jobs.words("ucx", "--listen", "ucx://127.0.0.1:0"), "ucx", 2)
    held.wait_up(1)
    address = job("ucx")["address"]
    check(address.startswith("ucx://127.0.0.1:"), f"listed at {address}")
    strangers_cost_nothing(address)
    join = start("join", address, "--key", jobs.key_of("ucx"), "--threads", "1", env=held.env)
    held.step_until("a worker that joins", lambda: any(w["away"] and w["executors"] > 0 for w in workers_up("ucx")))
    good("scale", "ucx", "2")
    held.step_until("three workers", lambda: len(workers_up("ucx")) == 3)
    os.kill(next(w["pid"] for w in workers_up("ucx") if not w["away"]), signal.SIGKILL)
    held.wait("the loss", lambda: told("ucx", "workers_lost") == 1)
    join.send_signal(signal.SIGTERM)
    held.step_until("the guest to leave", lambda: join.poll() is not None)
    jobs.end_of(join, 0, f"joined kmeans at {address} with 1 thread", "left")
    held.end()


def main():
    reason = why_not()
    if reason:
        print(f"skipped: {reason}")
        return 77
    want = jobs.prepare()
    a_job_over_ucx()
    check(Path("ucx.shoal").read_bytes() == want, "the models of both differ")
    return 0


if __name__ == "__main__":
    in_own_folder(main)
