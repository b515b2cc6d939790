// SPDX-License-Identifier: Apache-2.0
#include "lib/net/address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int parse_port(const char *text) {
    if (!*text || strlen(text) > 5 || strspn(text, "0123456789") != strlen(text)) {
        return -1;
    }
    long port = strtol(text, NULL, 10);
    return port <= 65535 ? (int)port : -1;
}

static socklen_t fill(const struct address *address, struct sockaddr_storage *storage) {
    struct sockaddr_in *v4 = (struct sockaddr_in *)storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)storage;
    *storage = (struct sockaddr_storage){0};
    if (address->is_ipv6) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons((uint16_t)address->port);
        return inet_pton(AF_INET6, address->host, &v6->sin6_addr) == 1 ? sizeof *v6 : 0;
    }
    v4->sin_family = AF_INET;
    v4->sin_port = htons((uint16_t)address->port);
    return inet_pton(AF_INET, address->host, &v4->sin_addr) == 1 ? sizeof *v4 : 0;
}

int address_parse(const char *text, struct address *ret_address, struct error *err) {
    struct address address = {.is_ipv6 = *text == '['};
    const char *colon = strrchr(text, ':');
    const char *start = text + address.is_ipv6;
    const char *end = address.is_ipv6 && colon && colon > start ? colon - 1 : colon;
    struct sockaddr_storage storage;
    if (!colon || (address.is_ipv6 && *end != ']') || (address.port = parse_port(colon + 1)) < 0 ||
        (size_t)(end - start) >= sizeof address.host) {
        return error_set(err, ERROR_INVALID, "invalid address '%.80s', expected IP:PORT", text);
    }
    memcpy(address.host, start, (size_t)(end - start));
    if (!fill(&address, &storage)) {
        return error_set(err, ERROR_INVALID, "invalid address '%.80s', expected IP:PORT", text);
    }
    address.is_any = !strcmp(address.host, "0.0.0.0") || !strcmp(address.host, "::");
    *ret_address = address;
    return 0;
}

bool address_is_loopback(const char *host) {
    struct in_addr four;
    struct in6_addr six;
    return inet_pton(AF_INET, host, &four) == 1
               ? ntohl(four.s_addr) >> 24 == 127
               : inet_pton(AF_INET6, host, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
}

int address_listen(struct address *address, int *ret_fd, struct error *err) {
    struct sockaddr_storage storage;
    socklen_t size = fill(address, &storage);
    int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&storage, size) < 0 || listen(fd, SOMAXCONN) < 0 ||
        getsockname(fd, (struct sockaddr *)&storage, &size) < 0) {
        int why = errno;
        fd_closep(&fd);
        return error_from_errno(err, why, "cannot listen");
    }
    address->port = ntohs(address->is_ipv6 ? ((struct sockaddr_in6 *)&storage)->sin6_port
                                           : ((struct sockaddr_in *)&storage)->sin_port);
    *ret_fd = fd;
    return 0;
}

int address_connect(const struct address *address, int *ret_fd, struct error *err) {
    struct sockaddr_storage storage;
    socklen_t size = fill(address, &storage);
    int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || (connect(fd, (struct sockaddr *)&storage, size) < 0 && errno != EINPROGRESS)) {
        int why = errno;
        fd_closep(&fd);
        return error_from_errno(err, why, "connect");
    }
    *ret_fd = fd;
    return 0;
}

int address_probe(const struct address *address, struct error *err) {
    struct sockaddr_storage storage;
    socklen_t size = fill(address, &storage);
    AUTO(fd_closep) int fd = socket(storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, (struct sockaddr *)&storage, size) < 0) {
        return error_from_errno(err, errno, "cannot bind");
    }
    return 0;
}
