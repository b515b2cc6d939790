// SPDX-License-Identifier: Apache-2.0
#include "agent/data/kinds/video_reader.h"

#include "agent/data/decoder/decoder.h"
#include "agent/data/image/hardware.h"
#include "agent/data/video/video_lease.h"
#include "agent/data/video/video_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    struct video_reader *here; /* decodes in this process; NULL: the rest */
    char *spec_path;
    struct decoder *decoder;
    struct video_source *source;
    struct video_lease lease;
    char *request;    /* decoder_video_open's */
    int64_t done;     /* frames of the lease that were returned */
    bool is_open;     /* the decoder has the lease */
    bool is_second;   /* a try for the next frame was interrupted: one more */
    bool is_given_up; /* the decoder took too long: it would for each of the other frames */
    char name[32];
    char cause[1024];
};

static int check_listed(const struct reader *reader, struct error *err) {
    return video_source_size(reader->source) == reader->lease.size_bytes &&
                   video_source_holds(reader->source, reader->lease.core)
               ? 0
               : error_set(err, ERROR_CONFLICT, "%s: has changed since it was listed",
                           reader->spec_path);
}

static int64_t read_source(void *context, int64_t offset, void *data, size_t size) {
    return video_source_read(context, offset, data, size);
}

/* The failure of a call: the storage's, if that is why. */
static int fail(const struct reader *reader, const struct error *cause, struct error *err) {
    const struct error *failure = video_source_failure(reader->source);
    *err = failure->kind ? *failure : *cause;
    return failure->kind ? error_context(err, "%s", reader->spec_path) : -1;
}

/* The lease goes to the decoder, from the first frame that is wanted. */
static int open_apart(struct reader *reader, struct error *err) {
    struct decoder_source source = {.context = reader->source,
                                    .size_bytes = video_source_size(reader->source),
                                    .read = read_source};
    struct error cause = {0};
    if (decoder_video_open(reader->decoder, &source, reader->request, reader->done, &cause) < 0) {
        return fail(reader, &cause, err);
    }
    reader->is_open = true;
    return 0;
}

/* The frame fails, since the process did not live through it. */
static int fail_frame(struct reader *reader, const char *why, const char **ret_name) {
    snprintf(reader->cause, sizeof reader->cause, "%.400s: frame %lld: %.500s", reader->spec_path,
             (long long)(reader->lease.first + reader->done), why);
    reader->done++;
    reader->is_open = false;
    reader->is_given_up = reader->is_given_up || decoder_is_slow(reader->decoder);
    *ret_name = reader->cause;
    return READER_FAULT;
}

static int begin_lease(struct reader *reader, const json_t *work, struct error *err) {
    video_lease_release(&reader->lease);
    free(TAKE(reader->request));
    reader->done = 0;
    reader->is_open = reader->is_second = reader->is_given_up = false;
    if (video_lease_decode(&reader->lease, work, err) < 0) {
        return -1;
    }
    if (!reader->source && video_source_open(reader->spec_path, NULL, &reader->source, err) < 0) {
        return -1;
    }
    if (check_listed(reader, err) < 0) {
        return -1;
    }
    AUTO(tree_freep)
    json_t *request = json_pack("{s:s, s:O}", "path", reader->spec_path, "work", work);
    reader->request = tree_canonical(request);
    struct error cause = {0};
    int opened = open_apart(reader, &cause);
    reader->is_second = opened < 0 && decoder_is_interrupted(reader->decoder);
    if (opened < 0 && !reader->is_second && !decoder_is_lost(reader->decoder)) {
        *err = cause;
        return -1;
    }
    return 0; /* if it was lost, the first frame will fail */
}

static struct reader *reader_new(const char *spec_path) {
    struct reader *reader = x_calloc(1, sizeof *reader);
    reader->spec_path = x_strdup(spec_path);
    reader->decoder = decoder_new_video(DECODER_VIDEO_LIMITS);
    return reader;
}

