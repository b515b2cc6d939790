// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest.h"

#include "lib/file.h"
#include "operator/manifest_excerpt.h"
#include "operator/scalar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    const char *name;
    json_t *anchors; /* of the document: name -> tree */
    json_t *places;
    json_t *cover; /* NULL: neither places nor secrets are wanted */
    size_t nodes;  /* created so far, in all documents */
    size_t copied; /* bytes copied by aliases */
};

/* The position of a node in its document. */
struct place {
    const char *field; /* NULL: its name is too long for messages, or no places are wanted */
    int depth;
    int line;
    int column, value_column; /* of its name and its value; characters from 0; -1: not in `line` */
    bool is_secret;
};

/* A place is stored as one number: schemas have thousands. A column is stored as 1 more, 0: it is
 * unknown. */
enum { COLUMN_BITS = 16, COLUMN_MAX = (1 << COLUMN_BITS) - 2 };

static int64_t pack_column(int column) {
    return column > COLUMN_MAX ? 0 : column + 1;
}

static int64_t pack(const struct place *place) {
    return ((int64_t)place->line << 2 * COLUMN_BITS) | (pack_column(place->column) << COLUMN_BITS) |
           pack_column(place->value_column);
}

static struct place unpack(int64_t packed) {
    int64_t mask = (1 << COLUMN_BITS) - 1;
    return (struct place){.line = (int)(packed >> 2 * COLUMN_BITS),
                          .column = (int)((packed >> COLUMN_BITS) & mask) - 1,
                          .value_column = (int)(packed & mask) - 1};
}

static void cover(json_t *covered, size_t line, int column) {
    char key[24];
    snprintf(key, sizeof key, "%zu", line);
    const json_t *before = json_object_get(covered, key);
    if (!before || json_integer_value(before) > column) {
        json_object_set_new(covered, key, json_integer(column));
    }
}

/* The further lines of a scalar are covered in any case: an unknown field may end in one. */
static void cover_scalar(const struct builder *builder, const yaml_event_t *event, bool is_secret) {
    size_t line = event->start_mark.line;
    size_t last = event->end_mark.line - (event->end_mark.column == 0); /* of a block: one behind */
    if (!builder->cover) {
        return;
    }
    if (is_secret || event->data.scalar.anchor) { /* its copies may be secrets */
        cover(builder->cover, line + 1, (int)event->start_mark.column);
    }
    while (line++ < last) {
        cover(builder->cover, line + 1, 0);
    }
}

/* What is below such a field, but names, is not shown. */
static bool holds_secrets(const char *key, const struct place *place) {
    bool is_data = place->depth == 0 && strcmp(key, "data") == 0; /* of a Secret */
    return is_data || (!(place->is_secret && strcmp(key, "name") == 0) &&
                       (place->is_secret || manifest_excerpt_is_secret(key)));
}

static int refuse(const struct builder *builder, size_t line, struct error *err, const char *text) {
    return error_set(err, ERROR_INVALID, "%s:%zu: %s", builder->name, line, text);
}

bool manifest_field(char *text, size_t room, const char *field, const char *key) {
    const char *format = strpbrk(key, ".[]") ? "%s[%s]" : *field ? "%s.%s" : "%s%s";
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int length = snprintf(text, room, format, field, key);
#pragma GCC diagnostic pop
    return length >= 0 && (size_t)length < room;
}

bool manifest_field_at(char *text, size_t room, const char *field, size_t index) {
    int length = snprintf(text, room, "%s[%zu]", field, index);
    return length >= 0 && (size_t)length < room;
}

static int next_event(struct builder *builder, yaml_event_t *ret_event, struct error *err) {
    if (yaml_parser_parse(&builder->parser, ret_event)) {
        return 0;
    }
    const yaml_parser_t *parser = &builder->parser;
    size_t line = parser->problem_mark.line + 1;
    return error_set(err, ERROR_INVALID, "%s:%zu: not YAML: %s%s%s", builder->name, line,
                     parser->problem ? parser->problem : "cannot be read",
                     parser->context ? " " : "", parser->context ? parser->context : "");
}

