/* run_entry.h: what a `windlass run` records about itself while it runs, so that other commands
 * find it by its name: two files in a folder of the user's.
 *
 *     BASE/runs/ID.lock  locked (fcntl) by the run as long as it lives, also by kill -9: the kernel
 *                        lets go of it, and says who holds it
 *     BASE/runs/ID.json  the record, replaced as a whole
 *     BASE/runs/ID.again  the manifest, written when the run starts again and its file is gone
 *
 * BASE is $XDG_STATE_HOME/windlass, else ~/.local/state/windlass; ID is NAME-TIME. Members of the
 * record: name, file, arguments (of `windlass run`), folder (the working folder), host, state (the
 * folder of the logs), startTime, startMilliseconds, job (the object as last seen), pods; of a step
 * of a graph earlier ({NAME: ID}: the runs whose output it uses); at the end endTime, exitCode,
 * outcome and message; of a job that makes jobs also made (kind.h), table and page. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

struct run_entry;

/* The folder BASE; owned. UNAVAILABLE: neither variable is set. */
NODISCARD int run_entry_base(char **ret_folder, struct error *err);

/* about: the members known at the start; borrowed. Makes an ID of its name and the time. */
NODISCARD int run_entry_open(const json_t *about, struct run_entry **ret_entry, struct error *err);
/* Replaces a member; a change of the text is written at most once a second, unless is_last. Errors
 * are ignored: a run does not fail for its record. */
void run_entry_set(struct run_entry *entry, const char *member, const json_t *value);
void run_entry_write(struct run_entry *entry, bool is_last);
/* Gives the lock back; the record stays. NULL is accepted. */
void run_entry_free(struct run_entry *entry);
