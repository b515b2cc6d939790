// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/video_join.h"

#include "agent/data/kinds/film_decoder.h"
#include "agent/data/video/video_write.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 1 << 20,
    /* Sound that is encoded again, and gaps of it that become silence, may need more than the input
     * has. */
    OUTPUT_OF_SIZE = 8
};
#define OUTPUT_MORE ((int64_t)1 << 30)

/* What a film is made of and becomes, on this side (video_film_files). */
struct joining {
    const struct video_join *join;
    struct video_source *input;
    char *temporary; /* the output has it until it is complete */
    int fd;
    int64_t cell; /* of the part that was read last, and whose bytes are as committed; -1: none */
    struct error failure;
    struct video_film film;
};

static void joining_release(struct joining *joining) {
    video_source_free(joining->input);
    fd_closep(&joining->fd);
    if (joining->temporary) {
        (void)unlinkat(joining->join->folder_fd, joining->temporary, 0);
    }
    free(joining->temporary);
}

/* ---- parts ---------------------------------------------------------------------------------- */

static void part_freep(struct video_film_part **parts) {
    free(*parts);
}

/* The cells of the run, as the film wants them. The caller frees. */
static struct video_film_part *new_film_parts(const struct video_join *join) {
    const struct parts *parts = join->parts;
    int64_t cells = (join->index->frame_count + join->batch_items - 1) / join->batch_items;
    struct video_film_part *film_parts =
        x_calloc((size_t)MAX(cells, (int64_t)1), sizeof *film_parts);
    for (int64_t i = 0; i < cells; i++) {
        const struct part_place *place = &parts->places[i];
        film_parts[i] = (struct video_film_part){.size_bytes = place->size_bytes,
                                                 .cells = (int32_t)place->cells,
                                                 .is_failed = place->is_failed};
    }
    return film_parts;
}

static struct video_film film_of(const struct video_join *join,
                                 const struct video_film_part *parts) {
    return (struct video_film){.index = join->index,
                               .parts = parts,
                               .batch_items = join->batch_items,
                               .input_path = join->input_path,
                               .output_path = store_path(join->parts->store),
                               .input_bytes = join->index->size_bytes};
}

/* Checks before anything is written that every part exists; missing ones are marked is_broken. */
static int check_parts(const struct video_join *join, const struct video_film *film,
                       struct error *err) {
    for (int64_t i = 0; i < video_film_cells(film); i = video_film_next(film, i)) {
        struct part_place *place = &join->parts->places[i];
        struct part part = parts_at(join->parts, i);
        struct store_info info;
        struct error cause = {0};
        if (place->is_failed) {
            continue;
        }
        bool is_there = place->is_there && store_stat(part.store, part.name, &info, &cause) == 0;
        if (cause.kind && cause.kind != ERROR_NOT_FOUND && cause.kind != ERROR_INVALID) {
            *err = cause;
            return -1;
        }
        place->is_broken = !is_there || info.size_bytes != part.size_bytes;
        if (place->is_broken) {
            error_set(err, ERROR_INVALID, "the part with frames %lld to %lld, %s, is missing",
                      (long long)(i * film->batch_items), (long long)video_film_end(film, i) - 1,
                      part.name);
        }
    }
    return err->kind ? -1 : 0;
}

/* ---- reading and writing -------------------------------------------------------------------- */

/* The film's process may be in the hands of the one who made the input: it reads no part twice
 * over, so that each is checked once. */
static int64_t read_part(struct joining *joining, int64_t cell, int64_t offset, void *data,
                         size_t size) {
    struct parts *parts = joining->join->parts;
    if (cell < joining->cell || joining->film.parts[cell].is_failed ||
        joining->film.parts[cell].cells < 1) {
        return error_set(&joining->failure, ERROR_INVALID,
                         "the parts of the film are read in an invalid order");
    }
    struct part part = parts_at(parts, cell);
    if (cell > joining->cell &&
        part_check(&part, &parts->places[cell].is_broken, &joining->failure) < 0) {
        return -1;
    }
    joining->cell = cell;
    size = offset < part.size_bytes ? MIN(size, (size_t)(part.size_bytes - offset)) : 0;
    return size == 0 || part_read(&part, offset, data, size, &joining->failure) == 0 ? (int64_t)size
                                                                                     : -1;
}

static int64_t read_output(struct joining *joining, int64_t offset, void *data, size_t size) {
    for (;;) {
        ssize_t got = pread(joining->fd, data, size, offset);
        if (got >= 0) {
            return got;
        }
        if (errno != EINTR) {
            return error_from_errno(&joining->failure, errno, "%s", joining->temporary);
        }
    }
}

