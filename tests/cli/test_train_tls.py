#!/usr/bin/env python3
"""A training job that talks TLS only, and one that talks plain: who joins how, who is turned away and is told what to do,
that the model is the same bit for bit, and that nothing but TLS passes on the line. All on loopback.
"""
# ctest: fast disturb timeout=240
import signal
import socket
import threading
from pathlib import Path

from train_jobs import LIMIT_S, Held, check, good, in_own_folder, job, shoal, start, workers_up


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


def words(name, *more):
    return ["train", "kmeans", "points.csv", "--workers", "1", "--threads", "1", "--staleness", "0", "--set", "k=20",
            "--set", "clocks=100", "--json", "--out", f"{name}.shoal", *more]


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


def a_job_of_its_own_in_tls():
    held = Held(words("secret", "--tls"), "secret", 2)
    held.wait_up(1)
    address = job("secret")["address"]
    check(address.startswith("tls://127.0.0.1:"), f"listed at {address}")
    key = key_of("secret")
    before = job("secret")["status"]["refused"]
    strangers_are_turned_away(address, key)
    found = job("secret")
    check(found and found["status"]["refused"] == before + 3, f"refused {before}, then {found and found['status']}")
    host, port = address.removeprefix("tls://").rsplit(":", 1)
    line = Line((host, int(port)))
    join = start("join", line.address, "--tls", "--key", key, "--threads", "1", env=held.env)
    held.step_until("a worker that joins", lambda: any(w["away"] and w["executors"] > 0 for w in workers_up("secret")))
    good("scale", "secret", "2")
    held.step_until("three workers", lambda: len(workers_up("secret")) == 3)
    held.step_until("tasks on the line", lambda: len(line.seen[0]) > 1000)
    join.send_signal(signal.SIGTERM)
    held.step_until("the guest to leave", lambda: join.poll() is not None)
    end_of(join, 0, f"joined kmeans at tls://{line.address} with 1 thread", "left")
    check(len(line.seen) == 2 and all(is_tls(seen) for seen in line.seen),
          f"on the line: {[bytes(seen[:64]) for seen in line.seen]}")
    check(all(b"SHOAL" not in seen and b"kmeans" not in seen for seen in line.seen), "words on the line")
    held.end()


def tls_is_not_talked_down():
    held = Held(words("open"), "open", 2)
    held.wait_up(1)
    address = job("open")["address"]
    check("://" not in address, f"a plain job is listed at {address}")
    refused(1, f"'{address}' speaks without TLS, this side only with it; start the job with --tls", "join", "--tls", address,
            "--key", key_of("open"))
    held.kill()


def an_open_address_is_warned_of_once():
    for listen, more, warns in (("0.0.0.0:0", [], 1), ("tcp://0.0.0.0:0", [], 1), ("tls://0.0.0.0:0", [], 0), ("127.0.0.1:0", [], 0),
                                ("localhost:0", [], 0), ("0.0.0.0:0", ["--tls"], 0)):
        status, _, said = Held(words("short", "--listen", listen, *more), "short", None).finish()
        warnings = [line for line in said.splitlines() if "can read and change it" in line]
        check(status == 0 and len(warnings) == warns and all("use --tls" in w for w in warnings),
              f"--listen {listen} {more}: exit {status}, {said!r}")


def prepare():
    """The data, and the model of a job that nobody disturbs."""
    Path("points.csv").write_text("".join(f"{(i * 37) % 101},{(i * 61) % 89}\n" for i in range(20000)))
    Held(words("plain"), "plain", None).end()
    return Path("plain.shoal").read_bytes()


def main():
    want = prepare()
    an_open_address_is_warned_of_once()
    a_job_of_its_own_in_tls()
    check(Path("secret.shoal").read_bytes() == want, "the models of both differ")
    tls_is_not_talked_down()


if __name__ == "__main__":
    in_own_folder(main)