static int count_node(struct builder *builder, size_t line, struct error *err) {
    if (++builder->nodes > MANIFEST_NODES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "%s:%zu: more than %d values (aliases count as copies)", builder->name,
                         line, MANIFEST_NODES_MAX);
    }
    return 0;
}

/* Adds up the cost of a copy of the tree, and finds its depth. Trees here have at most
 * MANIFEST_NODES_MAX nodes and MANIFEST_DEPTH_MAX levels. */
static void weigh(const json_t *tree, int depth, size_t *nodes, size_t *bytes, int *deepest) {
    *nodes += 1;
    *deepest = MAX(*deepest, depth);
    if (json_is_string(tree)) {
        *bytes += json_string_length(tree);
    } else if (json_is_array(tree)) {
        for (size_t i = 0; i < json_array_size(tree); i++) {
            weigh(json_array_get(tree, i), depth + 1, nodes, bytes, deepest);
        }
    } else if (json_is_object(tree)) {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)tree, key, value) {
            *bytes += strlen(key);
            weigh(value, depth + 1, nodes, bytes, deepest);
        }
    }
}

static int copy_alias(struct builder *builder, const char *anchor, const struct place *place,
                      json_t **ret_tree, struct error *err) {
    size_t line = (size_t)place->line;
    const json_t *tree = json_object_get(builder->anchors, anchor);
    if (!tree) {
        return error_set(err, ERROR_INVALID, "%s:%zu: undefined alias *%s", builder->name, line,
                         anchor);
    }
    size_t nodes = 0, bytes = 0;
    int deepest = place->depth;
    weigh(tree, place->depth, &nodes, &bytes, &deepest);
    builder->nodes += nodes - 1;
    builder->copied += bytes;
    if (deepest > MANIFEST_DEPTH_MAX) {
        return refuse(builder, line, err, "nested too deeply");
    }
    if (builder->copied > MANIFEST_BYTES_MAX) {
        return refuse(builder, line, err, "aliases copy more than 1 MiB");
    }
    if (count_node(builder, line, err) < 0) {
        return -1;
    }
    *ret_tree = json_deep_copy(tree);
    return 0;
}

static void note_place(struct builder *builder, const struct place *place) {
    if (place->field) {
        json_object_set_new(builder->places, place->field, json_integer(pack(place)));
    }
}

static int build(struct builder *builder, const yaml_event_t *event, const struct place *place,
                 json_t **ret_tree, struct error *err);

static int build_sequence(struct builder *builder, const struct place *place, json_t **ret_tree,
                          struct error *err) {
    AUTO(tree_freep) json_t *list = json_array();
    for (;;) {
        AUTO(yaml_event_delete) yaml_event_t event = {0};
        if (next_event(builder, &event, err) < 0) {
            return -1;
        }
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            *ret_tree = TAKE(list);
            return 0;
        }
        char field[MANIFEST_FIELD_MAX];
        bool named = place->field &&
                     manifest_field_at(field, sizeof field, place->field, json_array_size(list));
        int column = (int)event.start_mark.column;
        struct place child = {.field = named ? field : NULL,
                              .depth = place->depth + 1,
                              .line = (int)event.start_mark.line + 1,
                              .column = column,
                              .value_column = column,
                              .is_secret = place->is_secret};
        json_t *item = NULL;
        if (build(builder, &event, &child, &item, err) < 0) {
            return -1;
        }
        json_array_append_new(list, item);
    }
}

