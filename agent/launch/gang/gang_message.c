// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/gang_message.h"

#include "agent/launch/gang/gang.h"
#include "lib/text/utf8.h"
#include "lib/tree.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 20, SLOTS_MAX = 1024, PORT_MAX = 65535 };

static const char *const type_names[] = {
    "ack",   "hello",   "prepared", "failed",  "ready", "started",   "exited", "stopped",
    "beat",  "leaving", "figures",  "reports", "waits", "unreached", "halted", "spawn",
    "ended", "kill",    "welcome",  "table",   "go",    "stop",      "notice", "done"};
static_assert(ARRAY_LEN(type_names) == GANG_MESSAGE_TYPES, "a name for each type");

void gang_message_release(struct gang_message *message) {
    gang_table_release(&message->table);
    free(TAKE(message->line));
}

/* Numbers and texts of the object; 0 and "" are omitted. */
static const struct field {
    const char *name;
    size_t at, size; /* size: of a text; 0: an int64_t; 1: an int; 2: a bool */
    int64_t least, most;
} fields[] = {
#define TEXT(name, member)                                                                         \
    { name, offsetof(struct gang_message, member), sizeof((struct gang_message *)0)->member, 0, 0 }
#define LONG(name, member)                                                                         \
    { name, offsetof(struct gang_message, member), 0, 0, INT64_MAX }
#define INTEGER(name, member, least, most)                                                         \
    { name, offsetof(struct gang_message, member), 1, least, most }
#define YES(name, member)                                                                          \
    { name, offsetof(struct gang_message, member), 2, 0, 1 }
    LONG("n", number),
    LONG("a", ack),
    TEXT("version", version),
    TEXT("pod", pod),
    TEXT("incarnation", incarnation),
    TEXT("address", address),
    TEXT("hub", hub),
    TEXT("launch", launch),
    TEXT("words", detail),
    INTEGER("index", index, 0, GANG_MEMBERS_MAX - 1),
    INTEGER("slots", slots, 0, SLOTS_MAX),
    INTEGER("port", port, 0, PORT_MAX),
    INTEGER("connectivity", connectivity_port, 0, PORT_MAX),
    INTEGER("tunnel", tunnel_port, 0, PORT_MAX),
    INTEGER("rank", rank, -1, 1 << 20),
    INTEGER("code", code, -1, 1 << 20),
    INTEGER("size", size, 0, GANG_LAUNCH_RANKS_MAX),
    INTEGER("seconds", seconds, 0, 1 << 20),
    LONG("attempt", attempt),
    LONG("seen", seen),
    LONG("last", last),
    LONG("round", round),
    LONG("id", id),
    LONG("progress", progress),
    YES("prepared", is_prepared),
    YES("memory", is_memory),
    YES("waiting", is_waiting),
    YES("proxy", is_proxy),
    YES("told", was_signalled),
#undef TEXT
#undef LONG
#undef INTEGER
#undef YES
};

static json_t *write_field(const struct field *field, const struct gang_message *message) {
    const char *place = (const char *)message + field->at;
    int64_t number = field->size == 0   ? *(const int64_t *)place
                     : field->size == 1 ? *(const int *)place
                     : field->size == 2 ? *(const bool *)place
                                        : 0;
    if (field->size > 2) {
        AUTO(text_freep) char *text = x_strdup(place);
        utf8_repair(text); /* a program's output or a truncated text may be invalid UTF-8 */
        return *text ? json_string(text) : NULL;
    }
    return number == 0 ? NULL : field->size == 2 ? json_true() : json_integer(number);
}

char *gang_message_write(const struct gang_message *message) {
    AUTO(tree_freep) json_t *tree = json_pack("{s:s}", "type", type_names[message->type]);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = write_field(&fields[i], message);
        if (value) {
            json_object_set_new(tree, fields[i].name, value);
        }
    }
    if (message->line) {
        json_t *line = json_string(message->line);
        assert(line);
        json_object_set_new(tree, "line", line);
    }
    if (message->type == GANG_MESSAGE_TABLE) {
        json_t *rows = json_array();
        for (size_t i = 0; i < message->table.count; i++) {
            const struct gang_table_row *row = &message->table.rows[i];
            json_array_append_new(rows, json_pack("[i, i, i, i, i, s]", row->index, row->slots,
                                                  row->port, row->connectivity_port,
                                                  row->tunnel_port, row->address));
        }
        json_object_set_new(tree, "rows", rows);
    }
    char *text = json_dumps(tree, JSON_COMPACT);
    assert(text);
    return text;
}

