// SPDX-License-Identifier: Apache-2.0
/* The decoding process with pictures and videos (windlass-agent). */
#include "agent/data/decoder/decoder_child.h"

#include "agent/data/decoder/decoder_process.h"
#include "agent/data/input/media.h"
#include "agent/data/video/video_film.h"
#include "agent/data/video/video_libav.h"
#include "agent/data/video/video_listing.h"
#include "agent/data/video/video_read.h"
#include "lib/text/utf8.h"

#include <stdlib.h>
#include <string.h>

/* ---- frames of a lease ---- */

static struct video_reader *reader; /* NULL: no lease. The process has one thread. */

static int open_video(struct decoder_child *child, const char *request, size_t size,
                      int64_t source_bytes, int64_t done, struct error *err) {
    AUTO(tree_freep) json_t *lease = json_loadb(request, size, 0, NULL);
    struct video_origin origin = {
        .context = child, .size_bytes = source_bytes, .read = decoder_child_read};
    if (video_read_open(tree_text(lease, "path", ""), &origin, json_object_get(lease, "work"),
                        &reader, err) < 0) {
        return -1;
    }
    video_read_skip(reader, done);
    return READER_END;
}

static int next_frame(struct picture *ret_picture, struct error *err) {
    const char *name = NULL;
    return reader ? video_read_next(reader, ret_picture, &name, err)
                  : error_set(err, ERROR_INVALID, "next frame without an open lease");
}

/* ---- a whole film (agent/data/kinds/film_decoder.h asks for it) ---- */

/* {"path", "makesFilm"} -> {"lost"}, and the packed index is written. */
static int list_film(struct decoder_child *child, const json_t *request, int64_t source_bytes,
                     json_t **ret_answer, struct error *err) {
    AUTO(video_listing_release) struct video_listing listing = {.lost = NULL};
    AUTO(buffer_release) struct buffer bytes;
    struct video_origin origin = {
        .context = child, .size_bytes = source_bytes, .read = decoder_child_read};
    buffer_init(&bytes, (size_t)video_listing_room(source_bytes));
    if (video_listing_build(&listing, tree_text(request, "path", ""), &origin,
                            tree_bool(request, "makesFilm", false), err) < 0 ||
        video_listing_pack(&listing.index, &bytes, err) < 0) {
        return -1;
    }
    if (decoder_child_write(child, 0, bytes.data, bytes.size) < 0) {
        return error_set(err, ERROR_INVALID, "the list of frames cannot be passed to the worker");
    }
    *ret_answer = json_pack("{s:O}", "lost", listing.lost);
    return 0;
}

/* The listing and the parts, which the parent has as FILM_PLAN. */
static int read_plan(struct decoder_child *child, size_t size, char *plan, struct error *err) {
    for (size_t done = 0; done < size;) {
        int64_t got =
            decoder_child_read_source(child, FILM_PLAN, (int64_t)done, plan + done, size - done);
        if (got <= 0) {
            return error_set(err, ERROR_INVALID, "the film's plan is truncated");
        }
        done += (size_t)got;
    }
    return 0;
}

/* {"path", "output", "choice", "batchItems", "planBytes"} -> {"isMp4", "lost"}, or {"refused":
 * why}. */
static int join_film(struct decoder_child *child, const json_t *request, int64_t source_bytes,
                     json_t **ret_answer, struct error *err) {
    size_t size = (size_t)tree_integer(request, "planBytes", 0), used = 0;
    AUTO(text_freep) char *plan = x_malloc(size + 1);
    AUTO(video_index_release) struct video_index index = {0};
    if (read_plan(child, size, plan, err) < 0 ||
        video_listing_unpack(&index, plan, size, &used, err) < 0) {
        return -1;
    }
    /* The index's bytes are a multiple of 8. */
    struct video_film film = {
        .index = &index,
        .parts = (const struct video_film_part *)(const void *)(plan + used),
        .batch_items = MAX(tree_integer(request, "batchItems", 1), (int64_t)1),
        .input_path = tree_text(request, "path", ""),
        .output_path = tree_text(request, "output", ""),
        .input_bytes = source_bytes,
        .files = {
            .context = child, .read = decoder_child_read_source, .write = decoder_child_write}};
    if ((size - used) / sizeof *film.parts < (size_t)video_film_cells(&film)) {
        return error_set(err, ERROR_INVALID, "the film's plan is truncated");
    }
    struct video_film_result result;
    struct error cause = {0};
    if (video_film_write(&film, (enum tracks_choice)tree_integer(request, "choice", 0), &result,
                         &cause) == 0) {
        *ret_answer = json_pack("{s:b,s:o}", "isMp4", (int)result.is_mp4, "lost", result.lost);
        return 0;
    }
    if (result.is_refused) {
        utf8_make_line(cause.text); /* libraries quote the file */
        *ret_answer = json_pack("{s:s}", "refused", cause.text);
        return 0;
    }
    *err = cause;
    return -1;
}

static int do_film(struct decoder_child *child, const char *request, int64_t source_bytes,
                   json_t **ret_answer, struct error *err) {
    AUTO(tree_freep) json_t *wish = json_loads(request, 0, NULL);
    return strcmp(tree_text(wish, "do", ""), "list") == 0
               ? list_film(child, wish, source_bytes, ret_answer, err)
               : join_film(child, wish, source_bytes, ret_answer, err);
}

int decoder_child_media(int argc, char **argv) {
    static const struct decoder_videos videos = {
        .open = open_video, .next = next_frame, .film = do_film};
    struct error missing = {0};
    if (argc > 2 && strcmp(argv[2], DECODER_USE_VIDEO) == 0 && video_libav_open(&missing) < 0) {
        error_clear(&missing); /* each call says it */
    }
    return decoder_child_run(&videos);
}