/* Stores the key's text in *ret_key (owned). */
static int read_key(const struct builder *builder, const yaml_event_t *event, const json_t *object,
                    char **ret_key, struct error *err) {
    size_t line = event->start_mark.line + 1;
    if (event->type != YAML_SCALAR_EVENT) {
        return refuse(builder, line, err, "the name of a field must be plain text");
    }
    const char *key = (const char *)event->data.scalar.value;
    if (strlen(key) != event->data.scalar.length) {
        return refuse(builder, line, err, "the name of a field has a NUL character");
    }
    if (event->data.scalar.plain_implicit && strcmp(key, "<<") == 0) {
        return refuse(builder, line, err,
                      "merge keys (<<) are not supported: write the fields out");
    }
    if (event->data.scalar.plain_implicit && scalar_is_ambiguous(key)) {
        return error_set(err, ERROR_INVALID,
                         "%s:%zu: %s: write it in quotes, YAML versions disagree", builder->name,
                         line, key);
    }
    if (json_object_get(object, key)) {
        return error_set(err, ERROR_INVALID, "%s:%zu: %s: given twice", builder->name, line, key);
    }
    *ret_key = x_strdup(key);
    return 0;
}

static int build_mapping(struct builder *builder, const struct place *place, json_t **ret_tree,
                         struct error *err) {
    AUTO(tree_freep) json_t *object = json_object();
    for (;;) {
        AUTO(yaml_event_delete) yaml_event_t event = {0};
        AUTO(yaml_event_delete) yaml_event_t value_event = {0};
        AUTO(text_freep) char *key = NULL;
        if (next_event(builder, &event, err) < 0) {
            return -1;
        }
        if (event.type == YAML_MAPPING_END_EVENT) {
            *ret_tree = TAKE(object);
            return 0;
        }
        if (read_key(builder, &event, object, &key, err) < 0 ||
            next_event(builder, &value_event, err) < 0) {
            return -1;
        }
        char field[MANIFEST_FIELD_MAX];
        bool named = place->field && manifest_field(field, sizeof field, place->field, key);
        bool same_line = event.start_mark.line == value_event.start_mark.line;
        struct place child = {.field = named ? field : NULL,
                              .depth = place->depth + 1,
                              .line = (int)event.start_mark.line + 1,
                              .column = (int)event.start_mark.column,
                              .value_column = same_line ? (int)value_event.start_mark.column : -1,
                              .is_secret = builder->cover && holds_secrets(key, place)};
        json_t *value = NULL;
        if (build(builder, &value_event, &child, &value, err) < 0) {
            return -1;
        }
        if (json_object_set_new(object, key, value) < 0) {
            return refuse(builder, (size_t)child.line, err, "the name of a field is not UTF-8");
        }
    }
}

static int build_scalar(const struct builder *builder, const yaml_event_t *event,
                        const struct place *place, json_t **ret_tree, struct error *err) {
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    bool plain = event->data.scalar.plain_implicit;
    size_t line = event->start_mark.line + 1;
    cover_scalar(builder, event, place->is_secret);
    if (strlen(text) != event->data.scalar.length) {
        return refuse(builder, line, err, "a text has a NUL character");
    }
    if (tag && strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0) {
        return error_set(err, ERROR_INVALID, "%s:%zu: tag %s is not supported", builder->name, line,
                         tag);
    }
    if (plain && !tag) {
        if (scalar_resolve(text, ret_tree, err) < 0) {
            return error_context(err, "%s:%zu", builder->name, line);
        }
        return 0;
    }
    json_t *value = json_string(text);
    if (!value) {
        return refuse(builder, line, err, "text is not UTF-8");
    }
    *ret_tree = value;
    return 0;
}

