// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/stream.h"

#include "lib/text/jsontext.h"
#include "lib/tree_read.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

void stream_lines_init(struct stream_lines *lines, size_t line_max) {
    buffer_init(&lines->partial, line_max);
}

void stream_lines_release(struct stream_lines *lines) {
    buffer_release(&lines->partial);
}

int stream_lines_feed(struct stream_lines *lines, const char *data, size_t size,
                      stream_piece *piece, void *context, struct error *err) {
    while (size) {
        const char *end = memchr(data, '\n', size);
        size_t length = end ? (size_t)(end - data) : size;
        if ((!end || lines->partial.size || length > lines->partial.max) &&
            buffer_append(&lines->partial, data, length, err) < 0) {
            return error_context(err, "a line of the watch");
        }
        data += length;
        size -= length;
        if (!end) {
            return 0;
        }
        const char *line = lines->partial.size ? lines->partial.data : data - length;
        size_t line_size = lines->partial.size ? lines->partial.size : length;
        if (line_size && piece(context, line, line_size, err) < 0) {
            return -1;
        }
        buffer_release(&lines->partial); /* one large line must not keep its memory */
        data++;
        size--;
    }
    return 0;
}

/* ---- items ---- */

void stream_items_init(struct stream_items *items, size_t item_max) {
    *items = (struct stream_items){0};
    buffer_init(&items->item, item_max);
    buffer_init(&items->envelope, STREAM_ENVELOPE_MAX);
}

void stream_items_release(struct stream_items *items) {
    buffer_release(&items->item);
    buffer_release(&items->envelope);
}

/* Whether the envelope ends with the key "items" and a colon. */
static bool ends_with_items(const struct buffer *envelope) {
    static const char key[] = "\"items\"";
    size_t size = envelope->size;
    const char *data = envelope->data;
    bool has_colon = false;
    while (size && strchr(has_colon ? " \t\r\n" : " \t\r\n:", data[size - 1])) {
        has_colon |= data[size - 1] == ':';
        size--;
    }
    return has_colon && size >= sizeof key - 1 &&
           memcmp(data + size - (sizeof key - 1), key, sizeof key - 1) == 0;
}

static bool is_between_items(const struct stream_items *items) {
    return items->is_in_items && items->depth == 2 && !items->is_in_text;
}

/* Handles text inside quotes at once, because most bytes are there. Returns the number of bytes. */
static size_t skip_text(struct stream_items *items, const char *data, size_t size) {
    size_t i = 0;
    while (i < size && items->is_in_text) {
        if (items->is_escaped) {
            items->is_escaped = false;
        } else if (data[i] == '\\') {
            items->is_escaped = true;
        } else if (data[i] == '"') {
            items->is_in_text = false;
        }
        i++;
    }
    return i;
}

/* One byte outside quotes: updates the state. */
static int step(struct stream_items *items, char byte, struct error *err) {
    switch (byte) {
    case '"':
        items->is_in_text = true;
        break;
    case '[':
        items->is_in_items |= items->depth == 1 && ends_with_items(&items->envelope);
        items->depth++;
        break;
    case '{':
        items->depth++;
        break;
    case ']':
    case '}':
        if (--items->depth < 0) {
            return error_set(err, ERROR_INVALID, "the list is not a JSON object");
        }
        break;
    default:
        break;
    }
    return 0;
}

/* The byte between two items: a comma, a space, the closing bracket, or the first byte of an item.
 */
static int step_between(struct stream_items *items, char byte, struct error *err) {
    if (byte == '{') {
        items->depth++;
        return buffer_append(&items->item, &byte, 1, err);
    }
    if (byte == ']') {
        items->depth--;
        items->is_in_items = false;
        return buffer_append(&items->envelope, &byte, 1, err);
    }
    return strchr(", \t\r\n", byte) && byte
               ? 0
               : error_set(err, ERROR_INVALID, "the list has items that are not objects");
}

