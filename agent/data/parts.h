/* parts.h: OUTPUT/.windlass/RUN/NUMBER, where everything lies that is not yet a result of one
 * coordinator's run: parts of a video, files that are being written. All names in it begin with
 * "part-". What a process that was killed leaves there goes when a later coordinator of the same
 * RUN starts, or has its results.
 *
 * Two coordinators of one RUN may live at once: a node was lost, came back, and its pod was
 * replaced meanwhile; or two jobs are the same. Where the file system can lock a folder (flock:
 * disks of this machine) the later one is refused, unless both are of one job. Everywhere (NFS,
 * SMB, FUSE) the one with the largest number goes on, and the others find out (parts_check) before
 * they rename a result, write a summary or remove anything that is not theirs. */
#pragma once

#include "lib/error.h"

struct parts {
    char *run;      /* "RUN/NUMBER" */
    char *folder;   /* absolute, on this machine */
    int64_t number; /* milliseconds of the clock, or one more than an earlier coordinator's */
    int lock_fd;    /* -1: not locked. Until it is closed, however the process ends */
};

/* The absolute folder on this machine, made if it is missing. output_path: spec.output.path;
 * run: "RUN/NUMBER". */
NODISCARD int parts_folder(const char *output_path, const char *run, char **ret_folder,
                           struct error *err);

/* Makes a folder of a coordinator's own, and empties those of earlier ones. uid: the job's. Fails
 * with BUSY where another job holds the lock of this RUN. */
NODISCARD int parts_claim(const char *output_path, const char *run, const char *uid,
                          struct parts *ret_parts, struct error *err);
void parts_release(struct parts *parts);

/* Is this coordinator still the one that counts? GONE: no, a newer one of the same job has begun or
 * even ended; BUSY: no, another job has begun. A folder that is not a number is nobody else's. */
NODISCARD int parts_check(const char *folder, struct error *err);

/* Removes the folder, those of earlier coordinators, and RUN and .windlass if nothing else is in
 * them. That it fails is no reason to fail a job. */
void parts_remove(const char *folder);
