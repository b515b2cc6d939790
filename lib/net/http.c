// SPDX-License-Identifier: Apache-2.0
#include "lib/net/http_call.h"

#include "lib/time/clock.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum {
    CONNECTIONS_KEPT = 16,
    CONNECTIONS_PER_SERVER = 80, /* HTTP/2 needs only one */
    CONNECTIONS_MAX = 256,
    EVENTS_MAX = 64,
    SPARE_MAX = 64,      /* calls that have ended and are used again ... */
    BODY_KEPT = 4 << 10, /* ... unless they have more memory */
};

struct http {
    CURLM *multi;
    struct http_sockets sockets;
    struct http_call *calls, *spare;
    size_t count;
    int spare_count;
    int epoll, timer;
    int wake_fd;                         /* http_wake_by; -1: none */
    int64_t curl_due_ms, silence_due_ms; /* INT64_MAX: never */
    int64_t armed_ms;                    /* when the timer fires, or before */
    bool is_inside;                      /* libcurl, which must not be entered again */
    bool has_unstarted;
};

static void initialise(void) {
    libcurl.global_init(CURL_GLOBAL_DEFAULT);
}

static enum error_kind kind_of_curl(CURLcode code, bool is_sent) {
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ERROR_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ERROR_DENIED;
    case CURLE_URL_MALFORMAT:
    case CURLE_SSL_CERTPROBLEM:
        return ERROR_INVALID;
    case CURLE_UNSUPPORTED_PROTOCOL: /* of the URL, or of the answer */
        return is_sent ? ERROR_UNAVAILABLE : ERROR_INVALID;
    default:
        return ERROR_UNAVAILABLE;
    }
}

/* ---- calls ---- */

/* Removes the call from libcurl and from the list. */
static void call_detach(struct http_call *call) {
    if (call->is_added) {
        libcurl.multi_remove_handle(call->http->multi, call->curl);
        call->is_added = false;
    }
    if (call->link) {
        *call->link = call->next;
        if (call->next) {
            call->next->link = call->link;
        }
        call->link = NULL;
        call->http->count--;
    }
}

static void call_free(struct http_call *call) {
    call_detach(call);
    libcurl.easy_cleanup(call->curl);
    libcurl.slist_free_all(call->headers);
    libcurl.slist_free_all(call->connect_to);
    libcurl.slist_free_all(call->resolve);
    buffer_release(&call->body);
    free(call->method_and_url);
    free(call);
}

static void call_freep(struct http_call **call) {
    if (*call) {
        call_free(*call);
    }
    *call = NULL;
}

/* Keeps an ended call for the next one of its kind. */
static void call_keep(struct http_call *call) {
    struct http *http = call->http;
    if (call->kind == 0 || call->err.kind || http->spare_count == SPARE_MAX ||
        call->body.capacity > BODY_KEPT) {
        call_free(call);
        return;
    }
    call->next = http->spare;
    http->spare = call;
    http->spare_count++;
}

/* NULL: there is none. */
static struct http_call *call_again(struct http *http, const struct http_request *request) {
    struct http_call **at = &http->spare;
    while (*at && (*at)->kind != request->kind) {
        at = &(*at)->next;
    }
    struct http_call *call = request->kind > 0 ? *at : NULL;
    if (!call) {
        return NULL;
    }
    *at = call->next;
    http->spare_count--;
    if (!http_call_prepare_again(call, request)) {
        call_free(call);
        return NULL;
    }
    return call;
}

static int call_new(struct http *http, const struct http_request *request,
                    struct http_call **ret_call, struct error *err) {
    *ret_call = call_again(http, request);
    if (*ret_call) {
        return 0;
    }
    AUTO(call_freep) struct http_call *call = x_calloc(1, sizeof *call);
    call->http = http;
    call->sockets = &http->sockets;
    if (http_call_prepare(call, request, err) < 0) {
        return -1;
    }
    *ret_call = TAKE(call);
    return 0;
}

/* ---- the loop ---- */

static int64_t next_due_ms(const struct http *http) {
    return MIN(http->curl_due_ms, http->silence_due_ms);
}

/* A timer that fires early is cheaper than setting it for every call. */
static void arm_timer(struct http *http) {
    int64_t at_ms = next_due_ms(http);
    if (at_ms >= http->armed_ms || http->wake_fd >= 0) {
        return;
    }
    http->armed_ms = at_ms;
    int64_t left_ms = MAX(at_ms - clock_monotonic_ms(), 0);
    struct itimerspec when = {.it_value = {left_ms / 1000, left_ms % 1000 * 1000000 + 1}};
    timerfd_settime(http->timer, 0, &when, NULL);
}

