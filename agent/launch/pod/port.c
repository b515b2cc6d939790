// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/port.h"

#include "lib/net/address.h"

#include <stdio.h>
#include <string.h>

enum { LISTENS = 0x0a /* TCP_LISTEN in /proc/net/tcp */, LINE_MAX_BYTES = 512 };
enum { FIRST = 20000, COUNT = 12768, STEP = 4099 /* coprime to COUNT, so each port comes once */ };

int port_find_free(const char *address, int64_t seed) {
    bool is_six = strchr(address, ':') != NULL;
    for (int i = 0; i < COUNT; i++) {
        int port = FIRST + (int)(((seed % COUNT + i) * STEP) % COUNT);
        AUTO(text_freep) char *text = x_printf(is_six ? "[%s]:%d" : "%s:%d", address, port);
        struct address parsed;
        struct error err = {0};
        if (address_parse(text, &parsed, &err) < 0) {
            return 0;
        }
        if (address_probe(&parsed, &err) == 0) {
            return port;
        }
    }
    return 0;
}

/* Addresses are there in words of four bytes, in the machine's byte order. */
static bool is_loopback(const char *host) {
    static const char four[] = "0000000000000000FFFF0000",
                      six[] = "00000000000000000000000001000000";
    const char *last = text_starts(host, four) ? host + strlen(four) : host;
    return strcmp(host, six) == 0 || (strlen(last) == 8 && strcmp(last + 6, "7F") == 0);
}

static bool is_open(const char *path, int port) {
    bool found = false;
    char line[LINE_MAX_BYTES];
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file)) {
        char host[33];
        unsigned at = 0, state = 0;
        found = sscanf(line, " %*u: %32[0-9A-F]:%x %*[0-9A-F]:%*x %x", host, &at, &state) == 3 &&
                state == LISTENS && (int)at == port && !is_loopback(host);
    }
    if (file) {
        fclose(file);
    }
    return found;
}

bool port_is_open(int port) {
    return is_open("/proc/net/tcp", port) || is_open("/proc/net/tcp6", port);
}

int port_host(const char *text, char ret_address[static 46], struct error *err) {
    struct address address;
    if (address_parse(text, &address, err) < 0) {
        return -1;
    }
    snprintf(ret_address, 46, "%s", address.host);
    return 0;
}
