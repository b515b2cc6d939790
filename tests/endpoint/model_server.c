// SPDX-License-Identifier: Apache-2.0
/* A model server for tests, as fast as one thread can be: answers every POST with a chat completion
 * (for /v1/embeddings: a vector) that repeats the last "content" (or "input") of the request, after
 * a latency, and with faults. HTTP/1.1 with keep-alive. Prints its port, then lives until it is
 * killed.
 *
 *     model_server [NAME=VALUE ...]
 *     port=N latency=MS spread=MS   a POST takes latency + [0, spread) ms
 *     most=N                        requests at a time; more get 429
 *     busy=% error=% reset=% half=% wrong=% big=% slow=% false=% short=%   faults, of all requests;
 *                                   short: the answer says that it ends at the limit of tokens
 *     after=S                       Retry-After of each 429
 *     key=TEXT                      401 without "Authorization: Bearer TEXT"; repeats what came
 *     forbid=TEXT                   403 for this text
 *     hang=TEXT                     the first request with this text takes an hour
 *     model=NAME                    404 for other models
 *     loads=MS                      503 for everything so long after the start
 *     fails=TEXT                    ends with 1 and this text on stderr, after loads=MS
 *     record=FILE                   a line for each request that was answered well: its text
 *     any=1                         listens on all addresses
 *     seed=N */
#include "lib/base.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { ROOM = 64 << 10, EVENTS = 256, TEXT_MAX = 4096, BIG = 10 << 20, SLOW_STEP_MS = 2 };

enum fault { NONE, BUSY, BROKEN, RESET, HALF, WRONG, LARGE, SLOW, FALSE_NAME, SHORT, FAULTS };
static const char *const fault_names[FAULTS] = {"",      "busy", "error", "reset", "half",
                                                "wrong", "big",  "slow",  "false", "short"};
static struct {
    long port, latency, spread, most, after, seed, loads, any;
    long share[FAULTS];
    const char *key, *model, *forbid, *hang, *fails;
    long loaded_us; /* when it is ready */
    int record;
} given = {.most = 1 << 20, .seed = 1, .record = -1};

struct peer {
    int fd;
    char *in, *out;
    size_t in_size, in_room, out_size, out_at, request_size;
    bool is_busy, closes, is_slow; /* is_busy: its request waits for its time */
    long due_us;
    enum fault fault;
    int status;
    char text[TEXT_MAX];
    bool is_vector;
};

static struct peer **heap; /* by due_us */
static int heap_count, heap_room, in_flight, epoll;
static uint64_t state;

