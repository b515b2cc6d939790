/* left_files.h: what programs wrote into the working folders of a run's pods, STATE/pods/POD/work,
 * which are deleted with the run. A result there would be lost: so it is found before, named, and
 * kept. On a cluster such a write fails at once, since a container's root file system is read-only.
 *
 * Only regular files count, and none that programs leave unasked: names with a leading dot
 * (caches), below __pycache__, and core files (core, core.123). */
#pragma once

#include "lib/error.h"

enum { LEFT_FILES_NAMES = 3, LEFT_FILES_MAX = 100000 /* entries that are looked at */ };

struct left_files {
    size_t count; /* of files; 0: nothing to report */
    int64_t bytes;
    char *names;  /* the first ones, "a.txt, b/c.bin"; owned, and so is the next */
    char *folder; /* where they are kept: STATE/left, or left-2, ... */
};

/* Removes working folders that an earlier run left with --keep, so that this one's begin empty. */
void left_files_clear(const char *state_folder);
/* Finds what the pods left, and moves it into `folder`: call it when all pods have ended. */
void left_files_find(const char *state_folder, struct left_files *ret_left);
/* Prints that the job has failed by that, and what to do; returns the exit code. */
int left_files_print(const struct left_files *left, const char *job);
void left_files_release(struct left_files *left);
