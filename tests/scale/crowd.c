// SPDX-License-Identifier: Apache-2.0
/* Thousands of workers of one coordinator, in one thread: each has a TLS connection of its own and
 * speaks the protocol of docs/wire.md as a worker does, but scores nothing: a lease takes STEP_MS.
 *
 *     crowd ADDRESS WORKERS STEP_MS CERTIFICATE_SHA256    the token: WINDLASS_TOKEN
 *
 * Workers that lose their connection come back, with a pause, and forget their leases. It ends when
 * each has got the message that the job is done, or when the coordinator refuses one of them.
 *
 * stdout, a JSON object a line: {"second", "open", "items", "leases", "cancelled", "lost"} once a
 * second, the counts since the start, and behind them {"done": true, ...}. Exit code 0: all have
 * got that message; 1: refused, or a fault of its own. */
#include "agent/score/wire/message.h"
#include "lib/digest.h"
#include "lib/net/address.h"
#include "lib/time/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    WORKERS_MAX = 20000,
    EVENTS = 512,
    HANDSHAKES_MAX = 40,  /* at a time: the server has places for 64 without the token */
    PAUSE_MS = 500,       /* before a worker that lost its connection comes back */
    HANDSHAKE_MS = 10000, /* a connection that is not open by then begins again */
    ROW_BYTES = 8,        /* of a table that is scored */
    FRAME_SHORT = 126,
    FRAME_LONG = 127,
};

enum state { WAITING, CONNECTING, UPGRADING, OPEN, DONE };

struct lease {
    struct lease *next;
    int64_t number, items;
};

struct worker {
    int fd, index;
    enum state state;
    SSL *tls;
    int64_t since_ms; /* of the state */
    struct buffer incoming, outgoing;
    struct lease *first, **end; /* granted, in their order */
    int64_t epoch;
    bool is_due; /* the head has its place in `due` */
    uint32_t visit;
};

/* Heads in the order in which they end: each takes STEP_MS, so they end as they began. */
struct due {
    int64_t at_ms;
    struct worker *worker;
    uint32_t visit; /* of the connection that this belongs to */
};

static struct {
    struct sockaddr_in address;
    const char *sha256;
    char request[1024]; /* for a WebSocket, with the token */
    struct worker *workers;
    int count, epoll, step_ms, handshakes, open, done;
    SSL_CTX *context;
    struct due *due;
    size_t due_first, due_count, due_room; /* a ring */
    int64_t items, leases, cancelled, lost;
} crowd;

_Noreturn static void end(const char *text) {
    fprintf(stderr, "crowd: %s\n", text);
    exit(1);
}

static void append(struct buffer *buffer, const void *data, size_t size) {
    struct error err = {0};
    if (buffer_append(buffer, data, size, &err) < 0) {
        end(err.text);
    }
}

/* ---- frames --------------------------------------------------------------------------------- */

static void put_frame(struct worker *worker, int opcode, const char *text, size_t size) {
    unsigned char head[14] = {(unsigned char)(0x80 | opcode)};
    size_t length = 2;
    if (size < FRAME_SHORT) {
        head[1] = (unsigned char)(0x80 | size);
    } else if (size <= UINT16_MAX) {
        head[1] = 0x80 | FRAME_SHORT;
        head[2] = (unsigned char)(size >> 8);
        head[3] = (unsigned char)size;
        length = 4;
    } else {
        head[1] = 0x80 | FRAME_LONG;
        for (int i = 0; i < 8; i++) {
            head[2 + i] = (unsigned char)((uint64_t)size >> (56 - 8 * i));
        }
        length = 10;
    }
    length += 4; /* a mask of zeros leaves the text as it is */
    append(&worker->outgoing, head, length);
    append(&worker->outgoing, text, size);
}

static void put_message(struct worker *worker, const struct message *message) {
    char *text = message_format(message);
    put_frame(worker, 1, text, strlen(text));
    free(text);
}

/* Sends what the batch has, and releases it. */
static void put_batch(struct worker *worker, struct message_batch *batch) {
    char *text = message_batch_take(batch);
    if (text) {
        put_frame(worker, 1, text, strlen(text));
    }
    free(text);
    message_batch_release(batch);
}

