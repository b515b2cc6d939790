// SPDX-License-Identifier: Apache-2.0
/* libcurl for a static program, which opens no libraries: in the place of lib/net/http_curl.c. */
#include "lib/net/http_curl.h"

#define ROW(name) .name = curl_##name,
struct http_curl libcurl = {LIBCURL_CALLS(ROW)};

int http_curl_open(struct error *err UNUSED) {
    return 0;
}

/* (curl_version_info would call libraries that the shim does not have, for their versions.) */
bool http_curl_has_our_tls(void) {
    return true;
}

/* Debian's libcurl supports SSH and calls these at its start and end. The shim has no SSH library:
 * the other names of libssh2 are undefined (SHIM_UNUSED in the Makefile). */
int libssh2_init(int flags);
int libssh2_init(int flags UNUSED) {
    return 0;
}

void libssh2_exit(void);
void libssh2_exit(void) {
}
