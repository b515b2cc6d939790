// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/pod/port.h"

#include "lib/net/address.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

static void who_listens_for_other_pods_is_found(void) {
    static const struct {
        const char *bind;
        bool is_open;
    } rows[] = {{"127.0.0.1:0", false}, {"127.9.8.7:0", false},          {"[::1]:0", false},
                {"0.0.0.0:0", true},    {"[::ffff:127.0.0.1]:0", false}, {"[::]:0", true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct address address;
        struct error err = {0};
        int fd = -1;
        CHECK_OK(address_parse(rows[i].bind, &address, &err), &err);
        if (address_listen(&address, &fd, &err) < 0) {
            printf("# %s: %s\n", rows[i].bind, err.text); /* a machine without IPv6 */
            CHECK(address.is_ipv6);
            continue;
        }
        if (port_is_open(address.port) != rows[i].is_open) {
            printf("# %s\n", rows[i].bind);
            CHECK(false);
        }
        close(fd);
        CHECK(!port_is_open(address.port));
    }
}

int main(void) {
    TEST(who_listens_for_other_pods_is_found);
    return TEST_END();
}
