/* run_left.h: what programs wrote into the working folders of a run's pods, STATE/pods/POD/work,
 * which are deleted with the run. A result there would be lost: so it is found before, named, and
 * kept. On a cluster such a write fails at once, since a container's root file system is read-only.
 *
 * Only regular files count, and none that programs leave unasked: names with a leading dot
 * (caches), below __pycache__, and core files (core, core.123). */
#pragma once

#include "lib/error.h"

enum { RUN_LEFT_NAMES = 3, RUN_LEFT_MAX = 100000 /* entries that are looked at */ };

struct run_left {
    size_t count; /* of files; 0: nothing to tell */
    int64_t bytes;
    char *names;  /* the first ones, "a.txt, b/c.bin"; owned, and so is the next */
    char *folder; /* where they are kept: STATE/left, or left-2, ... */
};

/* Removes working folders that an earlier run left with --keep, so that this one's begin empty. */
void run_left_clear(const char *state_folder);
/* Finds what the pods left, and moves it into `folder`: call it when all pods have ended. */
void run_left_find(const char *state_folder, struct run_left *ret_left);
/* Prints that the job has failed by that, and what to do; returns the exit code. */
int run_left_print(const struct run_left *left, const char *job);
void run_left_release(struct run_left *left);
