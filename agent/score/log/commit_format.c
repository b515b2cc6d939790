// SPDX-License-Identifier: Apache-2.0
#include "agent/score/log/commit_format.h"

#include "lib/digest.h"
#include "lib/text/jsonrow.h"
#include "lib/text/jsontext.h"
#include "lib/tree.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 2, TRAILER_MAX = 64, NAME_MAX_BYTES = 512, TRY_MAX = 1 << 16 };

static const char letters[] = "dpfvberg"; /* by type */
static_assert(sizeof letters - 1 == COMMIT_TYPE_COUNT, "one letter per type");
/* "error" is the default and not written. */
static const char *const fault_names[] = {"error", "timeout", "lost"};
static_assert(ARRAY_LEN(fault_names) == COMMIT_FAULT_COUNT, "one name per fault");

bool commit_is_try(enum commit_record_type type) {
    return type <= COMMIT_FAILED || type == COMMIT_RETRY;
}

/* ---- writing -------------------------------------------------------------------------------- */

void commit_writer_init(struct commit_writer *writer) {
    *writer = (struct commit_writer){0};
    buffer_init(&writer->lines, COMMIT_LINES_MAX);
}

void commit_writer_release(struct commit_writer *writer) {
    tree_freep(&writer->workers);
    tree_freep(&writer->indices);
    buffer_release(&writer->lines);
    commit_writer_init(writer);
}

/* A growing line; the first failure is kept. */
struct line {
    struct buffer *buffer;
    bool is_bad;
    struct error *err;
};

static void put(struct line *line, const char *bytes, size_t size) {
    line->is_bad = line->is_bad || buffer_append(line->buffer, bytes, size, line->err) < 0;
}

static void put_number(struct line *line, int64_t value) {
    char digits[24];
    size_t at = sizeof digits;
    uint64_t left = value < 0 ? 0 : (uint64_t)value;
    do {
        digits[--at] = (char)('0' + left % 10);
    } while (left /= 10);
    digits[--at] = ',';
    put(line, digits + at, sizeof digits - at);
}

/* The size of the character that begins here; 0: invalid. */
static size_t utf8_size(const unsigned char *at, size_t left) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t size = at[0] < 0x80 ? 1 : at[0] < 0xC2 ? 0 : at[0] < 0xE0 ? 2 : at[0] < 0xF0 ? 3 : 4;
    if (size < 2 || size > left || at[0] > 0xF4) {
        return size == 1 ? 1 : 0;
    }
    uint32_t code = at[0] & (0x7Fu >> size);
    for (size_t i = 1; i < size; i++) {
        if ((at[i] & 0xC0) != 0x80) {
            return 0;
        }
        code = code << 6 | (at[i] & 0x3F);
    }
    bool is_surrogate = code >= 0xD800 && code <= 0xDFFF;
    return code >= least[size] && code <= 0x10FFFF && !is_surrogate ? size : 0;
}

static void put_escaped(struct line *line, unsigned char byte) {
    char text[8];
    int size = byte == '\n'                  ? snprintf(text, sizeof text, "\\n")
               : byte == '"' || byte == '\\' ? snprintf(text, sizeof text, "\\%c", byte)
                                             : snprintf(text, sizeof text, "\\u%04x", byte);
    put(line, text, (size_t)size);
}

/* Writes a comma and a JSON string of at most `max` bytes; is_exact: it must not be truncated or
 * changed. */
static void put_text(struct line *line, const char *text, size_t size, size_t max, bool is_exact) {
    const unsigned char *at = (const unsigned char *)text;
    put(line, ",\"", 2);
    for (size_t i = 0, start = 0, used = 0; i <= size && !line->is_bad;) {
        size_t plain = (size_t)(jsontext_plain(text + i, text + size) - (text + i));
        size_t kept = MIN(plain, max - used);
        i += kept;
        used += kept;
        size_t length = i < size ? utf8_size(at + i, size - i) : 0;
        bool is_plain =
            length > 1 || (length == 1 && at[i] >= ' ' && at[i] != '"' && at[i] != '\\');
        size_t needs = length ? length : 3;
        if (is_plain && used + needs <= max) {
            i += length;
            used += needs;
            continue;
        }
        put(line, text + start, i - start);
        if (i == size || used + needs > max) {
            break;
        }
        used += needs;
        if (length) {
            put_escaped(line, at[i]);
        } else if (is_exact) {
            error_set(line->err, ERROR_INVALID, "rows of a mini-batch are not UTF-8");
            line->is_bad = true;
        } else {
            put(line, "\xEF\xBF\xBD", 3);
        }
        start = ++i;
    }
    put(line, "\"", 1);
}

