// SPDX-License-Identifier: Apache-2.0
#include "agent/score/wire/message.h"

#include "agent/score/wire/message_names.h"
#include "agent/score/wire/message_rows.h"
#include "agent/score/wire/request_metrics.h"
#include "lib/text/jsontext.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const message_type_names[] = {"hello",     "results", "published", "leaving", "leases",
                                          "committed", "cancel",  "done",      "refused", "paths"};
static_assert(ARRAY_LEN(message_type_names) == MESSAGE_TYPE_COUNT, "one name per type");
const char *const message_fault_names[] = {"scorer", "machine", "back", "input"};
static_assert(ARRAY_LEN(message_fault_names) == MESSAGE_FAULT_COUNT, "one name per fault");

static int read_number(const json_t *value, const char *field, int64_t minimum, int64_t maximum,
                       int64_t *ret_value, struct error *err) {
    if (!json_is_integer(value) || json_integer_value(value) < minimum ||
        json_integer_value(value) > maximum) {
        return error_set(err, ERROR_INVALID, "%s: expected an integer of %lld to %lld", field,
                         (long long)minimum, (long long)maximum);
    }
    *ret_value = json_integer_value(value);
    return 0;
}

static int read_integer(const json_t *tree, const char *field, int64_t *ret_value,
                        struct error *err) {
    return read_number(json_object_get(tree, field), field, 0, MESSAGE_NUMBER_MAX, ret_value, err);
}

/* Accepts a pod's name, without characters that could break a log line or a file name. */
static int read_name(const json_t *tree, char name[static MESSAGE_NAME_MAX + 1],
                     struct error *err) {
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789-._";
    const char *text = json_string_value(json_object_get(tree, "worker"));
    size_t length = text ? strlen(text) : 0;
    if (length == 0 || length > MESSAGE_NAME_MAX || strspn(text, allowed) != length ||
        *text == '.') {
        return error_set(err, ERROR_INVALID,
                         "worker: expected a name of 1 to %d letters, digits, '-', '.' and '_'",
                         MESSAGE_NAME_MAX);
    }
    memcpy(name, text, length + 1);
    return 0;
}

static int read_files(const json_t *tree, struct message *message, struct error *err) {
    const char *field;
    json_t *digest, *files = json_object_get(tree, "files");
    if (files && (!json_is_object(files) || json_object_size(files) > MESSAGE_FILES_MAX)) {
        return error_set(err, ERROR_INVALID, "files: expected an object of at most %d members",
                         MESSAGE_FILES_MAX);
    }
    json_object_foreach(files, field, digest) {
        const char *text = json_string_value(digest);
        if (!text || strlen(text) != 64 || strspn(text, "0123456789abcdef") != 64) {
            return error_set(err, ERROR_INVALID, "files.%.100s: expected a SHA-256 in hex", field);
        }
    }
    message->files = files;
    return 0;
}

static int read_paths(const json_t *tree, struct message *message, struct error *err) {
    const char *path;
    json_t *target, *paths = json_object_get(tree, "paths");
    if (!json_is_object(paths) || json_object_size(paths) > MESSAGE_PATHS_MAX) {
        return error_set(err, ERROR_INVALID, "paths: expected an object of at most %d members",
                         MESSAGE_PATHS_MAX);
    }
    json_object_foreach(paths, path, target) {
        if (!json_is_string(target)) {
            return error_set(err, ERROR_INVALID, "paths.%.100s: expected a string", path);
        }
    }
    message->paths = paths;
    return 0;
}

static int read_text(const json_t *tree, const char *field, struct message *message,
                     struct error *err) {
    const char *text = json_string_value(json_object_get(tree, field));
    if (!text) {
        return error_set(err, ERROR_INVALID, "%s: expected a string", field);
    }
    struct error line = {0}; /* an error's text is one clean, bounded line */
    error_set(&line, ERROR_FAILED, "%s", text);
    static_assert(sizeof line.text <= sizeof message->text, "the line fits");
    memcpy(message->text, line.text, sizeof line.text);
    return 0;
}

