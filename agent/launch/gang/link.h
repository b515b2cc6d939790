/* link.h: delivers messages exactly once and in order, although connections break. Each message has
 * a number and is kept until the peer acknowledges it; what was not acknowledged is sent again over
 * the next connection. Hub and member have one link each per pair. Pure: the caller sends the texts
 * that `send` gets. Not thread-safe. */
#pragma once

#include "agent/launch/gang/gang_message.h"

enum { LINK_KEPT_MAX = 2 << 20 /* bytes of unacknowledged messages that make a link full */ };

struct link;

/* send is called with a message's text, only while there is a connection; the text is borrowed. */
struct link *link_new(void (*send)(void *context, const char *text), void *context);
void link_free(struct link *link); /* accepts NULL */

/* Sets the message's number and ack, keeps its text, and sends it if there is a connection. Also
 * works when the link is full. */
void link_send(struct link *link, struct gang_message *message);
/* Handles the numbers of a received message. False: ignore it; it is an ACK, was received before,
 * or comes after a gap and will be repeated. */
bool link_received(struct link *link, const struct gang_message *message);
/* Sends an ACK if something was received that no sent message has acknowledged. */
void link_acknowledge(struct link *link);
/* The number of the last message received, for HELLO and WELCOME. */
int64_t link_last(const struct link *link);
/* There is a new connection, and the peer has received messages up to number `last`: sends the
 * later ones again. */
void link_resume(struct link *link, int64_t last);
void link_broken(struct link *link); /* the connection is lost */
/* The peer is another one, or has restarted: drops all messages and counts from 1 again. */
void link_reset(struct link *link);
bool link_is_full(const struct link *link);
bool link_is_idle(const struct link *link); /* everything sent was acknowledged */