/* Bytes up to a change of state: the end of an item, the start of `items`, or the end of the data.
 */
static int feed_run(struct stream_items *items, const char *data, size_t size, size_t *ret_used,
                    struct error *err) {
    bool was_in_items = items->is_in_items;
    struct buffer *into = was_in_items ? &items->item : &items->envelope;
    size_t i = 0, kept = 0;
    while (i < size) {
        if (items->is_in_text) {
            i += skip_text(items, data + i, size - i);
            continue;
        }
        if (data[i] == '[' && items->depth == 1) { /* the envelope must end with its key */
            if (buffer_append(into, data + kept, i - kept, err) < 0) {
                return -1;
            }
            kept = i;
        }
        if (step(items, data[i], err) < 0) {
            return -1;
        }
        i++;
        if (is_between_items(items)) {
            break;
        }
    }
    *ret_used = i;
    return buffer_append(into, data + kept, i - kept, err);
}

/* One byte between items, or a run of other bytes. */
static int feed_some(struct stream_items *items, const char *data, size_t size, size_t *ret_used,
                     struct error *err) {
    if (is_between_items(items)) {
        *ret_used = 1;
        return step_between(items, *data, err);
    }
    return feed_run(items, data, size, ret_used, err) < 0 ? error_context(err, "list") : 0;
}

int stream_items_feed(struct stream_items *items, const char *data, size_t size,
                      stream_piece *piece, void *context, struct error *err) {
    while (size) {
        size_t used = 0;
        bool is_item = items->is_in_items && !is_between_items(items);
        if (feed_some(items, data, size, &used, err) < 0) {
            return -1;
        }
        if (is_item && is_between_items(items)) {
            if (piece(context, items->item.data, items->item.size, err) < 0) {
                return -1;
            }
            buffer_clear(&items->item);
        }
        data += used;
        size -= used;
    }
    return 0;
}

int stream_items_end(const struct stream_items *items, json_t **ret_envelope, struct error *err) {
    const struct buffer *envelope = &items->envelope;
    json_t *tree = envelope->data ? tree_load(envelope->data, envelope->size, NULL) : NULL;
    if (!json_is_object(tree) || items->depth) {
        json_decref(tree);
        return error_set(err, ERROR_INVALID, "the list is not a complete JSON object");
    }
    *ret_envelope = tree;
    return 0;
}

/* ---- objects and events ---- */

static const char *const event_names[] = {"ADDED", "MODIFIED", "DELETED", "BOOKMARK", "ERROR"};
static_assert(ARRAY_LEN(event_names) == STREAM_EVENT_COUNT, "one name per type");

static void drop_managed_fields(json_t *object) {
    json_object_del(json_object_get(object, "metadata"), "managedFields");
}

/* The position of the value of metadata.managedFields in an object's text; NULL: not found. Inside
 * a text the key's quotes are escaped with backslashes; after `spec` it is a user's key. */
static const char *find_managed_fields(const char *text, size_t size, const char **ret_end) {
    static const char key[] = "\"managedFields\":", spec[] = "\"spec\":";
    const char *found = memmem(text, size, key, sizeof key - 1);
    if (!found || found == text || found[-1] == '\\' ||
        memmem(text, (size_t)(found - text), spec, sizeof spec - 1)) {
        return NULL;
    }
    const char *value = found + sizeof key - 1;
    *ret_end = jsontext_value(value, text + size);
    return *ret_end ? value : NULL;
}

json_t *stream_json_parse(const char *text, size_t size, json_error_t *ret_problem) {
    const char *end = NULL, *value = find_managed_fields(text, size, &end);
    if (!value) {
        return tree_load(text, size, ret_problem);
    }
    size_t before = (size_t)(value - text), after = size - (size_t)(end - text);
    AUTO(text_freep) char *shorter = x_malloc(before + 1 + after);
    memcpy(shorter, text, before);
    shorter[before] = '0'; /* the key stays, and is removed with the other metadata */
    memcpy(shorter + before + 1, end, after);
    return tree_load(shorter, before + 1 + after, ret_problem);
}

