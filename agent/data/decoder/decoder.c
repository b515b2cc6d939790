// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder.h"

#include "agent/data/decoder/confine.h"
#include "agent/data/decoder/decoder_call.h"
#include "agent/data/image/image.h"
#include "agent/data/input/media.h"
#include "lib/cgroup.h"
#include "lib/log.h"
#include "lib/time/clock.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LOOK_MS = 1000,     /* the waiting time is added up by so much: of a process that was stopped no
                           more counts */
    START_MS = 60000,   /* until it has begun, whatever a call may take */
    READS_OF_SIZE = 16, /* a call reads this many times the video, ... */
    READ_AT_LEAST = 4096,   /* ... of which a READ counts as this many bytes ... */
    READS_MORE = 256 << 20, /* ... and this many more */
    WRITES_OF_SIZE = 3,     /* of what may be written; MP4's index is moved once to its front */
    /* A whole film may be decoded to list it: large and slow codecs take 20 s of processor time for
     * a MiB. */
    FILM_SILENT_MS = 600000,
    FILM_SECONDS = 3600,
    FILM_BYTES_A_SECOND = 32 << 10,
    FILM_SECONDS_MAX = 1 << 30,
};

/* ---- policy ---- */

/* Whether this process ends with a decoder that is killed where memory runs out; set before
 * threads. */
static bool shares_fate;

void decoder_share_fate(void) {
    shares_fate = true;
}

bool decoder_is_separate(void) {
    return getenv(DECODER_PROGRAM) != NULL;
}

static bool is_required(void) {
    const char *policy = getenv(DECODER_POLICY);
    return policy && strcmp(policy, "required") == 0;
}

static pthread_once_t said_once = PTHREAD_ONCE_INIT;

static void warn_unconfined(void) {
    log_event(LOG_WARNING,
              "files are decoded in a separate process, but this container's runtime or kernel "
              "refuses it a part of its confinement (" DECODER_POLICY
              "=required makes this an error; docs/operate/decoding.md)");
}

/* Without Landlock the filter of calls refuses files and network by itself. */
static int check_confined(int64_t parts, struct error *err) {
    unsigned missing = confine_possible() & ~(unsigned)parts & ~(unsigned)CONFINE_FILES;
    if (!missing) {
        return 0;
    }
    if (is_required()) {
        AUTO(text_freep) char *names = confine_missing(~missing);
        return error_set(err, ERROR_UNAVAILABLE,
                         "the decoder cannot be confined here (%s refused), and " DECODER_POLICY
                         " is required: allow it in the container's seccomp profile, or set auto",
                         names);
    }
    pthread_once(&said_once, warn_unconfined);
    return 0;
}

/* ---- messages ---- */

struct decoder *decoder_new(struct decoder_limits limits) {
    struct decoder *decoder = x_calloc(1, sizeof *decoder);
    decoder->process.socket = decoder->process.window_fd = -1;
    decoder->limits = limits;
    return decoder;
}

struct decoder *decoder_new_video(struct decoder_limits limits) {
    struct decoder *decoder = decoder_new(limits);
    decoder->use = DECODER_USE_VIDEO;
    return decoder;
}

void decoder_free(struct decoder *decoder) {
    if (decoder) {
        decoder_process_release(&decoder->process);
        free(decoder);
    }
}

bool decoder_is_lost(const struct decoder *decoder) {
    return decoder->is_lost;
}

bool decoder_is_slow(const struct decoder *decoder) {
    return decoder->is_slow;
}

bool decoder_is_interrupted(const struct decoder *decoder) {
    return decoder->is_interrupted;
}

/* The process is killed: nothing that it says is worth more. */
static int lose(struct decoder *decoder, struct error *err, const char *why) {
    decoder_process_stop(&decoder->process, NULL);
    decoder->is_lost = true;
    return error_set(err, ERROR_INVALID, "%s", why);
}

/* As lose, of a process that the file cannot be blamed for. */
static int interrupt(struct decoder *decoder, struct error *err, enum error_kind kind,
                     const char *why) {
    decoder_process_stop(&decoder->process, NULL);
    decoder->is_interrupted = true;
    return error_set(err, kind, "%s", why);
}

/* Whether a decoder ends itself by this signal. Others come from outside, as SIGKILL, or when
 * memory that it has cannot be had: SIGBUS. */
static bool is_own_signal(int number) {
    switch (number) {
    case SIGSEGV:
    case SIGABRT:
    case SIGSYS:
    case SIGXCPU:
    case SIGFPE:
    case SIGILL:
    case SIGTRAP:
        return true;
    default:
        return false;
    }
}

