// SPDX-License-Identifier: Apache-2.0
#include "agent/store/cloud/cloud_client.h"

#include "agent/store/cloud/cloud_service.h"
#include "lib/time/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

enum {
    TRIES = 6,
    RENEWALS = 2,
    AT_ONCE = 8,
    CLIENTS_KEPT = 16,
    CONNECTIONS_KEPT = 16, /* idle connections of all clients */
    BACK_OFF_MS = 200,
    BACK_OFF_MS_MAX = 8000,
    RETRY_AFTER_S_MAX = 120,
    RESOLVE_MS = 10000,
    CONNECT_MS = 10000,
    SILENCE_MS = 30000,
    SLOWEST_BYTES = 1 << 10,   /* of an answer in SILENCE_MS, else it is slow without end */
    SLOWEST_BYTES_PER_MS = 64, /* the slowest rate of sending that is accepted */
    REFUSAL_BYTES_MAX = 64 << 10,
};

struct cloud_account {
    const struct cloud_service *service;
    const struct cloud_place *place;
    char *path; /* in messages */
    struct resolver *resolver;
    struct cloud_secret *secret;
    pthread_mutex_t lock; /* guards the fields below */
    struct cloud_client *kept[CLIENTS_KEPT];
    int kept_count, connections;
    bool has_answered;
};

/* An event loop of its own, so that threads do not wait for each other. */
struct cloud_client {
    struct cloud_account *account;
    struct http *http;
    struct cloud_call *waiting; /* waiting for their next try */
    int under_way, most;        /* calls that are not over; the largest number so far */
    uint64_t chance;
};

struct cloud_account *cloud_account_new(const struct cloud_service *service,
                                        const struct cloud_place *place, const char *shown_path) {
    struct cloud_account *account = x_calloc(1, sizeof *account);
    account->service = service;
    account->place = place;
    account->path = x_strdup(shown_path);
    account->resolver = resolver_new(place->name_servers);
    account->secret = cloud_secret_new(service->read_grant, place, account->resolver);
    pthread_mutex_init(&account->lock, NULL);
    return account;
}

const char *cloud_account_path(const struct cloud_account *account) {
    return account->path;
}

static void client_free(struct cloud_client *client) {
    http_free(client->http);
    free(client);
}

void cloud_account_free(struct cloud_account *account) {
    if (!account) {
        return;
    }
    for (int i = 0; i < account->kept_count; i++) {
        client_free(account->kept[i]);
    }
    cloud_secret_free(account->secret);
    resolver_free(account->resolver);
    pthread_mutex_destroy(&account->lock);
    free(account->path);
    free(account);
}

int cloud_client_take(struct cloud_account *account, struct cloud_client **ret_client,
                      struct error *err) {
    struct cloud_client *client = NULL;
    pthread_mutex_lock(&account->lock);
    if (account->kept_count) {
        client = account->kept[--account->kept_count];
        account->connections -= client->most;
    }
    pthread_mutex_unlock(&account->lock);
    if (!client) {
        client = x_calloc(1, sizeof *client);
        client->account = account;
        client->chance = (uint64_t)clock_monotonic_ns() ^ (uintptr_t)client;
        if (http_open(&client->http, err) < 0) {
            client_free(client);
            return error_context(err, "%s", account->path);
        }
    }
    *ret_client = client;
    return 0;
}

void cloud_client_give(struct cloud_client *client) {
    if (!client) {
        return;
    }
    struct cloud_account *account = client->account;
    pthread_mutex_lock(&account->lock);
    bool is_kept = client->under_way == 0 && account->kept_count < CLIENTS_KEPT &&
                   account->connections + client->most <= CONNECTIONS_KEPT;
    if (is_kept) {
        account->kept[account->kept_count++] = client;
        account->connections += client->most;
    }
    pthread_mutex_unlock(&account->lock);
    if (!is_kept) {
        client_free(client);
    }
}

void cloud_client_givep(struct cloud_client **client) {
    cloud_client_give(TAKE(*client));
}

bool cloud_call_is_good(const struct cloud_call *call) {
    return (call->status >= 200 && call->status < 300) ||
           (call->status && call->status == call->accepts);
}

/* ---- responses ------------------------------------------------------------------------------ */

void cloud_copy_shown(char *copy, size_t room, const char *value, size_t length) {
    size_t used = 0;
    for (size_t i = 0; value && i < length && value[i] && used + 1 < room; i++) {
        if (value[i] > ' ' && value[i] < 127) {
            copy[used++] = value[i];
        }
    }
    copy[used] = 0;
}

