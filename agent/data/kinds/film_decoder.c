// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/film_decoder.h"

#include "agent/data/decoder/decoder.h"
#include "lib/text/utf8.h"

#include <string.h>

enum { LOST_ROWS_MAX = 64, TEXT_MAX = 400 };

static void decoder_freep(struct decoder **decoder) {
    decoder_free(*decoder);
}

static void video_source_freep(struct video_source **source) {
    video_source_free(*source);
}

/* One line of at most TEXT_MAX bytes; NULL: it is not a text. Owned. */
static char *take_line(const json_t *text) {
    char *line = json_is_string(text) ? x_strndup(json_string_value(text), TEXT_MAX) : NULL;
    if (line) {
        utf8_make_line(line);
        utf8_repair(line);
    }
    return line;
}

/* [{"what", "why"}] and nothing else. */
static json_t *take_lost(const json_t *answer) {
    json_t *lost = json_array();
    for (size_t i = 0; i < LOST_ROWS_MAX; i++) {
        const json_t *row = json_array_get(json_object_get(answer, "lost"), i);
        AUTO(text_freep) char *what = take_line(json_object_get(row, "what"));
        AUTO(text_freep) char *why = take_line(json_object_get(row, "why"));
        if (what && why) {
            json_array_append_new(lost, json_pack("{s:s,s:s}", "what", what, "why", why));
        }
    }
    return lost;
}

static int ask(const struct decoder_files *files, const json_t *wish, json_t **ret_answer,
               struct error *err) {
    AUTO(decoder_freep)
    struct decoder *decoder = decoder_new_video(decoder_film_limits(files->source_bytes));
    AUTO(text_freep) char *request = tree_canonical(wish);
    return decoder_film(decoder, files, request, ret_answer, err);
}

/* ---- the listing ---- */

struct listed {
    struct video_source *source;
    struct buffer bytes;
    struct error failure;
};

static int64_t read_listed(void *context, int64_t source UNUSED, int64_t offset, void *data,
                           size_t size) {
    struct listed *listed = context;
    return video_source_read(listed->source, offset, data, size);
}

/* The listing comes from its begin to its end. */
static int write_listed(void *context, int64_t offset, const void *data, size_t size) {
    struct listed *listed = context;
    if (offset != (int64_t)listed->bytes.size) {
        return error_set(&listed->failure, ERROR_INVALID,
                         "invalid listing of the film from the decoder: it has gaps");
    }
    return buffer_append(&listed->bytes, data, size, &listed->failure);
}

static int list_from(struct listed *listed, const char *spec_path, bool makes_film,
                     struct video_listing *listing, struct error *err) {
    int64_t size_bytes = video_source_size(listed->source), room = video_listing_room(size_bytes);
    struct decoder_files files = {.context = listed,
                                  .source_bytes = size_bytes,
                                  .source_count = 1,
                                  .total_bytes = size_bytes,
                                  .write_max = room,
                                  .read = read_listed,
                                  .write = write_listed};
    AUTO(tree_freep) json_t *answer = NULL;
    AUTO(tree_freep)
    json_t *wish =
        json_pack("{s:s,s:s,s:b}", "do", "list", "path", spec_path, "makesFilm", (int)makes_film);
    struct error cause = {0};
    size_t used = 0;
    if (ask(&files, wish, &answer, &cause) < 0) {
        const struct error *failure = video_source_failure(listed->source);
        *err = failure->kind ? *failure : listed->failure.kind ? listed->failure : cause;
        return text_starts(err->text, spec_path) ? -1 : error_context(err, "%s", spec_path);
    }
    if (video_listing_unpack(&listing->index, listed->bytes.data, listed->bytes.size, &used, err) <
        0) {
        return error_context(err, "%s", spec_path);
    }
    utf8_make_line(listing->index.damage);
    listing->index.size_bytes = size_bytes;
    video_source_core(listed->source, listing->index.core);
    listing->lost = take_lost(answer);
    return 0;
}