/* "deaths": [so far, too many], "before": how the last one ended; all absent: none. */
static int read_deaths(const json_t *tree, struct message *message, struct error *err) {
    const json_t *list = json_object_get(tree, "deaths");
    int64_t deaths = 0, most = 0;
    if (!list) {
        return 0;
    }
    if (read_number(json_array_get(list, 0), "deaths", 1, MESSAGE_DEATHS_MAX, &deaths, err) < 0 ||
        read_number(json_array_get(list, 1), "deaths", 1, MESSAGE_DEATHS_MAX, &most, err) < 0 ||
        read_text(tree, "before", message, err) < 0) {
        return -1;
    }
    message->deaths = (int)deaths;
    message->deaths_max = (int)most;
    return 0;
}

static int read_program(const json_t *tree, struct message *message, struct error *err) {
    static const char allowed[] = "0123456789abcdefghijklmnopqrstuvwxyz.+- ";
    const char *text = tree_text(tree, "program", "");
    snprintf(message->program, sizeof message->program, "%s", text);
    return strspn(message->program, allowed) == strlen(text)
               ? 0
               : error_set(err, ERROR_INVALID, "program: expected a version and a SHA-256");
}

static int read_hello(const json_t *tree, struct message *message, struct error *err) {
    const json_t *field = json_object_get(tree, "slots");
    int64_t slots = 1;
    if (read_name(tree, message->name, err) < 0 ||
        (field && read_number(field, "slots", 0, MESSAGE_SLOTS_MAX, &slots, err) < 0)) {
        return -1;
    }
    message->slots = (int)slots;
    return read_program(tree, message, err) < 0 || read_deaths(tree, message, err) < 0
               ? -1
               : read_files(tree, message, err);
}

/* lease, slot, cell, cells, try, work */
static int read_lease(const json_t *row, struct message_lease *lease, struct error *err) {
    static const struct {
        const char *field;
        int64_t minimum, maximum;
    } columns[] = {{"lease", 0, INT64_MAX},
                   {"slot", 0, MESSAGE_SLOTS_MAX - 1},
                   {"cell", 0, (int64_t)1 << 53},
                   {"cells", 1, INT32_MAX},
                   {"try", 1, 1000000}};
    int64_t values[ARRAY_LEN(columns)];
    for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
        if (read_number(json_array_get(row, i), columns[i].field, columns[i].minimum,
                        columns[i].maximum, &values[i], err) < 0) {
            return -1;
        }
    }
    const json_t *work = json_array_get(row, ARRAY_LEN(columns));
    if (!json_is_object(work) && !json_is_array(work)) {
        return error_set(err, ERROR_INVALID, "work: expected an object or a list");
    }
    *lease = (struct message_lease){.lease = values[0],
                                    .slot = (int)values[1],
                                    .first = values[2],
                                    .cells = (int)values[3],
                                    .try = (int)values[4],
                                    .work = work};
    return 0;
}

static int read_string(const json_t *value, const char *field, const char **ret_text,
                       size_t *ret_size, struct error *err) {
    if (!json_is_string(value)) {
        return error_set(err, ERROR_INVALID, "%s: expected a string", field);
    }
    *ret_text = json_string_value(value);
    *ret_size = json_string_length(value);
    return 0;
}

/* May be missing. */
static int read_said(const json_t *row, size_t at, struct message_result *result,
                     struct error *err) {
    return json_array_size(row) <= at
               ? 0
               : read_string(json_array_get(row, at), "said", &result->output_tail,
                             &result->output_tail_size, err);
}

/* "f", lease, fault, cause, items, said (both may be missing) */
static int read_fault(const json_t *row, struct message_result *result, struct error *err) {
    const char *name = json_string_value(json_array_get(row, 2));
    int fault = 0;
    while (fault < MESSAGE_FAULT_COUNT &&
           (!name || strcmp(name, message_fault_names[fault]) != 0)) {
        fault++;
    }
    if (fault == MESSAGE_FAULT_COUNT) {
        return error_set(err, ERROR_INVALID, "fault: expected scorer, machine, back or input");
    }
    result->is_fault = true;
    result->fault = (enum message_fault)fault;
    result->is_final = fault == MESSAGE_INPUT;
    if (json_array_size(row) > 4 && read_number(json_array_get(row, 4), "items", 0,
                                                MESSAGE_NUMBER_MAX, &result->items, err) < 0) {
        return -1;
    }
    return read_said(row, 5, result, err) < 0 ? -1
                                              : read_string(json_array_get(row, 3), "cause",
                                                            &result->text, &result->text_size, err);
}

