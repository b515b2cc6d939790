/* tls_limit.h: how many messages without data the other side of a TLS connection may send: it
 * renews its keys (TLS 1.3), gives a ticket for a later session, asks for a new handshake
 * (TLS 1.2). OpenSSL takes as many of these as come within one read, and does not return meanwhile:
 * who sends them without end keeps the thread from everybody else, and no limit of time is looked
 * at. */
#pragma once

#include <stdbool.h>

struct ssl_ctx_st; /* OpenSSL's SSL_CTX */

/* Connections of the context that are made from now on end with the message behind `most`: a read,
 * or the handshake, fails then. Uses the context's callback for messages. */
void tls_limit_set(struct ssl_ctx_st *context, int most);

/* Whether a library's SSL_CTX is one of ours. name: "OpenSSL/3.0.19", as libcurl names what it
 * uses; NULL: no. */
bool tls_limit_fits(const char *name);
