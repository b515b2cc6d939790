// SPDX-License-Identifier: Apache-2.0
#include "operator/manifest.h"

#include "lib/file.h"
#include "operator/scalar.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yaml.h>

struct builder {
    yaml_parser_t parser;
    const char *name;
    json_t *anchors; /* of the document: name -> tree */
    json_t *lines;
    size_t nodes;  /* created so far, in all documents */
    size_t copied; /* bytes copied by aliases */
};

/* The position of a node in its document. */
struct place {
    const char *field; /* NULL when its name is too long for messages */
    int depth;
    int line;
};

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

static void note_line(struct builder *builder, const struct place *place) {
    if (place->field) {
        json_object_set_new(builder->lines, place->field, json_integer(place->line));
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
        struct place child = {named ? field : NULL, place->depth + 1,
                              (int)event.start_mark.line + 1};
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
        return refuse(builder, line, err, "merge keys (<<) are not taken: write the fields out");
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
        struct place child = {named ? field : NULL, place->depth + 1,
                              (int)event.start_mark.line + 1};
        json_t *value = NULL;
        if (build(builder, &value_event, &child, &value, err) < 0) {
            return -1;
        }
        if (json_object_set_new(object, key, value) < 0) {
            return refuse(builder, (size_t)child.line, err, "the name of a field is not UTF-8");
        }
    }
}

static int build_scalar(const struct builder *builder, const yaml_event_t *event, json_t **ret_tree,
                        struct error *err) {
    const char *text = (const char *)event->data.scalar.value;
    const char *tag = (const char *)event->data.scalar.tag;
    bool plain = event->data.scalar.plain_implicit;
    size_t line = event->start_mark.line + 1;
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
    note_line(builder, place);
    int result = -1;
    switch (event->type) {
    case YAML_ALIAS_EVENT:
        result = copy_alias(builder, (const char *)event->data.alias.anchor, place, &tree, err);
        break;
    case YAML_SCALAR_EVENT:
        anchor = (const char *)event->data.scalar.anchor;
        result = build_scalar(builder, event, &tree, err);
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
        (struct manifest_document){TAKE(tree), json_incref(builder->lines)};
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
            tree_freep(&builder->lines);
            builder->anchors = json_object();
            builder->lines = json_object();
        } else if (event.type != YAML_STREAM_START_EVENT && event.type != YAML_DOCUMENT_END_EVENT) {
            struct place root = {"", 0, (int)event.start_mark.line + 1};
            json_t *tree = NULL;
            if (build(builder, &event, &root, &tree, err) < 0 ||
                add_document(builder, manifest, tree, (size_t)root.line, err) < 0) {
                return -1;
            }
        }
    }
}

int manifest_parse(const char *name, const char *text, size_t size, struct manifest **ret_manifest,
                   struct error *err) {
    if (size > MANIFEST_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "%s: %zu bytes, a manifest has at most %d", name, size,
                         MANIFEST_BYTES_MAX);
    }
    AUTO(manifest_freep) struct manifest *manifest = x_calloc(1, sizeof *manifest);
    manifest->name = x_strdup(name);
    struct builder builder = {.name = name};
    if (!yaml_parser_initialize(&builder.parser)) {
        abort(); /* out of memory */
    }
    yaml_parser_set_input_string(&builder.parser, (const unsigned char *)text, size);
    int result = read_documents(&builder, manifest, err);
    yaml_parser_delete(&builder.parser);
    tree_freep(&builder.anchors);
    tree_freep(&builder.lines);
    if (result == 0) {
        *ret_manifest = TAKE(manifest);
    }
    return result;
}

int manifest_load(const char *path, struct manifest **ret_manifest, struct error *err) {
    AUTO(text_freep) char *text = NULL;
    size_t size;
    bool is_input = strcmp(path, "-") == 0;
    if ((is_input ? file_read_stream(STDIN_FILENO, "standard input", MANIFEST_BYTES_MAX, &text,
                                     &size, err)
                  : file_read(path, MANIFEST_BYTES_MAX, &text, &size, err)) < 0) {
        return -1;
    }
    return manifest_parse(is_input ? "standard input" : path, text, size, ret_manifest, err);
}

void manifest_free(struct manifest *manifest) {
    if (!manifest) {
        return;
    }
    for (size_t i = 0; i < manifest->count; i++) {
        json_decref(manifest->documents[i].tree);
        json_decref(manifest->documents[i].lines);
    }
    free(manifest->name);
    free(manifest);
}

void manifest_freep(struct manifest **manifest) {
    manifest_free(*manifest);
    *manifest = NULL;
}

int manifest_line(const struct manifest_document *document, const char *field) {
    AUTO(text_freep) char *at = x_strdup(field);
    for (;;) {
        const json_t *line = json_object_get(document->lines, at);
        if (line) {
            return (int)json_integer_value(line);
        }
        if (!*at) {
            return 1;
        }
        /* One step out: to the last dot or bracket. */
        size_t length = strlen(at);
        while (length > 0 && at[length - 1] != '.' && at[length - 1] != '[') {
            length--;
        }
        at[length > 0 ? length - 1 : 0] = 0;
    }
}

int manifest_context(const struct manifest *manifest, const struct manifest_document *document,
                     struct error *err) {
    const char *end = strstr(err->text, ": ");
    AUTO(text_freep)
    char *field = end ? x_strndup(err->text, (size_t)(end - err->text)) : x_strdup("");
    return error_context(err, "%s:%d", manifest->name, manifest_line(document, field));
}
