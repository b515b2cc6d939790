// SPDX-License-Identifier: Apache-2.0
#include "agent/result/result_folder.h"

#include <stdlib.h>
#include <string.h>

/* ---- whose result.json is there ------------------------------------------------------------- */

enum owner { OWNER_NONE, OWNER_WINDLASS, OWNER_PROGRAM };

/* INVALID: the result of another kind. */
static int find_owner(struct store *output, const char *kind, enum owner *ret_owner,
                      struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *result = NULL;
    struct error why = {0};
    buffer_init(&text, RESULT_BYTES_MAX);
    *ret_owner = OWNER_PROGRAM;
    if (store_get(output, RESULT_NAME, &text, NULL, &why) < 0) {
        if (why.kind != ERROR_NOT_FOUND && why.kind != ERROR_INVALID) {
            *err = why;
            return -1;
        }
        *ret_owner = why.kind == ERROR_NOT_FOUND ? OWNER_NONE : OWNER_PROGRAM; /* larger */
    } else if (result_file_parse(text.data ? text.data : "", text.size, &result, &why) == 0) {
        *ret_owner = OWNER_WINDLASS;
        return result_file_check_kind(result, kind, store_path(output), err);
    }
    return 0;
}

/* Of a DistTrain only a command's result is a folder's. */
static const char *kind_of(const char *kind) {
    return strcmp(kind, RESULT_DISTTRAIN) == 0 ? RESULT_COMMAND : kind;
}

int result_folder_check(struct store *output, const char *kind, struct error *err) {
    enum owner ignored = OWNER_NONE;
    return find_owner(output, kind, &ignored, err);
}

/* ---- who writes there ----------------------------------------------------------------------- */

/* The uid of the job whose program was started last. */
#define WRITER ".windlass/writer"
#define OWN_FOLDER ".windlass/"
enum { UID_BYTES_MAX = 128, RUN_SIZE = 16, RUNS_MAX = 4096 };

/* FAILED: another job has begun after this one. */
static int check_writer(struct store *output, const json_t *result, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error why = {0};
    const char *uid = tree_text(result, "uid", "");
    buffer_init(&text, UID_BYTES_MAX);
    if (strcmp(tree_text(result, "kind", ""), RESULT_DISTTRAIN) != 0 || !*uid) {
        return 0;
    }
    if (store_get(output, WRITER, &text, NULL, &why) < 0) {
        bool is_none = why.kind == ERROR_NOT_FOUND || why.kind == ERROR_INVALID;
        *err = is_none ? *err : why;
        return is_none ? 0 : -1;
    }
    bool is_ours = text.size == strlen(uid) && memcmp(text.data, uid, text.size) == 0;
    return is_ours ? 0
                   : error_set(err, ERROR_FAILED,
                               "%s: another job has begun to write there (uid %.*s), so its files "
                               "may be of either: give each job an output of its own",
                               store_path(output), (int)MIN(text.size, (size_t)40),
                               text.data ? text.data : "");
}

struct ended_runs {
    const char *own;
    json_t *others; /* {run: true} */
};

/* .windlass/RUN/ended/ATTEMPT */
static int on_own_name(void *context, const char *name, const struct store_info *info UNUSED,
                       struct error *err UNUSED) {
    struct ended_runs *runs = context;
    const char *run = name + strlen(OWN_FOLDER);
    size_t size = strspn(run, "0123456789abcdef");
    if (size == RUN_SIZE && text_starts(run + size, "/ended/") &&
        (!runs->own || strncmp(run, runs->own, RUN_SIZE) != 0) &&
        json_object_size(runs->others) < RUNS_MAX) {
        AUTO(text_freep) char *other = x_strndup(run, size);
        json_object_set_new(runs->others, other, json_true());
    }
    return 0;
}