static int build(struct builder *builder, const yaml_event_t *event, const struct place *place,
                 json_t **ret_tree, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    const char *anchor = NULL;
    if (place->depth > MANIFEST_DEPTH_MAX) {
        return refuse(builder, (size_t)place->line, err, "nested too deeply");
    }
    if (event->type != YAML_ALIAS_EVENT && count_node(builder, (size_t)place->line, err) < 0) {
        return -1;
    }
    note_place(builder, place);
    int result = -1;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        result = copy_alias(builder, (const char *)event->data.alias.anchor, place, &tree, err);
        break;
    case YAML_SCALAR_EVENT:
        anchor = (const char *)event->data.scalar.anchor;
        result = build_scalar(builder, event, place, &tree, err);
        break;
    case YAML_SEQUENCE_START_EVENT:
        anchor = (const char *)event->data.sequence_start.anchor;
        result = build_sequence(builder, place, &tree, err);
        break;
    case YAML_MAPPING_START_EVENT:
        anchor = (const char *)event->data.mapping_start.anchor;
        result = build_mapping(builder, place, &tree, err);
        break;
    default:
        result = refuse(builder, (size_t)place->line, err, "not YAML: a value is missing");
    }
    if (result < 0) {
        return -1;
    }
    if (anchor) {
        json_object_set(builder->anchors, anchor, tree);
    }
    *ret_tree = TAKE(tree);
    return 0;
}

static int add_document(struct builder *builder, struct manifest *manifest, json_t *tree_new,
                        size_t line, struct error *err) {
    AUTO(tree_freep) json_t *tree = tree_new;
    if (json_is_null(tree)) {
        return 0;
    }
    if (!json_is_object(tree)) {
        return refuse(builder, line, err, "a manifest is a list of fields: apiVersion, kind, ...");
    }
    if (manifest->count == MANIFEST_DOCUMENTS_MAX) {
        return refuse(builder, line, err, "more than 16 documents in one file");
    }
    manifest->documents[manifest->count++] =
        (struct manifest_document){TAKE(tree), json_incref(builder->places)};
    return 0;
}

static int read_documents(struct builder *builder, struct manifest *manifest, struct error *err) {
    for (;;) {
        AUTO(yaml_event_delete) yaml_event_t event = {0};
        if (next_event(builder, &event, err) < 0) {
            return -1;
        }
        if (event.type == YAML_STREAM_END_EVENT) {
            return 0;
        }
        if (event.type == YAML_DOCUMENT_START_EVENT) {
            tree_freep(&builder->anchors);
            tree_freep(&builder->places);
            builder->anchors = json_object();
            builder->places = json_object();
        } else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT) {
            struct place root = {.field = builder->cover ? "" : NULL,
                                 .line = (int)event.start_mark.line + 1,
                                 .value_column = -1};
            json_t *tree = NULL;
            if (build(builder, &event, &root, &tree, err) < 0 ||
                add_document(builder, manifest, tree, (size_t)root.line, err) < 0) {
                return -1;
            }
        }
    }
}

static int parse(const char *name, const char *text, size_t size, bool is_bare,
                 struct manifest **ret_manifest, struct error *err) {
    if (size > MANIFEST_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "%s: %zu bytes, a manifest has at most %d", name, size,
                         MANIFEST_BYTES_MAX);
    }
    AUTO(manifest_freep) struct manifest *manifest = x_calloc(1, sizeof *manifest);
    manifest->name = x_strdup(name);
    manifest->text = memcpy(x_calloc(size + 1, 1), text, size);
    manifest->size = size;
    manifest->cover = is_bare ? NULL : json_object();
    struct builder builder = {.name = name, .cover = manifest->cover};
    if (!yaml_parser_initialize(&builder.parser)) {
        abort(); /* out of memory */
    }
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, size);
    int result = read_documents(&builder, manifest, err);
    yaml_parser_delete(&builder.parser);
    tree_freep(&builder.anchors);
    tree_freep(&builder.places);
    if (result == 0) {
        *ret_manifest = TAKE(manifest);
    }
    return result;
}

int manifest_parse(const char *name, const char *text, size_t size, struct manifest **ret_manifest,
                   struct error *err) {
    return parse(name, text, size, false, ret_manifest, err);
}

int manifest_parse_bare(const char *name, const char *text, size_t size,
                        struct manifest **ret_manifest, struct error *err) {
    return parse(name, text, size, true, ret_manifest, err);
}

