#!/usr/bin/env python3
"""`shoal train lda`, as people run it. Planted topics are found. On 20 Newsgroups workers are killed, added and taken away
while it samples, its driver is killed and it is resumed, and the model is the same, byte for byte; new documents find the
topics one expects.
"""
# ctest: fast disturb timeout=600
import json
import lzma
import os
from pathlib import Path

from train_jobs import FIELDS, check, disturbed_is_the_same, good, in_own_folder, killed_driver_goes_on, shoal

DATA = Path(os.environ["SHOAL_DATA"]) / "train" / "news20"
WORDS = ["train", "lda", "docword.news.txt", "--set", "topics=50", "--set", "evaluate=0", "--threads", "1", "--json"]


def write_corpus():
    """Every fourth document: enough for topics, and quick."""
    with lzma.open(DATA / "docword.20news.txt.xz", "rt") as lines:
        documents, words = int(lines.readline()), int(lines.readline())
        lines.readline()
        kept = [line.split() for line in lines]
    kept = [(int(d) // 4, w, n) for d, w, n in kept if int(d) % 4 == 0]
    with open("docword.news.txt", "w") as out:
        out.write(f"{documents // 4}\n{words}\n{len(kept)}\n")
        out.writelines(f"{d} {w} {n}\n" for d, w, n in kept)
    with lzma.open(DATA / "vocab.20news.txt.xz", "rt") as names:
        Path("vocab.news.txt").write_text(names.read())


def with_iterations(count):
    return [*WORDS, "--set", f"iterations={count}"]


def workers_die_come_and_go_and_the_model_is_the_same():
    words = with_iterations(40)
    quiet = json.loads(good(*words, "--workers", "1", "--out", "quiet.shoal"))
    for field in FIELDS:
        check(field in quiet, f"no field '{field}' in {quiet}")
    check(quiet["app"] == "lda" and quiet["objective"] == "nll" and 5 < quiet["value"] < 12, f"{quiet}")
    check(len(quiet["said"]) == 12 and all(line.startswith("topic ") for line in quiet["said"]), f"{quiet['said']}")
    disturbed_is_the_same(words, quiet, (4, 1, 3))
    killed_driver_goes_on(words, quiet)
    return quiet


def new_documents_find_their_topics():
    Path("new.txt").write_text("space shuttle orbit nasa launch moon mission\n"
                               "shuttle launch nasa spacecraft orbit lunar\n"
                               "hockey team game season nhl players league\n\nzzzzz\n")
    topics = [line.split(" ")[0].split(":")[0] for line in good("predict", "quiet.shoal", "new.txt").splitlines()]
    check(len(topics) == 5 and topics[3:] == ["-", "-"], f"{topics}")
    check(topics[0] == topics[1] != topics[2], f"space and hockey have topics {topics}")
    told = json.loads(good("eval", "quiet.shoal", "docword.news.txt", "--json"))
    check(500 < told["perplexity"] < 6000 and told["npmi"] > 0.05 and told["unknown"] == 0, f"{told}")


def a_job_goes_on_from_a_model(quiet):
    words = ["train", "lda", "docword.news.txt", "--set", "from=quiet.shoal", "--set", "iterations=2", "--json"]
    on = json.loads(good(*words))
    fresh = json.loads(good(*with_iterations(2)))
    check(on["value"] < quiet["value"] + 0.1 * (fresh["value"] - quiet["value"]),
          f"from a model of {quiet['value']}: {on['value']}, from scratch {fresh['value']}")
    for settings, hint in ((["topics=60"], "topics=50"), (["topics=50", "from=docword.news.txt"], "docword.news.txt")):
        refused = shoal(*words, *(word for setting in settings for word in ("--set", setting)))
        check(refused.returncode in (1, 2) and hint in refused.stdout + refused.stderr,
              f"{settings}: exit {refused.returncode}, {refused.stdout} {refused.stderr}")


def planted_topics_are_found():
    """Six of the eight most frequent words of a planted topic are among those of a learnt topic; of nine planted topics
    of ten and more, as two of them may share a learnt one. Of four chains the likeliest counts: one alone may stay where two
    topics are merged. Documents that were held out become likelier."""
    good("gen", "corpus", "--documents", "3000", "--words", "2000", "--topics", "10", "--mixed", "2", "--length", "60",
         "--truth", "truth.txt", "-o", "docword.made.txt")
    truth = [{entry.split(":")[0] for entry in line.split()[2:10]} for line in open("truth.txt")]
    words = ["train", "lda", "docword.made.txt", "--set", "topics=12", "--set", "alpha=0.1", "--set", "holdout=0.05", "--json"]
    early = json.loads(good(*words, "--set", "iterations=2"))
    chains = [json.loads(good(*words, "--set", "iterations=200", "--set", "evaluate=0", "--seed", seed)) for seed in "1234"]
    told = min(chains, key=lambda chain: chain["value"])
    learnt = [set(line.split("%")[1].split()) for line in told["said"]]
    best = [max(range(len(learnt)), key=lambda i: len(topic & learnt[i])) for topic in truth]
    found = {at for topic, at in zip(truth, best) if len(topic & learnt[at]) >= 6}
    check(len(truth) == 10 and len(found) >= 9, f"planted {truth}, learnt {learnt}")
    check(100 < told["held_out"] < 0.75 * early["held_out"], f"held out: {early['held_out']}, then {told['held_out']}")


def what_cannot_be_is_refused():
    for setting, hint in (("alpha=1e-300", "alpha"), ("topics=1", "topics"), ("holdout=0.7", "holdout")):
        refused = shoal("train", "lda", "docword.made.txt", "--set", setting)
        check(refused.returncode in (1, 2) and hint in refused.stderr, f"{setting}: {refused}")


def test():
    planted_topics_are_found()
    what_cannot_be_is_refused()
    if not (DATA / "docword.20news.txt.xz").exists():
        print("skipped: 20 Newsgroups is not here")
        return 77
    write_corpus()
    quiet = workers_die_come_and_go_and_the_model_is_the_same()
    new_documents_find_their_topics()
    a_job_goes_on_from_a_model(quiet)
    return 0


if __name__ == "__main__":
    in_own_folder(test)
