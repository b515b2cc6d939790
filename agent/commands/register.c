// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/register.h"

#include "agent/commands/pod_command.h"
#include "agent/result/result_origin.h"
#include "agent/store/registered.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
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
    struct registered_request request = {0};
    if (read_wish(spec, &request, err) < 0 || result_origin_new(&origin, err) < 0 ||
        store_open(tree_text(spec, "from", ""), false, &from, err) < 0 ||
        store_open(tree_text(spec, "to", ""), true, &to, err) < 0) {
        return -1;
    }
    request.from = from;
    request.to = to;
    return registered_copy(&request, err) < 0 ? -1 : write_result(spec, origin, err);
}

static void say_last(const json_t *spec, const struct error *err) {
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
    say_last(spec, &err);
    return error_exit_code(&err);
}
