// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/port.h"

#include "lib/net/address.h"

#include <stdio.h>
#include <string.h>

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

int port_host(const char *text, char ret_address[static 46], struct error *err) {
    struct address address;
    if (address_parse(text, &address, err) < 0) {
        return -1;
    }
    snprintf(ret_address, 46, "%s", address.host);
    return 0;
}