static int read_crc(const json_t *value, uint32_t *ret_crc, struct error *err) {
    const char *crc = json_string_value(value);
    if (!crc || strlen(crc) != 8 || strspn(crc, "0123456789abcdef") != 8) {
        return error_set(err, ERROR_INVALID, "crc: expected 8 hexadecimal digits");
    }
    *ret_crc = (uint32_t)strtoul(crc, NULL, 16);
    return 0;
}

/* The place of the results: "o", size, crc; "t", text; "n". *ret_next: the next column. */
static int read_place(const json_t *row, struct message_result *result, size_t *ret_next,
                      struct error *err) {
    const char *place = json_string_value(json_array_get(row, 5));
    if (place && strcmp(place, "o") == 0) {
        result->place = MESSAGE_OBJECT;
        *ret_next = 8;
        return read_number(json_array_get(row, 6), "size", 0, MESSAGE_NUMBER_MAX,
                           &result->size_bytes, err) < 0
                   ? -1
                   : read_crc(json_array_get(row, 7), &result->crc, err);
    }
    if (place && strcmp(place, "t") == 0) {
        result->place = MESSAGE_TEXT;
        *ret_next = 7;
        return read_string(json_array_get(row, 6), "text", &result->text, &result->text_size, err);
    }
    result->place = MESSAGE_NOWHERE;
    *ret_next = 6;
    return place && strcmp(place, "n") == 0
               ? 0
               : error_set(err, ERROR_INVALID,
                           "place: expected \"o\", \"t\" or \"n\" (docs/wire.md)");
}

/* After the place: nothing; failures; or failures, size, crc. `said` may follow the last two. */
static int read_failures(const json_t *row, size_t next, struct message_result *result,
                         struct error *err) {
    result->failures = json_array_get(row, next);
    if (result->failures && !json_is_array(result->failures)) {
        return error_set(err, ERROR_INVALID, "failures: expected a list");
    }
    next++;
    if (json_is_integer(json_array_get(row, next))) {
        if (read_number(json_array_get(row, next), "size of failures", 1, MESSAGE_NUMBER_MAX,
                        &result->failures_bytes, err) < 0 ||
            read_crc(json_array_get(row, next + 1), &result->failures_crc, err) < 0) {
            return -1;
        }
        next += 2;
    }
    return read_said(row, next, result, err);
}

/* "d" or "p", lease, items, failed, us, place, ... , failures, ..., said (both may be missing) */
static int read_done(const json_t *row, struct message_result *result, struct error *err) {
    size_t next = 0;
    if (read_number(json_array_get(row, 2), "items", 0, MESSAGE_NUMBER_MAX, &result->items, err) <
            0 ||
        read_number(json_array_get(row, 3), "failed", 0, result->items, &result->failed, err) < 0 ||
        read_number(json_array_get(row, 4), "us", 0, MESSAGE_NUMBER_MAX, &result->took_us, err) <
            0 ||
        read_place(row, result, &next, err) < 0) {
        return -1;
    }
    return read_failures(row, next, result, err);
}

/* "d", "p" or "f" as above; "w", lease: waits; "b", lease: begins */
static int read_result(const json_t *row, struct message_result *result, struct error *err) {
    const char *letter = json_string_value(json_array_get(row, 0));
    if (!letter || strlen(letter) != 1 || !strchr("dpfwb", *letter)) {
        return error_set(err, ERROR_INVALID,
                         "expected a result that begins with d, p, f, w or b (docs/wire.md)");
    }
    *result = (struct message_result){.event = *letter == 'w'   ? MESSAGE_WAITS
                                               : *letter == 'b' ? MESSAGE_BEGINS
                                                                : MESSAGE_ENDS};
    if (read_number(json_array_get(row, 1), "lease", 0, INT64_MAX, &result->lease, err) < 0) {
        return -1;
    }
    result->is_final = *letter == 'p';
    return *letter == 'd' || *letter == 'p' ? read_done(row, result, err)
           : *letter == 'f'                 ? read_fault(row, result, err)
                                            : 0;
}