int film_decoder_list(const char *spec_path, bool makes_film, struct video_listing *listing,
                      struct error *err) {
    *listing = (struct video_listing){.lost = NULL};
    if (!decoder_is_separate()) {
        return video_listing_build(listing, spec_path, NULL, makes_film, err);
    }
    AUTO(video_source_freep) struct video_source *source = NULL;
    if (video_source_open(spec_path, NULL, &source, err) < 0) {
        return -1;
    }
    struct listed listed = {.source = source};
    buffer_init(&listed.bytes, (size_t)video_listing_room(video_source_size(source)));
    int result = list_from(&listed, spec_path, makes_film, listing, err);
    buffer_release(&listed.bytes);
    return result;
}

/* ---- the film ---- */

struct joined {
    const struct video_film *film;
    struct buffer plan;
};

static int64_t read_joined(void *context, int64_t source, int64_t offset, void *data, size_t size) {
    struct joined *joined = context;
    const struct video_film_files *files = &joined->film->files;
    if (source != FILM_PLAN) {
        return files->read(files->context, source, offset, data, size);
    }
    size = offset < (int64_t)joined->plan.size ? MIN(size, joined->plan.size - (size_t)offset) : 0;
    memcpy(data, joined->plan.data + MIN((size_t)offset, joined->plan.size), size);
    return (int64_t)size;
}

static int write_joined(void *context, int64_t offset, const void *data, size_t size) {
    struct joined *joined = context;
    const struct video_film_files *files = &joined->film->files;
    return files->write(files->context, offset, data, size);
}

static int64_t sum_parts(const struct video_film *film) {
    int64_t sum = 0;
    for (int64_t i = 0; i < video_film_cells(film); i++) {
        sum += film->parts[i].size_bytes;
    }
    return sum;
}

static int write_apart(struct joined *joined, const json_t *wish, int64_t output_max,
                       struct video_film_result *ret_result, struct error *err) {
    const struct video_film *film = joined->film;
    struct decoder_files files = {.context = joined,
                                  .source_bytes = film->input_bytes,
                                  .source_count = FILM_PARTS + video_film_cells(film),
                                  .total_bytes = film->input_bytes + sum_parts(film) +
                                                 (int64_t)joined->plan.size,
                                  .write_max = output_max,
                                  .read = read_joined,
                                  .write = write_joined};
    AUTO(tree_freep) json_t *answer = NULL;
    if (ask(&files, wish, &answer, err) < 0) {
        return -1;
    }
    AUTO(text_freep) char *refused = take_line(json_object_get(answer, "refused"));
    if (refused) {
        ret_result->is_refused = true;
        return error_set(err, ERROR_INVALID, "%s", refused);
    }
    ret_result->is_mp4 = tree_bool(answer, "isMp4", false);
    ret_result->lost = take_lost(answer);
    return 0;
}

int film_decoder_write(const struct video_film *film, enum tracks_choice choice, int64_t output_max,
                       struct video_film_result *ret_result, struct error *err) {
    struct joined joined = {.film = film};
    size_t part_bytes = (size_t)video_film_cells(film) * sizeof *film->parts;
    *ret_result = (struct video_film_result){0};
    if (!decoder_is_separate()) {
        return video_film_write(film, choice, ret_result, err);
    }
    buffer_init(&joined.plan, (size_t)video_listing_room(VIDEO_FRAMES_MAX) + part_bytes);
    int result = -1;
    if (video_listing_pack(film->index, &joined.plan, err) == 0 &&
        buffer_append(&joined.plan, film->parts, part_bytes, err) == 0) {
        AUTO(tree_freep)
        json_t *wish =
            json_pack("{s:s,s:s,s:s,s:i,s:I,s:I}", "do", "join", "path", film->input_path, "output",
                      film->output_path, "choice", (int)choice, "batchItems",
                      (json_int_t)film->batch_items, "planBytes", (json_int_t)joined.plan.size);
        result = write_apart(&joined, wish, output_max, ret_result, err);
    }
    buffer_release(&joined.plan);
    return result;
}
