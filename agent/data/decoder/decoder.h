/* decoder.h: decodes users' pictures and videos, and unpacks pages of Parquet and .gz files, with
 * third-party libraries in a separate process (decoder_child.h), which has no token, no key, no
 * file and no network (confine.h). One thread at a time; decoder_pool_image and decoder_gunzip any
 * thread.
 *
 * The process is started by the first call, and anew by the next call after it has ended. It may
 * have been taken over by a crafted file: all that it says is checked (decoder_message.h), it is
 * killed when it is silent or takes too long. An end by a signal of its own, false messages and
 * used up processor time fail the item, not the job: INVALID, "the decoder ended by SIGSEGV". The
 * machine's fault: it cannot be started, or was silent (UNAVAILABLE), or was killed (EXHAUSTED). */
#pragma once

#include "agent/data/image/picture.h"
#include "agent/data/parquet/parquet_unpack.h"
#include "agent/data/source/gzip.h"
#include "lib/tree.h"

struct decoder;
struct decoder_pool;

/* The environment says which program is the decoder (DECODER_PROGRAM), and with DECODER_POLICY
 * whether it must be confined as far as this build can: "required"; "auto": as far as the
 * container's runtime admits, which is logged once; "off": this process decodes itself. */
#define DECODER_PROGRAM "WINDLASS_DECODER"
#define DECODER_POLICY "WINDLASS_SANDBOX"

/* The main program calls this first, before threads. From then on parquet_unpack comes here, too.
 * -1: the policy is unknown. */
NODISCARD int decoder_choose(const char *program, struct error *err);
/* False: this process decodes itself; then there is nothing to call here but decoder_pool_image. */
bool decoder_is_separate(void);

/* Limits of a call: ms without a message, seconds of processor time. */
struct decoder_limits {
    int silent_ms, processor_seconds;
};
/* For pictures, of which the largest take 3 s; for frames of films, which may have to be decoded
 * from their start. */
#define DECODER_PICTURE_LIMITS ((struct decoder_limits){60000, 60})
#define DECODER_VIDEO_LIMITS ((struct decoder_limits){60000, 600})
/* For a call about a whole film of this many bytes, which may be decoded all. */
struct decoder_limits decoder_film_limits(int64_t film_bytes);

/* Of pictures; and of videos, for which the process loads libav before it confines itself. */
struct decoder *decoder_new(struct decoder_limits limits);
struct decoder *decoder_new_video(struct decoder_limits limits);
void decoder_free(struct decoder *decoder); /* accepts NULL */
/* After a failed call: the process has ended, by the file (INVALID). */
bool decoder_is_lost(const struct decoder *decoder);
/* After a failed call: the process was silent (UNAVAILABLE), or was killed from outside, as for
 * want of memory or because the thread that started it has ended (EXHAUSTED): not by the file.
 * Another try may succeed; decoder_image has already made two. */
bool decoder_is_interrupted(const struct decoder *decoder);
/* After a failed call: it used too much processor time, or read too much; another try would, too.
 */
bool decoder_is_slow(const struct decoder *decoder);

/* The bytes of a video, which the process asks for. read: bytes, fewer only at the end; -1: the
 * storage failed, and the call fails with CANCELLED (the caller knows why). */
struct decoder_source {
    void *context;
    int64_t size_bytes;
    int64_t (*read)(void *context, int64_t offset, void *data, size_t size);
};

/* What a call about a whole film reads and writes. Sources are numbered from 0, the video. */
struct decoder_files {
    void *context;
    int64_t source_bytes; /* of the video */
    int64_t source_count;
    int64_t total_bytes; /* of all sources, about: the call reads this many some times over */
    int64_t write_max;   /* bytes of what it makes; 0: nothing */
    /* As decoder_source's; bytes behind a source's end are 0. */
    int64_t (*read)(void *context, int64_t source, int64_t offset, void *data, size_t size);
    /* Within write_max. -1: as a failed read. */
    int (*write)(void *context, int64_t offset, const void *data, size_t size);
};

/* A packed page of Parquet. */
struct decoder_page {
    int codec;
    struct parquet_unpack_bytes in;
    size_t size_out;
};

/* As image_decode (image.h). */
NODISCARD int decoder_image(struct decoder *decoder, const void *bytes, size_t size,
                            struct picture *ret_picture, struct error *err);
/* As image_decode_mask (image.h). */
NODISCARD int decoder_mask(struct decoder *decoder, const void *bytes, size_t size,
                           struct picture *ret_picture, struct error *err);
/* Begins a lease. request: {"path": spec path, "work": the lease's (media.h)}, at most
 * DECODER_RANGE_BYTES of JSON; done: its frames that are not wanted any more. */
NODISCARD int decoder_video_open(struct decoder *decoder, const struct decoder_source *source,
                                 const char *request, int64_t done, struct error *err);
/* READER_ITEM, READER_FAULT, READER_END (media.h) or -1. */
NODISCARD int decoder_video_next(struct decoder *decoder, const struct decoder_source *source,
                                 struct picture *ret_picture, struct error *err);
/* Does what the request says (decoder_media.c). *ret_answer: JSON, owned; untrusted, since a film
 * may have taken over the process. */
NODISCARD int decoder_film(struct decoder *decoder, const struct decoder_files *files,
                           const char *request, json_t **ret_answer, struct error *err);

/* As parquet_unpack_elsewhere wants it. UNAVAILABLE: another try may succeed. */
NODISCARD int decoder_unpack(struct decoder *decoder, const struct decoder_page *page, uint8_t *out,
                             struct error *err);
/* As gzip_pass, which it is where this process decodes itself. UNAVAILABLE: another try may
 * succeed. */
NODISCARD int decoder_gunzip(const void *data, size_t size, const struct gzip_sink *sink,
                             struct error *err);

/* Decoders of pictures for many threads: at most as many processes as processors that this one may
 * use; further calls wait for one. */
struct decoder_pool *decoder_pool_new(void);
/* Other limits than DECODER_PICTURE_LIMITS. Before the first call. */
void decoder_pool_limit(struct decoder_pool *pool, struct decoder_limits limits);
void decoder_pool_free(struct decoder_pool *pool); /* accepts NULL */
NODISCARD int decoder_pool_image(struct decoder_pool *pool, const void *bytes, size_t size,
                                 struct picture *ret_picture, struct error *err);
NODISCARD int decoder_pool_mask(struct decoder_pool *pool, const void *bytes, size_t size,
                                struct picture *ret_picture, struct error *err);
/* For parquet_unpack_by: by decoders of this process, as many as it may use processors. */
NODISCARD int decoder_pool_unpack(int codec, struct parquet_unpack_bytes in, uint8_t *out,
                                  size_t size_out, struct error *err);