/* "bytes 0-99/1234" or "bytes *" "/1234". */
static int64_t whole_size(const struct cloud_call *call, const struct http_answer *answer) {
    const char *range = http_answer_header(answer, "Content-Range");
    const char *length = http_answer_header(answer, "Content-Length");
    const char *slash = range ? strrchr(range, '/') : NULL;
    const char *digits = slash ? slash + 1 : call->range_size ? NULL : length;
    return digits && *digits >= '0' && *digits <= '9' ? strtoll(digits, NULL, 10) : -1;
}

const char *cloud_without_quotes(char *text) {
    size_t length = strlen(text);
    bool is_quoted = length > 1 && text[0] == '"' && text[length - 1] == '"';
    text[length - is_quoted] = 0;
    return text + is_quoted;
}

int64_t cloud_date_ns(const char *text) {
    struct tm date = {0};
    const char *end = text ? strptime(text, "%a, %d %b %Y %H:%M:%S", &date) : NULL;
    if (text && !end) {
        date = (struct tm){0};
        end = strptime(text, "%Y-%m-%dT%H:%M:%S", &date);
    }
    /* 64 bits of nanoseconds end in 2262, a year in four digits does not. */
    const int64_t most_s = INT64_MAX / 1000000000;
    return end ? MAX(MIN((int64_t)timegm(&date), most_s), -most_s) * 1000000000 : 0;
}

static int clock_difference_s(const struct http_answer *answer) {
    int64_t told_ns = cloud_date_ns(http_answer_header(answer, "Date"));
    int64_t ahead_s = told_ns ? told_ns / 1000000000 - clock_wall_ms() / 1000 : 0;
    return (int)MAX(MIN(ahead_s, 1000000000), -1000000000);
}

/* A token is sent back unchanged, so it must be a valid one. */
static void copy_token(struct cloud_call *call, const char *value) {
    size_t length = value ? strlen(value) : 0;
    bool has_quotes = length >= 2 && value[0] == '"' && value[length - 1] == '"';
    if (has_quotes && length - 2 < sizeof call->token && !strpbrk(value, "\\ \t")) {
        memcpy(call->token, value + 1, length - 2);
        call->token[length - 2] = 0;
    }
}

static void note_answer(struct cloud_call *call, const struct http_answer *answer) {
    call->status = answer->status;
    copy_token(call, http_answer_header(answer, "ETag"));
    call->size_bytes = whole_size(call, answer);
    call->modified_ns = cloud_date_ns(http_answer_header(answer, "Last-Modified"));
    const struct cloud_account *account = call->client->account;
    account->service->note(account->place, call, answer);
    call->clock_off_s = answer->status == 403 ? clock_difference_s(answer) : 0;
    if (call->range_size && answer->status < 300) {
        int64_t wanted = MIN(call->range_size, call->size_bytes - call->first_byte);
        if (answer->status != 206 || (int64_t)call->received != wanted) {
            call->status = 0;
            error_set(&call->err, ERROR_UNAVAILABLE, "the response has other bytes than requested");
        }
    }
    /* Some servers of S3 read whatever If-Match says. */
    if (call->if_match && *call->token && strcmp(call->method, "GET") == 0 &&
        answer->status < 300 && strcmp(call->token, call->if_match) != 0) {
        call->status = 0;
        error_clear(&call->err);
        error_set(&call->err, ERROR_CONFLICT, "has changed since it was listed");
    }
}

static bool is_transient(const struct cloud_call *call) {
    switch (call->status) {
    case 0:
        return call->err.kind == ERROR_UNAVAILABLE || call->err.kind == ERROR_TIMEOUT;
    case 408:
    case 429:
    case 500:
    case 502:
    case 503:
    case 504:
        return true;
    default:
        return call->client->account->service->is_transient(call);
    }
}

/* ---- tries ---------------------------------------------------------------------------------- */

static int64_t back_off_ms(struct cloud_client *client, const struct cloud_call *call) {
    client->chance = client->chance * 6364136223846793005u + 1442695040888963407u;
    int64_t ms = MIN((int64_t)BACK_OFF_MS << (call->tries - 1), (int64_t)BACK_OFF_MS_MAX);
    return ms / 2 + (int64_t)((client->chance >> 33) % (uint64_t)ms);
}

