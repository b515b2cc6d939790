// SPDX-License-Identifier: Apache-2.0
/* The open WebSockets of a server (server.h): messages in and out, pings, the end. */
#include "lib/net/preauth.h"
#include "lib/net/server_state.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { PULSE_MS = 500 };

/* One timer for all peers: libwebsockets would keep one for each, in a sorted list that it walks
 * through for every message that comes. */
static void on_pulse(lws_sorted_usec_list_t *pulse) {
    struct server *server = lws_container_of(pulse, struct server, pulse);
    int64_t now_ms = clock_monotonic_ms();
    /* The time in which this thread did something else, or the machine stood still, does not count:
     * what has come from peers meanwhile is not read yet. */
    int64_t late_ms = now_ms - server->pulse_ms - PULSE_MS;
    int64_t away_ms = late_ms > PULSE_MS ? late_ms : 0;
    for (struct server_peer *peer = server->peers; peer; peer = peer->next) {
        peer->heard_ms = MIN(peer->heard_ms + away_ms, now_ms);
        peer->pinged_ms = MIN(peer->pinged_ms + away_ms, now_ms);
        if (peer->is_pinged && now_ms - peer->pinged_ms > SERVER_SILENCE_S * 1000) {
            lws_set_timeout(peer->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
        } else if (!peer->is_pinged && now_ms - peer->heard_ms > SERVER_PING_S * 1000) {
            peer->wants_ping = peer->is_pinged = true;
            peer->pinged_ms = now_ms;
            lws_callback_on_writable(peer->wsi);
        }
    }
    server->pulse_ms = now_ms;
    if (server->peers) {
        lws_sul_schedule(server->lws, 0, &server->pulse, on_pulse, PULSE_MS * LWS_US_PER_MS);
    }
}

void server_peer_heard(struct server_peer *peer) {
    peer->heard_ms = clock_monotonic_ms();
    peer->is_pinged = false;
}

void server_peer_open(struct lws *wsi, struct server_connection *connection) {
    struct server_peer *peer = x_calloc(1, sizeof *peer);
    struct server *server = server_of(wsi);
    *peer = (struct server_peer){.server = server, .wsi = wsi, .next = server->peers};
    if (peer->next) {
        peer->next->previous = peer;
    } else {
        server->pulse_ms = clock_monotonic_ms();
        lws_sul_schedule(server->lws, 0, &server->pulse, on_pulse, PULSE_MS * LWS_US_PER_MS);
    }
    server->peers = peer;
    server_peer_heard(peer);
    buffer_init(&peer->incoming, CONTRACT_MESSAGE_MAX);
    connection->peer = peer;
    preauth_remove(&peer->server->preauth, wsi);
    peer->server->events->opened(peer->server->context, peer);
}

void server_peer_free(struct server_connection *connection) {
    struct server_peer *peer = TAKE(connection->peer);
    if (!peer) {
        return;
    }
    struct server *server = peer->server;
    *(peer->previous ? &peer->previous->next : &server->peers) = peer->next;
    if (peer->next) {
        peer->next->previous = peer->previous;
    }
    if (server->lws) { /* not while the server itself is freed */
        server->events->closed(server->context, peer);
    }
    while (peer->first) {
        struct server_message *next = peer->first->next;
        free(peer->first);
        peer->first = next;
    }
    buffer_release(&peer->incoming);
    free(peer);
}

static int refuse_message(struct lws *wsi, enum lws_close_status status, const char *reason) {
    lws_close_reason(wsi, status, (unsigned char *)(uintptr_t)reason, strlen(reason));
    return -1;
}

int server_peer_receive(struct server_peer *peer, const char *data, size_t size) {
    struct lws *wsi = peer->wsi;
    struct error err = {0};
    server_peer_heard(peer);
    if (lws_frame_is_binary(wsi)) {
        return refuse_message(wsi, LWS_CLOSE_STATUS_UNACCEPTABLE_OPCODE, "expected text");
    }
    if (buffer_append(&peer->incoming, data, size, &err) < 0) {
        return refuse_message(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE, "at most 1 MiB");
    }
    if (lws_remaining_packet_payload(wsi) || !lws_is_final_fragment(wsi)) {
        return 0;
    }
    struct server *server = peer->server;
    size_t length = 0;
    AUTO(text_freep) char *text = buffer_take(&peer->incoming, &length);
    if (!peer->closing) {
        server->events->received(server->context, peer, text, length);
    }
    return 0;
}

int server_peer_write(struct server_peer *peer) {
    struct lws *wsi = peer->wsi;
    struct server_message *message = peer->wants_ping ? NULL : peer->first;
    if (peer->wants_ping) {                     /* one write a turn */
        unsigned char frame[LWS_PRE + 1] = {0}; /* libwebsockets passes over a pong of no bytes */
        peer->wants_ping = false;
        if (lws_write(wsi, frame + LWS_PRE, 1, LWS_WRITE_PING) < 0) {
            return -1;
        }
    } else if (message) {
        peer->first = message->next;
        peer->queued_bytes -= message->size;
        int wrote = lws_write(wsi, message->data + LWS_PRE, message->size, LWS_WRITE_TEXT);
        bool failed = wrote < (int)message->size;
        free(message);
        if (failed) {
            return -1;
        }
    }
    if (peer->first || (peer->closing && lws_partial_buffered(wsi))) {
        lws_callback_on_writable(wsi);
    } else if (peer->closing) {
        lws_close_reason(wsi, LWS_CLOSE_STATUS_NORMAL, NULL, 0);
        return -1;
    }
    return 0;
}

void server_send(struct server_peer *peer, const char *text) {
    size_t size = strlen(text);
    if (peer->closing) {
        return;
    }
    if (size > CONTRACT_MESSAGE_MAX || peer->queued_bytes + size > SERVER_QUEUE_MAX) {
        peer->closing = true;
        lws_set_timeout(peer->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
        return;
    }
    struct server_message *message = x_malloc(sizeof *message + LWS_PRE + size);
    *message = (struct server_message){.size = size};
    memcpy(message->data + LWS_PRE, text, size);
    *(peer->first ? &peer->last->next : &peer->first) = message;
    peer->last = message;
    peer->queued_bytes += size;
    lws_callback_on_writable(peer->wsi);
}

void server_close(struct server_peer *peer) {
    peer->closing = true;
    lws_callback_on_writable(peer->wsi);
}

void server_peer_set(struct server_peer *peer, void *own) {
    peer->own = own;
}

void *server_peer_get(const struct server_peer *peer) {
    return peer->own;
}