/* Bytes of the whole frame at `text`, 0: not all of it is there yet. */
static size_t read_frame(const char *text, size_t size, int *ret_opcode, const char **ret_body,
                         size_t *ret_size) {
    const unsigned char *bytes = (const unsigned char *)text;
    size_t head = 2, length = size >= 2 ? bytes[1] & 0x7f : 0;
    if (size < 2) {
        return 0;
    }
    if (length == FRAME_SHORT || length == FRAME_LONG) {
        size_t digits = length == FRAME_SHORT ? 2 : 8;
        if (size < 2 + digits) {
            return 0;
        }
        length = 0;
        for (size_t i = 0; i < digits; i++) {
            length = length << 8 | bytes[2 + i];
        }
        head += digits;
    }
    if (length > CONTRACT_MESSAGE_MAX || !(bytes[0] & 0x80)) {
        end("a frame that is too long, or in pieces");
    }
    if (size - head < length) {
        return 0;
    }
    *ret_opcode = bytes[0] & 0x0f;
    *ret_body = text + head;
    *ret_size = length;
    return head + length;
}

/* ---- connections ---------------------------------------------------------------------------- */

static void drop_leases(struct worker *worker) {
    while (worker->first) {
        struct lease *next = worker->first->next;
        free(worker->first);
        worker->first = next;
    }
    worker->end = &worker->first;
    worker->is_due = false;
    worker->visit++;
}

static void leave(struct worker *worker, enum state state) {
    crowd.handshakes -= worker->state == CONNECTING || worker->state == UPGRADING;
    crowd.open -= worker->state == OPEN;
    crowd.lost += worker->state == OPEN && state != DONE;
    crowd.done += state == DONE;
    SSL_free(worker->tls);
    worker->tls = NULL;
    if (worker->fd >= 0) {
        close(worker->fd);
    }
    worker->fd = -1;
    worker->state = state;
    worker->since_ms = clock_monotonic_ms();
    buffer_release(&worker->incoming);
    buffer_release(&worker->outgoing);
    drop_leases(worker);
}

static void watch(const struct worker *worker, uint32_t events, int how) {
    struct epoll_event event = {.events = events, .data.u32 = (uint32_t)worker->index};
    if (epoll_ctl(crowd.epoll, how, worker->fd, &event) < 0) {
        end(strerror(errno));
    }
}