static int read_workers(const json_t *tree, int *ret_workers, struct error *err) {
    int64_t workers = 1;
    const json_t *said = json_object_get(tree, "workers");
    if (said && read_number(said, "workers", 1, INT32_MAX, &workers, err) < 0) {
        return -1;
    }
    *ret_workers = (int)workers;
    return 0;
}

static int read_batch(const json_t *tree, struct message *message, struct error *err) {
    bool is_lease = message->type == MESSAGE_LEASES, is_result = message->type == MESSAGE_RESULTS;
    const char *field = is_result ? "results" : "leases";
    const json_t *rows = json_object_get(tree, field);
    if (read_integer(tree, "epoch", &message->epoch, err) < 0) {
        return -1;
    }
    if (!json_is_array(rows)) {
        return error_set(err, ERROR_INVALID, "%s: expected a list", field);
    }
    if (is_lease && read_workers(tree, &message->workers, err) < 0) {
        return -1;
    }
    message->metrics = is_result ? json_object_get(tree, "requests") : NULL;
    if (message->metrics && !request_metrics_is_json(message->metrics)) {
        return error_set(err, ERROR_INVALID, "requests: expected counts >= 0");
    }
    message->count = json_array_size(rows);
    size_t size = is_lease    ? sizeof *message->leases
                  : is_result ? sizeof *message->results
                              : sizeof *message->numbers;
    void *list = x_calloc(message->count + 1, size);
    message->leases = is_lease ? list : NULL;
    message->results = is_result ? list : NULL;
    message->numbers = is_lease || is_result ? NULL : list;
    for (size_t i = 0; i < message->count; i++) {
        const json_t *row = json_array_get(rows, i);
        int result = is_lease ? read_lease(row, &message->leases[i], err)
                     : is_result
                         ? read_result(row, &message->results[i], err)
                         : read_number(row, "lease", 0, INT64_MAX, &message->numbers[i], err);
        if (result < 0) {
            return error_context(err, "%s[%zu]", field, i);
        }
    }
    return 0;
}

static int read_fields(const json_t *tree, struct message *message, struct error *err) {
    const char *type = json_string_value(json_object_get(tree, "type"));
    int index = 0;
    while (index < MESSAGE_TYPE_COUNT && (!type || strcmp(type, message_type_names[index]) != 0)) {
        index++;
    }
    message->type = (enum message_type)index;
    switch (message->type) {
    case MESSAGE_HELLO:
        return read_hello(tree, message, err);
    case MESSAGE_RESULTS:
    case MESSAGE_PUBLISHED:
    case MESSAGE_LEASES:
    case MESSAGE_COMMITTED:
        return read_batch(tree, message, err);
    case MESSAGE_CANCEL:
        return read_number(json_object_get(tree, "lease"), "lease", 0, INT64_MAX, &message->lease,
                           err);
    case MESSAGE_LEAVING:
    case MESSAGE_DONE:
        return 0;
    case MESSAGE_REFUSED:
        return read_text(tree, "message", message, err);
    case MESSAGE_PATHS:
        return read_paths(tree, message, err);
    default:
        return error_set(
            err, ERROR_INVALID,
            "type: expected hello, results, published, leaving, leases, committed, cancel, done, "
            "refused or paths");
    }
}

int message_parse(const char *text, size_t size, struct message *ret_message, struct error *err) {
    if (size <= CONTRACT_MESSAGE_MAX && message_rows_read(text, size, ret_message)) {
        return 0;
    }
    AUTO(message_release) struct message message = {0};
    if (tree_parse(text, size, CONTRACT_MESSAGE_MAX, &message.tree, err) < 0) {
        return -1;
    }
    if (!json_is_object(message.tree)) {
        return error_set(err, ERROR_INVALID, "expected a JSON object");
    }
    if (read_fields(message.tree, &message, err) < 0) {
        return -1;
    }
    *ret_message = message;
    message = (struct message){0};
    return 0;
}

void message_release(struct message *message) {
    free(TAKE(message->leases));
    free(TAKE(message->results));
    free(TAKE(message->numbers));
    free(TAKE(message->texts));
    json_decref(TAKE(message->tree));
}
