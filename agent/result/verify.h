/* verify.h: is an output what its result.json says? Every file that it names is read and hashed,
 * and the folder is listed: nothing may be missing, changed, named twice, or there without being
 * named. Memory is bounded (some 40 MiB), whatever the number of files: names are sorted in a
 * scratch store. Links that leave the folder and pipes are not followed; hidden names (".windlass"
 * among them) and the folders of "excluded" do not count. */
#pragma once

#include "agent/result/result_file.h"

enum { VERIFY_NAMES_MAX = 20 /* of each kind of fault that are kept by name */ };

enum verify_fault {
    VERIFY_MISSING,
    VERIFY_CHANGED,  /* another size or SHA-256 */
    VERIFY_DENIED,   /* may not be read: permission denied */
    VERIFY_REPEATED, /* named more than once */
    VERIFY_EXTRA,    /* there, but not made by this run */
    VERIFY_NEWER,    /* a newer start of the training has claimed the output (train/checkpoint.h) */
    VERIFY_FAULT_COUNT
};
/* "missing", "changed", "denied", "repeated", "extra", "newer". */
extern const char *const verify_fault_names[];

struct verify_report {
    int64_t files, bytes; /* checked */
    int64_t counts[VERIFY_FAULT_COUNT];
    /* A training's claims are not there (a copy without hidden files): nothing is known about
     * newer starts. */
    bool lacks_claims;
    /* outputs.jsonl may not be read (denied): nothing is known about its files, and none counts as
     * extra. */
    bool lacks_list;
    json_t *names[VERIFY_FAULT_COUNT]; /* arrays, owned */
};
void verify_report_release(struct verify_report *report); /* for AUTO, too */

struct verify_options {
    struct store *output;
    struct store *scratch; /* for sorted names; an empty folder of this machine */
    const json_t *result;  /* of result_file_parse */
    /* Called for each file, with what has been checked and the totals of result.json; false ends
     * the verification (CANCELLED). May be NULL. */
    bool (*progress)(void *context, const struct verify_report *report, int64_t files,
                     int64_t bytes);
    void *context;
};

/* 0: everything was checked, and *ret_report says what was found; -1: it could not be: the store's
 * error. outputs.jsonl whose lines are not of its format is a changed file. */
NODISCARD int verify_output(const struct verify_options *options, struct verify_report *ret_report,
                            struct error *err);
