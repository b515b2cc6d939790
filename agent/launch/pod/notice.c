// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/notice.h"

#include "lib/net/http.h"
#include "lib/time/clock.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    EVERY_MS = 1000,
    PAUSE_MAX_MS = 30000,
    CONNECT_MS = 2000,
    FIRST_ANSWER_MS = 150000, /* the first request enables the service */
    ANSWER_MS = 10000,
};

struct notice {
    struct notice_options options;
    char *url, *name_url;
    int stop_fd; /* readable: leave */
    pthread_t thread;
    struct http *http;
    char machine[NOTICE_NAME_MAX + 1]; /* "": not known yet */
    bool has_answered, is_failing, is_announced, is_waiting;
    int64_t next_ms, pause_ms;
};

/* ---- answers -------------------------------------------------------------------------------- */

static void note_failure(struct notice *notice, const struct error *err) {
    notice->pause_ms = MIN(notice->pause_ms * 2, PAUSE_MAX_MS);
    if (!notice->is_failing && notice->options.changed) {
        notice->options.changed(notice->options.context, err);
    }
    notice->is_failing = true;
}

static void note_success(struct notice *notice) {
    static const struct error none;
    notice->pause_ms = notice->options.every_ms;
    notice->has_answered = true;
    if (notice->is_failing && notice->options.changed) {
        notice->options.changed(notice->options.context, &none);
    }
    notice->is_failing = false;
}

/* Reads the name of this machine; too long names and unexpected characters are refused. */
static int take_name(struct notice *notice, const struct http_answer *answer, struct error *err) {
    size_t size = answer->size;
    while (size > 0 && isspace((unsigned char)answer->body[size - 1])) {
        size--;
    }
    bool is_name = size > 0 && size <= NOTICE_NAME_MAX;
    for (size_t i = 0; is_name && i < size; i++) {
        char byte = answer->body[i];
        is_name = isalnum((unsigned char)byte) || byte == '-' || byte == '_' || byte == '.';
    }
    if (!is_name) {
        return error_set(err, ERROR_INVALID, "not the name of a machine (%zu bytes)", answer->size);
    }
    memcpy(notice->machine, answer->body, size);
    notice->machine[size] = 0;
    notice->next_ms = clock_monotonic_ms(); /* ask for events at once */
    return 0;
}

static int take_answer(struct notice *notice, const struct http_answer *answer, struct error *err) {
    if (answer->status != 200) {
        return error_set(err, ERROR_UNAVAILABLE, "answered with status %d", answer->status);
    }
    if (!notice->machine[0]) {
        return take_name(notice, answer, err);
    }
    struct notice_event event;
    int found =
        notice_read(answer->body, answer->size, notice->machine, clock_wall_ms(), &event, err);
    if (found > 0 && !notice->is_announced) {
        notice->is_announced = true;
        notice->options.announced(notice->options.context, &event);
    }
    return found < 0 ? -1 : 0;
}

static void on_end(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                   const struct error *why) {
    struct notice *notice = context;
    struct error err = {0};
    const char *url = notice->machine[0] ? notice->url : notice->name_url;
    notice->is_waiting = false;
    notice->next_ms = clock_monotonic_ms() + notice->pause_ms;
    int result = -1;
    if (answer) {
        result = take_answer(notice, answer, &err);
    } else {
        err = *why;
    }
    if (result == 0) {
        note_success(notice);
    } else {
        error_context(&err, "%s", url);
        note_failure(notice, &err);
    }
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void ask(struct notice *notice) {
    static const char *const headers[] = {"Metadata: true", NULL};
    struct error err = {0};
    struct http_request request = {
        .url = notice->machine[0] ? notice->url : notice->name_url,
        .headers = headers,
        .connect_ms = CONNECT_MS,
        .timeout_ms = notice->has_answered ? ANSWER_MS : FIRST_ANSWER_MS,
        .bytes_max = NOTICE_BYTES_MAX,
        .done = on_end,
        .context = notice,
    };
    notice->is_waiting = true;
    if (http_start(notice->http, &request, NULL, &err) < 0) {
        notice->is_waiting = false;
        notice->next_ms = clock_monotonic_ms() + notice->pause_ms;
        note_failure(notice, &err);
    }
}

static void *run(void *context) {
    struct notice *notice = context;
    struct pollfd fds[] = {{.fd = notice->stop_fd, .events = POLLIN},
                           {.fd = http_fd(notice->http), .events = POLLIN}};
    while (!notice->is_announced) {
        int64_t now_ms = clock_monotonic_ms();
        if (!notice->is_waiting && now_ms >= notice->next_ms) {
            ask(notice);
        }
        int64_t left_ms = notice->is_waiting ? EVERY_MS : MAX(0, notice->next_ms - now_ms);
        if (poll(fds, ARRAY_LEN(fds), (int)MIN(left_ms, EVERY_MS)) < 0 && errno != EINTR) {
            break;
        }
        struct error err = {0};
        if ((fds[0].revents & POLLIN) || http_wait(notice->http, 0, &err) < 0) {
            break;
        }
    }
    return NULL;
}

/* ---- life ----------------------------------------------------------------------------------- */

static void free_notice(struct notice *notice) {
    http_free(notice->http);
    fd_closep(&notice->stop_fd);
    free(notice->url);
    free(notice->name_url);
    free(notice);
}

int notice_start(const struct notice_options *options, struct notice **ret_notice,
                 struct error *err) {
    static const char scheme[] = "http://";
    const char *path =
        text_starts(options->url, scheme) ? strchr(options->url + strlen(scheme), '/') : NULL;
    if (!path || path == options->url + strlen(scheme)) {
        return error_set(err, ERROR_INVALID,
                         "WINDLASS_EVENTS: invalid address \"%s\", expected http://IP/path",
                         options->url);
    }
    struct notice *notice = x_calloc(1, sizeof *notice);
    notice->options = *options;
    notice->options.every_ms = options->every_ms > 0 ? options->every_ms : EVERY_MS;
    notice->pause_ms = notice->options.every_ms;
    notice->url = x_strdup(options->url);
    notice->name_url =
        x_printf("%.*s/metadata/instance/compute/name?api-version=2021-02-01&format=text",
                 (int)(path - options->url), options->url);
    notice->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (notice->stop_fd < 0) {
        error_from_errno(err, errno, "cannot make an eventfd");
        free_notice(notice);
        return -1;
    }
    if (http_open(&notice->http, err) < 0) {
        free_notice(notice);
        return -1;
    }
    int failure = pthread_create(&notice->thread, NULL, run, notice);
    if (failure) {
        error_from_errno(err, failure, "cannot start a thread");
        free_notice(notice);
        return -1;
    }
    *ret_notice = notice;
    return 0;
}

void notice_stop(struct notice *notice) {
    if (!notice) {
        return;
    }
    uint64_t one = 1;
    ssize_t ignored = write(notice->stop_fd, &one, sizeof one);
    (void)ignored; /* a write to an eventfd succeeds */
    pthread_join(notice->thread, NULL);
    free_notice(notice);
}
