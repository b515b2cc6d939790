/* link.h: delivers messages once and in order over connections that break. Each has a number and is
 * kept until the peer acknowledges it; the others are repeated on the next connection. Pure: the
 * caller sends what `send` is given. One thread. */
#pragma once

#include "agent/launch/gang/gang_message.h"

enum {
    LINK_KEPT_MAX =
        2 << 20 /* bytes that wait for an acknowledgement; above this the link is full */
};

struct link;

/* send: the text of a message, while there is a connection; borrowed. */
struct link *link_new(void (*send)(void *context, const char *text), void *context);
void link_free(struct link *link); /* NULL is fine */

/* Numbers, keeps and (where there is a connection) sends it. number and ack are the link's. */
void link_send(struct link *link, struct gang_message *message);
/* Whether it is to be acted on: false for one that was received before, or an ACK. */
bool link_received(struct link *link, const struct gang_message *message);
/* Acknowledges what was received, unless a later message has done so. */
void link_acknowledge(struct link *link);
/* The number of the last one that was received. */
int64_t link_last(const struct link *link);
/* There is a connection, and the peer has received all up to `last`: sends the others again. */
void link_resume(struct link *link, int64_t last);
void link_broken(struct link *link);
/* Another peer, or one that has restarted: numbers start again, and what was kept is dropped. */
void link_reset(struct link *link);
bool link_is_full(const struct link *link);
bool link_is_idle(const struct link *link); /* all that was sent was received */