static int on_timer(CURLM *multi, long timeout_ms, void *context) {
    (void)multi;
    struct http *http = context;
    http->curl_due_ms = timeout_ms < 0 ? INT64_MAX : clock_monotonic_ms() + timeout_ms;
    arm_timer(http);
    return 0;
}

static int on_socket(CURL *curl UNUSED, curl_socket_t fd, int what, void *context,
                     void *own UNUSED) {
    struct http *http = context;
    uint32_t events = what == CURL_POLL_REMOVE ? 0
                                               : (what & CURL_POLL_IN ? EPOLLIN : 0) |
                                                     (what & CURL_POLL_OUT ? EPOLLOUT : 0);
    http_sockets_watch(&http->sockets, fd, events);
    return 0;
}

int http_open(struct http **ret_http, struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    if (http_curl_open(err) < 0) {
        return -1;
    }
    pthread_once(&once, initialise);
    AUTO(http_freep) struct http *http = x_calloc(1, sizeof *http);
    http->curl_due_ms = http->silence_due_ms = http->armed_ms = INT64_MAX;
    http->wake_fd = -1;
    http->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    http->sockets.epoll = http->epoll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = http->timer};
    if (http->timer < 0 || http->epoll < 0 ||
        epoll_ctl(http->epoll, EPOLL_CTL_ADD, http->timer, &event) < 0) {
        return error_from_errno(err, errno, "cannot make an event loop");
    }
    http->multi = libcurl.multi_init();
    if (!http->multi || libcurl.multi_setopt(http->multi, CURLMOPT_SOCKETFUNCTION, on_socket) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_SOCKETDATA, http) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_TIMERFUNCTION, on_timer) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_TIMERDATA, http) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)CONNECTIONS_KEPT) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS,
                             (long)CONNECTIONS_PER_SERVER) ||
        libcurl.multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)CONNECTIONS_MAX)) {
        return error_set(err, ERROR_BUG, "libcurl cannot start");
    }
    *ret_http = TAKE(http);
    return 0;
}

void http_set_connections(struct http *http, int count) {
    libcurl.multi_setopt(http->multi, CURLMOPT_MAXCONNECTS, (long)count);
    libcurl.multi_setopt(http->multi, CURLMOPT_MAX_HOST_CONNECTIONS, (long)count);
    libcurl.multi_setopt(http->multi, CURLMOPT_MAX_TOTAL_CONNECTIONS, (long)count);
}

void http_free(struct http *http) {
    if (!http) {
        return;
    }
    while (http->calls) {
        call_free(http->calls);
    }
    while (http->spare) {
        struct http_call *next = http->spare->next;
        call_free(http->spare);
        http->spare = next;
    }
    if (http->multi) {
        libcurl.multi_cleanup(http->multi);
    }
    fd_closep(&http->timer);
    fd_closep(&http->epoll);
    http_sockets_release(&http->sockets);
    free(http);
}

void http_freep(struct http **http) {
    http_free(*http);
    *http = NULL;
}

size_t http_count(const struct http *http) {
    return http->count;
}

int http_fd(const struct http *http) {
    return http->epoll;
}

/* Edges: each write is one, whether what came before was read or not. */
int http_wake_by(struct http *http, int fd, struct error *err) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.fd = fd};
    if (epoll_ctl(http->epoll, EPOLL_CTL_ADD, fd, &event) < 0) {
        return error_from_errno(err, errno, "cannot wait for the network");
    }
    http->wake_fd = fd;
    return 0;
}

static void add_to_curl(struct http *http, struct http_call *call) {
    call->is_added = libcurl.multi_add_handle(http->multi, call->curl) == CURLM_OK;
    if (!call->is_added) {
        abort(); /* out of memory, or the handle was added before */
    }
}

int http_start(struct http *http, const struct http_request *request, struct http_call **ret_call,
               struct error *err) {
    struct http_call *call = NULL;
    if (call_new(http, request, &call, err) < 0) {
        return -1;
    }
    call->next = http->calls;
    call->link = &http->calls;
    if (call->next) {
        call->next->link = &call->next;
    }
    http->calls = call;
    http->count++;
    if (call->silence_ms) {
        http->silence_due_ms = MIN(http->silence_due_ms, call->heard_ms + call->silence_ms);
        arm_timer(http);
    }
    if (http->is_inside) {
        http->has_unstarted = true;
    } else {
        add_to_curl(http, call);
    }
    if (ret_call) {
        *ret_call = call;
    }
    return 0;
}

