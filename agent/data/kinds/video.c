// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/video.h"

#include "agent/data/kinds/film_decoder.h"
#include "agent/data/kinds/video_join.h"
#include "agent/data/kinds/video_reader.h"
#include "agent/data/video/video_lease.h"
#include "agent/data/video/video_write.h"
#include "agent/store/local_file.h"
#include "agent/store/path.h"
#include "lib/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *const video_endings[] = {"mp4", "mkv"};

struct listing {
    struct video_listing film;
};

static const char *input_path(const json_t *spec) {
    return tree_text(spec, "input.video.path", "");
}

static const char *output_path(const json_t *spec) {
    return tree_text(spec, "output.path", "");
}

/* "media/holiday.2019.mov" -> "holiday.2019" */
static char *stem_of(const char *path) {
    const char *name = file_basename(path), *dot = strrchr(name, '.');
    return dot && dot != name ? x_strndup(name, (size_t)(dot - name)) : x_strdup(name);
}

static int refuse_output(const json_t *spec, struct error *err) {
    return error_set(err, ERROR_INVALID,
                     "spec.output.path: %s: the result would replace the input %s",
                     output_path(spec), input_path(spec));
}

/* A result with the name and folder of its input would replace it. The writers of other modes check
 * their files themselves. */
static int check_output(const json_t *spec, struct error *err) {
    if (strcmp(tree_text(spec, "output.mode", ""), "PerFile") != 0) {
        return 0;
    }
    AUTO(text_freep) char *input = NULL;
    AUTO(text_freep) char *folder = NULL;
    AUTO(text_freep) char *stem = stem_of(input_path(spec));
    struct stat before, after;
    for (size_t i = 0; i < ARRAY_LEN(video_endings); i++) {
        AUTO(text_freep)
        char *output = x_printf("%s/%s.%s", output_path(spec), stem, video_endings[i]);
        if (strcmp(output, input_path(spec)) == 0) {
            return refuse_output(spec, err);
        }
    }
    if (!store_is_local(input_path(spec)) || !store_is_local(output_path(spec))) {
        return 0;
    }
    if (path_resolve(input_path(spec), &input, err) < 0) {
        return error_context(err, "spec.input.video.path");
    }
    if (path_resolve(output_path(spec), &folder, err) < 0) {
        return error_context(err, "spec.output.path");
    }
    for (size_t i = 0; i < ARRAY_LEN(video_endings); i++) {
        AUTO(text_freep) char *output = x_printf("%s/%s.%s", folder, stem, video_endings[i]);
        if (stat(input, &before) == 0 && stat(output, &after) == 0 &&
            before.st_dev == after.st_dev && before.st_ino == after.st_ino) {
            return refuse_output(spec, err);
        }
    }
    return 0;
}

/* Whether the results are a film. */
static bool makes_film(const json_t *spec) {
    return strcmp(tree_text(spec, "output.mode", ""), "PerFile") == 0 && media_makes_pictures(spec);
}

static void free_listing(struct listing *listing) {
    if (listing) {
        video_listing_release(&listing->film);
        free(listing);
    }
}

static const json_t *video_lost(const struct listing *listing) {
    return listing->film.lost;
}

static int video_list(const json_t *spec, struct listing **ret_listing, struct error *err) {
    if (check_output(spec, err) < 0) {
        return -1;
    }
    struct listing *listing = x_calloc(1, sizeof *listing);
    if (film_decoder_list(input_path(spec), makes_film(spec), &listing->film, err) < 0) {
        free_listing(listing);
        return error_context(err, "spec.input.video.path");
    }
    *ret_listing = listing;
    return 0;
}

static int64_t video_count(const struct listing *listing) {
    return listing->film.index.frame_count;
}

static json_t *video_work(const struct listing *listing, int64_t first, int64_t count) {
    return video_lease_encode(&listing->film.index, first, count);
}