/* Where memory runs out, the kernel would kill this process if it decoded itself; it killed a
 * decoder in its place, and would kill the next. The pod's end then says OOMKilled, as it should.
 */
static void share_fate(const struct decoder_process *process) {
    if (shares_fate && cgroup_memory_kills(NULL) > process->kills_before) {
        log_event(LOG_ERROR, "a decoder was killed because this container's memory ran out: this "
                             "process ends like it");
        _exit(128 + SIGKILL); /* the first process of a container cannot kill itself */
    }
}

static int lose_ended(struct decoder *decoder, struct error *err) {
    AUTO(text_freep) char *how = NULL;
    decoder_process_stop(&decoder->process, &how);
    AUTO(text_freep) char *why = x_printf("the decoder ended %s", how);
    int number = decoder->process.ended_by;
    if (number == SIGKILL) {
        share_fate(&decoder->process);
    }
    if (number && !is_own_signal(number)) {
        return interrupt(decoder, err, ERROR_EXHAUSTED, why);
    }
    decoder->is_slow = number == SIGXCPU;
    return lose(decoder, err, why);
}

/* Waits for a packet: 1; 0: silence, or its processor time is used up; -1 the process has ended.
 * *ret_size: its bytes. */
static int receive(struct decoder *decoder, int timeout_ms, struct decoder_message *message,
                   size_t *ret_size) {
    struct pollfd wanted = {.fd = decoder->process.socket, .events = POLLIN};
    for (int64_t silent_ms = 0; silent_ms < timeout_ms;) {
        int64_t before_ms = clock_monotonic_ms();
        if (decoder_process_is_spent(&decoder->process)) {
            return 0;
        }
        int ready = poll(&wanted, 1, LOOK_MS);
        if (ready > 0) {
            /* MSG_TRUNC: the size of a packet that is too large, which then is invalid. */
            ssize_t got = recv(wanted.fd, message, sizeof *message, MSG_TRUNC | MSG_DONTWAIT);
            *ret_size = got > 0 ? (size_t)got : 0;
            return got > 0 ? 1 : -1;
        }
        if (ready < 0 && errno != EINTR) {
            return -1;
        }
        silent_ms += MIN(clock_monotonic_ms() - before_ms, (int64_t)LOOK_MS);
    }
    return 0;
}

static int receive_message(struct decoder *decoder, const struct decoder_wait *wait,
                           struct decoder_message *message, struct error *err) {
    size_t size = 0;
    const char *why = NULL;
    *message = (struct decoder_message){.kind = 0};
    int heard = receive(decoder, wait->call == DECODER_HELLO ? START_MS : decoder->limits.silent_ms,
                        message, &size);
    if (heard < 0) {
        return lose_ended(decoder, err);
    }
    if (heard == 0 && decoder_process_is_spent(&decoder->process)) {
        decoder->is_slow = true;
        return lose(decoder, err, "the decoder used more processor time than any file should need");
    }
    if (heard == 0) {
        return interrupt(decoder, err, ERROR_UNAVAILABLE, "the decoder was silent for too long");
    }
    if (!decoder_message_check(message, size, wait, &why)) {
        AUTO(text_freep) char *text = x_printf("invalid message from the decoder: %s", why);
        return lose(decoder, err, text);
    }
    return 0;
}

