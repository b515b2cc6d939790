// SPDX-License-Identifier: Apache-2.0
#include "agent/data/input/sink.h"

#include <stdlib.h>
#include <string.h>

struct sink {
    enum sink_form form;
    const struct media *media;
    struct writer *writer; /* the media's, for PARTS and PACKS */
    struct staged_output *staged;
};

enum sink_form sink_form(const json_t *spec, const struct media *media) {
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
    *sink = (struct sink){.form = sink_form(spec, media), .media = media, .staged = staged};
    bool is_medias = sink->form == SINK_PARTS || sink->form == SINK_PACKS;
    if (is_medias && media->writer_open(spec, work, staged, &sink->writer, err) < 0) {
        free(sink);
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
        free(sink);
    }
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Appends JSON text without the white space between its tokens; numbers keep their spelling. */
static int add_compact(struct staged_output *staged, const char *json, size_t size,
                       struct error *err) {
    bool in_string = false;
    size_t from = 0;
    for (size_t i = 0; i < size; i++) {
        if (in_string && json[i] == '\\') {
            i++;
        } else if (json[i] == '"') {
            in_string = !in_string;
        } else if (!in_string && strchr(" \t\r\n", json[i])) {
            if (staged_output_add(staged, json + from, i - from, err) < 0) {
                return -1;
            }
            from = i + 1;
        }
    }
    return staged_output_add(staged, json + from, size - from, err);
}

static bool has_control(const char *text, size_t size) {
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f) {
            return true;
        }
    }
    return false;
}

static int add_json(struct staged_output *staged, const char *json, size_t size,
                    struct error *err) {
    /* A string that our parser rejects (an unpaired surrogate) remains JSON. */
    AUTO(tree_freep)
    json_t *string = size && *json == '"'
                         ? json_loadb(json, size, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL)
                         : NULL;
    const char *text = json_string_value(string);
    size_t length = json_string_length(string);
    return text && !has_control(text, length) ? staged_output_add(staged, text, length, err)
                                              : add_compact(staged, json, size, err);
}

static int add_row(struct sink *sink, const struct result *result, struct error *err) {
    AUTO(text_freep)
    char *record = result->record ? json_dumps(result->record, JSON_COMPACT) : NULL;
    if (!record && !result->json) {
        return error_set(err, ERROR_INVALID, "%s: a picture cannot be a row of text", result->name);
    }
    int done = record ? staged_output_add(sink->staged, record, strlen(record), err)
                      : add_json(sink->staged, result->json, result->json_size, err);
    return done < 0 ? -1 : staged_output_add(sink->staged, "\n", 1, err);
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
