// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/notice.h"

#include "agent/launch/pod/notice_cloud.h"
#include "lib/net/http.h"
#include "lib/time/clock.h"

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
    char *url, *host; /* WINDLASS_EVENTS; of it "http://IP" */
    const struct notice_cloud *cloud;
    int refused; /* clouds in a row that do not know the way they were asked */
    int stop_fd; /* readable: leave */
    pthread_t thread;
    struct http *http;
    char key[NOTICE_KEY_MAX + 1]; /* of the cloud; "": not known yet */
    bool key_has_worked, has_answered, is_failing, is_announced, is_waiting;
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

static bool wants_key(const struct notice *notice) {
    return notice->cloud->first.path && !notice->key[0];
}

/* The next request is made at once. */
static void ask_again(struct notice *notice) {
    notice->next_ms = clock_monotonic_ms();
}

/* 1: the next request follows from this answer. */
static int take_answer(struct notice *notice, const struct notice_answer *answer,
                       struct error *err) {
    struct notice_event event;
    if (wants_key(notice)) {
        if (notice_read_key(answer, notice->key, err) < 0) {
            return -1;
        }
        return 1;
    }
    if (answer->status == notice->cloud->key_is_over) {
        bool has_worked = notice->key_has_worked;
        notice->key[0] = 0; /* asked for after the usual pause */
        notice->key_has_worked = false;
        return has_worked ? 0
                          : error_set(err, ERROR_UNAVAILABLE,
                                      "status %d to a request with the token that it gave",
                                      answer->status);
    }
    int found = notice->cloud->read(answer, notice->key, clock_wall_ms(), &event, err);
    notice->key_has_worked = found >= 0;
    if (found > 0 && !notice->is_announced) {
        notice->is_announced = true;
        notice->options.announced(notice->options.context, &event);
    }
    return MIN(found, 0);
}

/* Before the first answer each failure is followed by a question of another cloud's kind: a service
 * may be out of order for a while, or not answer what it does not know. True: it is asked at once;
 * once for each cloud, then after a pause. status: 0 if there was no answer. */
static bool try_elsewhere(struct notice *notice, int status) {
    if (notice->has_answered) {
        return false;
    }
    ptrdiff_t next = notice->cloud - notice_clouds + 1;
    notice->cloud = &notice_clouds[next % NOTICE_CLOUDS];
    notice->key[0] = 0;
    notice->refused = notice_is_elsewhere(status) ? notice->refused + 1 : 0;
    return notice->refused % NOTICE_CLOUDS != 0;
}

static void on_end(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                   const struct error *why) {
    struct notice *notice = context;
    const struct notice_cloud *asked = notice->cloud;
    struct error err = {0};
    int result = -1, status = answer ? answer->status : 0;
    notice->is_waiting = false;
    notice->next_ms = clock_monotonic_ms() + notice->pause_ms;
    if (answer) {
        const struct notice_answer of_cloud = {answer->status, answer->body, answer->size};
        result = take_answer(notice, &of_cloud, &err);
    } else {
        err = *why;
    }
    if (result == 0) {
        note_success(notice);
    } else if (result > 0 || try_elsewhere(notice, status)) {
        ask_again(notice);
    } else {
        error_context(&err, "%s (%s)", notice->url, asked->name);
        note_failure(notice, &err);
    }
}

/* ---- the thread ----------------------------------------------------------------------------- */

static void ask(struct notice *notice) {
    const struct notice_cloud *cloud = notice->cloud;
    const struct notice_ask *what = wants_key(notice) ? &cloud->first : &cloud->events;
    bool has_key = what == &cloud->events && cloud->sends_key;
    AUTO(text_freep) char *header = x_printf("%s%s", what->header, has_key ? notice->key : "");
    AUTO(text_freep)
    char *url = what->path ? x_printf("%s%s", notice->host, what->path) : x_strdup(notice->url);
    const char *const headers[] = {header, NULL};
    struct error err = {0};
    struct http_request request = {
        .url = url,
        .method = what->method,
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
    free(notice->host);
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
    notice->host = x_strndup(options->url, (size_t)(path - options->url));
    notice->cloud = &notice_clouds[0];
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