int video_reader_open(const char *spec_path, const json_t *work, struct reader **reader,
                      struct error *err) {
    struct reader *it = TAKE(*reader);
    if (it && strcmp(it->spec_path, spec_path) != 0) {
        video_reader_free(TAKE(it));
    }
    it = it ? it : reader_new(spec_path);
    int begun = decoder_is_separate() && !hardware_is_wanted()
                    ? begin_lease(it, work, err)
                    : video_read_open(spec_path, NULL, work, &it->here, err);
    if (begun < 0) {
        video_reader_free(it);
        return -1;
    }
    *reader = it;
    return 0;
}

/* As decoder_video_next, with the lease open. */
static int next_apart(struct reader *reader, struct picture *picture, struct error *err) {
    struct decoder_source source = {.context = reader->source,
                                    .size_bytes = video_source_size(reader->source),
                                    .read = read_source};
    struct error cause = {0};
    if (!reader->is_open && open_apart(reader, err) < 0) {
        return -1;
    }
    int result = decoder_video_next(reader->decoder, &source, picture, &cause);
    return result < 0 ? fail(reader, &cause, err) : result;
}

/* Once more if it was interrupted, which is not by this frame; then it is an error of the machine,
 * and the mini-batch is tried again, also elsewhere. */
static int next_twice(struct reader *reader, struct picture *picture, struct error *err) {
    struct error cause = {0};
    int result = next_apart(reader, picture, &cause);
    if (result < 0 && decoder_is_interrupted(reader->decoder) && !reader->is_second) {
        error_clear(&cause);
        reader->is_open = false;
        result = next_apart(reader, picture, &cause);
    }
    reader->is_second = false;
    if (result < 0) {
        *err = cause;
        reader->is_open = reader->is_open && !decoder_is_interrupted(reader->decoder);
    }
    return result;
}

static bool is_as_listed(const struct reader *reader, const struct picture *picture) {
    return picture->width == reader->lease.width && picture->height == reader->lease.height;
}

int video_reader_next(struct reader *reader, struct picture *picture, const char **ret_name,
                      struct error *err) {
    if (reader->here) {
        return video_read_next(reader->here, picture, ret_name, err);
    }
    if (reader->done == reader->lease.count) {
        return check_listed(reader, err); /* what was read before was as listed, too */
    }
    if (reader->is_given_up) {
        return fail_frame(reader, "the decoder took too long for a frame before it", ret_name);
    }
    struct error cause = {0};
    int result = next_twice(reader, picture, &cause);
    if (result < 0 && !decoder_is_lost(reader->decoder)) {
        *err = cause;
        return -1;
    }
    if (result < 0) {
        return fail_frame(reader, cause.text, ret_name);
    }
    long long frame = (long long)(reader->lease.first + reader->done);
    if (result == READER_ITEM && !is_as_listed(reader, picture)) {
        picture_release(picture);
        return error_set(err, ERROR_INVALID, "%s: frame %lld has another size than was listed",
                         reader->spec_path, frame);
    }
    if (result == READER_END) {
        return error_set(err, ERROR_INVALID, "%s: ends before frame %lld", reader->spec_path,
                         frame);
    }
    if (result == READER_FAULT) {
        snprintf(reader->cause, sizeof reader->cause, "%.400s: frame %lld cannot be decoded whole",
                 reader->spec_path, frame);
    } else {
        snprintf(reader->name, sizeof reader->name, "frame %lld", frame);
    }
    reader->done++;
    *ret_name = result == READER_ITEM ? reader->name : reader->cause;
    return result;
}

void video_reader_free(struct reader *reader) {
    if (reader) {
        video_read_free(reader->here);
        decoder_free(reader->decoder);
        video_source_free(reader->source);
        video_lease_release(&reader->lease);
        free(reader->request);
        free(reader->spec_path);
        free(reader);
    }
}