int manifest_read(const char *path, char **ret_text, size_t *ret_size, struct error *err) {
    return strcmp(path, "-") == 0 ? file_read_stream(STDIN_FILENO, "standard input",
                                                     MANIFEST_BYTES_MAX, ret_text, ret_size, err)
                                  : file_read(path, MANIFEST_BYTES_MAX, ret_text, ret_size, err);
}

int manifest_load(const char *path, struct manifest **ret_manifest, struct error *err) {
    AUTO(text_freep) char *text = NULL;
    size_t size;
    if (manifest_read(path, &text, &size, err) < 0) {
        return -1;
    }
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    return manifest_parse(name, text, size, ret_manifest, err);
}

void manifest_free(struct manifest *manifest) {
    if (!manifest) {
        return;
    }
    for (size_t i = 0; i < manifest->count; i++) {
        json_decref(manifest->documents[i].tree);
        json_decref(manifest->documents[i].places);
    }
    json_decref(manifest->cover);
    free(manifest->text);
    free(manifest->name);
    free(manifest);
}

void manifest_freep(struct manifest **manifest) {
    manifest_free(*manifest);
    *manifest = NULL;
}

/* The place of the field, or of the nearest enclosing field that has one; *ret_field: which, empty
 * for the whole document; owned. */
static struct place find_place(const struct manifest_document *document, const char *field,
                               char **ret_field) {
    char *at = x_strdup(field);
    for (;;) {
        const json_t *packed = json_object_get(document->places, at);
        if (packed || !*at) {
            *ret_field = at;
            return packed ? unpack(json_integer_value(packed)) : (struct place){.line = 1};
        }
        /* One step out: to the last dot or bracket. */
        size_t length = strlen(at);
        while (length > 0 && at[length - 1] != '.' && at[length - 1] != '[') {
            length--;
        }
        at[length > 0 ? length - 1 : 0] = 0;
    }
}

int manifest_line(const struct manifest_document *document, const char *field) {
    AUTO(text_freep) char *found = NULL;
    return find_place(document, field, &found).line;
}

/* "FIELD" of "FIELD: ..."; owned. */
static char *field_of(const char *error) {
    const char *end = strstr(error, ": ");
    return end ? x_strndup(error, (size_t)(end - error)) : x_strdup("");
}

int manifest_context(const struct manifest *manifest, const struct manifest_document *document,
                     struct error *err) {
    AUTO(text_freep) char *field = field_of(err->text);
    return error_context(err, "%s:%d", manifest->name, manifest_line(document, field));
}

static bool is_unknown(const char *field, const char *error) {
    return text_starts(error + strlen(field), ": unknown field");
}

void manifest_cover(struct manifest *manifest, const struct manifest_document *document,
                    const char *error) {
    AUTO(text_freep) char *field = field_of(error);
    size_t length = strlen(field);
    const char *name;
    json_t *packed;
    if (!is_unknown(field, error)) {
        return;
    }
    json_object_foreach(document->places, name, packed) {
        struct place place = unpack(json_integer_value(packed));
        bool is_below = text_starts(name, field) && strchr(".[", name[length]); /* or itself */
        if (is_below && place.value_column >= 0) {
            cover(manifest->cover, (size_t)place.line, place.value_column);
        }
    }
}

char *manifest_show(const struct manifest *manifest, const struct manifest_document *document,
                    const char *error) {
    AUTO(text_freep) char *field = field_of(error);
    AUTO(text_freep) char *found = NULL;
    struct place place = find_place(document, field, &found);
    if (!*found) {
        return NULL;
    }
    char key[24];
    snprintf(key, sizeof key, "%d", place.line);
    const json_t *covered = json_object_get(manifest->cover, key);
    bool is_value =
        strcmp(field, found) == 0 && !is_unknown(field, error) && place.value_column >= 0;
    struct manifest_excerpt excerpt = {.line = (size_t)place.line,
                                       .caret = is_value ? place.value_column : place.column,
                                       .end = covered ? (int)json_integer_value(covered) : -1};
    return manifest_excerpt_text(manifest->text, manifest->size, &excerpt);
}