/* -1: no room for more names. */
static int worker_index(struct commit_writer *writer, const char *name) {
    char key[NAME_MAX_BYTES + 1];
    snprintf(key, sizeof key, "%s", name);
    writer->workers = writer->workers ? writer->workers : json_array();
    writer->indices = writer->indices ? writer->indices : json_object();
    const json_t *known = json_object_get(writer->indices, key);
    if (known) {
        return (int)json_integer_value(known);
    }
    /* An escaped name takes at most six times its bytes. */
    size_t bytes = 6 * strlen(key) + 3;
    if (writer->worker_bytes + bytes > COMMIT_WORKERS_BYTES) {
        return -1;
    }
    int index = (int)json_array_size(writer->workers);
    json_t *text = json_string(key);
    writer->worker_bytes += bytes;
    json_array_append_new(writer->workers, text ? text : json_string("?"));
    json_object_set_new_nocheck(writer->indices, key, json_integer(index));
    return index;
}

static void put_crc(struct line *line, uint32_t crc) {
    char text[16];
    put(line, text, (size_t)snprintf(text, sizeof text, ",\"%08x\"", crc));
}

static void put_failures(struct line *line, const struct commit_record *record) {
    size_t i;
    json_t *pair;
    put(line, ",[", 2);
    json_array_foreach(record->failures, i, pair) {
        const json_t *cause = json_array_get(pair, 1);
        struct line *to = line;
        put(to, i ? ",[" : "[", i ? 2 : 1);
        char digits[24];
        int size = snprintf(digits, sizeof digits, "%lld",
                            (long long)MAX(json_integer_value(json_array_get(pair, 0)), 0));
        put(to, digits, (size_t)size);
        const char *text = json_is_string(cause) ? json_string_value(cause) : "";
        put_text(to, text, strlen(text), COMMIT_ITEM_CAUSE_MAX, /* is_exact= */ false);
        put(to, "]", 1);
    }
    put(line, "]", 1);
    if (record->failures_bytes > 0) {
        put_number(line, record->failures_bytes);
        put_crc(line, record->failures_crc);
    }
}

static void put_place(struct line *line, const struct commit_record *record) {
    switch (record->place) {
    case COMMIT_NOWHERE:
        put(line, ",\"n\"", 4);
        return;
    case COMMIT_TEXT:
        put(line, ",\"t\"", 4);
        put_text(line, record->text, record->text_size, SIZE_MAX / 2, /* is_exact= */ true);
        return;
    case COMMIT_OBJECT:
        put(line, ",\"o\"", 4);
        put_number(line, record->size_bytes);
        put_crc(line, record->crc);
        return;
    }
}

static void put_record(struct line *line, const struct commit_record *record, int worker) {
    enum commit_record_type type = record->type;
    const char start[] = {'[', '"', letters[type], '"'};
    put(line, start, sizeof start);
    if (type != COMMIT_END) {
        put_number(line, record->first);
    }
    put_number(line, record->cells);
    if (commit_is_try(type) || type == COMMIT_END) {
        put_number(line, record->items);
        put_number(line, record->failed);
    }
    if (commit_is_try(type)) {
        put_number(line, record->lease);
        put_number(line, record->try);
        put_number(line, worker);
        put_number(line, record->start_ms);
        put_number(line, record->took_ms);
    }
    if (type == COMMIT_DONE || type == COMMIT_PARTIAL) {
        put_place(line, record);
    } else if (type != COMMIT_PUBLISHED) {
        put_text(line, record->text ? record->text : "", record->text ? record->text_size : 0,
                 COMMIT_CAUSE_MAX, /* is_exact= */ false);
    }
    if (type == COMMIT_PARTIAL || (type == COMMIT_FAILED && record->failures)) {
        put_failures(line, record);
    }
    if (record->fault && (type == COMMIT_FAILED || type == COMMIT_RETRY)) {
        const char *fault = fault_names[record->fault];
        put_text(line, fault, strlen(fault), COMMIT_CAUSE_MAX, /* is_exact= */ true);
    }
    put(line, "]\n", 2);
}