static uint32_t dice(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

static long now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- a heap of those that wait -------------------------------------------------------------- */

static void swap(int a, int b) {
    struct peer *peer = heap[a];
    heap[a] = heap[b];
    heap[b] = peer;
}

static void push(struct peer *peer) {
    if (heap_count == heap_room) {
        heap_room = MAX(heap_room * 2, 64);
        heap = x_realloc_array(heap, (size_t)heap_room, sizeof *heap);
    }
    int at = heap_count++;
    heap[at] = peer;
    for (; at > 0 && heap[at]->due_us < heap[(at - 1) / 2]->due_us; at = (at - 1) / 2) {
        swap(at, (at - 1) / 2);
    }
}

static struct peer *pop(void) {
    struct peer *first = heap[0];
    heap[0] = heap[--heap_count];
    for (int at = 0;;) {
        int least = at;
        for (int child = 2 * at + 1; child <= 2 * at + 2; child++) {
            if (child < heap_count && heap[child]->due_us < heap[least]->due_us) {
                least = child;
            }
        }
        if (least == at) {
            return first;
        }
        swap(at, least);
        at = least;
    }
}

/* ---- answers -------------------------------------------------------------------------------- */

static void watch(struct peer *peer, bool writes) {
    struct epoll_event event = {.events = writes ? EPOLLOUT : EPOLLIN, .data.ptr = peer};
    epoll_ctl(epoll, EPOLL_CTL_MOD, peer->fd, &event);
}

/* One that waits in the heap is freed when its time has come. */
static void hang_up(struct peer *peer) {
    if (peer->fd >= 0) {
        close(peer->fd);
    }
    peer->fd = -1;
    if (!peer->is_busy) {
        free(peer->in);
        free(peer->out);
        free(peer);
    }
}

static void reset(struct peer *peer) {
    struct linger none = {1, 0};
    setsockopt(peer->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    hang_up(peer);
}

static char *body_of(const struct peer *peer) {
    if (peer->status == 401) {
        return x_printf("{\"error\":{\"message\":\"Incorrect API key provided%s\",\"code\":401}}",
                        peer->text);
    }
    if (peer->status == 404) {
        return x_printf("{\"error\":{\"message\":\"The model `%s` does not exist.\",\"code\":"
                        "\"model_not_found\"}}",
                        peer->text);
    }
    if (peer->status != 200) {
        return x_printf("{\"error\":{\"message\":\"as asked\",\"code\":%d}}", peer->status);
    }
    if (peer->is_vector) {
        return x_printf("{\"object\":\"list\",\"data\":[{\"index\":0,\"embedding\":[%zu,0.5,-0.25]"
                        "}],\"usage\":{\"prompt_tokens\":3,\"total_tokens\":3}}",
                        strlen(peer->text));
    }
    const char *name =
        peer->fault == FALSE_NAME ? "\"custom_id\":\"another\",\"id\":\"another\"," : "";
    size_t filled = peer->fault == LARGE ? BIG : 0;
    char *filler = x_calloc(1, filled + 1);
    memset(filler, 'x', filled);
    char *body =
        x_printf("{%s\"object\":\"chat.completion\",\"choices\":[{\"index\":0,\"message\":{"
                 "\"role\":\"assistant\",\"content\":\"%s\"},\"finish_reason\":\"%s\"}],"
                 "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":"
                 "12,\"prompt_tokens_details\":{\"cached_tokens\":2}},\"filler\":\"%s\"}",
                 name, peer->text, peer->fault == SHORT ? "length" : "stop", filler);
    free(filler);
    if (peer->fault == WRONG) {
        memcpy(body, "<html>", 6);
    }
    return body;
}

static void record(const struct peer *peer) {
    char line[TEXT_MAX + 2];
    int size = snprintf(line, sizeof line, "%s\n", peer->text);
    bool is_well =
        peer->status == 200 && *peer->text && peer->fault != HALF && peer->fault != WRONG;
    if (given.record >= 0 && is_well && write(given.record, line, (size_t)size) != size) {
        perror("record");
    }
}

static void send_more(struct peer *peer);

static void answer(struct peer *peer) {
    static const char *const words = "said";
    AUTO(text_freep) char *body = body_of(peer);
    char after[64] = "";
    if (peer->status == 429 && given.after > 0) {
        snprintf(after, sizeof after, "Retry-After: %ld\r\n", given.after);
    }
    record(peer);
    free(peer->out);
    peer->out = x_printf("HTTP/1.1 %d %s\r\nContent-Type: application/json\r\n%sContent-Length: "
                         "%zu\r\n\r\n%s",
                         peer->status, words, after, strlen(body), body);
    peer->out_size = strlen(peer->out);
    peer->out_at = 0;
    peer->is_slow = peer->fault == SLOW;
    if (peer->fault == HALF) {
        peer->out_size -= strlen(body) / 2;
        peer->closes = true;
    }
    send_more(peer);
}

/* ---- requests ------------------------------------------------------------------------------- */

/* The last text under this name, as it is spelled. */
static bool find_text(const char *body, const char *name, char text[static TEXT_MAX]) {
    const char *last = NULL;
    for (const char *at = body; (at = strstr(at, name)); at++) {
        last = at;
    }
    if (!last) {
        return false;
    }
    last += strlen(name);
    last += strspn(last, ": \"");
    size_t size = 0;
    while (last[size] && last[size] != '"' && size + 2 < TEXT_MAX) {
        size += last[size] == '\\' && last[size + 1] ? 2 : 1;
    }
    snprintf(text, TEXT_MAX, "%.*s", (int)size, last);
    return true;
}

static enum fault pick_fault(void) {
    long thrown = dice() % 10000, sum = 0;
    for (int fault = 1; fault < FAULTS; fault++) {
        sum += given.share[fault] * 100;
        if (thrown < sum) {
            return (enum fault)fault;
        }
    }
    return NONE;
}

static void begin(struct peer *peer, char *head, const char *body) {
    char wanted[256] = "", model[TEXT_MAX] = "";
    peer->fault = NONE;
    peer->status = 200;
    peer->is_vector = strstr(head, "/embeddings ") != NULL;
    if (given.key) {
        snprintf(wanted, sizeof wanted, "Authorization: Bearer %s\r\n", given.key);
    }
    (void)(find_text(body, "\"content\"", peer->text) || find_text(body, "\"input\"", peer->text) ||
           find_text(body, "\"prompt\"", peer->text));
    if (now_us() < given.loaded_us) {
        peer->status = 503;
    } else if (text_starts(head, "GET ")) {
        peer->text[0] = 0;
    } else if (given.key && !strstr(head, wanted)) {
        const char *given_key = strstr(head, "Authorization: Bearer ");
        peer->status = 401;
        peer->text[0] = 0;
        if (given_key) {
            given_key += strlen("Authorization: Bearer");
            snprintf(peer->text, TEXT_MAX, ":%.*s", (int)strcspn(given_key, "\r\n"), given_key);
        }
    } else if (given.forbid && strcmp(peer->text, given.forbid) == 0) {
        peer->status = 403;
    } else if (given.model && find_text(body, "\"model\"", model) &&
               strcmp(model, given.model) != 0) {
        peer->status = 404;
        snprintf(peer->text, sizeof peer->text, "%s", model);
    } else {
        peer->fault = pick_fault();
        peer->status = peer->fault == BUSY || in_flight >= given.most ? 429
                       : peer->fault == BROKEN                        ? 500
                                                                      : 200;
    }
    if (peer->status == 401 || peer->status == 404) {
        record(&(struct peer){.status = 200, .text = "refused"});
    }
    long ms = given.latency + (given.spread ? dice() % given.spread : 0);
    if (given.hang && strcmp(peer->text, given.hang) == 0) {
        ms = 3600000;
        given.hang = NULL;
    }
    peer->due_us = now_us() + (peer->status == 200 && !text_starts(head, "GET ") ? ms * 1000 : 0);
    peer->is_busy = true;
    in_flight++;
    push(peer);
}

/* Takes the request that has come, if it is complete. */
static void look(struct peer *peer) {
    peer->in[peer->in_size] = 0;
    char *end = strstr(peer->in, "\r\n\r\n");
    if (!end || peer->is_busy || peer->out_at < peer->out_size) {
        return;
    }
    const char *length = strcasestr(peer->in, "\r\nContent-Length:");
    size_t head_size = (size_t)(end - peer->in) + 4;
    size_t size = head_size + (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
    if (peer->in_size < size) {
        return;
    }
    char kept = peer->in[size];
    peer->in[size] = 0;
    peer->request_size = size;
    begin(peer, peer->in, end + 4);
    peer->in[size] = kept;
    memmove(peer->in, peer->in + size, peer->in_size - size);
    peer->in_size -= size;
}

static void receive(struct peer *peer) {
    for (;;) {
        if (peer->in_size + 1 >= peer->in_room) {
            peer->in_room = MAX(peer->in_room * 2, (size_t)ROOM);
            peer->in = x_realloc(peer->in, peer->in_room);
        }
        ssize_t got = read(peer->fd, peer->in + peer->in_size, peer->in_room - peer->in_size - 1);
        if (got < 0 && errno == EAGAIN) {
            break;
        }
        if (got <= 0) {
            hang_up(peer);
            return;
        }
        peer->in_size += (size_t)got;
    }
    look(peer);
}

static void send_more(struct peer *peer) {
    while (peer->out_at < peer->out_size) {
        size_t most = peer->is_slow ? 1 : peer->out_size - peer->out_at;
        ssize_t put = send(peer->fd, peer->out + peer->out_at, most, MSG_NOSIGNAL);
        if (put < 0 && errno == EAGAIN) {
            watch(peer, /* writes= */ true);
            return;
        }
        if (put <= 0) {
            hang_up(peer);
            return;
        }
        peer->out_at += (size_t)put;
        if (peer->is_slow && peer->out_at < peer->out_size) {
            peer->due_us = now_us() + SLOW_STEP_MS * 1000;
            peer->is_busy = true;
            in_flight++;
            push(peer);
            return;
        }
    }
    if (peer->closes) {
        hang_up(peer);
        return;
    }
    watch(peer, /* writes= */ false);
    look(peer);
}

static void come_due(struct peer *peer) {
    peer->is_busy = false;
    in_flight--;
    if (peer->fd < 0) {
        hang_up(peer);
    } else if (peer->fault == RESET) {
        reset(peer);
    } else if (peer->out_at < peer->out_size) {
        send_more(peer);
    } else {
        answer(peer);
    }
}

/* ---- life ----------------------------------------------------------------------------------- */

static void take_option(char *option) {
    char *value = strchr(option, '=');
    if (!value) {
        fprintf(stderr, "model_server: %s: NAME=VALUE is expected\n", option);
        exit(2);
    }
    *value++ = 0;
    struct {
        const char *name;
        long *number;
    } numbers[] = {{"port", &given.port},   {"latency", &given.latency}, {"spread", &given.spread},
                   {"most", &given.most},   {"after", &given.after},     {"seed", &given.seed},
                   {"loads", &given.loads}, {"any", &given.any}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (strcmp(numbers[i].name, option) == 0) {
            *numbers[i].number = strtol(value, NULL, 10);
        }
    }
    for (int i = 1; i < FAULTS; i++) {
        given.share[i] =
            strcmp(fault_names[i], option) == 0 ? strtol(value, NULL, 10) : given.share[i];
    }
    given.key = strcmp(option, "key") == 0 ? value : given.key;
    given.model = strcmp(option, "model") == 0 ? value : given.model;
    given.forbid = strcmp(option, "forbid") == 0 ? value : given.forbid;
    given.hang = strcmp(option, "hang") == 0 ? value : given.hang;
    given.fails = strcmp(option, "fails") == 0 ? value : given.fails;
    if (strcmp(option, "record") == 0) {
        given.record = open(value, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    }
}

static int listen_there(void) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)given.port),
                             .sin_addr.s_addr = htonl(given.any ? INADDR_ANY : INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) < 0 || listen(fd, 4096) < 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) < 0) {
        perror("model_server");
        exit(1);
    }
    printf("%d\n", ntohs(at.sin_port));
    fflush(stdout);
    return fd;
}