int stream_object_parse(const char *text, size_t size, json_t **ret_object, struct error *err) {
    json_error_t problem;
    json_t *object = stream_json_parse(text, size, &problem);
    if (!json_is_object(object)) {
        json_decref(object);
        return error_set(err, ERROR_INVALID, "an object is not JSON: %s", problem.text);
    }
    drop_managed_fields(object);
    *ret_object = object;
    return 0;
}

/* The value of an object's member; NULL: there is none. at: where the object begins. */
static const char *find_member(const char *at, const char *end, const char *name) {
    size_t length = strlen(name);
    bool is_object = at && at < end && *at == '{';
    while (is_object) {
        const char *key = jsontext_space(at + 1, end);
        const char *after = key < end && *key == '"' ? jsontext_value(key, end) : NULL;
        const char *colon = after ? jsontext_space(after, end) : end;
        if (colon >= end || *colon != ':') {
            return NULL;
        }
        const char *value = jsontext_space(colon + 1, end);
        if ((size_t)(after - key) == length + 2 && memcmp(key + 1, name, length) == 0) {
            return value;
        }
        value = jsontext_value(value, end);
        at = value ? jsontext_space(value, end) : end;
        is_object = at < end && *at == ',';
    }
    return NULL;
}

static bool is_text(const char *at, const char *end, const char *text) {
    size_t length = strlen(text);
    return at && (size_t)(end - at) > length + 1 && *at == '"' && at[length + 1] == '"' &&
           memcmp(at + 1, text, length) == 0;
}

/* The number in a text of digits; 0: it is not a number. */
static uint64_t read_version(const char *at, const char *end) {
    enum { DIGITS_MAX = 18 };
    uint64_t version = 0;
    size_t digits = 0;
    if (!at || at >= end || *at != '"') {
        return 0;
    }
    while (++at < end && *at >= '0' && *at <= '9' && digits++ < DIGITS_MAX) {
        version = version * 10 + (uint64_t)(*at - '0');
    }
    return at < end && *at == '"' ? version : 0;
}

struct stream_identity stream_event_identity(const char *text, size_t size) {
    const struct stream_identity none = {0};
    const char *end = text + size, *at = jsontext_space(text, end);
    const char *type = find_member(at, end, "type");
    if (!is_text(type, end, event_names[STREAM_ADDED]) &&
        !is_text(type, end, event_names[STREAM_MODIFIED])) {
        return none;
    }
    const char *metadata = find_member(find_member(at, end, "object"), end, "metadata");
    uint64_t version = read_version(find_member(metadata, end, "resourceVersion"), end);
    const char *uid = version ? find_member(metadata, end, "uid") : NULL;
    const char *after = uid && *uid == '"' ? jsontext_value(uid, end) : NULL;
    return after ? (struct stream_identity){version, uid + 1, (size_t)(after - uid) - 2} : none;
}

int stream_event_parse(const char *text, size_t size, struct stream_event *ret_event,
                       struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    if (stream_object_parse(text, size, &tree, err) < 0) {
        return error_context(err, "an event of the watch");
    }
    const char *name = tree_text(tree, "type", "");
    json_t *object = json_object_get(tree, "object");
    for (size_t i = 0; i < ARRAY_LEN(event_names); i++) {
        if (strcmp(name, event_names[i]) == 0 && json_is_object(object)) {
            const char *version = tree_text(object, "metadata.resourceVersion", "");
            if (i != STREAM_ERROR && !*version) {
                return error_set(err, ERROR_INVALID,
                                 "an event of the watch has no resourceVersion");
            }
            drop_managed_fields(object);
            *ret_event = (struct stream_event){(enum stream_event_type)i, json_incref(object),
                                               i == STREAM_ERROR ? "" : version};
            return 0;
        }
    }
    return error_set(err, ERROR_INVALID, "an event of the watch has the type '%.40s'", name);
}
