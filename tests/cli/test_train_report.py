#!/usr/bin/env python3
"""`shoal train --report`: pages of real jobs say how it ended and what was learnt, words from data are text and nothing else, what a
page leaves out is said, the command on it repeats the job, and files that must not be written over are refused before any work is
done. What all pages have in common is in test_pages.py.
"""
# ctest: fast timeout=180
import json
import os
import random
import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path

from test_pages import check_file
from train_jobs import SHOAL, check, good, in_own_folder, problems, shoal

ODD = ["<script>alert(1)</script>", "a&b", "&lt;b&gt;", "\"quoted\"", "it's", "</style>", "<!--", "naïve", "тема", "-->"]


class Page(HTMLParser):
    """A page as its reader has it: text, facts, and the rows of each table under its title."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.name, self.open, self.text, self.title, self.tables, self.facts = str(path), [], [], "", {}, {}
        text = Path(path).read_text(encoding="utf-8")
        self.made = check_file(self.name, text, problems)
        self.pictures = [picture["name"] for picture in self.made["pictures"]]
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        if tag == "tr":
            self.tables.setdefault(self.title, []).append([])
        if tag in ("td", "th", "h2", "dt", "dd"):
            self.cell = ""

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass
        if tag in ("td", "th"):
            self.tables[self.title][-1].append(self.cell)
        if tag == "h2":
            self.title = self.cell
        if tag == "dt":
            self.fact = self.cell
        if tag == "dd":
            self.facts[self.fact] = self.cell

    def handle_data(self, data):
        if self.open and self.open[-1] in ("style", "script"):
            return
        self.text.append(data)
        self.cell = getattr(self, "cell", "") + data

    def says(self, *words):
        text = " ".join(" ".join(self.text).replace("\xa0", " ").split())
        for word in words:
            check(word in text, f"{self.name}: does not say '{word}'")

    def rows(self, title):
        return self.tables.get(title, [[]])[1:]

    def setting(self, option):
        return next((row[1:3] for row in self.rows("Settings") if row[0] == option), None)


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
    page.says("lda on docword.odd", "after 30 iterations", "all iterations are done", "shoal train lda docword.odd", "--set topics=6")
    check((page.facts["Documents"], page.facts["Vocabulary"], page.facts["Topics"]) == ("60", "40", "6"), f"facts: {page.facts}")
    check(float(page.facts["Coherence (NPMI)"]) > 0, f"coherence: {page.facts['Coherence (NPMI)']}")
    topics = page.rows("Topics")
    shown = {word for row in topics for word in row[2].split()}
    check(len(topics) == 6 and shown and shown <= set(words), f"words that are none: {sorted(shown - set(words))[:5]}")
    check(any(word.startswith("<script>") for word in shown), "no word looks like a script")
    shares = [float(row[1].split()[0]) for row in topics]
    check(shares == sorted(shares, reverse=True) and abs(sum(shares) - 100) < 0.5, f"shares: {shares}")
    check(page.setting("topics") == ["6", "given"], f"topics: {page.setting('topics')}")
    learnt = told["learnt"]["topics"]
    check([row["topic"] for row in learnt] == [int(row[0]) for row in topics], "JSON has other topics")
    check(all(row["words"] == list(page_row[2].split()) and len(row["counts"]) == len(row["words"])
              for row, page_row in zip(learnt, topics)), "JSON has other words")
    check(page.pictures[:2] == ["words", "objective"], f"pictures: {page.pictures}")
    text = Path("odd.html").read_text(encoding="utf-8")
    check(text.index("<h2>Topics</h2>") < text.index('id="p-objective"'), "the curve comes before the topics")


def priors_are_those_that_were_reached():
    """Not the beta that the job began with."""
    for optimise in (0, 2):
        good("train", "lda", "docword.odd", "--set", "topics=6", "--set", "iterations=20", "--set", f"optimise={optimise}",
             "--report", "prior.html")
        page = Page("prior.html")
        beta = float(page.facts["Prior beta"])
        check((beta == 0.01) == (optimise == 0), f"optimise={optimise}: beta {beta}")
        check((page.facts["Prior alpha"] == "optimised") == (optimise > 0), f"optimise={optimise}: alpha {page.facts['Prior alpha']}")


def too_many_settings_are_told_as_such():
    result = shoal("train", "lda", "docword.odd", "--set", "stop_words=" + "x" * 70000)
    check(result.returncode != 0 and "--set: more than 65536 bytes" in result.stderr, f"{result.returncode} {result.stderr}")


def words_of_several_topics_lead_to_them():
    """All documents have the same words: topics must share some."""
    write_corpus("same", [f"w{i}" for i in range(8)], 20, 1, 60)
    good("train", "lda", "docword.same", "--set", "topics=4", "--set", "iterations=5", "--report", "same.html")
    page = Page("same.html")
    check(any(row[0].startswith("w") and len(row[2].split()) == int(row[1]) >= 2 for row in page.rows("Words of several topics")), "no shared")
    check(any(row[5] != "-" for row in page.rows("Topics")), "no topic is like another")


def many_topics_of_long_words_fit_into_a_page():
    """A thousand topics of such words do not."""
    words = [f"{i:04d}" + "語" * 36 for i in range(3000)]
    write_corpus("long", words, 1000, 1000, 60)
    told = json.loads(good("train", "lda", "docword.long", "--set", "topics=1200", "--set", "iterations=2", "--set", "evaluate=0",
                           "--report", "long.html", "--json"))
    page = Page("long.html")
    shown = len(page.rows("Topics"))
    check(100 <= shown < 1000 and len(told["learnt"]["topics"]) == 1000, f"{shown} topics")
    page.says(f"{1000 - shown} left out")
    check((page.facts["Listed"], page.facts["Topics"]) == ("1,000", "1,200"), f"facts: {page.facts}")
    check(page.setting("evaluate") == ["only the last", "chosen"], f"evaluate: {page.setting('evaluate')}")


def paths_of_coefficients_are_drawn():
    good("gen", "regression", "--rows", "120", "--columns", "60", "--true", "5", "-o", "r.svm")
    good("train", "lasso", "r.svm", "--set", "folds=4", "--set", "lambdas=30", "--report", "lasso.html", "--out", "r.shoal")
    page = Page("lasso.html")
    check(page.pictures == ["coefficients", "folds", "columns", "objective"], f"pictures: {page.pictures}")
    for picture in page.made["pictures"][:3]:
        check(picture["x"]["down"] and [text for _, text in picture["marks"]] == ["picked"], f"{picture['name']}: {picture['marks']}")
    told = json.loads(good("eval", "r.shoal", "r.svm", "--json"))
    chosen = page.rows("Chosen columns")
    check(len(chosen) == told["coefficients"] == int(page.facts["Columns"]), f"{len(chosen)} columns of {told['coefficients']}")
    sizes = [abs(float(row[1])) for row in chosen]
    check(sizes and sizes == sorted(sizes, reverse=True), f"coefficients: {sizes[:5]}")
    steps = page.rows("By lambda")
    check(len(steps) == 30 and [row[-1] for row in steps].count("picked") == 1, f"{len(steps)} lambdas")
    picked = next(row for row in steps if row[-1] == "picked")
    check(picked[3] == min((row[3] for row in steps), key=float) == page.facts["Held-out loss"], f"picked: {picked}")
    last = page.setting("lambda")
    check(last == [f"{float(steps[-1][0]):.6g}", "chosen"], f"lambda: {last}, the last {steps[-1][0]}")


def a_path_without_folds_and_of_one_lambda_has_a_page():
    good("train", "lasso", "r.svm", "--set", "lambdas=20", "--report", "plain.html")
    page = Page("plain.html")
    check(page.pictures == ["coefficients", "columns", "objective"], f"pictures without folds: {page.pictures}")
    check(page.facts["Its number on the path"] == "20" and "Held-out loss" not in page.facts, f"facts: {page.facts}")
    check(page.setting("folds") == ["none", "chosen"], f"folds: {page.setting('folds')}")
    good("train", "lasso", "r.svm", "--set", "lambdas=1", "--set", "lambda=0.01", "--report", "one.html")
    check("coefficients" not in Page("one.html").pictures, "a path of one")


def long_tables_are_cut_and_say_so():
    """Nearly all of 3,000 columns have a coefficient: a page has 2,000 rows."""
    good("gen", "regression", "--rows", "60", "--columns", "3000", "--true", "2900", "-o", "wide.svm")
    told = json.loads(good("train", "lasso", "wide.svm", "--set", "mix=0.001", "--set", "lambdas=8", "--set", "tol=0.01", "--report", "wide.html",
                           "--json"))
    page, all_of = Page("wide.html"), len(told["learnt"]["chosen"])
    check(all_of > 2200 and len(page.rows("Chosen columns")) == 2000, f"{len(page.rows('Chosen columns'))} of {all_of} columns")
    page.says(f"{all_of - 2000:,} left out")


def topics_of_a_pipe_say_what_is_missing_and_what_was_held_out_is_drawn():
    words = ["train", "lda", "--set", "iterations=20", "--set", "evaluate=5", "--set", "holdout=0.2", "--report", "pipe.html"]
    with open("docword.odd") as file:
        result = shoal(*words, "-", "--set", "format=uci", stdin=file)
    check(result.returncode == 0, result.stderr)
    page = Page("pipe.html")
    check(page.facts["Coherence (NPMI)"] == "not known: the corpus came through a pipe", f"coherence: {page.facts}")
    check("held-out" in page.pictures, "no curve of what was held out")
    check(page.setting("topics") == ["100", "chosen"], f"topics: {page.setting('topics')}")
    good("train", "lda", "docword.odd", "--set", "iterations=20", "--report", "whole.html")
    check("held-out" not in Page("whole.html").pictures, "a curve of what was not held out")


def classifiers_show_their_fit_and_weights():
    good("gen", "sparse", "--rows", "300", "--columns", "40", "-o", "s.svm")
    good("gen", "sparse", "--rows", "300", "--columns", "40", "--classes", "3", "-o", "three.svm")
    for data, more in (("s.svm", []), ("s.svm", ["penalty=l1"]), ("s.svm", ["loss=hinge"]), ("s.svm", ["algorithm=sgd", "bias=true"]),
                       ("three.svm", ["loss=softmax"]), ("three.svm", ["algorithm=sdca"])):
        settings = [word for setting in more for word in ("--set", setting)]
        told = shoal("train", "logreg", data, "--workers", "2", *settings, "--report", "page & more.html", "--out", "s.shoal", "--json")
        learnt, page = json.loads(told.stdout)["learnt"], Page("page & more.html")
        judged = json.loads(good("eval", "s.shoal", data, "--json"))
        fit = learnt["fit"][0]
        where = f"{data} {more}"
        check(abs(fit["accuracy"] - judged["accuracy"]) < 1e-9, f"{where}: accuracy {fit['accuracy']}, of eval {judged['accuracy']}")
        if "log_loss" in judged and more != ["algorithm=sdca"]:
            check(abs(fit["loss"] - judged["log_loss"]) < 1e-4, f"{where}: loss {fit['loss']}, of eval {judged['log_loss']}")
        weights = [row["weight"] for row in learnt["weights"] if data == "s.svm" or row["class"] == learnt["weights"][0]["class"]]
        sizes = [abs(weight) for weight in weights]
        check(sizes and sizes == sorted(sizes, reverse=True), f"{where}: weights {weights[:5]}")
        names = {row["column"] for row in learnt["weights"]}
        check(names <= {"bias", *map(str, range(1, 41))}, f"{where}: columns {sorted(names)}")
        check({row[1] for row in page.rows("Settings") if row[2] == "default"}.isdisjoint({"0", "auto", "-1"}), f"{where}: {page.rows('Settings')}")
        page.says(f"logreg on {data}", "'page & more.html'")
    check("report: page & more.html\n" in shoal("train", "logreg", "s.svm", "--report", "page & more.html").stderr, "the page is not told of")


def errors_of_factors_are_told_by_activity():
    good("gen", "ratings", "--users", "120", "--items", "60", "--ratings", "2400", "-o", "ratings.csv")
    for more in (["holdout=0.2"], ["holdout=0.2", "algorithm=als"], []):
        settings = [word for setting in more for word in ("--set", setting)]
        told = json.loads(good("train", "mf", "ratings.csv", *settings, "--workers", "2", "--report", "mf.html", "--json", "--out", "mf.shoal"))
        page, rows = Page("mf.html"), told["learnt"]["activity"]
        title = f"{'Held-out' if more else 'Training'} error by user activity"
        check([row[0] for row in page.rows(title)] == [row["ratings"] for row in rows], f"{more}: {page.tables.keys()}")
        judged = sum(row["judged"] for row in rows)
        rmse = (sum(row["judged"] * row["rmse"] ** 2 for row in rows) / judged) ** 0.5
        if more:  # the whole is what was reported
            check(abs(rmse - told["value"]) < 1e-4, f"{more}: {rmse} of {judged}, reported {told['value']}")
        else:
            whole = json.loads(good("eval", "mf.shoal", "ratings.csv", "--json"))
            check(judged == 2400 and abs(rmse - whole["rmse"]) < 1e-4, f"{rmse} of {judged}, of eval {whole}")
        check(abs(sum(row["share"] for row in rows) - 1) < 1e-9, f"{more}: shares")
        for option in ("l2", "epochs", "executors"):
            check(page.setting(option)[1] == "chosen" and page.setting(option)[0] not in ("0", "-1"), f"{more}: {option}: {page.setting(option)}")


def jobs_that_did_not_converge_say_so_first():
    shoal("train", "logreg", "s.svm", "--set", "algorithm=sdca", "--set", "epochs=1", "--set", "tol=1e-9", "--report", "short.html")
    text = Path("short.html").read_text(encoding="utf-8")
    warning = text.index('<p class="warn">not converged: the limit on iterations came first')
    check(text.index('aria-label="In words"') < warning < text.index("<h2>"), "the warning is not on top")


def the_command_repeats_the_job():
    """Also where names look like options: the same command makes the same model."""
    Path("-s.svm").write_text(Path("s.svm").read_text())
    good("train", "--set", "tol=1e-4", "--set", "algorithm=newton", "--out=-m.shoal", "--report=-m.html", "--", "logreg", "-s.svm")
    made = Path("-m.shoal").read_bytes()
    command = re.search(r"shoal train .*", "".join(Page("-m.html").text)).group(0)
    check("--report" in command, command)
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
    long_tables_are_cut_and_say_so()
    topics_of_a_pipe_say_what_is_missing_and_what_was_held_out_is_drawn()
    classifiers_show_their_fit_and_weights()
    errors_of_factors_are_told_by_activity()
    jobs_that_did_not_converge_say_so_first()
    the_command_repeats_the_job()
    what_cannot_be_written_is_refused_first()
    a_page_that_fails_at_the_end_leaves_the_rest()


if __name__ == "__main__":
    in_own_folder(test)
