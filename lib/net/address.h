/* address.h: parses "IP:PORT" (as in WINDLASS_BIND and WINDLASS_COORDINATOR) and opens sockets
 * there. Addresses only, no host names: the data plane needs no DNS. */
#pragma once

#include "lib/error.h"

struct address {
    char host[46];        /* an IPv4 or IPv6 address, without brackets */
    int port;             /* 0..65535 */
    bool is_ipv6, is_any; /* any: 0.0.0.0 or :: */
};

/* Parses "127.0.0.1:8443" or "[::1]:8443". INVALID. */
NODISCARD int address_parse(const char *text, struct address *ret_address, struct error *err);

/* True for 127.0.0.0/8 and ::1, without brackets or port. */
bool address_is_loopback(const char *host);

/* True for "192.0.2.1": four decimal numbers without leading zeros. */
bool address_is_plain_ipv4(const char *host);

/* True for an address that no user's service has: link-local (169.254.0.0/16, fe80::/10), "this
 * host" (0.0.0.0/8, ::), or a cloud's metadata service outside of these. Also for IPv6 addresses
 * that carry such an IPv4 address (mapped, NAT64, 6to4), with a zone ("fe80::1%eth0"), and for the
 * other spellings of IPv4 that inet_aton and libcurl take ("2852039166", "0xa9fea9fe",
 * "169.254.43518"). False for names. */
bool address_is_link_local(const char *host);

/* True for a host of a URL that nothing is sent to: as above, or one that ends in a number, which
 * URLs take for an IPv4 address (WHATWG), without being four decimal numbers. Without brackets. */
bool address_is_refused_host(const char *host);

/* Opens a listening, non-blocking socket. Port 0: a free port, which is written to *address. The
 * caller closes *ret_fd. */
NODISCARD int address_listen(struct address *address, int *ret_fd, struct error *err);
/* Starts to connect a non-blocking socket: when it is writable, SO_ERROR has the result. The caller
 * closes *ret_fd. */
NODISCARD int address_connect(const struct address *address, int *ret_fd, struct error *err);
/* Checks that a socket can listen there; fails with the system's reason. */
NODISCARD int address_probe(const struct address *address, struct error *err);
