// SPDX-License-Identifier: Apache-2.0
#include "lib/http.h"

#include "lib/buffer.h"
#include "lib/tls.h"

#include <curl/curl.h>
#include <pthread.h>
#include <string.h>

static void curl_freep(CURL **handle) {
    curl_easy_cleanup(*handle);
}

static void initialise(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
}

struct answer {
    struct buffer body;
    struct error err; /* why the body was refused */
};

static size_t receive(char *data, size_t size, size_t count, void *context) {
    struct answer *answer = context;
    return buffer_append(&answer->body, data, size * count, &answer->err) < 0 ? 0 : size * count;
}

static enum error_kind kind_of_curl(CURLcode code) {
    switch (code) {
    case CURLE_OPERATION_TIMEDOUT:
        return ERROR_TIMEOUT;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
        return ERROR_DENIED;
    case CURLE_URL_MALFORMAT:
    case CURLE_UNSUPPORTED_PROTOCOL:
        return ERROR_INVALID;
    default:
        return ERROR_UNAVAILABLE;
    }
}

static bool prepare(CURL *curl, const struct http_request *request, struct answer *answer) {
    struct curl_blob trusted = {.data = (void *)(uintptr_t)request->certificate_pem,
                                .len = strlen(request->certificate_pem),
                                .flags = CURL_BLOB_COPY};
    /* Debian's libcurl trusts /etc/ssl/certs unless CAPATH is taken away. */
    return !curl_easy_setopt(curl, CURLOPT_URL, request->url) &&
           !curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "https") &&
           !curl_easy_setopt(curl, CURLOPT_PROXY, "") &&
           !curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L) &&
           !curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms) &&
           !curl_easy_setopt(curl, CURLOPT_CAPATH, NULL) &&
           !curl_easy_setopt(curl, CURLOPT_CAINFO, NULL) &&
           !curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted) &&
           !curl_easy_setopt(curl, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_3) &&
           !curl_easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 1L) &&
           !curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L) &&
           !curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1) &&
           !curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, receive) &&
           !curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
}

int http_get(const struct http_request *request, int *ret_status, char **ret_body,
             struct error *err) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, initialise);
    char sha256[65];
    if (tls_certificate_sha256(request->certificate_pem, sha256, err) < 0) {
        return error_context(err, "GET %s", request->url);
    }
    AUTO(curl_freep) CURL *curl = curl_easy_init();
    struct answer answer = {0};
    buffer_init(&answer.body, request->max_bytes);
    if (!curl || !prepare(curl, request, &answer)) {
        return error_set(err, ERROR_BUG, "GET %s: cannot prepare the request", request->url);
    }
    char reason[CURL_ERROR_SIZE] = "";
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, reason);
    CURLcode code = curl_easy_perform(curl);
    long status = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    if (code != CURLE_OK) {
        buffer_release(&answer.body);
        if (answer.err.kind) {
            *err = answer.err;
            return error_context(err, "GET %s: the answer", request->url);
        }
        return error_set(err, kind_of_curl(code), "GET %s: %s", request->url,
                         *reason ? reason : curl_easy_strerror(code));
    }
    *ret_status = (int)status;
    size_t size = 0;
    *ret_body = buffer_take(&answer.body, &size);
    return 0;
}