/* Ends a try: the call is over, or waits for its next try. */
static void finish_try(struct cloud_call *call, int retry_after_s) {
    struct cloud_client *client = call->client;
    int64_t now_ms = clock_monotonic_ms();
    bool again = false;
    if (client->account->service->is_refused(call) && call->renewals < RENEWALS) {
        call->renewals++;
        again = cloud_secret_renew(client->account->secret, call->generation);
        call->due_ms = now_ms;
    } else if (is_transient(call) && call->tries < TRIES) {
        again = true;
        call->due_ms =
            now_ms + (retry_after_s ? (int64_t)MIN(retry_after_s, RETRY_AFTER_S_MAX) * 1000
                                    : back_off_ms(client, call));
    }
    if (again && !(call->deadline_ms && call->due_ms >= call->deadline_ms)) {
        call->next = client->waiting;
        client->waiting = call;
        return;
    }
    call->is_over = true;
    client->under_way--;
}

static void ended(void *context, const struct http_answer *answer, bool is_sent,
                  const struct error *err) {
    (void)is_sent;
    struct cloud_call *call = context;
    if (answer) {
        note_answer(call, answer);
        pthread_mutex_lock(&call->client->account->lock);
        call->client->account->has_answered = true;
        pthread_mutex_unlock(&call->client->account->lock);
    } else {
        call->err = *err;
    }
    finish_try(call, answer ? answer->retry_after_s : 0);
}

static int take(void *context, const char *data, size_t size, struct error *err) {
    struct cloud_call *call = context;
    if (size > call->room - call->received) {
        return error_set(err, ERROR_EXHAUSTED, "more than %zu bytes", call->room);
    }
    memcpy(call->into + call->received, data, size);
    call->received += size;
    return 0;
}

static int find_route(struct cloud_client *client, int64_t left_ms, char **ret_route,
                      struct error *err) {
    struct cloud_account *account = client->account;
    const struct cloud_place *place = account->place;
    AUTO(text_freep) char *addresses = NULL;
    if (resolver_find(account->resolver, place->host, (int)MIN(left_ms, (int64_t)RESOLVE_MS),
                      &addresses, err) < 0) {
        /* A host that was resolved before still exists: name servers can fail for a while. */
        pthread_mutex_lock(&account->lock);
        bool has_answered = account->has_answered;
        pthread_mutex_unlock(&account->lock);
        if (err->kind == ERROR_NOT_FOUND && has_answered) {
            err->kind = ERROR_UNAVAILABLE;
        }
        return -1;
    }
    /* Here, where the addresses are those that are connected to: a name may get others later.
     * libcurl reads a host such as 2852039166 as an address, without asking a resolver. */
    if (cloud_check_addresses(place->host, place->host, err) < 0 ||
        cloud_check_addresses(place->host, addresses, err) < 0) {
        return -1;
    }
    /* An IPv6 address in the URL needs no such entry. */
    *ret_route =
        strchr(place->host, ':') ? NULL : x_printf("%s:%d:%s", place->host, place->port, addresses);
    return 0;
}

static int try_once(struct cloud_client *client, struct cloud_call *call, struct error *err) {
    const struct cloud_place *place = client->account->place;
    AUTO(cloud_grant_release) struct cloud_grant grant = {0};
    AUTO(cloud_signed_release) struct cloud_signed request = {0};
    AUTO(text_freep) char *route = NULL;
    int64_t left_ms = call->deadline_ms ? MAX(call->deadline_ms - clock_monotonic_ms(), 1) : 0;
    const struct cloud_service *service = client->account->service;
    if ((call->name && service->check_name(place, call->name, err) < 0) ||
        cloud_secret_get(client->account->secret, &grant, err) < 0 ||
        find_route(client, left_ms ? left_ms : INT32_MAX, &route, err) < 0) {
        return -1;
    }
    service->sign(place, call, &grant, clock_wall_ms(), &request);
    call->generation = grant.generation;
    call->received = 0;
    /* There is no response before the whole body has arrived. */
    int64_t sending_ms = SILENCE_MS + (int64_t)(call->body_size / SLOWEST_BYTES_PER_MS);
    int64_t timeout_ms = call->body ? sending_ms : 0;
    timeout_ms = left_ms && (!timeout_ms || left_ms < timeout_ms) ? left_ms : timeout_ms;
    struct http_request wanted = {.url = request.url,
                                  .shown_url = request.shown_url,
                                  .method = call->method,
                                  .headers = (const char *const *)request.headers,
                                  .body = call->body,
                                  .body_size = call->body_size,
                                  .borrows_body = true,
                                  .is_http1 = true,
                                  .resolve = route,
                                  .authorities_file = place->authorities_file,
                                  .connect_ms = CONNECT_MS,
                                  .timeout_ms = (int)timeout_ms,
                                  .silence_ms = call->body ? 0 : SILENCE_MS,
                                  .slowest_bytes = SLOWEST_BYTES,
                                  .bytes_max = REFUSAL_BYTES_MAX,
                                  .received = call->into ? take : NULL,
                                  .done = ended,
                                  .context = call};
    return http_start(client->http, &wanted, NULL, err);
}