static int64_t film_read(void *context, int64_t source, int64_t offset, void *data, size_t size) {
    struct joining *joining = context;
    return source == FILM_INPUT    ? video_source_read(joining->input, offset, data, size)
           : source == FILM_OUTPUT ? read_output(joining, offset, data, size)
           : source >= FILM_PARTS  ? read_part(joining, source - FILM_PARTS, offset, data, size)
                                   : 0;
}

static int film_put(void *context, int64_t offset, const void *data, size_t size) {
    struct joining *joining = context;
    for (size_t done = 0; done < size;) {
        ssize_t put =
            pwrite(joining->fd, (const char *)data + done, size - done, offset + (int64_t)done);
        if (put < 0 && errno != EINTR) {
            return error_from_errno(&joining->failure, errno, "cannot write the video");
        }
        done += put > 0 ? (size_t)put : 0;
    }
    return 0;
}

/* ---- the film ------------------------------------------------------------------------------- */

/* The sound must come from the same file whose pictures were listed. */
static int open_input(struct joining *joining, struct error *err) {
    const struct video_join *join = joining->join;
    if (video_source_open(join->input_path, NULL, &joining->input, err) < 0) {
        return error_context(err, "spec.input.video.path");
    }
    return video_source_size(joining->input) == join->index->size_bytes &&
                   video_source_holds(joining->input, join->index->core)
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.input.video.path: %s: has changed since it was listed",
                           join->input_path);
}