static void take_peers(int listener) {
    int fd, on = 1;
    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct peer *peer = x_calloc(1, sizeof *peer);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = peer};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        peer->fd = fd;
        epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    }
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        take_option(argv[i]);
    }
    signal(SIGPIPE, SIG_IGN);
    given.loaded_us = now_us() + given.loads * 1000;
    state = (uint64_t)given.seed;
    epoll = epoll_create1(EPOLL_CLOEXEC);
    int listener = listen_there();
    struct epoll_event events[EVENTS] = {{.events = EPOLLIN, .data.ptr = NULL}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &events[0]);
    for (;;) {
        if (given.fails && now_us() >= given.loaded_us) {
            fprintf(stderr, "%s\n", given.fails);
            return 1;
        }
        long left_us = heap_count ? MAX(heap[0]->due_us - now_us(), 0L) : 1000000;
        struct timespec wait = {left_us / 1000000, left_us % 1000000 * 1000};
        int count = epoll_pwait2(epoll, events, EVENTS, &wait, NULL);
        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;
            if (!peer) {
                take_peers(listener);
            } else if (events[i].events & EPOLLOUT) {
                send_more(peer);
            } else {
                receive(peer);
            }
        }
        while (heap_count && heap[0]->due_us <= now_us()) {
            come_due(pop());
        }
    }
}
