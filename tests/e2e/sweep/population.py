"""population.py FOLDER GENERATIONS: of a population of four, whose checkpoint is the rates of all intervals so far and
whose score is how many are above 0.5 and a tenth of the last: each generation goes on as the one before ended, but for
the worst, in whose place is a copy of the best with another rate. FOLDER/0007/rates: of the trial 7."""
import sys

folder, generations = sys.argv[1], int(sys.argv[2])
rates = [[float(x) for x in open(f"{folder}/{i:04d}/rates")] for i in range(4 * generations)]


def score(r):
    return sum(x > 0.5 for x in r) + r[-1] / 10


for g in range(1, generations):
    before = rates[4 * g - 4:4 * g]
    worst = min(range(4), key=lambda i: score(before[i]))
    best = max(before, key=score)
    for m in range(4):
        own = rates[4 * g + m]
        if m == worst:
            assert own[:-1] == best and own[-1] != best[-1], (g, m)
        else:
            assert own[:-1] == before[m] and own[-1] == before[m][-1], (g, m)
