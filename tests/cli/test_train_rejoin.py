#!/usr/bin/env python3
"""A worker whose line is cut joins again by itself, and the model is that of a run without cuts, bit for bit; without a
driver it gives up after --retry. Through a relay on loopback."""
# ctest: fast disturb timeout=240
import signal
import socket
import threading
from pathlib import Path

from test_train_tls import end_of, key_of, prepare, words
from train_jobs import Held, check, in_own_folder, job, start, told, workers_up


class Relay(threading.Thread):
    """Passes connections on, until it is cut: then all of them end, and so does each that comes."""

    def __init__(self, to):
        super().__init__(daemon=True)
        self.to, self.ends, self.is_cut = to, [], False
        self.lock = threading.Lock()  # of all of these
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listener.getsockname()[1]}"
        self.start()

    def run(self):
        while True:
            near = self.listener.accept()[0]
            with self.lock:
                if self.is_cut:
                    near.close()
                    continue
                try:
                    far = socket.create_connection(self.to)
                except OSError:
                    near.close()
                    continue
                self.ends += [near, far]
            for source, to in ((near, far), (far, near)):
                threading.Thread(target=self.pass_on, args=(source, to), daemon=True).start()

    @staticmethod
    def pass_on(source, to):
        try:
            while data := source.recv(1 << 16):
                to.sendall(data)
        except OSError:
            pass  # cut, or one side is gone
        for end in (source, to):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def cut(self):
        with self.lock:
            self.is_cut = True
            for end in self.ends:
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            self.ends = []

    def mend(self):
        with self.lock:
            self.is_cut = False


def has_joined(name):
    return any(w["away"] and w["executors"] > 0 for w in workers_up(name))


def relay_to(name):
    host, port = job(name)["address"].rsplit(":", 1)
    return Relay((host, int(port)))


def cut_twice():
    held = Held(words("cut"), "cut", 2)
    held.wait_up(1)
    relay = relay_to("cut")
    join = start("join", relay.address, "--key", key_of("cut"), "--threads", "1", env=held.env)
    for times in (1, 2):
        held.step_until("a worker that joins", lambda: has_joined("cut"))
        relay.cut()
        held.wait("its loss", lambda: told("cut", "workers_lost") == times)
        relay.mend()
    held.step_until("the worker to join again", lambda: has_joined("cut"))
    result = held.end()
    end_of(join, 0, f"lost the connection to {relay.address} (", "retrying for 1m", f"joined kmeans at {relay.address} again with",
           "the job has ended")
    return result


def without_a_driver():
    held = Held(words("doomed"), "doomed", 2)
    held.wait_up(1)
    address, key = job("doomed")["address"], key_of("doomed")
    tries = start("join", address, "--key", key, "--threads", "1", "--retry", "1s", env=held.env)
    leaves = start("join", address, "--key", key, "--threads", "1", env=held.env)
    held.wait("two that join", lambda: sum(w["away"] for w in workers_up("doomed")) == 2)
    held.kill()
    held.hold(None)  # guests end the tasks they are at
    end_of(tries, 1, "retrying for 1s", "the job is gone: ", "; tried again for 1 s")
    leaves.send_signal(signal.SIGTERM)
    end_of(leaves, 0, "retrying for 1m", "left")


def main():
    want = prepare()
    cut = cut_twice()
    check(cut["tasks"] == 16 * cut["clocks"] and cut["workers_lost"] == 2, f"{cut['tasks']} tasks: {cut}")
    check(Path("cut.shoal").read_bytes() == want, "the models of both differ")
    without_a_driver()


if __name__ == "__main__":
    in_own_folder(main)