/* Parts with pictures begin with libav's magic for NUT, those with records with a brace. */
static int has_records(const struct parts *parts, bool *ret_records, struct error *err) {
    int64_t at = 0;
    while (at + 1 < parts->count && !parts->places[at].is_there) { /* the first may have failed */
        at++;
    }
    struct part part = parts_at(parts, at);
    char first = 0;
    *ret_records =
        parts->places[at].is_there && part_read(&part, 0, &first, 1, err) == 0 && first == '{';
    /* The join reports a missing part, together with all others. */
    if (err->kind == ERROR_NOT_FOUND || err->kind == ERROR_INVALID) {
        error_clear(err);
    }
    return err->kind ? -1 : 0;
}

/* Writing an MP4 needs seeking: next to a local output it is then only renamed; otherwise it is
 * made in $TMPDIR. */
static int make_folders(const json_t *spec, struct video_join *join, char **ret_copies,
                        struct error *err) {
    if (!store_is_local(output_path(spec))) {
        if (local_file_make_folder(ret_copies, err) < 0) {
            return -1;
        }
        join->folder_fd = open(*ret_copies, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return join->folder_fd < 0 ? error_from_errno(err, errno, "cannot open %s", *ret_copies)
                                   : 0;
    }
    AUTO(text_freep)
    char *making = x_printf("%s/.windlass/%s/join", output_path(spec), join->parts->run);
    return path_make_folder(output_path(spec), &join->output_fd, NULL, err) < 0 ||
                   path_make_folder(making, &join->folder_fd, NULL, err) < 0
               ? error_context(err, "spec.output.path")
               : 0;
}

static int video_join(const struct listing *listing, const json_t *spec, struct parts *parts,
                      int64_t batch_items, json_t *outputs, struct error *err) {
    AUTO(text_freep) char *copies = NULL; /* a folder that is removed at the end */
    AUTO(text_freep) char *name = NULL;
    AUTO(text_freep) char *stem = stem_of(input_path(spec));
    bool is_records = false;
    struct video_join join = {.index = &listing->film.index,
                              .input_path = input_path(spec),
                              .parts = parts,
                              .folder_fd = -1,
                              .output_fd = -1,
                              .stem = stem,
                              .batch_items = batch_items,
                              .lost = listing->film.lost};
    int result =
        has_records(parts, &is_records, err) < 0 || make_folders(spec, &join, &copies, err) < 0 ? -1
        : is_records ? video_join_records(&join, &name, err)
                     : video_join_pictures(&join, &name, err);
    fd_closep(&join.folder_fd);
    fd_closep(&join.output_fd);
    if (copies) {
        struct error ignored = {0};
        (void)!file_remove_tree(copies, &ignored);
    }
    if (result < 0) {
        return -1;
    }
    AUTO(text_freep) char *spec_path = file_join(output_path(spec), name);
    json_array_append_new(outputs, json_string(spec_path));
    return 0;
}

static int open_reader(const json_t *spec, const json_t *work, struct reader **reader,
                       struct error *err) {
    if (video_reader_open(input_path(spec), work, reader, err) < 0) {
        return error_context(err, "spec.input.video.path");
    }
    return 0;
}

static int video_writer_open(const json_t *spec UNUSED, const json_t *work,
                             struct staged_output *staged, struct writer **ret_writer,
                             struct error *err) {
    return video_write_open(work, staged, ret_writer, err);
}

const struct media video_media = {
    .name = "video",
    .unit = "frames",
    .list = video_list,
    .count = video_count,
    .lost = video_lost,
    .work = video_work,
    .join = video_join,
    .listing_free = free_listing,
    .reader_open = open_reader,
    .reader_next = video_reader_next,
    .reader_free = video_reader_free,
    .writer_open = video_writer_open,
    .writer_add = video_write_add,
    .writer_skip = video_write_skip,
    .writer_finish = video_write_finish,
    .writer_free = video_write_free,
};
