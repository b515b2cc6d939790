"""Boosted trees that tell benign biopsies from malignant ones (scikit-learn's breast cancer data: Wolberg, Street and
Mangasarian 1995). 400 of the 569 are learned, the others are asked about after each ten trees: a line on standard output is
all that a Sweep wants of a program. The model ends up in the output MODEL."""
import argparse
import os
import pickle

from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

TREES, STEP = 200, 10

parser = argparse.ArgumentParser()
parser.add_argument("--rate", type=float, required=True)
parser.add_argument("--depth", type=int, required=True)
parser.add_argument("--share", type=float, required=True, help="of the rows, for each tree")
asked = parser.parse_args()

data = load_breast_cancer()
rows, test_rows, labels, test_labels = train_test_split(data.data, data.target, train_size=400, random_state=7)
model = GradientBoostingClassifier(learning_rate=asked.rate, max_depth=asked.depth, subsample=asked.share,
                                   n_estimators=STEP, warm_start=True, random_state=7)
for count in range(STEP, TREES + 1, STEP):
    model.set_params(n_estimators=count)
    model.fit(rows, labels)
    print(f"logloss: {log_loss(test_labels, model.predict_proba(test_rows)):.5f}", flush=True)
with open(os.path.join(os.environ["AZ_BATCHAI_OUTPUT_MODEL"], "model.pickle"), "wb") as file:
    pickle.dump(model, file)