/* Of a run with another spec: those of the same are the successors' (ended.h). */
static int forget_ended(struct store *output, const char *own_run, struct error *err) {
    AUTO(tree_freep) json_t *others = json_object();
    struct ended_runs runs = {.own = own_run, .others = others};
    const char *run;
    json_t *ignored;
    if (store_list(output, OWN_FOLDER, NULL, on_own_name, &runs, err) < 0) {
        return -1;
    }
    json_object_foreach(others, run, ignored) {
        AUTO(text_freep) char *folder = x_printf(OWN_FOLDER "%s/ended/", run);
        if (store_clear(output, folder, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int result_folder_begin(struct store *output, const struct result_folder_job *job,
                        struct error *err) {
    enum owner owner = OWNER_NONE;
    if (find_owner(output, kind_of(job->kind), &owner, err) < 0 ||
        (job->uid &&
         store_put(output, WRITER, job->uid, strlen(job->uid), STORE_REPLACE, err) < 0) ||
        forget_ended(output, job->run, err) < 0) {
        return -1;
    }
    /* result.json goes last: it is what shows that the other two are ours. */
    return owner != OWNER_WINDLASS || (store_remove(output, RESULT_FOLDER_LIST, err) == 0 &&
                                       store_remove(output, RESULT_ENVELOPE_NAME, err) == 0 &&
                                       store_remove(output, RESULT_NAME, err) == 0)
               ? 0
               : -1;
}

/* Another try of ours may have come as far as the list. */
static int check_names(struct store *output, const char *kind, struct error *err) {
    enum owner owner = OWNER_NONE;
    if (find_owner(output, kind_of(kind), &owner, err) < 0) {
        return -1;
    }
    return owner != OWNER_PROGRAM
               ? 0
               : error_set(err, ERROR_FAILED,
                           "%s/%s is a file of the program, which is kept: let the program use "
                           "another name",
                           store_path(output), RESULT_NAME);
}

/* ---- its files ------------------------------------------------------------------------------ */

struct listing {
    struct store *output;
    json_t *excluded;
    size_t links;
    struct output_lines_writer *writer;
};

static bool is_left_out(const struct listing *listing, const char *name) {
    static const char *const own[] = {RESULT_NAME, RESULT_ENVELOPE_NAME, RESULT_FOLDER_LIST};
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (strcmp(name, own[i]) == 0) {
            return true;
        }
    }
    return result_file_is_excluded(listing->excluded, name);
}

static int on_file(void *context, const char *name, const struct store_info *info,
                   struct error *err) {
    struct listing *listing = context;
    struct store_digest hash;
    if (is_left_out(listing, name)) {
        return 0;
    }
    if (info && info->is_beyond) { /* its files are of this folder, and could not be named */
        return error_set(err, ERROR_INVALID, "%s", info->fault);
    }
    if (info && info->is_folder) { /* its files are not of this folder */
        return 0;
    }
    if (info && info->fault) {
        json_t *text = ++listing->links <= RESULT_FOLDER_LINKS_MAX ? json_string(name) : NULL;
        return text && json_array_append_new(listing->excluded, text) == 0
                   ? 0
                   : error_set(err, ERROR_INVALID,
                               "%s: more than %d links that do not lead to a file of the volume, "
                               "or one whose name is not UTF-8",
                               store_path(listing->output), RESULT_FOLDER_LINKS_MAX);
    }
    return store_hash(listing->output, name, NULL, NULL, &hash, err) < 0 ||
                   output_lines_add(listing->writer, name, hash.size_bytes, hash.sha256, err) < 0
               ? -1
               : 0;
}

static int list_files(struct store *output, json_t *excluded, json_t **ret_entry,
                      struct error *err) {
    struct listing listing = {.output = output, .excluded = excluded};
    struct output_lines_sum sum;
    if (output_lines_begin(output, RESULT_FOLDER_LIST, &listing.writer, err) < 0) {
        return -1;
    }
    if (store_list_links(output, "", NULL, on_file, &listing, err) < 0) {
        output_lines_free(listing.writer);
        return -1;
    }
    if (output_lines_end(listing.writer, &sum, err) < 0) {
        return -1;
    }
    *ret_entry = result_file_list_entry(RESULT_FOLDER_LIST, &sum);
    return 0;
}

/* Whether result.json still is the one with that hash. */
static bool is_stored(struct store *output, const char *sha256) {
    struct store_digest hash;
    struct error ignored = {0};
    return store_hash(output, RESULT_NAME, NULL, NULL, &hash, &ignored) == 0 &&
           strcmp(hash.sha256, sha256) == 0;
}

/* A job that has begun since has removed an earlier result, but perhaps not this one. */
static int check_still_ours(struct store *output, const json_t *result, const char *sha256,
                            struct error *err) {
    if (check_writer(output, result, err) == 0) {
        return 0;
    }
    struct error ignored = {0};
    if (is_stored(output, sha256)) {
        (void)!result_remove(output, &ignored);
    }
    return -1;
}

int result_folder_write(struct store *output, json_t *result, const struct signature_key *key,
                        char ret_sha256[static 65], struct error *err) {
    json_t *excluded = tree_ensure_list(result, "excluded"), *entry = NULL;
    if (check_names(output, tree_text(result, "kind", ""), err) < 0 ||
        check_writer(output, result, err) < 0 || list_files(output, excluded, &entry, err) < 0) {
        return -1;
    }
    json_object_set_new(result, "outputs", json_array());
    json_object_set_new(result, "reports", json_array());
    json_object_set_new(result, "list", entry);
    return result_write(output, result, key, ret_sha256, err) < 0
               ? -1
               : check_still_ours(output, result, ret_sha256, err);
}
