#!/usr/bin/env python3
"""`shoal train --report`: pages of real jobs are whole HTML without scripts or anything from elsewhere, all their links lead
somewhere, words from data are text and nothing else, topics and paths are there, and files that must not be written over
are refused before any work is done.
"""
# ctest: fast timeout=180
import json
import os
import random
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from train_jobs import SHOAL, check, good, in_own_folder, shoal

PAGE_MAX = 1000 * 1000
VOID = {"meta", "link", "wbr", "br", "path", "rect", "circle"}
ODD = ["<script>alert(1)</script>", "a&b", "&lt;b&gt;", "\"quoted\"", "it's", "</style>", "<!--", "naïve", "тема", "-->"]


class Page(HTMLParser):
    """A page that was read strictly: its elements closed in order, its ids, links and text."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.name, self.open, self.ids, self.links, self.tags = str(path), [], [], [], set()
        self.text, self.items, self.rows, self.cell = [], [], [], None
        data = Path(path).read_bytes()
        check(len(data) < PAGE_MAX, f"{path}: {len(data)} bytes")
        self.feed(data.decode())
        self.close()
        check(not self.open, f"{path}: {self.open} not closed")
        check(len(self.ids) == len(set(self.ids)), f"{path}: an id twice")
        lost = [link for link in self.links if not link.startswith("#") or link[1:] not in self.ids]
        check(not lost, f"{path}: links to nowhere: {lost[:5]}")
        check(not self.tags & {"script", "iframe", "object", "img", "form"}, f"{path}: {self.tags}")
        check(b"http:" not in data.replace(b"http://www.w3.org/2000/svg", b"") and b"https:" not in data, f"{path}: addresses")

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        for name, value in attrs:
            check(not name.startswith("on") and name != "src", f"{self.name}: attribute {name}")
            if name == "id":
                self.ids.append(value)
            if name == "href" and tag == "a":
                self.links.append(value)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th", "li"):
            self.cell = []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        check(self.open and self.open[-1] == tag, f"{self.name}: </{tag}> in {self.open[-3:]}")
        if self.open:
            self.open.pop()
        if tag in ("td", "th") and self.cell is not None and self.rows:
            self.rows[-1].append("".join(self.cell).strip())
        if tag == "li" and self.cell is not None:
            self.items.append("".join(self.cell).strip())

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)
            if self.cell is not None:
                self.cell.append(data)

    def says(self, *words):
        text = " ".join(" ".join(self.text).replace("\xa0", " ").split())
        for word in words:
            check(word in text, f"{self.name}: does not say '{word}'")


def write_corpus(name, words, documents, kinds, length):
    """UCI bag of words; a document has the words of one kind, and now and then one of all."""
    draw = random.Random(1)
    lines = []
    for d in range(documents):
        kind = d % kinds
        own = words[kind::kinds]
        count = {}
        for _ in range(length):
            word = draw.choice(own) if draw.random() < 0.95 else draw.choice(words)
            count[word] = count.get(word, 0) + 1
        lines += [f"{d + 1} {words.index(word) + 1} {n}\n" for word, n in sorted(count.items())]
    Path(f"docword.{name}").write_text(f"{documents}\n{len(words)}\n{len(lines)}\n" + "".join(lines))
    Path(f"vocab.{name}").write_text("".join(f"{word}\n" for word in words))


def topics_can_be_browsed_and_words_are_text():
    words = [f"{odd}{i}" for i in range(4) for odd in ODD]
    write_corpus("odd", words, 60, 4, 40)
    told = json.loads(good("train", "lda", "docword.odd", "--set", "topics=6", "--set", "iterations=30", "--workers", "2",
                           "--threads", "1", "--report", "odd.html", "--json"))
    check(told["report"] == "odd.html", f"report: {told['report']}")
    page = Page("odd.html")
    page.says("lda on docword.odd", "Topics", "Documents 60", "Vocabulary 40", "Coherence", "Settings", "To repeat this",
              "shoal train lda docword.odd", "--set topics=6", "Words of topics", "all of 6")
    shown = set(page.items)
    check(shown and shown <= set(words), f"words that are none: {sorted(shown - set(words))[:5]}")
    check(any(word.startswith("<script>") for word in shown), "no word looks like a script")
    check({f"t{k}" for k in range(1, 7)} <= set(page.ids), f"cards: {page.ids}")
    check(sum(row[:1] == ["topics"] and row[1] == "6" for row in page.rows) == 1, "the setting is not told")


def priors_are_those_that_were_reached():
    """Not the beta that the job began with."""
    for optimise in (0, 2):
        good("train", "lda", "docword.odd", "--set", "topics=6", "--set", "iterations=20", "--set", f"optimise={optimise}",
             "--report", "prior.html")
        text = " ".join(Page("prior.html").text)
        beta = float(re.search(r"beta ([0-9.e+-]+)", text[text.index("Prior alpha"):]).group(1))
        check((beta == 0.01) == (optimise == 0), f"optimise={optimise}: beta {beta}")


def too_many_settings_are_told_as_such():
    result = shoal("train", "lda", "docword.odd", "--set", "stop_words=" + "x" * 70000)
    check(result.returncode != 0 and "--set: more than 65536 bytes" in result.stderr, f"{result.returncode} {result.stderr}")


def words_of_several_topics_lead_to_them():
    """All documents have the same words: topics must share some."""
    write_corpus("same", [f"w{i}" for i in range(8)], 20, 1, 60)
    good("train", "lda", "docword.same", "--set", "topics=4", "--set", "iterations=5", "--report", "same.html")
    page = Page("same.html")
    page.says("Words of several topics", "like")
    check(any(row and row[0].startswith("w") and len(row) == 3 and len(row[2].split()) >= 2 for row in page.rows), "no shared")


def many_topics_of_long_words_fit_into_a_page():
    """A thousand cards of such words do not."""
    words = [f"{i:04d}" + "語" * 36 for i in range(3000)]
    write_corpus("long", words, 1000, 1000, 60)
    good("train", "lda", "docword.long", "--set", "topics=1200", "--set", "iterations=2", "--set", "evaluate=0", "--report",
         "long.html")
    page = Page("long.html")
    cards = sum(name.startswith("t") and name[1:].isdigit() for name in page.ids)
    check(100 <= cards < 1000, f"{cards} cards")
    page.says(f"the largest {cards} of 1,200", "語…")


def paths_of_coefficients_are_drawn():
    good("gen", "regression", "--rows", "120", "--columns", "60", "--true", "5", "-o", "r.svm")
    good("train", "lasso", "r.svm", "--set", "folds=4", "--set", "lambdas=30", "--report", "lasso.html", "--out", "r.shoal")
    page = Page("lasso.html")
    page.says("Coefficients", "Held-out loss", "4 folds", "Chosen columns", "picked", "By lambda", "20 of 30")
    told = json.loads(good("eval", "r.shoal", "r.svm", "--json"))
    columns = told["coefficients"]
    start = next(i for i, row in enumerate(page.rows) if row[:2] == ["Column", "coefficient"])
    chosen = []
    while start + 1 + len(chosen) < len(page.rows) and len(page.rows[start + 1 + len(chosen)]) == 3:
        chosen.append(page.rows[start + 1 + len(chosen)])
    check(len(chosen) == columns, f"{len(chosen)} columns of {columns}")
    sizes = [abs(float(row[1])) for row in chosen]
    check(sizes and sizes == sorted(sizes, reverse=True), f"coefficients: {sizes[:5]}")


def a_path_without_folds_and_of_one_lambda_has_a_page():
    good("train", "lasso", "r.svm", "--set", "lambdas=20", "--report", "plain.html")
    page = Page("plain.html")
    page.says("Coefficients", "number 20 of 20")
    check("h-held" not in page.ids, "held-out losses without folds")
    good("train", "lasso", "r.svm", "--set", "lambdas=1", "--set", "lambda=0.01", "--report", "one.html")
    check("h-path" not in Page("one.html").ids, "a path of one")


def topics_of_a_pipe_say_what_is_missing_and_what_was_held_out_is_drawn():
    words = ["train", "lda", "--set", "iterations=20", "--set", "evaluate=5", "--set", "holdout=0.2", "--report", "pipe.html"]
    with open("docword.odd") as file:
        result = shoal(*words, "-", "--set", "format=uci", stdin=file)
    check(result.returncode == 0, result.stderr)
    page = Page("pipe.html")
    page.says("Coherence not known", "the corpus came through a pipe", "on data held out, over time")
    check("h-held-out" in page.ids, "no curve of what was held out")
    check(sum(row[:2] == ["topics", "–"] for row in page.rows) == 1, f"topics: {[row for row in page.rows if row[:1] == ['topics']]}")
    good("train", "lda", "docword.odd", "--set", "iterations=20", "--report", "whole.html")
    check("h-held-out" not in Page("whole.html").ids, "a curve of what was not held out")


def other_applications_have_a_page_too():
    good("gen", "sparse", "--rows", "300", "--columns", "40", "-o", "s.svm")
    text = good("train", "logreg", "s.svm", "--workers", "2", "--report", "page & more.html")
    check("report: page & more.html\n" in text, text)
    page = Page("page & more.html")
    page.says("logreg on s.svm", "Clocks", "Workers", "Settings", "To repeat this", "'page & more.html'")


def the_command_repeats_the_job():
    """Also where names look like options: the same command makes the same model."""
    Path("-s.svm").write_text(Path("s.svm").read_text())
    good("train", "--set", "tol=1e-4", "--set", "algorithm=newton", "--out=-m.shoal", "--report=-m.html", "--", "logreg", "-s.svm")
    made = Path("-m.shoal").read_bytes()
    command = re.search(r"shoal train .*", "".join(Page("-m.html").text)).group(0)
    Path("-m.shoal").unlink()
    result = subprocess.run(command.replace("shoal", SHOAL, 1), shell=True, capture_output=True, text=True, timeout=60)
    check(result.returncode == 0 and Path("-m.shoal").read_bytes() == made, f"{command}: {result}")


def what_cannot_be_written_is_refused_first():
    write_corpus("ours", ["one", "two", "three"], 4, 1, 5)
    long = ["--set", "topics=4", "--set", "iterations=1000000"]
    Path("old.html").write_text("old")
    Path("link.html").symlink_to("docword.ours")
    Path("here").symlink_to(".")
    Path("model.html").symlink_to("here/model.shoal")
    Path("saved").mkdir()
    os.mkfifo("pipe")
    for report, code, words in ((".", 1, "."), ("nowhere/page.html", 1, "nowhere"), ("-", 2, "standard output"),
                                ("docword.ours", 2, "also an input"), ("link.html", 2, "also an input"),
                                ("stop.txt", 2, "also an input"), ("model.shoal", 2, "name the same file"),
                                ("./model.shoal", 2, "name the same file"), ("here/model.shoal", 2, "name the same file"),
                                ("model.html", 2, "name the same file"), ("pipe", 2, "is a pipe"),
                                ("saved/page.html", 2, "the folder of checkpoints"),
                                (str(Path("model.shoal").absolute()), 2, "name the same file")):
        Path("stop.txt").write_text("the\n")
        result = shoal("train", "lda", "docword.ours", *long, "--set", "stop_words=stop.txt", "--out", "model.shoal",
                       "--checkpoint", "saved", "--report", report)
        check(result.returncode == code and words in result.stderr, f"--report {report}: {result.returncode} {result.stderr}")
        check(result.stdout == "" and not list(Path("saved").iterdir()), f"--report {report}: told after the work")
    check(Path("docword.ours").read_text().startswith("4\n"), "data was written over")
    check(not Path("model.shoal").exists(), "a model was made")
    result = shoal("train", "lda", "docword.ours", *long, "--checkpoint", "saved", "--out", "saved/full-0.pack")
    check(result.returncode == 2 and "the folder of checkpoints" in result.stderr, f"--out: {result.returncode} {result.stderr}")


def a_page_that_fails_at_the_end_leaves_the_rest():
    """The result is told, the model is there, and the exit says that something is missing."""
    result = shoal("train", "lda", "docword.ours", "--set", "topics=2", "--set", "iterations=2", "--out", "kept.shoal",
                   "--report", "/dev/full")
    check(result.returncode == 1 and "cannot write '/dev/full'" in result.stderr, f"{result.returncode} {result.stderr}")
    check("model: kept.shoal" in result.stdout and "report:" not in result.stdout, result.stdout)
    check(Path("kept.shoal").exists(), "no model")
    told = json.loads(good("train", "lda", "docword.ours", "--set", "topics=2", "--set", "iterations=2", "--json"))
    check(told["report"] is None, "a report that nobody asked for")


def test():
    topics_can_be_browsed_and_words_are_text()
    priors_are_those_that_were_reached()
    too_many_settings_are_told_as_such()
    words_of_several_topics_lead_to_them()
    many_topics_of_long_words_fit_into_a_page()
    paths_of_coefficients_are_drawn()
    a_path_without_folds_and_of_one_lambda_has_a_page()
    topics_of_a_pipe_say_what_is_missing_and_what_was_held_out_is_drawn()
    other_applications_have_a_page_too()
    the_command_repeats_the_job()
    what_cannot_be_written_is_refused_first()
    a_page_that_fails_at_the_end_leaves_the_rest()


if __name__ == "__main__":
    in_own_folder(test)
