/* link.h: messages that come once and in their order, over connections that break: each has a
 * number and is kept until the other side has said that it received it; what it has not is said
 * again on the next connection. Pure: the caller sends what `send` is given. One thread. */
#pragma once

#include "agent/launch/gang/gang_message.h"

enum { LINK_KEPT_MAX = 2 << 20 /* bytes that wait for an answer; what is more waits elsewhere */ };

struct link;

/* send: the text of a message, while there is a connection; borrowed. */
struct link *link_new(void (*send)(void *context, const char *text), void *context);
void link_free(struct link *link); /* NULL is fine */

/* Numbers, keeps and (where there is a connection) sends it. number and ack are the link's. */
void link_send(struct link *link, struct gang_message *message);
/* Whether it is to be acted on: false for one that was received before, or an ACK. */
bool link_received(struct link *link, const struct gang_message *message);
/* Says what was received, unless something that was sent since has. */
void link_acknowledge(struct link *link);
/* The number of the last one that was received. */
int64_t link_last(const struct link *link);
/* A connection is there, and the peer has received all up to `last`: the others are sent again. */
void link_resume(struct link *link, int64_t last);
void link_broken(struct link *link);
/* Another peer, or one that knows nothing: everything begins anew, what was kept is dropped. */
void link_reset(struct link *link);
bool link_is_full(const struct link *link);
bool link_is_idle(const struct link *link); /* all that was sent was received */
