// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/sink.h"

#include "agent/data/rows/row_cells.h"
#include "agent/data/rows/row_line.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

enum {
    LINE_BYTES_MAX = 256 << 20, /* head and result have 64 MiB each at most */
    LINE_KEPT = 128 << 10,      /* room of a line that is used again; a worker may have 1,024 */
};

struct sink {
    enum sink_form form;
    const struct media *media;
    struct writer *writer; /* the media's, for PARTS and PACKS */
    struct staged_output *staged;
    struct buffer line;       /* scratch */
    struct row_columns types; /* spec.output.types */
    struct row_cells cells;
};

enum sink_form sink_read_form(const json_t *spec, const struct media *media) {
    const char *mode = tree_text(spec, "output.mode", "");
    if (strcmp(mode, "AppendRow") == 0) {
        return SINK_ROWS;
    }
    if (strcmp(mode, "SummaryOnly") == 0) {
        return SINK_NOTHING;
    }
    return media->is_packed ? SINK_PACKS : SINK_PARTS;
}

int sink_open(const json_t *spec, const struct media *media, const json_t *work,
              struct staged_output *staged, struct sink **ret_sink, struct error *err) {
    struct sink *sink = x_calloc(1, sizeof *sink);
    *sink = (struct sink){.form = sink_read_form(spec, media), .media = media, .staged = staged};
    buffer_init(&sink->line, LINE_BYTES_MAX);
    row_columns_init(&sink->types, NULL, tree_get(spec, "output.types"),
                     /* are_of_network= */ false);
    row_cells_init(&sink->cells, &sink->types);
    bool is_medias = sink->form == SINK_PARTS || sink->form == SINK_PACKS;
    if (is_medias && media->writer_open(spec, work, staged, &sink->writer, err) < 0) {
        sink_free(sink);
        return -1;
    }
    *ret_sink = sink;
    return 0;
}

void sink_free(struct sink *sink) {
    if (sink) {
        if (sink->writer) {
            sink->media->writer_free(sink->writer);
        }
        buffer_release(&sink->line);
        row_cells_release(&sink->cells);
        row_columns_release(&sink->types);
        free(sink);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

static bool has_control(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static int put_json(struct buffer *line, const char *json, size_t size, struct error *err) {
    /* A string that our parser rejects (an unpaired surrogate) remains JSON. */
    AUTO(tree_freep)
    json_t *string = size && *json == '"'
                         ? json_loadb(json, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                         : NULL;
    const char *text = json_string_value(string);
    size_t length = json_string_length(string);
    return text && !has_control(text, length) ? buffer_append(line, text, length, err)
                                              : jsontext_compact(line, json, size, err);
}

static int put_row(struct buffer *line, const struct result *result, struct error *err) {
    if (result->head) {
        const struct row_line row = {.head = result->head,
                                     .has_name = result->has_name,
                                     .record = result->record,
                                     .json = result->json,
                                     .json_size = result->json_size};
        return row_line_add(&row, line, err);
    }
    AUTO(text_freep)
    char *record = result->record ? json_dumps(result->record, JSON_COMPACT) : NULL;
    int done = record ? buffer_append(line, record, strlen(record), err)
                      : put_json(line, result->json, result->json_size, err);
    return done < 0 ? -1 : buffer_append(line, "\n", 1, err);
}

/* Makes the row in sink->line. A value that its type does not hold would end the job when the rows
 * are put together, after all of them were scored. */
static int make_row(struct sink *sink, const struct result *result, struct error *err) {
    if (!result->record && !result->json) {
        return error_set(err, ERROR_INVALID, "%s: a picture cannot be a row of text", result->name);
    }
    buffer_clear(&sink->line);
    bool is_made = put_row(&sink->line, result, err) == 0;
    bool has_types = result->head && sink->types.count > 0;
    return is_made && (!has_types ||
                       row_cells_check(&sink->cells, sink->line.data, sink->line.size, err) == 0)
               ? 0
               : error_context(err, "%s", result->name);
}

static int add_row(struct sink *sink, const struct result *result, struct error *err) {
    int done = make_row(sink, result, err) < 0
                   ? -1
                   : staged_output_add(sink->staged, sink->line.data, sink->line.size, err);
    if (sink->line.capacity > LINE_KEPT) {
        buffer_release(&sink->line);
    }
    return done;
}

int sink_check(struct sink *sink, const struct result *result, struct error *err) {
    bool is_typed = sink->form == SINK_ROWS && result->head && sink->types.count > 0;
    struct error ignored = {0};
    buffer_clear(&sink->line);
    return is_typed && put_row(&sink->line, result, &ignored) == 0 &&
                   row_cells_check(&sink->cells, sink->line.data, sink->line.size, err) < 0
               ? error_context(err, "%s", result->name)
               : 0;
}

int sink_end_rows(struct sink *sink, struct row_heads *heads, struct error *err) {
    buffer_clear(&sink->line);
    return !heads || sink->form != SINK_ROWS ? 0
           : row_heads_end(heads, &sink->line, err) < 0
               ? -1
               : staged_output_add(sink->staged, sink->line.data ? sink->line.data : "",
                                   sink->line.size, err);
}

/* Frames have no file, and their names end with their numbers. */
static struct row_place place_of(const struct item *item) {
    const char *number = item->name ? strrchr(item->name, ' ') : NULL;
    bool is_row = item->type == ITEM_JSON;
    return (struct row_place){.name = item->name,
                              .file = item->origin,
                              .row =
                                  item->origin || !number ? item->row : strtoll(number, NULL, 10),
                              .json = is_row ? item->text : NULL,
                              .json_size = is_row ? item->text_size : 0};
}

void sink_count_item(struct row_heads *heads, const struct item *item) {
    struct row_place place = place_of(item);
    if (heads) {
        row_heads_see(heads, &place);
    }
}

int sink_row_prefix(const struct row_heads *heads, const struct item *item, char **ret_head,
                    struct error *err) {
    AUTO(buffer_release) struct buffer head;
    struct row_place place = place_of(item);
    buffer_init(&head, LINE_BYTES_MAX / 2);
    if (heads && row_heads_add(heads, &place, &head, err) < 0) {
        return -1;
    }
    *ret_head = heads ? buffer_take(&head, NULL) : NULL;
    return 0;
}

/* ---- all forms ------------------------------------------------------------------------------ */

int sink_add(struct sink *sink, const struct result *result, struct error *err) {
    switch (sink->form) {
    case SINK_ROWS:
        return add_row(sink, result, err) < 0 ? error_context(err, "spec.output.path") : 0;
    case SINK_NOTHING:
        return 0;
    case SINK_PARTS:
    case SINK_PACKS:
    default:
        return sink->media->writer_add(sink->writer, result, err);
    }
}

void sink_skip(struct sink *sink) {
    if (sink->writer && sink->media->writer_skip) {
        sink->media->writer_skip(sink->writer);
    }
}

int sink_finish(struct sink *sink, struct error *err) {
    return sink->writer ? sink->media->writer_finish(sink->writer, err) : 0;
}
