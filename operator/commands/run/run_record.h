/* run_record.h: what `windlass run` leaves for the commands that look at runs by name
 * (local/runs/run_entry.h): how it was started, so that it can be started again, its job as last
 * seen, and its end. */
#pragma once

#include "lib/tree.h"

struct run_record;

/* A member of the record: when the run began, before it read any input; milliseconds since 1970 by
 * the wall clock, which the times of files go by. */
#define RUN_RECORD_START "startMilliseconds"

struct run_record_facts {
    const char *state_folder;
    bool owns_state;         /* the run chose that folder: it is deleted with the record */
    const json_t *folders;   /* {volume: its folder} */
    const json_t *arguments; /* run_options_again */
    const json_t *earlier;   /* {NAME: ID} of the runs whose output it uses; NULL: none */
};

/* The absolute path of a manifest; owned; NULL: not a regular file, such as a pipe. */
char *run_record_path(const char *file);
/* object: as the file has it, with defaults; it is copied. file: its path, which may be none. */
struct run_record *run_record_new(const json_t *object, const char *file);
/* From now on the run is known by its name. A folder that cannot be written to is reported on
 * standard error, and the run goes on. */
void run_record_start(struct run_record *record, const struct run_record_facts *facts);
/* The job and its pods as they are now; NULL: as they were. */
void run_record_update(struct run_record *record, const json_t *job, const json_t *pods);
/* message: why it ended without its job having ended; NULL: its job has ended. */
void run_record_end(struct run_record *record, int exit_code, const char *message);
/* Adds a member to the record, or replaces it, and writes the record; NULL: nothing changes. */
void run_record_set(struct run_record *record, const char *member, const char *text);
/* The same with a tree. */
void run_record_set_tree(struct run_record *record, const char *member, const json_t *tree);
void run_record_free(struct run_record *record); /* NULL is accepted */