/* Behind such an error libcurl may keep a connection of HTTP/2 whose state is lost: what is asked
 * on it next would wait for all its time. */
static void cut_broken(struct http_call *call, CURLcode code) {
    curl_socket_t fd = CURL_SOCKET_BAD;
    bool is_broken = code == CURLE_RECV_ERROR || code == CURLE_SEND_ERROR || code == CURLE_HTTP2;
    if (is_broken && libcurl.easy_getinfo(call->curl, CURLINFO_ACTIVESOCKET, &fd) == CURLE_OK &&
        fd != CURL_SOCKET_BAD) {
        shutdown(fd, SHUT_RDWR);
    }
}

/* Ends a call. It leaves the list first, because done may start and cancel others. */
static void finish(struct http_call *call, CURLcode code) {
    struct error err = call->err;
    struct http_answer answer = {
        .body = call->body.data ? call->body.data : "", .size = call->body.size, .call = call};
    long status = 0, sent_bytes = 0;
    curl_off_t retry_after_s = 0;
    libcurl.easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    libcurl.easy_getinfo(call->curl, CURLINFO_REQUEST_SIZE, &sent_bytes);
    libcurl.easy_getinfo(call->curl, CURLINFO_RETRY_AFTER, &retry_after_s);
    cut_broken(call, code);
    answer.status = (int)status;
    answer.retry_after_s = (int)MIN(MAX(retry_after_s, 0), INT_MAX);
    if (err.kind) {
        error_context(&err, "%s: response", call->method_and_url);
    } else if (code != CURLE_OK && *call->refused) {
        error_set(&err, ERROR_DENIED,
                  "%s: has the address %s, which is link-local or a metadata service's; nothing is "
                  "sent there",
                  call->method_and_url, call->refused);
    } else if (code != CURLE_OK) {
        error_set(&err, kind_of_curl(code, sent_bytes > 0), "%s: %s", call->method_and_url,
                  *call->reason ? call->reason : libcurl.easy_strerror(code));
    }
    call_detach(call);
    if (call->done) {
        call->done(call->context, err.kind ? NULL : &answer, sent_bytes > 0,
                   err.kind ? &err : NULL);
    }
    call_keep(call);
}

const char *http_answer_header_at(const struct http_answer *answer, const char *name,
                                  size_t index) {
    struct curl_header *header = NULL;
    return answer->call && libcurl.easy_header(answer->call->curl, name, index, CURLH_HEADER, -1,
                                               &header) == CURLHE_OK
               ? header->value
               : NULL;
}

const char *http_answer_header(const struct http_answer *answer, const char *name) {
    return http_answer_header_at(answer, name, 0);
}

void http_cancel(struct http *http, struct http_call *call) {
    if (!http->is_inside) {
        call_free(call);
        return;
    }
    /* libcurl is running: the call is removed after it has returned. */
    call->done = NULL;
    call->received = NULL;
    error_set(&call->err, ERROR_CANCELLED, "cancelled");
    http->has_unstarted = true;
}

/* Does what had to wait while libcurl was running. */
static void catch_up(struct http *http) {
    if (!http->has_unstarted) {
        return;
    }
    http->has_unstarted = false;
    struct http_call *next;
    for (struct http_call *call = http->calls; call; call = next) {
        next = call->next;
        if (call->err.kind == ERROR_CANCELLED && !call->done) {
            call_free(call);
        } else if (!call->is_added) {
            add_to_curl(http, call);
        }
    }
}

static void set_silent(struct http_call *call) {
    int seconds = call->silence_ms / 1000;
    if (call->heard_bytes) {
        error_set(&call->err, ERROR_TIMEOUT,
                  "too slow: only %zu bytes received in %d s, at least %zu are expected",
                  call->heard_bytes, seconds, call->slowest_bytes);
    } else {
        error_set(&call->err, ERROR_TIMEOUT, "no byte of the answer's body received for %d s",
                  seconds);
    }
}

static void finish_silent(struct http *http) {
    int64_t now_ms = clock_monotonic_ms();
    if (now_ms < http->silence_due_ms) {
        return;
    }
    http->silence_due_ms = INT64_MAX;
    for (struct http_call *call = http->calls; call;) {
        int64_t due_ms = call->silence_ms ? call->heard_ms + call->silence_ms : INT64_MAX;
        if (due_ms <= now_ms) {
            set_silent(call);
            finish(call, CURLE_OPERATION_TIMEDOUT);
            call = http->calls; /* its done may have changed the list */
            continue;
        }
        http->silence_due_ms = MIN(http->silence_due_ms, due_ms);
        call = call->next;
    }
    arm_timer(http);
}