static int read_field(const struct field *field, const json_t *tree, struct gang_message *message,
                      struct error *err) {
    char *place = (char *)message + field->at;
    const json_t *value = json_object_get(tree, field->name);
    if (!value) {
        return 0;
    }
    int64_t number = json_is_true(value) ? 1 : json_integer_value(value);
    bool is_right = field->size > 2    ? json_is_string(value)
                    : field->size == 2 ? json_is_boolean(value)
                                       : json_is_integer(value);
    if (!is_right || (field->size <= 2 && (number < field->least || number > field->most))) {
        return error_set(err, ERROR_INVALID, "invalid %s in message", field->name);
    }
    if (field->size > 2) {
        snprintf(place, field->size, "%s", json_string_value(value));
    } else if (field->size == 2) {
        *(bool *)place = number != 0;
    } else if (field->size == 1) {
        *(int *)place = (int)number;
    } else {
        *(int64_t *)place = number;
    }
    return 0;
}

static int read_row(const json_t *tree, int after, struct gang_table_row *row, struct error *err) {
    json_int_t index = -1, slots = 0, port = 0, connectivity = 0, tunnel = 0;
    const char *address = "";
    if (json_unpack((json_t *)tree, "[I, I, I, I, I, s!]", &index, &slots, &port, &connectivity,
                    &tunnel, &address) < 0 ||
        index <= after || index >= GANG_MEMBERS_MAX || slots < 1 || slots > SLOTS_MAX || port < 0 ||
        port > PORT_MAX || connectivity < 0 || connectivity > PORT_MAX || tunnel < 0 ||
        tunnel > PORT_MAX || strlen(address) >= sizeof row->address) {
        return error_set(err, ERROR_INVALID, "invalid row in the table of a message");
    }
    *row = (struct gang_table_row){.index = (int)index,
                                   .slots = (int)slots,
                                   .port = (int)port,
                                   .connectivity_port = (int)connectivity,
                                   .tunnel_port = (int)tunnel};
    snprintf(row->address, sizeof row->address, "%s", address);
    return 0;
}

static int read_rows(const json_t *tree, struct gang_message *message, struct error *err) {
    const json_t *rows = json_object_get(tree, "rows");
    size_t count = json_array_size(rows);
    if (count < 1 || count > GANG_MEMBERS_MAX) {
        return error_set(err, ERROR_INVALID, "the table of a message has %zu rows", count);
    }
    message->table.rows = x_calloc(count, sizeof *message->table.rows);
    message->table.round = message->round;
    for (size_t i = 0; i < count; i++) {
        int after = i ? message->table.rows[i - 1].index : -1;
        if (read_row(json_array_get(rows, i), after, &message->table.rows[i], err) < 0) {
            return -1;
        }
        message->table.count++;
    }
    return 0;
}

int gang_message_read(const char *text, size_t size, struct gang_message *ret_message,
                      struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct gang_message message = {.type = GANG_MESSAGE_TYPES};
    if (tree_parse(text, size, BYTES_MAX, &tree, err) < 0) {
        return -1;
    }
    const char *type = tree_text(tree, "type", "");
    for (int i = 0; i < GANG_MESSAGE_TYPES; i++) {
        message.type = strcmp(type, type_names[i]) == 0 ? (enum gang_message_type)i : message.type;
    }
    if (message.type == GANG_MESSAGE_TYPES) {
        return error_set(err, ERROR_INVALID, "unknown type of message");
    }
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (read_field(&fields[i], tree, &message, err) < 0) {
            return -1;
        }
    }
    if (message.type == GANG_MESSAGE_TABLE && read_rows(tree, &message, err) < 0) {
        gang_message_release(&message);
        return -1;
    }
    message.line = x_strdup(tree_text(tree, "line", NULL));
    *ret_message = message;
    return 0;
}
