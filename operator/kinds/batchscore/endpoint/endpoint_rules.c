// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/endpoint/endpoint_rules.h"

#include "operator/kinds/batchscore/spec.h"
#include "operator/kinds/job/own_variables.h"

#include "lib/net/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIELD "scorer.endpoint"

static bool has(const json_t *spec, const char *field) {
    return tree_get(spec, field) != NULL;
}

/* Lines of a batch file are requests as they are. */
static int check_input(const json_t *spec, struct error *err) {
    if (!has(spec, "input.files") && !has(spec, "input.table")) {
        return job_refuse(err, FIELD, "scores files and tables; for video and npy use scorer.onnx");
    }
    bool is_lines = strcmp(tree_text(spec, "input.table.format", ""), "JSONLines") == 0;
    return is_lines || has(spec, FIELD ".request")
               ? 0
               : job_refuse(
                     err, FIELD ".request",
                     "is needed, unless each row is a whole request: a line of a batch file, "
                     "with input.table.format: JSONLines");
}

/* The workers look again, at the addresses that a name has when they connect. field: ".urls[1]". */
static int check_url(const json_t *url, const char *field, struct error *err) {
    const char *text = json_string_value(url);
    const char *start = text ? strstr(text, "://") : NULL;
    if (!start) {
        return 0; /* the schema's to refuse */
    }
    start += strlen("://");
    bool is_bracketed = *start == '[';
    start += is_bracketed;
    AUTO(text_freep) char *host = x_strndup(start, strcspn(start, is_bracketed ? "]" : ":/"));
    return address_is_refused_host(host)
               ? error_set(err, ERROR_INVALID,
                           "spec." FIELD
                           "%s: link-local addresses and those of metadata services are "
                           "refused, and an IPv4 address is four decimal numbers: %.100s",
                           field, text)
               : 0;
}

static int check_urls(const json_t *spec, struct error *err) {
    const json_t *urls = tree_get(spec, FIELD ".urls"), *url = tree_get(spec, FIELD ".url");
    for (size_t i = 0; i < json_array_size(urls); i++) {
        char field[32];
        snprintf(field, sizeof field, ".urls[%zu]", i);
        if (check_url(json_array_get(urls, i), field, err) < 0) {
            return -1;
        }
    }
    return check_url(url, ".url", err);
}

static int check_server(const json_t *spec, struct error *err) {
    if (job_asks_for_gpus(tree_get(spec, FIELD ".server.resources"))) {
        return job_refuse(err, FIELD ".server.resources",
                          "nvidia.com/gpu is set by workers.gpus; take it out of resources");
    }
    static const char *const port[] = {"WINDLASS_PORT", NULL};
    return job_check_environment(spec, FIELD ".server.environment", err) < 0 ||
                   own_variables_check_command(spec, FIELD ".server.command", port, err) < 0
               ? -1
               : own_variables_check_tree(spec, FIELD ".server.environment", port, err);
}

static bool is_header(const char *name) {
    static const char *const own[] = {"authorization",
                                      "proxy-authorization",
                                      "cookie",
                                      "host",
                                      "content-type",
                                      "content-length",
                                      "transfer-encoding",
                                      "connection",
                                      "expect",
                                      "accept",
                                      "accept-encoding",
                                      "upgrade",
                                      "te"};
    size_t size = strlen(name);
    for (size_t i = 0; i < ARRAY_LEN(own); i++) {
        if (strcasecmp(name, own[i]) == 0) {
            return false;
        }
    }
    return size > 0 && size <= 64 &&
           strspn(name, "-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == size;
}

static int check_headers(const json_t *spec, struct error *err) {
    const char *name;
    json_t *value;
    json_object_foreach(tree_get(spec, FIELD ".headers"), name, value) {
        if (!is_header(name)) {
            return error_set(err, ERROR_INVALID,
                             "spec." FIELD
                             ".headers: has an invalid name (letters, digits, - _) or "
                             "that of a header that is set by key or by Windlass: %.100s",
                             name);
        }
    }
    return 0;
}

int endpoint_rules_check(const json_t *spec, struct error *err) {
    static const char *const places[] = {"url", "urls", "server"};
    if (!job_only_one(tree_get(spec, FIELD), places, ARRAY_LEN(places))) {
        return job_refuse(err, FIELD, "exactly one of url, urls and server must be given");
    }
    return check_urls(spec, err) < 0 || check_server(spec, err) < 0 || check_headers(spec, err) < 0
               ? -1
               : check_input(spec, err);
}
