/* address.h: "IP:PORT" texts, as they stand in WINDLASS_BIND and WINDLASS_COORDINATOR. Addresses
 * only, never names: the data plane needs no DNS. */
#pragma once

#include "lib/error.h"

struct address {
    char host[46];        /* an IPv4 or IPv6 address, without brackets */
    int port;             /* 0..65535 */
    bool is_ipv6, is_any; /* any: 0.0.0.0 or :: */
};

/* Reads "127.0.0.1:8443" or "[::1]:8443". */
NODISCARD int address_parse(const char *text, struct address *ret_address, struct error *err);

/* A socket that listens there, non-blocking; port 0: any that is free, which becomes the address'.
 */
NODISCARD int address_listen(struct address *address, int *ret_fd, struct error *err);
/* A socket that is being connected, non-blocking: when it is writable, SO_ERROR says how it went.
 */
NODISCARD int address_connect(const struct address *address, int *ret_fd, struct error *err);
/* Whether this machine lets us listen there, with the system's reason when not. */
NODISCARD int address_probe(const struct address *address, struct error *err);