static void finish_ended(struct http *http) {
    int left;
    CURLMsg *message;
    while ((message = libcurl.multi_info_read(http->multi, &left))) {
        if (message->msg == CURLMSG_DONE) {
            CURLcode code = message->data.result;
            char *call = NULL;
            libcurl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &call);
            finish((struct http_call *)(void *)call, code);
        }
    }
}

static void act(struct http *http, curl_socket_t fd, int what) {
    int running;
    http->is_inside = true;
    libcurl.multi_socket_action(http->multi, fd, what, &running);
    http->is_inside = false;
}

static void timer_expired(struct http *http) {
    uint64_t fired;
    if (read(http->timer, &fired, sizeof fired) > 0) {
        http->armed_ms = INT64_MAX;
        if (clock_monotonic_ms() >= http->curl_due_ms) {
            http->curl_due_ms = INT64_MAX;
            act(http, CURL_SOCKET_TIMEOUT, 0);
        }
    }
    arm_timer(http);
}

/* What libcurl's timer would call for; true: something was due. */
static bool run_due(struct http *http) {
    if (http->curl_due_ms == INT64_MAX || clock_monotonic_ms() < http->curl_due_ms) {
        return false;
    }
    http->curl_due_ms = INT64_MAX;
    act(http, CURL_SOCKET_TIMEOUT, 0);
    return true;
}

/* Without the timer, whose setting and reading are two system calls for each call that starts: how
 * long to wait. */
static int wait_without_timer(struct http *http, int timeout_ms) {
    if (run_due(http)) {
        return 0;
    }
    if (next_due_ms(http) == INT64_MAX) {
        return timeout_ms;
    }
    int64_t left_ms = MAX(next_due_ms(http) - clock_monotonic_ms(), (int64_t)0);
    return (int)MIN(left_ms, timeout_ms < 0 ? (int64_t)INT_MAX : (int64_t)timeout_ms);
}

int http_wait(struct http *http, int timeout_ms, struct error *err) {
    struct epoll_event events[EVENTS_MAX];
    if (http->wake_fd >= 0) {
        timeout_ms = wait_without_timer(http, timeout_ms);
    }
    int count = epoll_wait(http->epoll, events, EVENTS_MAX, timeout_ms);
    if (count < 0 && errno != EINTR) {
        return error_from_errno(err, errno, "cannot wait for the network");
    }
    for (int i = 0; i < count; i++) {
        if (events[i].data.fd == http->timer) {
            timer_expired(http);
            continue;
        }
        if (events[i].data.fd == http->wake_fd ||
            http_sockets_is_idle(&http->sockets, events[i].data.fd)) {
            continue;
        }
        int what = (events[i].events & (EPOLLIN | EPOLLHUP) ? CURL_CSELECT_IN : 0) |
                   (events[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
                   (events[i].events & EPOLLERR ? CURL_CSELECT_ERR : 0);
        act(http, events[i].data.fd, what);
    }
    catch_up(http);
    finish_ended(http);
    finish_silent(http);
    return 0;
}

/* ---- one blocking call ---- */

struct blocking {
    bool is_done;
    int status;
    char *body;
    struct error err;
};

static void note_end(void *context, const struct http_answer *answer, bool is_sent,
                     const struct error *err) {
    (void)is_sent;
    struct blocking *blocking = context;
    blocking->is_done = true;
    if (err) {
        blocking->err = *err;
    } else {
        blocking->status = answer->status;
        blocking->body = x_strndup(answer->body, answer->size);
    }
}

int http_get(const struct http_request *request, int *ret_status, char **ret_body,
             struct error *err) {
    struct blocking blocking = {0};
    struct http_request copy = *request;
    copy.done = note_end;
    copy.context = &blocking;
    copy.reuse = HTTP_ONCE;
    AUTO(http_freep) struct http *http = NULL;
    if (http_open(&http, err) < 0 || http_start(http, &copy, NULL, err) < 0) {
        return -1;
    }
    while (!blocking.is_done) {
        if (http_wait(http, -1, err) < 0) {
            return -1;
        }
    }
    if (blocking.err.kind) {
        *err = blocking.err;
        return -1;
    }
    *ret_status = blocking.status;
    *ret_body = blocking.body;
    return 0;
}