int commit_writer_add(struct commit_writer *writer, const struct commit_record *record,
                      struct error *err) {
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, COMMIT_RECORD_MAX);
    int worker = commit_is_try(record->type)
                     ? worker_index(writer, record->worker ? record->worker : "")
                     : 0;
    if (worker < 0) {
        return 0;
    }
    struct error cause = {0};
    struct line line = {.buffer = &text, .err = &cause};
    put_record(&line, record, worker);
    if (line.is_bad) {
        return error_set(err, ERROR_INVALID, "mini-batch %lld: its record: %s",
                         (long long)record->first, cause.text);
    }
    if (text.size > COMMIT_LINES_MAX - writer->lines.size) {
        return 0;
    }
    if (buffer_append(&writer->lines, text.data, text.size, err) < 0) {
        return -1;
    }
    writer->count++;
    return 1;
}

char *commit_writer_text(const struct commit_writer *writer, const struct commit_head *head,
                         size_t *ret_size) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, COMMIT_BYTES_MAX);
    AUTO(tree_freep)
    json_t *tree = json_pack("{s:i,s:s,s:I,s:I,s:s,s:s,s:s}", "windlass", VERSION, "run", head->run,
                             "number", (json_int_t)head->number, "epoch", (json_int_t)head->epoch,
                             "nonce", head->nonce, "uid", head->uid, "job", head->job);
    if (head->void_from >= 0) {
        json_object_set_new(tree, "void", json_integer(head->void_from));
    }
    if (head->programs) {
        json_object_set_new(tree, "programs", json_deep_copy(head->programs));
    }
    if (head->requests) {
        json_object_set_new(tree, "requests", json_deep_copy(head->requests));
    }
    json_object_set_new(tree, "workers",
                        writer->workers ? json_incref(writer->workers) : json_array());
    AUTO(text_freep) char *first = json_dumps(tree, JSON_COMPACT);
    bool is_made =
        first && buffer_printf(&text, &err, "%s\n", first) == 0 &&
        buffer_append(&text, writer->lines.data, writer->lines.size, &err) == 0 &&
        buffer_printf(&text, &err, "{\"end\":%lld,\"crc\":\"%08x\"}\n", (long long)writer->count,
                      digest_crc32c(0, text.data, text.size)) == 0;
    if (!is_made) {
        fprintf(stderr, "a commit cannot be written: %s\n", err.text); /* sizes were checked */
        abort();
    }
    return buffer_take(&text, ret_size);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The start of the last line; NULL: there are fewer than two complete lines. */
static const char *last_line(const char *text, size_t size) {
    if (size < 2 || size > COMMIT_BYTES_MAX || text[size - 1] != '\n') {
        return NULL;
    }
    const char *before = memrchr(text, '\n', size - 1);
    return before ? before + 1 : NULL;
}

bool commit_is_whole(const char *text, size_t size) {
    const char *last = last_line(text, size);
    char wanted[TRAILER_MAX];
    if (!last) {
        return false;
    }
    int64_t lines = -1; /* the first is the head */
    for (const char *at = text; at < last;
         at = (const char *)memchr(at, '\n', (size_t)(last - at)) + 1) {
        lines++;
    }
    int length = snprintf(wanted, sizeof wanted, "{\"end\":%lld,\"crc\":\"%08x\"}\n",
                          (long long)lines, digest_crc32c(0, text, (size_t)(last - text)));
    return size - (size_t)(last - text) == (size_t)length &&
           memcmp(last, wanted, (size_t)length) == 0;
}

