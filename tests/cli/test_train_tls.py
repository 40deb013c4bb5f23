#!/usr/bin/env python3
"""A training job that talks TLS only, and one that talks plain: who joins how, who is turned away and is told what to do,
that the model is the same bit for bit, and that nothing but TLS passes on the line. All on loopback.
"""
# ctest: fast timeout=240
import json
import os
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from train_jobs import SLOW, check, good, in_own_folder, job, shoal, start, wait_for, workers_up

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
LIMIT_S = 60 * SLOW


def end_of(child, status, *texts):
    err = child.communicate(timeout=LIMIT_S)[1]
    check(child.returncode == status and all(text in err for text in texts),
          f"{child.args}: exit {child.returncode}, {err!r}; expected {status}, {texts!r}")


def refused(status, text, *words):
    done = shoal(*words)
    check(done.returncode == status and text in done.stderr and done.stderr.count("\n") == 1,
          f"{words}: exit {done.returncode}, {done.stderr!r}; expected {status}, {text!r}")


class Line(threading.Thread):
    """Passes one connection on and keeps the first bytes of each direction."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to, self.seen = to, []
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.start()

    def run(self):
        ends = [self.listener.accept()[0]]
        ends.append(socket.create_connection(self.to))
        for i in (0, 1):
            self.seen.append(bytearray())
            threading.Thread(target=self.pass_on, args=(ends[i], ends[1 - i], self.seen[i]), daemon=True).start()

    @staticmethod
    def pass_on(source, to, seen):
        try:
            while data := source.recv(1 << 16):
                seen += data[:max(0, (1 << 16) - len(seen))]
                to.sendall(data)
            to.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # one side is gone


def is_tls(data):
    """Whole records of TLS, one after the other, as far as it goes."""
    at = 0
    while at + 5 <= len(data):
        if data[at] not in (20, 21, 22, 23) or data[at + 1] != 3:
            return False
        at += 5 + int.from_bytes(data[at + 3:at + 5], "big")
    return at > 0


def words(name, clocks, *more):
    return ["train", "./kmeans.so", "points.csv", "--workers", "1", "--threads", "1", "--staleness", "0", "--set", "k=20",
            "--set", f"clocks={clocks}", "--name", name, "--out", f"{name}.shoal", *more]


def key_of(name):
    key = Path(f"{name}.key")
    key.touch(0o600)
    key.write_text(good("jobs", "--key", name))
    return str(key)


def strangers_are_turned_away(address, key):
    plain = address.removeprefix("tls://")
    Path("wrong.key").touch(0o600)
    Path("wrong.key").write_text("00" * 32)
    refused(1, f"'{plain}' speaks TLS, this side was not told to; with 'tls://' in front", "join", plain, "--key", key)
    refused(1, f"'{plain}' does not know this key; 'shoal jobs --key JOB' prints", "join", address, "--key", "wrong.key")
    refused(2, "--tls and 'tcp://", "join", "--tls", f"tcp://{plain}", "--key", key)
    refused(2, "no transport 'smoke'; there are: tcp, tls", "join", f"smoke://{plain}", "--key", key)
    host, port = plain.rsplit(":", 1)
    with socket.create_connection((host, int(port))) as stranger:
        stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
        stranger.settimeout(LIMIT_S)
        check(stranger.recv(100) == b"", "a stranger was answered")


def a_job_of_its_own_in_tls(clocks):
    driver = start(*words("secret", clocks, "--tls"))
    wait_for("a worker in TLS", lambda: len(workers_up("secret")) == 1)
    address = job("secret")["address"]
    check(address.startswith("tls://127.0.0.1:"), f"listed at {address}")
    key = key_of("secret")
    before = job("secret")["status"]["refused"]
    strangers_are_turned_away(address, key)
    found = job("secret")
    check(found and found["status"]["refused"] == before + 3, f"refused {before}, then {found and found['status']}")
    host, port = address.removeprefix("tls://").rsplit(":", 1)
    line = Line((host, int(port)))
    join = start("join", line.address, "--tls", "--key", key, "--threads", "1")
    wait_for("a worker that joins", lambda: any(w["away"] and w["executors"] > 0 for w in workers_up("secret")))
    good("scale", "secret", "2")
    wait_for("three workers", lambda: len(workers_up("secret")) == 3)
    time.sleep(0.3)
    join.send_signal(signal.SIGTERM)
    end_of(join, 0, f"joined kmeans at tls://{line.address} with 1 thread", "left")
    check(len(line.seen) == 2 and all(is_tls(seen) for seen in line.seen) and len(line.seen[0]) > 1000,
          f"on the line: {[bytes(seen[:64]) for seen in line.seen]}")
    check(all(b"SHOAL" not in seen and b"kmeans" not in seen for seen in line.seen), "words on the line")
    end_of(driver, 0)


def tls_is_not_talked_down(clocks):
    driver = start(*words("open", clocks))
    wait_for("a worker", lambda: len(workers_up("open")) == 1)
    address = job("open")["address"]
    check("://" not in address, f"a plain job is listed at {address}")
    refused(1, f"'{address}' speaks without TLS, this side only with it; start the job with --tls", "join", "--tls", address,
            "--key", key_of("open"))
    driver.send_signal(signal.SIGTERM)
    driver.communicate(timeout=LIMIT_S)


def prepare():
    """Gives how many clocks take some seconds on this machine, in which there is time for all that is done to a job."""
    build = subprocess.run([os.environ.get("CC", "cc"), "-std=c17", "-O2", "-shared", "-fPIC", f"-I{SOURCE}/include", "-o",
                            "kmeans.so", str(SOURCE / "examples/kmeans_app.c"), "-lm"], capture_output=True, text=True)
    check(build.returncode == 0, build.stderr)
    Path("points.csv").write_text("".join(f"{(i * 37) % 101},{(i * 61) % 89}\n" for i in range(20000)))
    short = json.loads(good(*words("short", 200, "--json")))
    return max(1200, int(200 * 10 / short["seconds"]))


def main():
    clocks = prepare()
    a_job_of_its_own_in_tls(clocks)
    good(*words("plain", clocks))
    check(Path("secret.shoal").read_bytes() == Path("plain.shoal").read_bytes(), "the models of both differ")
    tls_is_not_talked_down(clocks)


if __name__ == "__main__":
    in_own_folder(main)
