#!/usr/bin/env python3
"""A training job on three hosts: network namespaces h0 (the driver), h1 and h2, on a bridge inside h0.

The link of h2 carries 20 Mbit/s. While one bulk synchronous job runs, hosts join it; one comes with the wrong key, one
is killed, one is asked to leave, and one has its link cut. The model must be that of a run on one host, bit for bit;
the run ends long before the centres stand still, so that rows which did not reach a host would show.

Needs root. Everything it makes is inside namespaces of its own, which end with it.
"""
# ctest: night disturb timeout=300
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from train_jobs import HELD, LIMIT_S, SHOAL

NAME = f"shoal-test-{os.getpid()}"
ADDRESS = "10.77.0.1:7000"
DEAD_S = 10  # after which a silent peer is lost
CLOCKS = 60  # more than it is stepped through, and fewer than it takes to converge
problems = []
children = []


def check(holds, text):
    if not holds:
        problems.append(text)
    return holds


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def ip(*words, host=None):
    subprocess.run(["ip", *(["-n", f"{NAME}-{host}"] if host else []), *words], check=True, capture_output=True)


def make_hosts():
    for host in ("h0", "h1", "h2"):
        subprocess.run(["ip", "netns", "add", f"{NAME}-{host}"], check=True, capture_output=True)
        ip("link", "set", "lo", "up", host=host)
    ip("link", "add", "bridge", "type", "bridge", host="h0")
    ip("addr", "add", "10.77.0.1/24", "dev", "bridge", host="h0")
    ip("link", "set", "bridge", "up", host="h0")
    for i in (1, 2):
        ip("link", "add", f"to{i}", "type", "veth", "peer", "name", "out", "netns", f"{NAME}-h{i}", host="h0")
        ip("link", "set", f"to{i}", "master", "bridge", "up", host="h0")
        ip("addr", "add", f"10.77.0.{i + 1}/24", "dev", "out", host=f"h{i}")
        ip("link", "set", "out", "up", host=f"h{i}")
    for host, device in (("h0", "to2"), ("h2", "out")):  # both ways
        subprocess.run(["tc", "-n", f"{NAME}-{host}", "qdisc", "add", "dev", device, "root", "tbf", "rate", "20mbit",
                        "burst", "32kbit", "latency", "400ms"], check=True, capture_output=True)


def end_hosts():
    for child in children:
        if child.poll() is None:
            child.kill()
        child.wait()
    for host in ("h1", "h2", "h0"):
        subprocess.run(["ip", "netns", "del", f"{NAME}-{host}"], capture_output=True, check=False)


def words_on(host, words):
    """Runs words there; the process keeps its number through all of this, and knows itself by that name."""
    return ["nsenter", f"--net=/run/netns/{NAME}-{host}", "unshare", "--uts", "sh", "-c",
            'hostname "$0" && exec "$@"', host, *words]