static int send_message(struct decoder *decoder, struct decoder_message *message,
                        struct error *err) {
    message->magic = DECODER_MAGIC;
    message->number = decoder->number;
    /* It is read before the next one is sent; a full socket is one that is not read. */
    return send(decoder->process.socket, message, sizeof *message, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                   (ssize_t)sizeof *message
               ? 0
               : lose_ended(decoder, err);
}

static void forget_call(struct decoder *decoder) {
    decoder->is_lost = decoder->is_slow = decoder->is_interrupted = decoder->has_given = false;
}

int decoder_begin(struct decoder *decoder, struct error *err) {
    struct decoder_message hello;
    struct decoder_wait wait = {.call = DECODER_HELLO};
    struct error cause = {0};
    forget_call(decoder);
    if (decoder->process.socket >= 0) {
        return 0;
    }
    if (decoder_process_start(&decoder->process, getenv(DECODER_PROGRAM), decoder->use, &cause) <
        0) {
        return error_set(err, ERROR_UNAVAILABLE, "%s", cause.text); /* whatever errno says */
    }
    /* It has read nothing of a user yet: this is the machine's fault. */
    if (receive_message(decoder, &wait, &hello, &cause) < 0 || hello.kind != DECODER_HELLO) {
        decoder_process_stop(&decoder->process, NULL);
        forget_call(decoder);
        return error_set(err, ERROR_UNAVAILABLE, "the decoder cannot start: %s", cause.text);
    }
    if (check_confined(hello.values[0], err) < 0) {
        decoder_process_stop(&decoder->process, NULL);
        return -1;
    }
    return 0;
}

static int64_t read_for(const struct decoder_service *service, const struct decoder_message *wanted,
                        char *to) {
    int64_t offset = wanted->values[0];
    size_t size = (size_t)wanted->values[1];
    const struct decoder_source *source = service->source;
    if (service->files) {
        return service->files->read(service->files->context, wanted->values[2], offset, to, size);
    }
    size = (size_t)MIN((int64_t)size, source->size_bytes - offset);
    return source->read(source->context, offset, to, size);
}

/* Gives a range of the video to the child, or takes one that it has made. */
static int serve(struct decoder *decoder, struct decoder_service *service,
                 const struct decoder_message *wanted, struct error *err) {
    int64_t size = wanted->values[1], got;
    bool is_write = wanted->kind == DECODER_WRITE;
    int64_t *budget = is_write ? &service->writes : &service->reads;
    char *range = decoder->process.window + DECODER_RANGE_AT;
    *budget -= MAX(size, (int64_t)READ_AT_LEAST);
    if (*budget < 0) {
        decoder->is_slow = true;
        return lose(decoder, err,
                    is_write ? "the decoder wrote the film too often"
                             : "the decoder read the file too often");
    }
    if (is_write) {
        const struct decoder_files *files = service->files;
        decoder->has_given = true;
        got = files->write(files->context, wanted->values[0], range, (size_t)size) < 0 ? -1 : size;
    } else {
        got = read_for(service, wanted, range);
    }
    if (got < 0) {
        decoder_process_stop(&decoder->process, NULL);
        return error_set(err, ERROR_CANCELLED, "the storage failed while a video was decoded");
    }
    struct decoder_message bytes = {.kind = DECODER_BYTES, .values = {got}};
    return send_message(decoder, &bytes, err);
}

static void begin_wait(struct decoder_wait *wait, struct decoder_service *service) {
    if (service->source) {
        wait->source_bytes = service->source->size_bytes;
        service->reads = READS_OF_SIZE * wait->source_bytes + READS_MORE;
    } else if (service->files) {
        wait->source_bytes = service->files->source_bytes;
        wait->source_count = service->files->source_count;
        wait->write_max = service->files->write_max;
        service->reads = READS_OF_SIZE * service->files->total_bytes + READS_MORE;
        service->writes = WRITES_OF_SIZE * wait->write_max + READS_MORE;
    }
}

int decoder_call(struct decoder *decoder, struct decoder_service service,
                 struct decoder_message *message, struct error *err) {
    struct decoder_wait wait = {.call = message->kind, .number = ++decoder->number};
    begin_wait(&wait, &service);
    decoder_process_limit(&decoder->process, decoder->limits.processor_seconds);
    if (send_message(decoder, message, err) < 0) {
        return -1;
    }
    for (;;) {
        if (receive_message(decoder, &wait, message, err) < 0) {
            return -1;
        }
        if (message->kind == DECODER_FAILURE) {
            return error_set(err, (enum error_kind)message->error_kind, "%s", message->text);
        }
        if (message->kind == DECODER_ANSWER) {
            return 0;
        }
        if (serve(decoder, &service, message, err) < 0) {
            return -1;
        }
    }
}

int decoder_twice(struct decoder *decoder, decoder_try *once, void *context, struct error *err) {
    struct error cause = {0};
    forget_call(decoder); /* also for a call that is refused before it begins */
    int result = once(decoder, context, &cause);
    if (result < 0 && decoder->is_interrupted && !decoder->has_given) {
        error_clear(&cause);
        result = once(decoder, context, &cause);
    }
    if (result < 0) {
        *err = cause;
    }
    return result;
}

/* Copies before anything looks at a pixel: the child can write to the window at any time. */
static void take_picture(struct decoder *decoder, const struct decoder_message *answer,
                         struct picture *ret_picture) {
    struct picture picture;
    int width = (int)answer->values[1], height = (int)answer->values[2];
    size_t size = 3 * (size_t)width * (size_t)height;
    picture_init(&picture, width, height);
    memcpy(picture.pixels, decoder->process.window + DECODER_PICTURE_AT, size);
    if (size > DECODER_KEPT_BYTES) {
        decoder_process_forget(&decoder->process, DECODER_PICTURE_AT, size);
    }
    *ret_picture = picture;
}

/* A file, as a picture or as a mask. */
struct image_file {
    const void *bytes;
    size_t size;
    bool is_mask;
    struct picture *picture; /* where it goes */
};

static int image_once(struct decoder *decoder, void *context, struct error *err) {
    const struct image_file *file = context;
    const size_t size = file->size;
    struct decoder_message message = {.kind = DECODER_IMAGE,
                                      .values = {(int64_t)size, file->is_mask}};
    if (size > IMAGE_BYTES_MAX) {
        return error_set(err, ERROR_INVALID, "has %zu bytes, at most %d can be read", size,
                         IMAGE_BYTES_MAX);
    }
    if (decoder_begin(decoder, err) < 0) {
        return -1;
    }
    memcpy(decoder->process.window + DECODER_FILE_AT, file->bytes, size);
    int result = decoder_call(decoder, (struct decoder_service){0}, &message, err);
    if (size > DECODER_KEPT_BYTES) {
        decoder_process_forget(&decoder->process, DECODER_FILE_AT, size);
    }
    if (result == 0) {
        take_picture(decoder, &message, file->picture);
    }
    return result;
}

int decoder_image(struct decoder *decoder, const void *bytes, size_t size,
                  struct picture *ret_picture, struct error *err) {
    struct image_file file = {bytes, size, false, ret_picture};
    return decoder_twice(decoder, image_once, &file, err);
}

int decoder_mask(struct decoder *decoder, const void *bytes, size_t size,
                 struct picture *ret_picture, struct error *err) {
    struct image_file file = {bytes, size, true, ret_picture};
    return decoder_twice(decoder, image_once, &file, err);
}

/* The request of a call, and the process for it. */
static int begin_request(struct decoder *decoder, const char *request, size_t size,
                         struct error *err) {
    if (size > DECODER_RANGE_BYTES) {
        return error_set(err, ERROR_INVALID, "a request of %zu bytes, at most %d are expected",
                         size, DECODER_RANGE_BYTES);
    }
    if (decoder_begin(decoder, err) < 0) {
        return -1;
    }
    memcpy(decoder->process.window + DECODER_RANGE_AT, request, size);
    return 0;
}

int decoder_video_open(struct decoder *decoder, const struct decoder_source *source,
                       const char *request, int64_t done, struct error *err) {
    size_t size = strlen(request);
    struct decoder_message message = {.kind = DECODER_VIDEO_OPEN,
                                      .values = {(int64_t)size, source->size_bytes, done}};
    return begin_request(decoder, request, size, err) < 0
               ? -1
               : decoder_call(decoder, (struct decoder_service){.source = source}, &message, err);
}

int decoder_video_next(struct decoder *decoder, const struct decoder_source *source,
                       struct picture *ret_picture, struct error *err) {
    struct decoder_message message = {.kind = DECODER_VIDEO_NEXT};
    forget_call(decoder);
    if (decoder->process.socket < 0) {
        return error_set(err, ERROR_BUG, "a decoder without a lease is asked for a frame");
    }
    if (decoder_call(decoder, (struct decoder_service){.source = source}, &message, err) < 0) {
        return -1;
    }
    if (message.values[0] == READER_ITEM) {
        take_picture(decoder, &message, ret_picture);
    }
    return (int)message.values[0];
}

struct decoder_limits decoder_film_limits(int64_t film_bytes) {
    int64_t seconds = FILM_SECONDS + film_bytes / FILM_BYTES_A_SECOND;
    return (struct decoder_limits){FILM_SILENT_MS, (int)MIN(seconds, (int64_t)FILM_SECONDS_MAX)};
}

int decoder_film(struct decoder *decoder, const struct decoder_files *files, const char *request,
                 json_t **ret_answer, struct error *err) {
    size_t size = strlen(request);
    struct decoder_message message = {.kind = DECODER_FILM,
                                      .values = {(int64_t)size, files->source_bytes}};
    if (begin_request(decoder, request, size, err) < 0 ||
        decoder_call(decoder, (struct decoder_service){.files = files}, &message, err) < 0) {
        return -1;
    }
    /* A copy, since the child can write to the window at any time. */
    size_t answer_size = (size_t)message.values[1];
    AUTO(text_freep) char *answer = x_malloc(answer_size + 1);
    memcpy(answer, decoder->process.window + DECODER_RANGE_AT, answer_size);
    struct error cause = {0};
    if (tree_parse(answer, answer_size, DECODER_REPLY_BYTES, ret_answer, &cause) < 0) {
        return lose(decoder, err, "the decoder's answer is not JSON");
    }
    return 0;
}
