"""scikit-learn as a peer: `sklearn_peer.py DATA`, then a line "FILE ESTIMATOR" for each run, answered by a JSON line.

An estimator is Python: LogisticRegression(penalty='l1', solver='liblinear'). Measured is fit() alone, one thread; the weights
go to FILE as doubles, (columns, lanes).
"""
import os
import sys
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
import json
import time
import warnings

from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

warnings.simplefilter("ignore")
x, y = load_svmlight_file(sys.argv[1])
for line in sys.stdin:
    path, text = line.rstrip("\n").split(" ", 1)
    estimator = eval(text, {"LogisticRegression": LogisticRegression, "LinearSVC": LinearSVC})
    several = {"multi_class": "ovr"} if isinstance(estimator, LogisticRegression) else {}
    estimator.set_params(fit_intercept=False, random_state=0, **several)
    cpu, wall = time.process_time(), time.monotonic()
    estimator.fit(x, y)
    cpu, wall = time.process_time() - cpu, time.monotonic() - wall
    estimator.coef_.T.astype("f8").tofile(path)  # written row by row: (columns, lanes)
    print(json.dumps({"cpu_s": cpu, "wall_s": wall}), flush=True)
