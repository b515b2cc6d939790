/* parts.h: OUTPUT/.windlass/RUN, where everything of a run lies that is not yet a result: parts of
 * a video, files that are being written. All names in it begin with "part-". What a process that
 * was killed leaves there goes when the run, or a later one of the same job, has its results. */
#pragma once

#include "lib/error.h"

/* The absolute folder on this machine, made if it is missing. output_path: spec.output.path. */
NODISCARD int parts_folder(const char *output_path, const char *run, char **ret_folder,
                           struct error *err);

/* Makes the folder this process' own until *ret_fd is closed, however it ends; nothing is left to
 * clean up. Two runs of one job would take each other's parts for their own: the later one fails
 * with BUSY. -1 in *ret_fd: this file system cannot lock a folder. */
NODISCARD int parts_lock(const char *output_path, const char *run, int *ret_fd, struct error *err);

/* Removes what is in the folder, and the folder and .windlass if nothing else is in them. That it
 * fails is no reason to fail a job. */
void parts_remove(const char *folder);
