// SPDX-License-Identifier: Apache-2.0
#include "lib/net/http_curl.h"

#include "lib/library/shared_library.h"
#include "lib/net/tls_limit.h"

#include <pthread.h>

#define SONAME "libcurl.so.4" /* since 7.16, of 2006; the header does not say it */
SHARED_LIBRARY_NOTE(curl_note, SONAME, "HTTP");

struct http_curl libcurl;

#define ROW(name) {"curl_" #name, &libcurl.name},
static const struct shared_library_call calls[] = {LIBCURL_CALLS(ROW)};

static struct error failure; /* kind NONE: it is open */
static bool has_our_tls;

static void open_it(void) {
    if (shared_library_open(SONAME, calls, ARRAY_LEN(calls), &failure) < 0) {
        error_context(&failure, "HTTP needs libcurl, which is missing here");
        return;
    }
    has_our_tls = tls_limit_fits(libcurl.version_info(CURLVERSION_NOW)->ssl_version);
}

int http_curl_open(struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_it);
    return failure.kind ? error_set(err, failure.kind, "%s", failure.text) : 0;
}

bool http_curl_has_our_tls(void) {
    return has_our_tls;
}
