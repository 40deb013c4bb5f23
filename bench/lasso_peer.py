"""scikit-learn's enet_path as a peer: `lasso_peer.py DATA`, then a line "LAMBDA_RATIO LAMBDAS MIX TOL" for each run, answered by
a JSON line with the objective at each penalty.

Without intercept, as enet_path is: its centred variant of sparse data is many times slower, which would flatter ours. Measured
is enet_path alone, one thread, data in the double-precision columns that it wants.
"""
import os
import sys
for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ[threads] = "1"
import json
import time
import warnings

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import enet_path

warnings.simplefilter("ignore")
x, y = load_svmlight_file(sys.argv[1])
x = x.tocsc()


def objective(b, penalty, mix):
    rest = y - x @ b
    return float(rest @ rest / (2 * len(y)) + penalty * (mix * np.abs(b).sum() + (1 - mix) / 2 * (b @ b)))


for line in sys.stdin:
    ratio, count, mix, tol = line.split()
    ratio, count, mix, tol = float(ratio), int(count), float(mix), float(tol)
    first = np.abs(x.T @ y).max() / len(y) / mix
    cpu = time.process_time()
    alphas, coefs, _, rounds = enet_path(x, y, l1_ratio=mix, alphas=np.geomspace(first, first * ratio, count), tol=tol,
                                         max_iter=10000, precompute=False, check_input=False, return_n_iter=True)
    cpu = time.process_time() - cpu
    print(json.dumps({"cpu_s": cpu, "epochs": int(np.sum(rounds)),
                      "objectives": [objective(coefs[:, k], alphas[k], mix) for k in range(count)]}), flush=True)