static json_t *load(const char *text, size_t size) {
    return json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

static bool is_text(const json_t *value, size_t max) {
    return json_is_string(value) && json_string_length(value) <= max &&
           strlen(json_string_value(value)) == json_string_length(value);
}

static bool is_number(const json_t *value, int64_t most) {
    return json_is_integer(value) && json_integer_value(value) >= 0 &&
           json_integer_value(value) <= most;
}

/* A list of texts. */
static bool is_texts(const json_t *list) {
    bool is_good = json_is_array(list);
    for (size_t i = 0; i < json_array_size(list); i++) {
        is_good = is_good && is_text(json_array_get(list, i), NAME_MAX_BYTES);
    }
    return is_good;
}

int commit_read_head(const char *text, size_t size, struct commit_head *ret_head, json_t **ret_tree,
                     struct error *err) {
    const char *end = memchr(text, '\n', size);
    AUTO(tree_freep) json_t *tree = end ? load(text, (size_t)(end - text)) : NULL;
    const json_t *version = json_object_get(tree, "windlass");
    if (is_number(version, INT64_MAX) && json_integer_value(version) != VERSION) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "it was written by another release (its format is %lld, this one's %d): "
                         "let that one end the run, or choose another output",
                         (long long)json_integer_value(version), VERSION);
    }
    const json_t *number = json_object_get(tree, "number"), *epoch = json_object_get(tree, "epoch");
    const json_t *from = json_object_get(tree, "void"), *workers = json_object_get(tree, "workers");
    const json_t *programs = json_object_get(tree, "programs"); /* earlier releases have none */
    const json_t *requests = json_object_get(tree, "requests");
    static const char *const names[] = {"run", "uid", "job", "nonce"};
    bool is_good = is_number(version, VERSION) && is_number(number, INT64_MAX - 1) &&
                   is_number(epoch, INT64_MAX - 1) && is_texts(workers) &&
                   (!programs || is_texts(programs)) && (!requests || json_is_object(requests)) &&
                   json_integer_value(epoch) <= json_integer_value(number) &&
                   (!from || (is_number(from, INT64_MAX) &&
                              json_integer_value(from) < json_integer_value(number)));
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        is_good = is_good && is_text(json_object_get(tree, names[i]), NAME_MAX_BYTES);
    }
    if (!is_good) {
        return error_set(err, ERROR_INVALID, "the first line is not the head of a commit");
    }
    *ret_head = (struct commit_head){.run = tree_text(tree, "run", ""),
                                     .uid = tree_text(tree, "uid", ""),
                                     .job = tree_text(tree, "job", ""),
                                     .nonce = tree_text(tree, "nonce", ""),
                                     .number = json_integer_value(number),
                                     .epoch = json_integer_value(epoch),
                                     .programs = programs,
                                     .requests = requests,
                                     .void_from = from ? json_integer_value(from) : -1};
    *ret_tree = TAKE(tree);
    return 0;
}

void commit_keep_requests(json_t **kept, const struct commit_head *head) {
    if (head->requests && head->requests != *kept) {
        json_decref(*kept);
        *kept = json_incref((json_t *)(uintptr_t)head->requests);
    }
}

static const char *take_text(struct jsonrow *row, size_t max, size_t *ret_size) {
    const char *text = jsonrow_text(row, ret_size);
    row->is_bad = row->is_bad || *ret_size > max;
    *ret_size = row->is_bad ? 0 : *ret_size;
    return row->is_bad ? "" : text;
}

static uint32_t take_crc(struct jsonrow *row) {
    size_t size = 0;
    const char *crc = take_text(row, 8, &size);
    row->is_bad = row->is_bad || size != 8 || strspn(crc, "0123456789abcdef") != 8;
    return row->is_bad ? 0 : (uint32_t)strtoul(crc, NULL, 16);
}

static void take_place(struct jsonrow *row, struct commit_record *record) {
    size_t size = 0;
    const char *place = take_text(row, 1, &size);
    if (*place == 'o') {
        record->place = COMMIT_OBJECT;
        record->size_bytes = jsonrow_number(row, INT64_MAX);
        record->crc = take_crc(row);
    } else if (*place == 't') {
        record->place = COMMIT_TEXT;
        record->text = take_text(row, COMMIT_RECORD_MAX, &record->text_size);
    } else {
        row->is_bad = row->is_bad || *place != 'n';
    }
}

static void take_failures(struct jsonrow *row, struct commit_record *record) {
    json_t *failures = jsonrow_tree(row);
    row->is_bad = row->is_bad || !json_is_array(failures);
    for (size_t i = 0; !row->is_bad && i < json_array_size(failures); i++) {
        const json_t *pair = json_array_get(failures, i);
        row->is_bad = json_array_size(pair) != 2 ||
                      !is_number(json_array_get(pair, 0), INT64_MAX) ||
                      !is_text(json_array_get(pair, 1), COMMIT_ITEM_CAUSE_MAX);
    }
    record->failures = failures;
    if (isdigit((unsigned char)jsonrow_peek(row))) {
        record->failures_bytes = jsonrow_number(row, INT64_MAX);
        record->failures_crc = take_crc(row);
        row->is_bad = row->is_bad || record->failures_bytes == 0;
    }
}

