// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/register.h"

#include "agent/commands/pod_command.h"
#include "agent/result/result_origin.h"
#include "agent/store/registered.h"
#include "lib/digest.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

static int read_wish(const json_t *spec, struct registered_request *request, struct error *err) {
    static const char *const strings[] = {"from", "to", "name", "version"};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        if (!*tree_text(spec, strings[i], "")) {
            return error_set(err, ERROR_INVALID,
                             "the environment variable WINDLASS_SPEC: %s is missing", strings[i]);
        }
    }
    request->name = tree_text(spec, "name", "");
    request->version = tree_text(spec, "version", "");
    request->metadata = json_object_get(spec, "metadata");
    return 0;
}

static int add_line(void *context, const struct output_line *line, struct error *err) {
    if (json_object_size(context) >= REGISTERED_FILES_MAX) {
        return error_set(err, ERROR_INVALID, "the trial's output has more than %d files",
                         REGISTERED_FILES_MAX);
    }
    json_object_set_new(context, line->name, json_string(line->sha256));
    return 0;
}

static void add_entries(const json_t *entries, json_t *hashes) {
    size_t i;
    json_t *entry;
    json_array_foreach((json_t *)entries, i, entry) {
        json_object_set(hashes, tree_text(entry, "name", ""), json_object_get(entry, "sha256"));
    }
}

/* The files that a result.json names. */
static int read_files(struct store *from, const json_t *result, json_t *hashes, struct error *err) {
    const char *list = tree_text(result, "list.name", NULL);
    struct output_lines_sum sum;
    add_entries(json_object_get(result, "outputs"), hashes);
    if (!list) {
        return 0;
    }
    json_object_set(hashes, list, tree_get(result, "list.sha256"));
    return output_lines_read(from, list, add_line, hashes, &sum, err);
}

/* What the trial wrote: its result.json, which must be there and the one whose hash it gave
 * ("result"), if it did. */
static int read_hashes(const json_t *spec, struct store *from, json_t **ret_hashes,
                       struct error *err) {
    const char *told = tree_text(spec, "result", NULL);
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *result = NULL;
    AUTO(tree_freep) json_t *hashes = json_object();
    struct error cause = {0};
    char sha256[65];
    buffer_init(&text, RESULT_BYTES_MAX);
    if (store_get(from, RESULT_NAME, &text, NULL, &cause) < 0) {
        bool is_none = cause.kind == ERROR_NOT_FOUND;
        if (is_none && !told) { /* a program need not have written one */
            return 0;
        }
        *err = cause;
        err->kind = is_none ? ERROR_INVALID : cause.kind;
        return -1;
    }
    digest_sha256(text.data ? text.data : "", text.size, sha256);
    if (told && strcmp(told, sha256) != 0) {
        return error_set(err, ERROR_INVALID,
                         "%s/" RESULT_NAME " has changed since the trial wrote it: its SHA-256 is "
                         "%.16s..., not %.16s...",
                         store_path(from), sha256, told);
    }
    if (result_file_parse(text.data ? text.data : "", text.size, &result, &cause) < 0) {
        return 0; /* a program's own file of that name */
    }
    if (read_files(from, result, hashes, err) < 0) {
        err->kind = store_error_is_machine(err) ? err->kind : ERROR_INVALID;
        return -1;
    }
    json_object_set_new(hashes, RESULT_NAME, json_string(sha256));
    *ret_hashes = TAKE(hashes);
    return 0;
}

/* VERSION/result.json: what the version holds, and which trials it was chosen from. It comes after
 * the copy, which another attempt does not repeat. */
static int write_result(const json_t *spec, const struct result_origin *origin, struct error *err) {
    AUTO(text_freep)
    char *place = x_printf("%s/%s/%s", tree_text(spec, "to", ""), tree_text(spec, "name", ""),
                           tree_text(spec, "version", ""));
    AUTO(store_freep) struct store *version = NULL;
    char sha256[65];
    if (!json_object_get(spec, "sweep")) { /* of an operator of an earlier release */
        return 0;
    }
    return store_open(place, true, &version, err) < 0
               ? -1
               : result_origin_write_sweep(origin, version, tree_text(spec, "version", ""),
                                           json_object_get(spec, "sweep"), sha256, err);
}

static int carry_out(const json_t *spec, struct error *err) {
    AUTO(result_origin_freep) struct result_origin *origin = NULL;
    AUTO(store_freep) struct store *from = NULL;
    AUTO(store_freep) struct store *to = NULL;
    AUTO(tree_freep) json_t *hashes = NULL;
    struct registered_request request = {0};
    bool is_done = false; /* by another attempt: the trial's output is not wanted any more */
    if (read_wish(spec, &request, err) < 0 || result_origin_new(&origin, err) < 0 ||
        store_open(tree_text(spec, "from", ""), false, &from, err) < 0 ||
        store_open(tree_text(spec, "to", ""), true, &to, err) < 0) {
        return -1;
    }
    request.from = from;
    request.to = to;
    if (registered_is_done(&request, &is_done, err) < 0 ||
        (!is_done && read_hashes(spec, from, &hashes, err) < 0)) {
        return -1;
    }
    request.hashes = hashes;
    return registered_copy(&request, err) < 0 ? -1 : write_result(spec, origin, err);
}

static void write_last_message(const json_t *spec, const struct error *err) {
    AUTO(tree_freep)
    json_t *words =
        json_pack("{s:s, s:s}", "state", err->kind ? "Failed" : "Succeeded", "message", err->text);
    if (!err->kind) {
        json_object_set_new(words, "outputs",
                            json_pack("[o]", json_sprintf("%s/%s/%s", tree_text(spec, "to", ""),
                                                          tree_text(spec, "name", ""),
                                                          tree_text(spec, "version", ""))));
    }
    AUTO(text_freep) char *text = json_dumps(words, JSON_COMPACT);
    job_write_termination_message(text);
}

int register_command(int argc, char **argv) {
    static const struct command_help help = {
        .usage = "windlass-agent register",
        .about = "Copies the best model of a Sweep to PATH/NAME/VERSION, atomically, and names it\n"
                 "in PATH/NAME/latest. Started by windlass, with its job in the environment\n"
                 "(WINDLASS_SPEC, and one variable for each volume).",
    };
    struct error err = {0};
    AUTO(tree_freep) json_t *spec = NULL;
    prctl(PR_SET_DUMPABLE, 0); /* as in pod_command.c */
    int code = pod_command_read_spec(argc, argv, &help, &spec);
    if (code >= 0) {
        return code;
    }
    if (carry_out(spec, &err) < 0) {
        log_event(LOG_ERROR, "%s", err.text);
    } else {
        log_event(LOG_INFO, "registered: %s/%s/%s", tree_text(spec, "to", ""),
                  tree_text(spec, "name", ""), tree_text(spec, "version", ""));
    }
    write_last_message(spec, &err);
    return error_exit_code(&err);
}