static void connect_worker(struct worker *worker) {
    /* Of many loopback addresses, since one has fewer ports than there are workers. */
    struct sockaddr_in from = {.sin_family = AF_INET,
                               .sin_addr.s_addr =
                                   htonl(INADDR_LOOPBACK + 256 + (uint32_t)worker->index % 200)};
    int on = 1;
    worker->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (worker->fd < 0) {
        end(strerror(errno));
    }
    setsockopt(worker->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    worker->since_ms = clock_monotonic_ms();
    if (bind(worker->fd, (struct sockaddr *)&from, sizeof from) < 0 ||
        (connect(worker->fd, (struct sockaddr *)&crowd.address, sizeof crowd.address) < 0 &&
         errno != EINPROGRESS)) {
        close(worker->fd);
        worker->fd = -1;
        return;
    }
    worker->tls = SSL_new(crowd.context);
    if (!worker->tls || SSL_set_fd(worker->tls, worker->fd) != 1) {
        end("out of memory for a connection");
    }
    SSL_set_connect_state(worker->tls);
    worker->state = CONNECTING;
    crowd.handshakes++;
    append(&worker->outgoing, crowd.request, strlen(crowd.request));
    watch(worker, EPOLLIN | EPOLLOUT, EPOLL_CTL_ADD);
}

/* -1: the connection is over. */
static int handle_result(const struct worker *worker, int result) {
    int why = SSL_get_error(worker->tls, result);
    return why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE ? 0 : -1;
}

static int check_certificate(const struct worker *worker) {
    unsigned char *der = NULL;
    X509 *certificate = SSL_get1_peer_certificate(worker->tls);
    int size = certificate ? i2d_X509(certificate, &der) : -1;
    char sha256[65] = "";
    if (size > 0) {
        digest_sha256(der, (size_t)size, sha256);
    }
    OPENSSL_free(der);
    X509_free(certificate);
    return strcmp(sha256, crowd.sha256) == 0 ? 0 : -1;
}

static int flush(struct worker *worker) {
    size_t at = 0;
    int status = 0;
    while (at < worker->outgoing.size) {
        int wrote =
            SSL_write(worker->tls, worker->outgoing.data + at, (int)(worker->outgoing.size - at));
        if (wrote <= 0) {
            status = handle_result(worker, wrote);
            break;
        }
        at += (size_t)wrote;
    }
    if (at > 0) {
        buffer_drop(&worker->outgoing, at);
        watch(worker, EPOLLIN | (worker->outgoing.size > 0 ? EPOLLOUT : 0), EPOLL_CTL_MOD);
    }
    return status;
}

/* ---- a worker's work ------------------------------------------------------------------------ */

static void begin_head(struct worker *worker) {
    if (!worker->first || worker->is_due) {
        return;
    }
    if (crowd.due_count == crowd.due_room) {
        end("more heads than workers");
    }
    crowd.due[(crowd.due_first + crowd.due_count++) % crowd.due_room] =
        (struct due){clock_monotonic_ms() + crowd.step_ms, worker, worker->visit};
    worker->is_due = true;
}

/* Reports the head, and with STEP_MS 0 all that are there. */
static void end_head(struct worker *worker) {
    struct message_batch batch;
    message_batch_init(&batch, MESSAGE_RESULTS, worker->epoch);
    do {
        struct lease *head = worker->first;
        struct message_result result = {.lease = head->number,
                                        .items = head->items,
                                        .took_us = (int64_t)crowd.step_ms * 1000,
                                        .place = MESSAGE_NOWHERE};
        if (message_batch_result(&batch, &result) != 1) {
            break;
        }
        crowd.leases++;
        crowd.items += head->items;
        worker->first = head->next;
        free(head);
    } while (worker->first && crowd.step_ms == 0);
    if (!worker->first) {
        worker->end = &worker->first;
    }
    put_batch(worker, &batch);
}

/* Lines of the input's list (docs/inputs.md): a block of rows, here of ROW_BYTES each, or a file.
 */
static int64_t count_items(const json_t *work) {
    int64_t items = 0;
    size_t at;
    json_t *line;
    json_array_foreach(work, at, line) {
        const json_t *first = json_array_get(line, 1), *end_at = json_array_get(line, 2);
        items += json_is_integer(end_at)
                     ? (json_integer_value(end_at) - json_integer_value(first)) / ROW_BYTES
                     : 1;
    }
    return items;
}

static void take_leases(struct worker *worker, const struct message *message) {
    worker->epoch = message->epoch;
    for (size_t i = 0; i < message->count; i++) {
        struct lease *lease = calloc(1, sizeof *lease);
        if (!lease) {
            end("out of memory");
        }
        lease->number = message->leases[i].lease;
        lease->items = count_items(message->leases[i].work);
        *worker->end = lease;
        worker->end = &lease->next;
    }
    begin_head(worker);
}

/* The head goes on: its end is near, and its result is then the one that counts, or not. */
static void cancel(struct worker *worker, int64_t number) {
    struct lease **at = &worker->first;
    while (*at && (*at)->number != number) {
        at = &(*at)->next;
    }
    if (!*at || *at == worker->first) {
        return;
    }
    struct lease *lease = *at;
    *at = lease->next;
    if (worker->end == &lease->next) {
        worker->end = at;
    }
    free(lease);
    crowd.cancelled++;
    struct message_batch batch;
    message_batch_init(&batch, MESSAGE_RESULTS, worker->epoch);
    struct message_result result = {.lease = number,
                                    .is_fault = true,
                                    .fault = MESSAGE_HANDED_BACK,
                                    .text = "cancelled",
                                    .text_size = 9};
    if (message_batch_result(&batch, &result) != 1) {
        end("a cancelled lease does not fit into a message");
    }
    put_batch(worker, &batch);
}

/* -1: the connection is over. */
static int handle_message(struct worker *worker, const char *text, size_t size) {
    struct message message;
    struct error err = {0};
    char *copy = strndup(text, size);
    if (!copy || message_parse(copy, size, &message, &err) < 0) {
        end(copy ? err.text : "out of memory");
    }
    enum message_type type = message.type;
    switch (type) {
    case MESSAGE_LEASES:
        take_leases(worker, &message);
        break;
    case MESSAGE_CANCEL:
        cancel(worker, message.lease);
        break;
    case MESSAGE_REFUSED:
        end(message.text);
    default:
        break;
    }
    message_release(&message);
    free(copy);
    return type == MESSAGE_DONE ? -1 : 0;
}

static int handle_frames(struct worker *worker) {
    size_t at = 0, size, body_size;
    const char *body;
    int opcode, status = 0;
    bool is_done = false;
    while (status == 0 && (size = read_frame(worker->incoming.data + at, worker->incoming.size - at,
                                             &opcode, &body, &body_size)) > 0) {
        at += size;
        if (opcode == 9) {
            put_frame(worker, 10, body, body_size);
        } else if (opcode == 8) {
            status = -1;
        } else if (opcode == 1 && handle_message(worker, body, body_size) < 0) {
            is_done = true;
            break;
        }
    }
    if (is_done) {
        leave(worker, DONE);
        return 0;
    }
    buffer_drop(&worker->incoming, at);
    return status;
}

/* The answer to the request for a WebSocket. */
static int handle_upgrade(struct worker *worker) {
    const char *rest = memmem(worker->incoming.data, worker->incoming.size, "\r\n\r\n", 4);
    if (!rest) {
        return 0;
    }
    if (worker->incoming.size < 12 || memcmp(worker->incoming.data + 9, "101", 3) != 0) {
        fprintf(stderr, "%.*s\n", 60, worker->incoming.data);
        return -1;
    }
    buffer_drop(&worker->incoming, (size_t)(rest + 4 - worker->incoming.data));
    worker->state = OPEN;
    crowd.handshakes--;
    crowd.open++;
    struct message hello = {.type = MESSAGE_HELLO, .slots = 1};
    snprintf(hello.name, sizeof hello.name, "crowd-%d", worker->index);
    put_message(worker, &hello);
    return 0;
}

static int read_all(struct worker *worker) {
    char bytes[16384];
    int size;
    while ((size = SSL_read(worker->tls, bytes, sizeof bytes)) > 0) {
        append(&worker->incoming, bytes, (size_t)size);
    }
    return handle_result(worker, size);
}

static int serve(struct worker *worker) {
    if (worker->state == CONNECTING) {
        int result = SSL_do_handshake(worker->tls);
        if (result != 1) {
            return handle_result(worker, result);
        }
        if (check_certificate(worker) < 0) {
            end("the coordinator has another certificate");
        }
        worker->state = UPGRADING;
    }
    int over = read_all(worker);
    if (worker->state == UPGRADING && handle_upgrade(worker) < 0) {
        return -1;
    }
    if (worker->state == OPEN && handle_frames(worker) < 0) {
        return -1;
    }
    return worker->state == DONE ? 0 : over < 0 ? -1 : flush(worker);
}

/* ---- all of them ---------------------------------------------------------------------------- */

static void end_due_heads(int64_t now_ms) {
    while (crowd.due_count > 0 && crowd.due[crowd.due_first].at_ms <= now_ms) {
        struct due due = crowd.due[crowd.due_first];
        crowd.due_first = (crowd.due_first + 1) % crowd.due_room;
        crowd.due_count--;
        if (due.visit != due.worker->visit || !due.worker->is_due) {
            continue;
        }
        due.worker->is_due = false;
        end_head(due.worker);
        begin_head(due.worker);
        if (flush(due.worker) < 0) {
            leave(due.worker, WAITING);
        }
    }
}

/* Connects those that wait, and ends handshakes that take too long. */
static void tend(int64_t now_ms) {
    for (int i = 0; i < crowd.count; i++) {
        struct worker *worker = &crowd.workers[i];
        bool is_late = (worker->state == CONNECTING || worker->state == UPGRADING) &&
                       now_ms - worker->since_ms > HANDSHAKE_MS;
        if (is_late) {
            leave(worker, WAITING);
        } else if (worker->state == WAITING && crowd.handshakes < HANDSHAKES_MAX &&
                   now_ms - worker->since_ms > PAUSE_MS) {
            connect_worker(worker);
        }
    }
}

static void print_counts(int64_t start_ms, bool is_end) {
    printf("{\"second\": %.1f, \"open\": %d, \"items\": %lld, \"leases\": %lld, \"cancelled\": "
           "%lld, \"lost\": %lld%s}\n",
           (double)(clock_monotonic_ms() - start_ms) / 1000, crowd.open, (long long)crowd.items,
           (long long)crowd.leases, (long long)crowd.cancelled, (long long)crowd.lost,
           is_end ? ", \"done\": true" : "");
    fflush(stdout);
}

static void prepare(char **argv) {
    struct error err = {0};
    struct address address;
    struct rlimit files;
    if (address_parse(argv[1], &address, &err) < 0) {
        end(err.text);
    }
    crowd.address = (struct sockaddr_in){.sin_family = AF_INET,
                                         .sin_port = htons((uint16_t)address.port),
                                         .sin_addr.s_addr = inet_addr(address.host)};
    crowd.count = (int)strtol(argv[2], NULL, 10);
    crowd.step_ms = (int)strtol(argv[3], NULL, 10);
    crowd.sha256 = argv[4];
    const char *token = getenv("WINDLASS_TOKEN");
    int length = snprintf(crowd.request, sizeof crowd.request,
                          "GET /work HTTP/1.1\r\nHost: coordinator\r\nUpgrade: websocket\r\n"
                          "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                          "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
                          "Sec-WebSocket-Protocol: windlass\r\nAuthorization: Bearer %s\r\n\r\n",
                          token ? token : "");
    if (crowd.count < 1 || crowd.count > WORKERS_MAX || crowd.step_ms < 0 || !token ||
        length >= (int)sizeof crowd.request) {
        end("expected: 1 to 20000 workers, milliseconds, WINDLASS_TOKEN");
    }
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    crowd.context = SSL_CTX_new(TLS_client_method());
    SSL_CTX_set_min_proto_version(crowd.context, TLS1_3_VERSION);
    SSL_CTX_set_mode(crowd.context, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
                                        SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    crowd.epoll = epoll_create1(EPOLL_CLOEXEC);
    crowd.workers = calloc((size_t)crowd.count, sizeof *crowd.workers);
    /* A worker that came back may leave an entry of its last connection behind. */
    crowd.due_room = 4 * (size_t)crowd.count;
    crowd.due = calloc(crowd.due_room, sizeof *crowd.due);
    if (!crowd.context || crowd.epoll < 0 || !crowd.workers || !crowd.due) {
        end("out of memory");
    }
    for (int i = 0; i < crowd.count; i++) {
        crowd.workers[i] = (struct worker){.index = i, .fd = -1, .state = WAITING};
        crowd.workers[i].end = &crowd.workers[i].first;
        buffer_init(&crowd.workers[i].incoming, 4 << 20);
        buffer_init(&crowd.workers[i].outgoing, 4 << 20);
    }
}

int main(int argc, char **argv) {
    if (argc != 5) {
        end("expected: crowd ADDRESS WORKERS STEP_MS CERTIFICATE_SHA256");
    }
    signal(SIGPIPE, SIG_IGN); /* of a coordinator that is killed */
    prepare(argv);
    int64_t start_ms = clock_monotonic_ms(), printed_ms = start_ms, tended_ms = 0;
    while (crowd.done < crowd.count) {
        struct epoll_event events[EVENTS];
        int64_t now_ms = clock_monotonic_ms();
        if (now_ms - tended_ms >= (crowd.handshakes < HANDSHAKES_MAX ? 5 : 100)) {
            tend(now_ms);
            tended_ms = now_ms;
        }
        if (now_ms - printed_ms >= 1000) {
            print_counts(start_ms, false);
            printed_ms += 1000;
        }
        int count = epoll_wait(crowd.epoll, events, EVENTS, 2);
        for (int i = 0; i < count; i++) {
            struct worker *worker = &crowd.workers[events[i].data.u32];
            if (worker->fd >= 0 && serve(worker) < 0) {
                leave(worker, WAITING);
            }
        }
        end_due_heads(clock_monotonic_ms());
    }
    print_counts(start_ms, true);
    return 0;
}
