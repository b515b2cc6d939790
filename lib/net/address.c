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

bool address_is_plain_ipv4(const char *host) {
    struct in_addr four;
    return inet_pton(AF_INET, host, &four) == 1;
}

static bool is_link_local_ipv4(uint32_t address) {
    static const struct {
        uint32_t network;
        int bits;
    } refused[] = {
        {0xA9FE0000, 16}, /* 169.254.0.0: link-local, metadata of most clouds */
        {0x00000000, 8},  /* 0.0.0.0: this host */
        {0xA83F8110, 32}, /* 168.63.129.16: Azure's platform */
        {0x646464C8, 32}, /* 100.100.100.200: Alibaba Cloud's metadata */
        {0xC00000C0, 32}, /* 192.0.0.192: Oracle Cloud's metadata */
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        if ((address ^ refused[i].network) >> (32 - refused[i].bits) == 0) {
            return true;
        }
    }
    return false;
}

static uint32_t four_bytes(const uint8_t *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* RFC 4291 (mapped, compatible), RFC 6052 and 8215 (NAT64), RFC 3056 (6to4). */
static bool is_link_local_ipv6(const struct in6_addr *address) {
    static const struct {
        uint8_t prefix[12];
        size_t size, at; /* bytes of the prefix; where the IPv4 address begins */
    } carriers[] = {
        {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF}, 12, 12},
        {{0}, 12, 12},
        {{0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0}, 12, 12},
        {{0, 0x64, 0xFF, 0x9B, 0, 1}, 6, 12},
        {{0x20, 0x02}, 2, 2},
    };
    static const uint8_t metadata[][16] = {
        {0xFD, 0, 0x0E, 0xC2, [14] = 0x02, 0x54}, /* fd00:ec2::254, AWS */
        {0xFD, 0, 0x0E, 0xC2, [15] = 0x23},       /* fd00:ec2::23, AWS's keys of pods */
        {0xFD, 0x20, 0, 0xCE, [14] = 0x02, 0x54}, /* fd20:ce::254, Google Cloud */
        {0xFD, 0, 0, 0x42, [15] = 0x42},          /* fd00:42::42, Scaleway */
    };
    const uint8_t *bytes = address->s6_addr;
    if (IN6_IS_ADDR_LINKLOCAL(address)) {
        return true;
    }
    for (size_t i = 0; i < ARRAY_LEN(metadata); i++) {
        if (memcmp(bytes, metadata[i], sizeof metadata[i]) == 0) {
            return true;
        }
    }
    if (IN6_IS_ADDR_LOOPBACK(address)) {
        return false; /* not 0.0.0.1 */
    }
    for (size_t i = 0; i < ARRAY_LEN(carriers); i++) {
        if (memcmp(bytes, carriers[i].prefix, carriers[i].size) == 0) {
            return is_link_local_ipv4(four_bytes(bytes + carriers[i].at));
        }
    }
    return false;
}

bool address_is_link_local(const char *host) {
    char plain[64];
    size_t size = strcspn(host, "%");
    size -= size > 0 && host[size - 1] == '.' && !host[size]; /* a name's root */
    struct in_addr four;
    struct in6_addr six;
    if (size >= sizeof plain) {
        return false;
    }
    memcpy(plain, host, size);
    plain[size] = 0;
    return inet_pton(AF_INET6, plain, &six) == 1
               ? is_link_local_ipv6(&six)
               : inet_aton(plain, &four) != 0 && is_link_local_ipv4(ntohl(four.s_addr));
}

/* Of a URL's host whose last part is a number, as URLs are parsed (WHATWG): it is an IPv4 address.
 */
static bool ends_in_number(const char *host) {
    size_t size = strlen(host);
    size -= size > 0 && host[size - 1] == '.';
    size_t start = size;
    while (start > 0 && host[start - 1] != '.') {
        start--;
    }
    const char *part = host + start;
    bool is_hexadecimal = size - start >= 2 && part[0] == '0' && (part[1] | 0x20) == 'x';
    return is_hexadecimal ? 2 + strspn(part + 2, "0123456789abcdefABCDEF") >= size - start
                          : size > start && strspn(part, "0123456789") >= size - start;
}

bool address_is_refused_host(const char *host) {
    return address_is_link_local(host) || (ends_in_number(host) && !address_is_plain_ipv4(host));
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
