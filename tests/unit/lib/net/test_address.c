// SPDX-License-Identifier: Apache-2.0
/* Addresses that no user's service has, in every spelling that is connected to. */
#include "lib/net/address.h"

#include "tests/test.h"

static void test_link_local(void) {
    static const char *const refused[] = {
        "169.254.169.254",
        "169.254.0.1",
        "169.254.169.254.",
        "2852039166",
        "0xa9fea9fe",
        "0xA9.0xFE.0xA9.0xFE",
        "0251.0376.0251.0376",
        "025177524776",
        "169.254.43518",
        "169.16689662",
        "0",
        "0.0.0.0",
        "0.1.2.3",
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "fe80::1",
        "fe80::1%eth0",
        "febf::1",
        "::",
        "::ffff:169.254.169.254",
        "::ffff:a9fe:a9fe",
        "::169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::a9fe:a9fe",
        "2002:a9fe:a9fe::1",
        "fd00:ec2::254",
        "FD00:0EC2:0:0:0:0:0:0254",
        "fd20:ce::254",
        "fd00:ec2::23",
        "fd00:42::42",
    };
    static const char *const allowed[] = {
        "",
        "10.0.0.1",
        "127.0.0.1",
        "169.253.0.1",
        "169.255.1",
        "168.63.129.17",
        "100.100.100.20",
        "192.0.0.193",
        "::1",
        "fec0::1",
        "fd00:ec2::253",
        "2001:db8::a9fe:a9fe",
        "2852039167.example",
        "169.254.169.254.nip.io",
        "::ffff:10.0.0.1",
        "64:ff9b::a00:1",
        "blob.core.windows.net",
        "0xa9fea9fg",
        "169.254.169.254.5",
        "%",
        ".",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CHECK_INT(address_is_link_local(refused[i]) ? -1 : (int)i, -1);
    }
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        CHECK_INT(address_is_link_local(allowed[i]) ? (int)i : -1, -1);
    }
}

static void test_plain_ipv4(void) {
    static const char *const plain[] = {"10.0.0.1", "0.0.0.0", "255.255.255.255"};
    static const char *const others[] = {"", "10.1", "010.0.0.1", "256.0.0.1", "1.2.3.4.", "::1"};
    for (size_t i = 0; i < ARRAY_LEN(plain); i++) {
        CHECK(address_is_plain_ipv4(plain[i]));
    }
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        CHECK(!address_is_plain_ipv4(others[i]));
    }
}

static void test_refused_hosts(void) {
    static const char *const refused[] = {"169.254.1.1", "010.0.0.1", "10.1",
                                          "host.7",      "fe80::1",   "host.0x1f."};
    static const char *const allowed[] = {"10.0.0.1",       "::1",   "127.0.0.1", "llm",
                                          "llm.models.svc", "7.com", "fd12::3"};
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        CHECK_INT(address_is_refused_host(refused[i]) ? -1 : (int)i, -1);
    }
    for (size_t i = 0; i < ARRAY_LEN(allowed); i++) {
        CHECK_INT(address_is_refused_host(allowed[i]) ? (int)i : -1, -1);
    }
}

int main(void) {
    TEST(test_link_local);
    TEST(test_refused_hosts);
    TEST(test_plain_ipv4);
    return TEST_END();
}
