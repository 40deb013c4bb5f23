"""gensim's LdaModel as a peer: `gensim_peer.py TRAIN HELD TOPICS PASSES`, both UCI bags of words of one vocabulary; a JSON line
after each pass, up to PASSES of them or until one makes it worse.

Its own defaults, one thread; measured is update() alone. Held-out perplexity is by the rule of src/num/lda_judge.h, written here
anew: of a held-out document tokens 0, 2, 4, .. in the order of its entries are seen and the others are scored.
"""
import os
import sys
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
import json
import time

import numpy as np
from gensim.models import LdaModel

ROUNDS = 50


def documents(path):
    """The vocabulary's size, and for each document pairs of word and count."""
    with open(path) as lines:
        count, words, _ = (int(next(lines)) for _ in range(3))
        rows = [[] for _ in range(count)]
        for line in lines:
            document, word, times = map(int, line.split())
            rows[document - 1].append((word - 1, times))
    return words, rows


def log_of_scored(phi, alpha, row):
    """Sum of logarithms, and how many."""
    tokens = np.repeat([word for word, _ in row], [times for _, times in row])
    seen, scored = tokens[0::2], tokens[1::2]
    if len(scored) == 0:
        return 0.0, 0
    words, times = np.unique(seen, return_counts=True)
    n, of_words = np.zeros(len(alpha)), phi[:, words]
    for _ in range(ROUNDS):
        share = (n + alpha)[:, None] * of_words
        n = share / share.sum(axis=0) @ times
    theta = (n + alpha) / (len(seen) + alpha.sum())
    return float(np.log(theta @ phi[:, scored]).sum()), len(scored)


def perplexity(phi, alpha, rows):
    sums = [log_of_scored(phi, alpha, row) for row in rows if row]
    return float(np.exp(-sum(value for value, _ in sums) / sum(count for _, count in sums)))


def main():
    words, train = documents(sys.argv[1])
    _, held = documents(sys.argv[2])
    model = LdaModel(num_topics=int(sys.argv[3]), id2word={word: str(word) for word in range(words)}, random_state=1, eval_every=None)
    cpu, last = 0.0, float("inf")
    for passes in range(1, int(sys.argv[4]) + 1):
        begun = time.process_time()
        model.update(train)
        cpu += time.process_time() - begun
        found = perplexity(model.get_topics().astype("f8"), model.alpha.astype("f8"), held)
        print(json.dumps({"passes": passes, "cpu_s": cpu, "perplexity": found}), flush=True)
        if found > last:
            break
        last = found


main()