static void take_scored(struct jsonrow *row, const json_t *workers, struct commit_record *record) {
    record->lease = jsonrow_number(row, INT64_MAX);
    record->try = (int)jsonrow_number(row, TRY_MAX);
    int64_t worker = jsonrow_number(row, (int64_t)json_array_size(workers) - 1);
    record->worker = json_string_value(json_array_get(workers, (size_t)worker));
    record->start_ms = jsonrow_number(row, INT64_MAX);
    record->took_ms = jsonrow_number(row, INT64_MAX);
}

/* An absent fault means an error. */
static enum commit_fault take_fault(struct jsonrow *row) {
    size_t size = 0;
    if (row->is_bad || jsonrow_peek(row) == ']') {
        return COMMIT_ERROR;
    }
    const char *name = take_text(row, COMMIT_CAUSE_MAX, &size);
    for (size_t i = COMMIT_TIMEOUT; i < ARRAY_LEN(fault_names); i++) {
        if (strcmp(name, fault_names[i]) == 0) {
            return (enum commit_fault)i;
        }
    }
    row->is_bad = true;
    return COMMIT_ERROR;
}

/* The caller owns record->failures, also of a bad row. */
static void read_record(struct jsonrow *row, const json_t *workers, struct commit_record *record) {
    size_t size = 0;
    const char *letter = take_text(row, 1, &size);
    const char *found = size == 1 && *letter ? strchr(letters, *letter) : NULL;
    if (!found) {
        row->is_bad = true;
        return;
    }
    enum commit_record_type type = (enum commit_record_type)(found - letters);
    record->type = type;
    record->first = type == COMMIT_END ? 0 : jsonrow_number(row, INT64_MAX / 2);
    record->cells = jsonrow_number(row, INT64_MAX / 2);
    if (commit_is_try(type) || type == COMMIT_END) {
        record->items = jsonrow_number(row, INT64_MAX);
        record->failed = jsonrow_number(row, record->items);
    }
    if (commit_is_try(type)) {
        take_scored(row, workers, record);
    }
    if (type == COMMIT_DONE || type == COMMIT_PARTIAL) {
        take_place(row, record);
    } else if (type != COMMIT_PUBLISHED) {
        record->text = take_text(row, COMMIT_CAUSE_MAX, &record->text_size);
    }
    if (type == COMMIT_PARTIAL || (type == COMMIT_FAILED && jsonrow_peek(row) == '[')) {
        take_failures(row, record);
    }
    if (type == COMMIT_FAILED || type == COMMIT_RETRY) {
        record->fault = take_fault(row);
    }
}

/* Of a try as it is written here: its type, without reading on. False: another line. */
static bool read_type(const char *at, const char *end, struct commit_record *record) {
    const char *found = end - at > 4 && memcmp(at, "[\"", 2) == 0 && at[2] && at[3] == '"'
                            ? strchr(letters, at[2])
                            : NULL;
    record->type = found ? (enum commit_record_type)(found - letters) : COMMIT_END;
    return found && commit_is_try(record->type);
}

/* As read_record, of a whole line. False: it is bad. */
static bool read_line(const char *at, const char *end, const json_t *workers, char *room,
                      struct commit_record *record) {
    struct jsonrow row;
    jsonrow_begin(&row, jsontext_space(at, end), end, room);
    read_record(&row, workers, record);
    const char *behind = jsonrow_end(&row);
    return behind && jsontext_space(behind, end) == end;
}

int commit_read_records(const struct commit_object *object, bool is_brief, commit_each *each,
                        void *context, struct error *err) {
    const char *text = object->text.data;
    size_t size = object->text.size;
    const json_t *workers = json_object_get(object->tree, "workers");
    const char *last = last_line(text, size);
    const char *at = memchr(text, '\n', size);
    AUTO(text_freep) char *room = x_malloc(size + 1); /* of the texts of a line */
    for (int64_t line = 2; last && at && ++at < last; line++) {
        const char *end = memchr(at, '\n', (size_t)(last - at));
        struct commit_record record = {.epoch = object->head.epoch};
        bool is_read =
            (is_brief && read_type(at, end, &record)) || read_line(at, end, workers, room, &record);
        AUTO(tree_freep) json_t *failures = (json_t *)(uintptr_t)record.failures;
        if (!is_read) {
            return error_set(err, ERROR_INVALID, "line %lld is not a commit record",
                             (long long)line);
        }
        if (each(context, &object->head, &record, err) < 0) {
            return -1;
        }
        at = end;
    }
    return 0;
}
