"""Bench of pages in Chromium: how long the page of a simulation takes to be there, from the file to the drawn pictures.

Seconds of the browser's clock from the start of the navigation to two frames after the end of loading, beside an empty page opened in
turn; and CPU seconds of the page's main thread. How many kB the file has, against what a page may have.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import HERE, emit, median, repeats

BAR_S = 0.5
BAR_KB = 400
CLUSTER = "64x8:a100"
JOBS = (1_000, 100_000)
TOOK = "performance.now() / 1000"


def open_once(seen, path):
    before = seen.cpu_s()
    seen.open(path)
    took = seen.value(TOOK)
    return took, seen.cpu_s() - before


def measure(shoal, work, results):
    os.environ.setdefault("SHOAL_BIN", str(Path(shoal).resolve()))
    sys.path.insert(0, str(HERE.parent / "tests" / "cli"))
    import browser
    if browser.find() is None:
        print("bench: no Chromium here (tools/install-deps pages)", file=sys.stderr)
        return False
    empty = Path(work, "empty.html")
    empty.write_text("<!doctype html><title>empty</title><p>empty", encoding="utf-8")
    for jobs in JOBS:
        trace, page = Path(work, f"{jobs}.csv"), Path(work, f"{jobs}.html")
        subprocess.run([shoal, "trace", "gen", "--shape", "philly", "--jobs", str(jobs), "--duration-max", "6h", "--gpus-max", "8", "--load",
                        "0.9", "--gpus", "512", "-o", str(trace)], check=True, capture_output=True)
        subprocess.run([shoal, "sim", "--cluster", CLUSTER, "--policy", "fifo,las,srtf,shoal", str(trace), "--report", str(page)],
                       check=True, capture_output=True)
        ours, peer = [], []
        with tempfile.TemporaryDirectory() as folder, browser.Browser(folder) as seen:
            open_once(seen, empty)
            for _ in range(repeats(9)):
                ours.append(open_once(seen, page))
                peer.append(open_once(seen, empty))
        took, bare = median([t for t, _ in ours]), median([t for t, _ in peer])
        emit(results, bench="pages", what=f"{jobs:,} jobs, four policies", data=f"{page.stat().st_size / 1000:.0f} kB", ours=round(took, 4),
             peer=round(bare, 4), against="an empty page", ratio=round(took / bare, 2), unit="s", n=len(ours), cpu_s=round(median([c for _, c in ours]), 4),
             bound=f"at most {BAR_S}", holds=took <= BAR_S, load=round(os.getloadavg()[0], 1))
        size = page.stat().st_size / 1000
        emit(results, bench="pages", what=f"{jobs:,} jobs, four policies, the file", ours=round(size, 1), unit="kB", n=1,
             bound=f"at most {BAR_KB}", holds=size <= BAR_KB)
    return True


BENCHES = {"pages": measure}
