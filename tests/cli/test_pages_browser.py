#!/usr/bin/env python3
# ctest: full timeout=300
"""Pages in a browser: Chromium draws every picture, says nothing on its console, runs nothing that came as data; values are told by
keyboard; nothing is wider than a phone; axe-core finds no fault, wide and narrow, light and dark.

Chromium and axe-core come with `tools/install-deps pages`; without them this test, or that part, is skipped with the reason."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import browser
from test_pages import EXAMPLE, HOSTILE, PAGE_MAX, TRAIN, make_training_data, page, write_runs, write_trace
from train_jobs import LIMIT_S, SHOAL

SOURCE = Path(os.environ["SHOAL_SOURCE_DIR"])
AXE = SOURCE / "build" / "pages" / "node_modules" / "axe-core" / "axe.min.js"
JOBS = 100_000

INPUTS = [
    "gen prices --days 20 -o prices.csv",
    "gen sparse --rows 300 --columns 40 --classes 3 -o classes.svm",
    f"trace gen --shape philly --jobs {JOBS} --duration-max 6h --gpus-max 8 --load 0.9 --gpus 512 -o large.csv",
]
PAGES = {
    "sim": ["sim", "--cluster", "6x4:t4,2x8:a100", "--policy", "las,max-min,fifo", "t.csv"],
    "large": ["sim", "--cluster", "64x8:a100", "--policy", "fifo,las", "large.csv"],
    "solve": ["solve", str(EXAMPLE)],
    "market": ["market", "prices.csv", "--work", "5d", "--deadline", "9d", "--interruptions", "8h/20m"],
    "study": ["study", "t.csv", "--cluster", "6x4:t4,2x8:a100", "--draws", "2"],
    "advise": ["advise", "runs.csv", "--target", "0.22", "--machines", "1-32", "--price", "0.4"],
    "deadline": ["advise", "runs.csv", "--deadline", "20s"],
    "plan": ["advise", "runs.json", "--plan", "--budget", "4", "--data", "rows.svm"],
    **TRAIN,
    "classes": ["train", "logreg", "classes.svm", "--set", "epochs=1", "--set", "algorithm=sdca"],
    "hostile": ["train", "lda", "docword.hostile", "--set", "topics=3", "--set", "iterations=20"],
}

UNDRAWN = """[...document.querySelectorAll('section[id^="p-"]')].filter(s => !s.querySelector('svg *, canvas')).map(s => s.id)"""
TOO_WIDE = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
PLOTS = "document.querySelectorAll('.plot[tabindex]').length"
FOCUS = "document.querySelectorAll('.plot[tabindex]')[%d].focus()"
TOLD = "document.activeElement.getAttribute('aria-valuetext') || ''"
AXE_RUN = """axe.run(document, {resultTypes: ['violations']}).then(r =>
    r.violations.map(v => v.id + ': ' + v.help + ': ' + v.nodes.slice(0, 2).map(n => n.html.slice(0, 120)).join(' | ')))"""


def make_inputs(folder):
    write_trace(f"{folder}/t.csv", 323, 240)
    write_runs(f"{folder}/runs.csv")
    make_training_data(folder)
    for line in INPUTS:
        subprocess.run([SHOAL, *line.split()], cwd=folder, check=True, capture_output=True, timeout=LIMIT_S)
    with open(f"{folder}/runs.json", "w", encoding="utf-8") as out:
        for workers in (1, 2):
            for algorithm in ("sdca", "newton"):
                words = ["train", "logreg", "rows.svm", "--set", f"algorithm={algorithm}", "--workers", str(workers), "--json"]
                subprocess.run([SHOAL, *words], cwd=folder, check=True, stdout=out, stderr=subprocess.DEVNULL, timeout=LIMIT_S)


def look(seen, name, file, axe, problems):
    """One page, wide and narrow, light and dark."""
    for width, dark in ((1440, False), (1440, True), (390, False), (390, True)):
        where = f"{name}, {width} px, {'dark' if dark else 'light'}"
        seen.open(file, width=width, dark=dark)
        problems += [f"{where}: {what} is not drawn" for what in seen.value(UNDRAWN)]
        if seen.value(TOO_WIDE) > 0:
            problems.append(f"{where}: {seen.value(TOO_WIDE)} px wider than the screen")
        if axe:
            seen.value(axe + "; 0")
            problems += [f"{where}: axe: {fault}" for fault in seen.value(AXE_RUN)]
    for plot in range(seen.value(PLOTS)):
        seen.value(FOCUS % plot)
        seen.press("ArrowRight")
        if not seen.value(TOLD):
            problems.append(f"{name}: plot {plot} tells nothing by keyboard")
    problems += [f"{name}: {what}" for what in seen.complaints]
    seen.complaints.clear()


def main():
    if browser.find() is None:
        print("skipped: no Chromium (tools/install-deps pages)")
        return 77
    axe = AXE.read_text(encoding="utf-8") if AXE.is_file() else None
    shots = os.environ.get("SHOTS")  # a folder for pictures of the pages, to look at
    problems = []
    with tempfile.TemporaryDirectory() as folder, browser.Browser(folder) as seen:
        make_inputs(folder)
        for name, words in PAGES.items():
            text = page(folder, f"{name}.html", *words)
            if len(text.encode()) > PAGE_MAX:
                problems.append(f"{name}: {len(text.encode())} bytes")
            look(seen, name, f"{folder}/{name}.html", axe, problems)
            for width in (1440, 390) if shots else ():
                seen.open(f"{folder}/{name}.html", width=width)
                seen.picture(f"{shots}/{name}-{width}.png")
        for name, word in (("sim", HOSTILE), ("hostile", HOSTILE.replace(" ", ""))):
            if word not in Path(folder, f"{name}.html").read_text(encoding="utf-8").replace("\\u003c", "<"):
                problems.append(f"{name}: the hostile name is not on the page")
    print("\n".join(problems))
    print(f"{len(PAGES)} pages, {len(problems)} problems{'' if axe else '; not seen by axe-core (tools/install-deps pages)'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
