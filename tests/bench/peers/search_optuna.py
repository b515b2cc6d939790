#!/usr/bin/python3
"""Optuna (Debian: python3-optuna) on the functions of tests/bench/search.sh: TPE with its defaults, four trials at once,
failed ones told as such. Prints the median over seeds of the best of 60 trials (40 in the finite space), and of how many
failed.

search_optuna.py PROGRAM SEEDS: PROGRAM is build/tests/unit/operator/kinds/sweep/search/test_search."""
import os
import statistics
import subprocess
import sys

import optuna

NAMES = [("Branin", 2), ("Hartmann-3", 3), ("Hartmann-6", 6), ("Ackley-5", 5), ("Rosenbrock-4", 4), ("Levy-4", 4),
         ("Rastrigin-3", 3), ("Griewank-5", 5), ("mixed", 4), ("finite", 3)]
AT_ONCE = 4


def units_of(trial, name, dimensions):
    if name == "mixed":
        return [(trial.suggest_categorical("O", [0, 1, 2]) + 0.5) / 3, trial.suggest_float("R", 0, 1),
                (trial.suggest_int("L", 0, 7) + 0.5) / 8, trial.suggest_int("D", 0, 12) / 12]
    if name == "finite":
        return [(trial.suggest_categorical("A", [0, 1, 2, 3, 4]) + 0.5) / 5, (trial.suggest_int("B", 0, 7) + 0.5) / 8,
                (trial.suggest_categorical("C", [0, 1, 2]) + 0.5) / 3]
    return [trial.suggest_float(f"X{i}", 0, 1) for i in range(dimensions)]


def search(ask, which, fails, seed):
    name, dimensions = NAMES[which]
    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    best, failed, running = float("inf"), 0, []
    for _ in range(40 if name == "finite" else 60):
        if len(running) == AT_ONCE:
            trial, value = running.pop(0)
            study.tell(trial, value, state=None if value is not None else optuna.trial.TrialState.FAIL)
        trial = study.ask()
        value = ask(which, fails, units_of(trial, name, dimensions))
        running.append((trial, value))
        failed += value is None
        best = best if value is None else min(best, value)
    return best, failed


def main():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    program, seeds = sys.argv[1], int(sys.argv[2])
    oracle = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "SEARCH_ORACLE": "1"})

    def ask(which, fails, units):
        oracle.stdin.write(f"{which} {fails} {' '.join(map(repr, units))}\n")
        oracle.stdin.flush()
        text = oracle.stdout.readline().strip()
        return None if text == "fail" else float(text)

    print(f"Optuna {optuna.__version__}")
    for which, (name, _) in enumerate(NAMES):
        for fails in (0, 1):
            results = [search(ask, which, fails, seed) for seed in range(1, seeds + 1)]
            print(f"| {name} | {'half' if fails else 'none'} | {statistics.median(r[0] for r in results):.4g} | "
                  f"{statistics.median(r[1] for r in results):.0f} |", flush=True)
    oracle.stdin.close()


main()