def start(host, *words):
    child = subprocess.Popen(words_on(host, [SHOAL, *words]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    children.append(child)
    return child


def call(host, *words, **options):
    return subprocess.run(words_on(host, [SHOAL, *words]), capture_output=True, text=True, timeout=LIMIT_S,
                          check=False, **options)


def status(job):
    """What the running job says of itself; None: it has ended."""
    result = call("h0", "jobs", "--json")
    check(result.returncode == 0, f"jobs: exit {result.returncode}, {result.stderr!r}")
    jobs = json.loads(result.stdout)["jobs"] if result.returncode == 0 else []
    return next((j["status"] for j in jobs if j["name"] == job and j["status"]), None)


def hold(clock):
    """Tasks of this clock and later ones wait, see held_app.c; None: no more."""
    file = Path(os.environ["HELD_FILE"])
    if clock is None:
        file.unlink()
    else:
        fresh = file.with_suffix(".new")
        fresh.write_text(f"{clock}\n")
        fresh.rename(file)


def wait_until(what, job, holds, step=True):
    """The first status for which it holds; None, and a problem: there was none. Tasks move and workers leave between clocks: it goes on
    by one where it is held, the later the slower."""
    until, next_s, pause_s = time.monotonic() + LIMIT_S, 0, 0
    now = None
    while time.monotonic() < until:
        now = status(job)
        if now is None:
            break
        if holds(now):
            return now
        if step and time.monotonic() > next_s and now["clocks"] == int(Path(os.environ["HELD_FILE"]).read_text()):
            hold(now["clocks"] + 1)
            pause_s += 0.1
            next_s = time.monotonic() + pause_s
        time.sleep(0.1)
    check(False, f"{what}: not seen; last status {now}")
    return None


def hosts_of(now):
    """Executors by host, of workers that are up."""
    return {w["host"]: w["executors"] for w in now["crew"] if w["state"] == "up"}


def joined(host):
    return lambda now: hosts_of(now).get(host, 0) > 0


def has_left(host):
    return lambda now: all(w["host"] != host for w in now["crew"])


def train_words(data, model):
    return ["train", HELD, data, "--workers", "1", "--threads", "1", "--staleness", "0", "--set", f"clocks={CLOCKS}",
            "--set", "k=200", "--json", "--out", str(model)]


def reference(folder, data):
    """The model of a run on one host that nobody disturbs."""
    model = folder / "one.shoal"
    result = call("h0", *train_words(data, model))
    good = check(result.returncode == 0, f"run on one host: exit {result.returncode}, {result.stderr!r}")
    return model.read_bytes() if good else None


def with_the_wrong_key(folder, job):
    bad = folder / "bad.key"
    bad.write_text("00" * 32 + "\n")
    bad.chmod(0o600)
    result = call("h1", "join", ADDRESS, "--threads", "1", "--key", str(bad))
    check(result.returncode == 1 and result.stderr.startswith("shoal join: "),
          f"wrong key: exit {result.returncode}, {result.stderr!r}")
    now = wait_until("the refusal", job, lambda s: s["refused"] > 0, step=False)
    check(now and now["workers_lost"] == 0, "a stranger cost a worker")


def killed(join, job):
    before = status(job)
    join.kill()
    now = wait_until("loss of the killed worker", job, has_left("h1"), step=False)
    check(now and now["workers_lost"] == before["workers_lost"] + 1, f"killed: {now}")


def asked_to_leave(join, job):
    before = status(job)
    join.send_signal(signal.SIGTERM)
    now = wait_until("the leaving", job, has_left("h1"))
    if not check(now and now["workers_lost"] == before["workers_lost"] and
                 now["tasks_redone"] == before["tasks_redone"], f"leaving: before {before}, after {now}"):
        return
    try:
        code = join.wait(LIMIT_S)
        check(code in (0, -signal.SIGTERM), f"leaving: exit {code}, {join.stderr.read()!r}")
    except subprocess.TimeoutExpired:
        check(False, "leaving: the command did not end")


def cut_off(join, job):
    """Nothing closes the connection; it is lost by its silence, and the others take over."""
    before = status(job)
    ip("link", "set", "to2", "down", host="h0")
    now = wait_until("loss of the cut worker", job, has_left("h2"))
    check(now and now["workers_lost"] == before["workers_lost"] + 1, f"cut off: {now}")
    if now:
        wait_until("further clocks", job, lambda s: s["clocks"] > now["clocks"])
    try:
        check(join.wait(LIMIT_S) == 1, f"cut off: exit {join.returncode}")
    except subprocess.TimeoutExpired:
        check(False, "cut off: the worker did not notice")


def on_three_hosts(folder, data, want):
    model, key, job = folder / "three.shoal", folder / "job.key", "hosts"
    hold(2)
    driver = start("h0", *train_words(data, model), "--name", job, "--listen", ADDRESS, "--patience", f"{DEAD_S}s")
    until = time.monotonic() + LIMIT_S
    while status(job) is None and driver.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    key.write_text(call("h0", "jobs", "--key", job).stdout)
    key.chmod(0o600)
    join = {host: start(host, "join", ADDRESS, "--threads", "1", "--retry", "0", "--key", str(key)) for host in ("h1", "h2")}
    wait_until("work on all hosts", job, lambda s: all(hosts_of(s).get(h, 0) > 0 for h in ("h0", "h1", "h2")))
    wait_until("time spent in tasks on all hosts", job,
               lambda s: len(s["crew"]) == 3 and all(w["busy"] > 0 for w in s["crew"]))
    with_the_wrong_key(folder, job)
    killed(join["h1"], job)
    join["h1"] = start("h1", "join", ADDRESS, "--threads", "1", "--key", str(key))
    wait_until("the same host again", job, joined("h1"))
    asked_to_leave(join["h1"], job)
    cut_off(join["h2"], job)
    hold(None)
    try:
        out, err = driver.communicate(timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        driver.kill()
        return check(False, "the job did not end")
    if not check(driver.returncode == 0, f"job: exit {driver.returncode}, {err!r}"):
        return None
    end = json.loads(out)
    check(end["clocks"] == CLOCKS and end["tasks"] == 16 * CLOCKS, f"tasks lost or run twice: {end}")
    check(model.read_bytes() == want, "the model differs from the one of a run on one host")
    return None


def write_points(folder, count):
    dice, path = random.Random(5), folder / "points.csv"
    with path.open("w") as file:
        for _ in range(count):
            file.write(f"{dice.random():.5f},{dice.random():.5f}\n")
    return str(path)


def main():
    if os.geteuid() != 0:
        skip("network namespaces need root")
    for tool in ("ip", "tc", "nsenter", "unshare"):
        if shutil.which(tool) is None:
            skip(f"no '{tool}' here")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that everything is ended then too
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["XDG_RUNTIME_DIR"] = name
        os.environ.update(HELD_APP="kmeans", HELD_FILE=str(folder / "held"))
        data = write_points(folder, 100000)
        try:
            try:
                make_hosts()
            except subprocess.CalledProcessError as error:
                skip(f"cannot make hosts here: {' '.join(error.cmd)}: {error.stderr.decode().strip()}")
            want = reference(folder, data)
            if want is not None:
                on_three_hosts(folder, data, want)
        finally:
            end_hosts()
    for problem in problems:
        print(problem)
    return 1 if problems else 0


sys.exit(main())