static void begin_try(struct cloud_client *client, struct cloud_call *call) {
    call->tries++;
    call->status = 0;
    call->code[0] = call->hint[0] = 0;
    call->is_ours = false;
    call->err = (struct error){0};
    if (try_once(client, call, &call->err) < 0) {
        finish_try(call, 0);
    }
}

void cloud_start(struct cloud_client *client, struct cloud_call *call) {
    call->client = client;
    call->is_over = false;
    call->tries = call->renewals = 0;
    call->size_bytes = -1;
    client->under_way++;
    client->most = MAX(client->most, client->under_way);
    begin_try(client, call);
}

/* Starts the calls that are due; returns the milliseconds until the next one is due, -1: none. */
static int64_t start_due(struct cloud_client *client) {
    int64_t now_ms = clock_monotonic_ms(), next_ms = -1;
    struct cloud_call *waiting = TAKE(client->waiting);
    while (waiting) {
        struct cloud_call *call = waiting;
        waiting = call->next;
        if (call->due_ms <= now_ms) {
            begin_try(client, call); /* and may wait again */
            next_ms = 0;
        } else {
            int64_t left_ms = call->due_ms - now_ms;
            next_ms = next_ms < 0 ? left_ms : MIN(next_ms, left_ms);
            call->next = client->waiting;
            client->waiting = call;
        }
    }
    return next_ms;
}

int cloud_look(struct cloud_client *client, struct error *err) {
    start_due(client);
    return http_count(client->http) ? http_wait(client->http, 0, err) : 0;
}

int cloud_wait(struct cloud_client *client, int most, struct error *err) {
    while (client->under_way > most) {
        int64_t wait_ms = start_due(client);
        if (client->under_way > most && http_wait(client->http, (int)MIN(wait_ms, 1000), err) < 0) {
            return error_context(err, "%s", client->account->path);
        }
    }
    return 0;
}

int cloud_run(struct cloud_account *account, struct cloud_call *calls, size_t count,
              struct error *err) {
    AUTO(cloud_client_givep) struct cloud_client *client = NULL;
    if (cloud_client_take(account, &client, err) < 0) {
        return -1;
    }
    size_t seen = 0; /* calls before this one are over */
    for (size_t started = 0; seen < count;) {
        if (started < count && client->under_way < AT_ONCE) {
            cloud_start(client, &calls[started++]);
        } else if (cloud_wait(client, client->under_way - 1, err) < 0) {
            return -1;
        }
        for (; seen < started && calls[seen].is_over; seen++) {
            if (!cloud_call_is_good(&calls[seen])) {
                return cloud_refuse(account, &calls[seen], err);
            }
        }
    }
    return 0;
}

/* ---- messages ------------------------------------------------------------------------------- */

static const char *hint(const struct cloud_call *call, char *room, size_t size) {
    if (call->status == 403 && abs(call->clock_off_s) > 300) {
        snprintf(room, size, ": this machine's clock is %d s %s", abs(call->clock_off_s),
                 call->clock_off_s > 0 ? "behind" : "ahead");
        return room;
    }
    return call->status == 412 && call->if_match ? ": has changed since it was listed" : call->hint;
}

int cloud_refuse(const struct cloud_account *account, const struct cloud_call *call,
                 struct error *err) {
    const char *shown = call->shown ? call->shown : call->name;
    shown = shown ? shown : "";
    AUTO(text_freep) char *path = x_printf("%s%s%s", account->path, *shown ? "/" : "", shown);
    char tries[32] = "", room[80];
    if (call->tries > 1) {
        snprintf(tries, sizeof tries, " (%d tries)", call->tries);
    }
    if (!call->status) {
        return error_set(err, call->err.kind ? call->err.kind : ERROR_BUG, "%.150s: %.300s%s", path,
                         call->err.text, tries);
    }
    return error_set(err, account->service->kind_of(call),
                     "%.300s: the storage answered %d%s%s%s%s", path, call->status,
                     *call->code ? " " : "", call->code, hint(call, room, sizeof room), tries);
}