static int open_temporary(struct joining *joining, struct error *err) {
    AUTO(text_freep) char *random = digest_random(8);
    joining->temporary = x_printf("%s.tmp", random);
    joining->fd = openat(joining->join->folder_fd, joining->temporary,
                         O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    return joining->fd < 0 ? error_from_errno(err, errno, "%s: cannot create the unfinished film",
                                              joining->film.output_path)
                           : 0;
}

/* The storage's failure, if that is why. */
static int fail(const struct joining *joining, const struct error *cause, struct error *err) {
    const struct error *input = video_source_failure(joining->input);
    if (input->kind) {
        *err = *input;
        return error_context(err, "spec.input.video.path: %s", joining->join->input_path);
    }
    *err = joining->failure.kind ? joining->failure : *cause;
    return joining->failure.kind
               ? error_context(err, "spec.output.path: %s", joining->film.output_path)
               : -1;
}

static int upload(const struct video_join *join, const char *temporary, const char *name,
                  struct error *err) {
    AUTO(fd_closep) int fd = openat(join->folder_fd, temporary, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    AUTO(text_freep) char *piece = x_malloc(PIECE_BYTES);
    ssize_t got = -1;
    if (fd < 0) {
        return error_from_errno(err, errno, "%s", temporary);
    }
    if (store_upload_open(join->parts->store, name, &upload, err) < 0) {
        return -1;
    }
    while ((got = read(fd, piece, PIECE_BYTES)) > 0) {
        if (store_upload_add(upload, piece, (size_t)got, err) < 0) {
            return -1;
        }
    }
    return got < 0 ? error_from_errno(err, errno, "%s", temporary)
                   : store_upload_commit(upload, STORE_REPLACE, err);
}

static int put_in_place(const struct video_join *join, const char *temporary, const char *name,
                        struct error *err) {
    if (join->output_fd < 0) {
        return upload(join, temporary, name, err) < 0 ? error_context(err, "spec.output.path") : 0;
    }
    const char *output = store_path(join->parts->store);
    if (renameat(join->folder_fd, temporary, join->output_fd, name) < 0) {
        return error_from_errno(err, errno, "spec.output.path: cannot write %s/%s", output, name);
    }
    /* EINVAL: this file system cannot sync a folder. */
    return fsync(join->output_fd) < 0 && errno != EINVAL
               ? error_from_errno(err, errno, "spec.output.path: %s", output)
               : 0;
}

/* What the film lacks is known from the listing, unless another container had to be taken. */
static void add_lost(const struct video_join *join, const json_t *lost) {
    size_t i;
    json_t *row;
    json_array_foreach((json_t *)(uintptr_t)lost, i, row) {
        if (join->lost && !tree_find(join->lost, "what", tree_text(row, "what", ""))) {
            json_array_append(join->lost, row);
        }
    }
}

/* *ret_refused: the muxer refused what the plan holds. */
static int join_planned(const struct video_join *join, const struct video_film *film,
                        enum tracks_choice choice, char **ret_name, bool *ret_refused,
                        struct error *err) {
    AUTO(joining_release)
    struct joining joining = {.join = join, .fd = -1, .cell = -1, .film = *film};
    joining.film.files =
        (struct video_film_files){.context = &joining, .read = film_read, .write = film_put};
    struct video_film_result result;
    struct error cause = {0};
    int64_t output_max = OUTPUT_MORE + OUTPUT_OF_SIZE * film->input_bytes;
    for (int64_t i = 0; i < video_film_cells(film); i++) {
        output_max += OUTPUT_OF_SIZE * film->parts[i].size_bytes;
    }
    if (open_input(&joining, err) < 0 || open_temporary(&joining, err) < 0) {
        return -1;
    }
    if (film_decoder_write(&joining.film, choice, output_max, &result, &cause) < 0) {
        *ret_refused = result.is_refused;
        return fail(&joining, &cause, err);
    }
    AUTO(tree_freep) json_t *lost = result.lost;
    if (fsync(joining.fd) < 0) {
        return error_from_errno(err, errno, "spec.output.path: %s: cannot write the video",
                                film->output_path);
    }
    AUTO(text_freep) char *name = x_printf("%s.%s", join->stem, result.is_mp4 ? "mp4" : "mkv");
    if (put_in_place(join, joining.temporary, name, err) < 0) {
        return -1;
    }
    if (join->output_fd >= 0) { /* it has been renamed */
        free(TAKE(joining.temporary));
    }
    add_lost(join, lost);
    *ret_name = TAKE(name);
    return 0;
}

int video_join_pictures(const struct video_join *join, char **ret_name, struct error *err) {
    AUTO(part_freep) struct video_film_part *parts = new_film_parts(join);
    struct video_film film = film_of(join, parts);
    if (check_parts(join, &film, err) < 0) {
        return -1;
    }
    for (enum tracks_choice choice = TRACKS_BEST;; choice++) {
        bool is_refused = false;
        if (join_planned(join, &film, choice, ret_name, &is_refused, err) == 0) {
            return 0;
        }
        if (!is_refused || choice + 1 == TRACKS_CHOICES) {
            return -1;
        }
        log_event(LOG_WARNING, "%s; another container is tried", err->text);
        error_clear(err);
    }
}

/* ---- records -------------------------------------------------------------------------------- */

/* Appends a part's bytes and checks that it has a line for every frame. */
static int copy_lines(struct store_upload *to, const struct part *part, int64_t wanted,
                      struct error *err) {
    AUTO(text_freep) char *bytes = x_malloc(PIECE_BYTES);
    int64_t lines = 0;
    for (int64_t at = 0; at < part->size_bytes;) {
        size_t size = (size_t)MIN(part->size_bytes - at, (int64_t)PIECE_BYTES);
        if (part_read(part, at, bytes, size, err) < 0 ||
            store_upload_add(to, bytes, size, err) < 0) {
            return -1;
        }
        for (size_t i = 0; i < size; i++) {
            lines += bytes[i] == '\n';
        }
        at += (int64_t)size;
    }
    return lines == wanted ? 0
                           : error_set(err, ERROR_INVALID, "the part %s has %lld of %lld records",
                                       part->name, (long long)lines, (long long)wanted);
}

/* The lines of a mini-batch that has failed as a whole. */
static int add_failed_lines(struct store_upload *to, int64_t first, int64_t end,
                            struct error *err) {
    for (int64_t frame = first; frame < end; frame++) {
        AUTO(text_freep) char *line = video_write_failed_line(frame);
        if (store_upload_add(to, line, strlen(line), err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int write_lines(const struct video_join *join, const struct video_film *film,
                       const char *name, struct error *err) {
    AUTO(store_upload_freep) struct store_upload *upload = NULL;
    if (store_upload_open(join->parts->store, name, &upload, err) < 0) {
        return -1;
    }
    for (int64_t i = 0; i < video_film_cells(film); i = video_film_next(film, i)) {
        struct part part = parts_at(join->parts, i);
        if (join->parts->places[i].is_failed) {
            if (add_failed_lines(upload, i * join->batch_items, video_film_end(film, i), err) < 0) {
                return -1;
            }
            continue;
        }
        if (part_check(&part, &join->parts->places[i].is_broken, err) < 0 ||
            copy_lines(upload, &part, video_film_end(film, i) - i * join->batch_items, err) < 0) {
            return -1;
        }
    }
    return store_upload_commit(upload, STORE_REPLACE, err);
}

int video_join_records(const struct video_join *join, char **ret_name, struct error *err) {
    AUTO(text_freep) char *name = x_printf("%s.jsonl", join->stem);
    AUTO(part_freep) struct video_film_part *parts = new_film_parts(join);
    struct video_film film = film_of(join, parts);
    if (check_parts(join, &film, err) < 0) {
        return -1;
    }
    if (write_lines(join, &film, name, err) < 0) {
        return error_context(err, "spec.output.path: %s", store_path(join->parts->store));
    }
    *ret_name = TAKE(name);
    return 0;
}
