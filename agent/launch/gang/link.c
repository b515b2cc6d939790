// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/gang/link.h"

#include <stdlib.h>
#include <string.h>

struct sent_message {
    int64_t number;
    size_t size;
    char *text;
    struct sent_message *next;
};

struct link {
    void (*send)(void *context, const char *text);
    void *context;
    bool is_open;
    int64_t sent, received, acknowledged; /* numbers; acknowledged: of what was received */
    struct sent_message *first, **end;
    size_t bytes;
};

struct link *link_new(void (*send)(void *context, const char *text), void *context) {
    struct link *link = x_calloc(1, sizeof *link);
    link->send = send;
    link->context = context;
    link->end = &link->first;
    return link;
}

static void forget(struct link *link, int64_t up_to) {
    while (link->first && link->first->number <= up_to) {
        struct sent_message *kept = link->first;
        link->first = kept->next;
        link->end = link->first ? link->end : &link->first;
        link->bytes -= kept->size;
        free(kept->text);
        free(kept);
    }
}

void link_reset(struct link *link) {
    forget(link, INT64_MAX);
    link->is_open = false;
    link->sent = link->received = link->acknowledged = 0;
}

void link_free(struct link *link) {
    if (link) {
        link_reset(link);
        free(link);
    }
}

void link_send(struct link *link, struct gang_message *message) {
    struct sent_message *kept = x_calloc(1, sizeof *kept);
    message->number = kept->number = ++link->sent;
    message->ack = link->received;
    kept->text = gang_message_write(message);
    kept->size = strlen(kept->text);
    link->bytes += kept->size;
    *link->end = kept;
    link->end = &kept->next;
    if (link->is_open) {
        link->acknowledged = link->received;
        link->send(link->context, kept->text);
    }
}

bool link_received(struct link *link, const struct gang_message *message) {
    forget(link, MIN(message->ack, link->sent));
    /* After a gap nothing is accepted: the message comes again after the missing ones. */
    if (message->number != link->received + 1) {
        return false;
    }
    link->received++;
    return message->type != GANG_MESSAGE_ACK;
}

void link_acknowledge(struct link *link) {
    if (link->is_open && link->acknowledged != link->received) {
        struct gang_message message = {.type = GANG_MESSAGE_ACK, .ack = link->received};
        AUTO(text_freep) char *text = gang_message_write(&message);
        link->acknowledged = link->received;
        link->send(link->context, text);
    }
}

int64_t link_last(const struct link *link) {
    return link->received;
}

void link_resume(struct link *link, int64_t last) {
    forget(link, MIN(last, link->sent));
    link->is_open = true;
    link->acknowledged = link->received; /* hello or welcome has acknowledged it */
    for (const struct sent_message *kept = link->first; kept; kept = kept->next) {
        link->send(link->context, kept->text);
    }
}

void link_broken(struct link *link) {
    link->is_open = false;
}

bool link_is_full(const struct link *link) {
    return link->bytes >= LINK_KEPT_MAX;
}

bool link_is_idle(const struct link *link) {
    return !link->first;
}
