#!/usr/bin/env python3
# ctest: full timeout=300
"""Pages in a browser: Chromium draws every picture, says nothing on its console, runs nothing that came as data; values are told by
keyboard and under the pointer, and are those of the data; tables sort, series go and come back; nothing is wider than a phone; axe-core finds no fault, wide and narrow, light and dark.

Chromium and axe-core come with `tools/install-deps pages`; without them this test, or that part, is skipped with the reason."""
import os
import re
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


# ---- what hands do ----

ROWS = """[...%s.tBodies[0].rows].map(row => [...row.cells].map(cell => [cell.dataset.v === undefined ? null : Number(cell.dataset.v),
    cell.firstChild ? cell.firstChild.textContent : '', cell.classList.contains('r')]))"""
HEADS = "[...%s.tHead.rows[0].cells].map(cell => [cell.textContent, cell.getAttribute('aria-sort')])"
TABLES = "document.querySelectorAll('main > section table')"
# Of a picture: where its plot lies, the cursor in it and what is told there, in pixels of the drawing.
SEEN = """(plot => { const tip = plot.querySelector('.tip'), cursor = plot.querySelector('.cursor'), grid = plot.querySelector('.grid');
    return {shown: getComputedStyle(tip).visibility === 'visible', head: tip.querySelector('b') ? tip.querySelector('b').textContent : '',
            rows: [...tip.querySelectorAll('p')].map(p => [...p.querySelectorAll(':scope > span')].map(span => span.textContent)),
            cursor: cursor ? Number(cursor.getAttribute('d').match(/M([\\d.]+)/)[1]) : null,
            ends: grid ? grid.getAttribute('d').match(/M([\\d.]+) [\\d.]+H([\\d.]+)/).slice(1, 3).map(Number) : null,
            at: plot.querySelector('svg').viewBox.baseVal.width / plot.querySelector('svg').getBoundingClientRect().width}; })(%s)"""


def number_of(cell):
    """What a cell is sorted by: what it says it is, its number, or its text; None where it is not known."""
    value, text, right = cell
    if value is not None:
        return value
    if not right:
        return text
    found = re.match(r"-?[\d.]+", re.sub(r"[$,~\s]", "", text))
    return float(found[0]) if found else None


def in_order(values):
    """Numbers by size; names as people count them, job-9 before job-10; None where the words have signs that languages sort apart."""
    if not any(isinstance(v, str) for v in values):
        return sorted(values)
    if not all(re.fullmatch(r"[\w-]+|all of them|[\w]+-\d+<b>&amp;", v) for v in values):
        return None
    return sorted(values, key=lambda v: [int(part) if part.isdigit() else part.casefold() for part in re.split(r"(\d+)", v)])


def sort_tables(seen, problems):
    """Every column of every table, up and then down; unknown values are last both times."""
    count = seen.value(TABLES + ".length")
    for at in range(count):
        table = f"{TABLES}[{at}]"
        before = seen.value(ROWS % table)
        if len(before) < 2:
            continue
        for column, (title, _) in enumerate(seen.value(HEADS % table)):
            where = f"table {at}, {title}"
            known = [v for v in (number_of(row[column]) for row in before) if v is not None]
            for direction in ("ascending", "descending"):
                seen.click(f"{table}.tHead.rows[0].cells[{column}].querySelector('button')")
                rows = seen.value(ROWS % table)
                values = [number_of(row[column]) for row in rows]
                told, expected = [v for v in values if v is not None], in_order(known)
                if expected is None:
                    expected = seen_up if direction == "descending" else told
                if direction == "ascending":
                    seen_up = told
                if told != values[:len(told)] or told != (expected if direction == "ascending" else expected[::-1]):
                    problems.append(f"{where}, {direction}: {values}")
                if sorted(map(str, rows)) != sorted(map(str, before)):
                    problems.append(f"{where}: other rows than before")
                heads = [sort for _, sort in seen.value(HEADS % table)]
                if heads != [direction if i == column else None for i in range(len(heads))]:
                    problems.append(f"{where}: heads say {heads}")


def sort_by_completion(seen, data, problems):
    """The order is that of the numbers in the data, not of their texts."""
    seen.click(f"{TABLES}[0].tHead.rows[0].cells[1].querySelector('button')")
    order = [row[0][1] for row in seen.value(ROWS % (TABLES + "[0]"))]
    if order != [r["policy"] for r in sorted(data["records"], key=lambda r: r["avg_jct_s"])]:
        problems.append(f"by completion time: {order}")


