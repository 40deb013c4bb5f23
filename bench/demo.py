"""Bench of the first thing anybody runs: the CPU seconds of tools/demo, all its processes, without the build.

$SHOAL_BEFORE names an earlier command; it runs the demo of its own tree, which may show less, and then the simulation of this one's demo
on the same trace. All run in turn.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import emit, median, repeats

BAR = 1.1


def demo_of(shoal):
    """The demo of the tree that this command was built in."""
    for folder in Path(shoal).resolve().parents:
        if (folder / "tools" / "demo").is_file():
            return folder / "tools" / "demo"
    sys.exit(f"bench: no tools/demo above {shoal}")


def cpu_s(*words):
    child = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    said = child.stderr.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"bench: {words[0]} failed: {said.decode()[-500:]}")
    return usage.ru_utime + usage.ru_stime


def demo(shoal, work):
    """It writes beside the command that it is given: a link to it in `work`."""
    link = Path(work, "shoal")
    link.unlink(missing_ok=True)
    link.symlink_to(Path(shoal).resolve())
    return cpu_s(demo_of(shoal), link)


def simulation(shoal, settings, day):
    words = ["sim", day, "--cluster", settings["cluster"], "--policy", settings["policies"]]
    return cpu_s(shoal, *words, "--report", f"{day}.html")


def measure(shoal, work, results):
    before = os.environ.get("SHOAL_BEFORE")
    settings = dict(re.findall(r"^(\w+)=(\S+)$", demo_of(shoal).read_text(), re.M))
    commands = {"ours": shoal} | ({"theirs": before} if before else {})
    whole, sim = {who: [] for who in commands}, {who: [] for who in commands}
    with tempfile.TemporaryDirectory() as folder:
        demo(shoal, folder)
        day = Path(folder, "one-day.csv")
        Path(folder, "demo", "day.csv").rename(day)
        for _ in range(repeats(9)):
            for who, command in commands.items():
                whole[who].append(demo(command, folder))
                sim[who].append(simulation(command, settings, day))
    for what, took in (("tools/demo, each its own", whole), ("its policies and their page, on one trace", sim)):
        ours, row = median(took["ours"]), {}
        if before:
            peer = median(took["theirs"])
            row = dict(peer=round(peer, 3), against="an earlier build", ratio=round(ours / peer, 3), bound=f"at most {BAR}", holds=ours <= BAR * peer)
        emit(results, bench="demo", what=what, ours=round(ours, 3), unit="cpu_s", n=len(took["ours"]), load=round(os.getloadavg()[0], 1), **row)
    return True


BENCHES = {"demo": measure}