def switch_series(seen, picture, problems):
    """A series that is switched off is drawn and told no more; switched on again all is as it was."""
    panel = f"document.getElementById('p-{picture['name']}')"
    drawing, button = f"{panel}.querySelector('.plot > svg').innerHTML", f"{panel}.querySelectorAll('.legend button')[0]"
    name, plot = picture["series"][0]["name"], f"{panel}.querySelector('.plot')"
    whole = seen.value(drawing)
    seen.click(button)
    if seen.value(f"{button}.getAttribute('aria-pressed')") != "false":
        problems.append(f"{picture['name']}: a series that is off is said to be on")
    if len(seen.value(drawing)) >= len(whole):
        problems.append(f"{picture['name']}: nothing went with {name}")
    seen.point(plot, 0.5)
    told = [row[0] for row in seen.value(SEEN % plot)["rows"]]
    if picture["type"] == "steps" and (name in told or not told):
        problems.append(f"{picture['name']}: without {name}, told is {told}")
    seen.click(button)
    seen.point("document.querySelector('h1')")
    if seen.value(drawing) != whole or seen.value(f"{button}.getAttribute('aria-pressed')") != "true":
        problems.append(f"{picture['name']}: with {name} back it is another picture")


def hover_over_lines(seen, picture, problems):
    """Under the pointer the values of the data are told, of each series that at or before this time."""
    plot = f"document.getElementById('p-{picture['name']}').querySelector('.plot')"
    x0 = min(s["x"][0] for s in picture["series"])
    x1 = max(s["x"][-1] for s in picture["series"])
    for across in (0.2, 0.5, 0.77, 0.999):
        seen.point(plot, across)
        told = seen.value(SEEN % plot)
        if not told["shown"] or len(told["rows"]) != len(picture["series"]):
            problems.append(f"{picture['name']}, {across}: told is {told}")
            continue
        left, right = told["ends"]
        for series, (name, value) in zip(picture["series"], told["rows"]):
            near = set()  # the cursor is given to a tenth of a pixel
            for pixel in (told["cursor"] - 0.1, told["cursor"], told["cursor"] + 0.1):
                at = x0 + (pixel - left) / (right - left) * (x1 - x0)
                near.add(series["y"][max([0] + [i for i, x in enumerate(series["x"]) if x <= at])])
            if name != series["name"] or value not in {f"{round(y):,}" for y in near if y is not None}:
                problems.append(f"{picture['name']}, {across}: {name} is told as {value}, data has {near}")
    seen.point("document.querySelector('h1')")
    if seen.value(SEEN % plot)["shown"]:
        problems.append(f"{picture['name']}: values stay when the pointer has left")


def hover_over_bars(seen, picture, problems):
    """Each part tells its label, its series and its value, which the table below says, too."""
    panel = f"document.getElementById('p-{picture['name']}')"
    parts = f"{panel}.querySelectorAll('.plot > svg .part')"
    seen.click(f"{panel}.querySelector('summary')")
    seen.value("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")  # until it is open
    table = seen.value(f"[...{panel}.querySelector('details table').tBodies[0].rows].map(r => [...r.cells].map(c => c.textContent))")
    expected = [(label, s["name"], table[i][1 + k]) for i, label in enumerate(picture["labels"])
                for k, s in enumerate(picture["series"]) if s["y"][i]]
    if seen.value(f"{parts}.length") != len(expected):
        problems.append(f"{picture['name']}: {seen.value(f'{parts}.length')} parts, data has {len(expected)}")
    for part, (label, name, value) in enumerate(expected):
        if seen.value(f"{parts}[{part}].getBoundingClientRect().width") < 3:
            continue  # no pointer hits that alone
        seen.point(f"{parts}[{part}]")
        told = seen.value(SEEN % f"{panel}.querySelector('.plot')")
        if not told["shown"] or told["head"] != label or told["rows"][0] != [name, value]:
            problems.append(f"{picture['name']}: told is {told['head']}, {told['rows']}, not {label}, {name}, {value}")


def use(seen, file, problems):
    """A page of a simulation, by pointer."""
    seen.open(file)
    data = seen.value("JSON.parse(document.getElementById('data').textContent)")
    pictures = {picture["name"]: picture for picture in data["pictures"]}
    sort_tables(seen, problems)
    sort_by_completion(seen, data, problems)
    for name in ("queue", "why"):
        switch_series(seen, pictures[name], problems)
    for name in ("queue", "running"):
        hover_over_lines(seen, pictures[name], problems)
    hover_over_bars(seen, pictures["why"], problems)
    problems += [f"by hand: {what}" for what in seen.complaints]
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
        use(seen, f"{folder}/sim.html", problems)
        for name in ("study", "market", "advise"):
            seen.open(f"{folder}/{name}.html")
            sort_tables(seen, problems)
        for name, word in (("sim", HOSTILE), ("hostile", HOSTILE.replace(" ", ""))):
            if word not in Path(folder, f"{name}.html").read_text(encoding="utf-8").replace("\\u003c", "<"):
                problems.append(f"{name}: the hostile name is not on the page")
    print("\n".join(problems))
    print(f"{len(PAGES)} pages, {len(problems)} problems{'' if axe else '; not seen by axe-core (tools/install-deps pages)'}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
