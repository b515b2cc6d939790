// SPDX-License-Identifier: Apache-2.0
#include "lib/net/http_call.h"

#include "lib/net/address.h"
#include "lib/net/tls.h"
#include "lib/net/tls_limit.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>

enum {
    DEAD_PEER_MS = 20000,    /* a connection whose bytes are not acknowledged so long is dead */
    HEADERS_MAX = 256 << 10, /* bytes of an answer's headers */
    TLS_MESSAGES_MAX = 64,   /* of a connection, without data; servers send two or so */
    BUFFER_OF_WRITE = 4096,  /* bytes; libcurl has 16 KiB of each call, and hundreds may be open */
};

static int collect(struct http_call *call, const char *data, size_t size, bool is_complaint) {
    size_t room = call->body.max - call->body.size;
    size = call->cuts_complaints && is_complaint ? MIN(size, room) : size;
    return buffer_append(&call->body, data, size, &call->err);
}

/* A server that sends a byte each second for ever must not be waited for either. */
static void note_heard(struct http_call *call, size_t size) {
    call->heard_bytes += size;
    if (call->heard_bytes >= call->slowest_bytes) {
        call->heard_bytes = 0;
        call->heard_ms = clock_monotonic_ms();
    }
}

static size_t receive(char *data, size_t size, size_t count, void *context) {
    struct http_call *call = context;
    long status = 0;
    size *= count;
    note_heard(call, size);
    libcurl.easy_getinfo(call->curl, CURLINFO_RESPONSE_CODE, &status);
    int result = call->received && status < 300
                     ? call->received(call->context, data, size, &call->err)
                     : collect(call, data, size, status >= 300);
    return result < 0 ? 0 : size;
}

/* Chunked, or not encoded at all. */
static bool is_unpacked(const char *at, const char *end) {
    static const char chunked[] = "chunked", identity[] = "identity", spaces[] = " \t\r\n";
    while (at < end && strchr(spaces, *at)) {
        at++;
    }
    while (at < end && strchr(spaces, end[-1])) {
        end--;
    }
    size_t size = (size_t)(end - at);
    return (size == strlen(chunked) && strncasecmp(at, chunked, size) == 0) ||
           (size == strlen(identity) && strncasecmp(at, identity, size) == 0);
}

/* libcurl keeps headers behind a body without bound. And it unpacks what was packed for the
 * transfer, several times over, although it was not asked for: some bytes can take it hours, and
 * meanwhile it serves no other request. */
static size_t see_header(char *data, size_t size, size_t count, void *context) {
    static const char name[] = "Transfer-Encoding:";
    struct http_call *call = context;
    size *= count;
    call->header_bytes += size;
    if (call->header_bytes > HEADERS_MAX) {
        error_set(&call->err, ERROR_EXHAUSTED, "the answer has more than %d KiB of headers",
                  HEADERS_MAX >> 10);
        return 0;
    }
    if (size > strlen(name) && strncasecmp(data, name, strlen(name)) == 0 &&
        !is_unpacked(data + strlen(name), data + size)) {
        error_set(&call->err, ERROR_UNSUPPORTED,
                  "the answer has a Transfer-Encoding other than chunked");
        return 0;
    }
    return size;
}

/* Without this a vanished peer blocks a kept connection, and all its calls, for a quarter of an
 * hour. */
static int prepare_socket(void *context, curl_socket_t fd, curlsocktype purpose) {
    unsigned timeout_ms = DEAD_PEER_MS;
    if (purpose == CURLSOCKTYPE_IPCXN) {
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &timeout_ms, sizeof timeout_ms);
        http_sockets_opened(context, fd);
    }
    return CURL_SOCKOPT_OK;
}

static int close_socket(void *context, curl_socket_t fd) {
    return http_sockets_close(context, fd);
}

/* For refuses_link_local: the address is the one that is connected to, however it was found. */
static curl_socket_t open_socket(void *context, curlsocktype purpose UNUSED,
                                 struct curl_sockaddr *address) {
    struct http_call *call = context;
    char host[sizeof call->refused];
    if (getnameinfo(&address->addr, address->addrlen, host, sizeof host, NULL, 0, NI_NUMERICHOST) !=
        0) {
        return CURL_SOCKET_BAD;
    }
    if (address_is_link_local(host)) {
        snprintf(call->refused, sizeof call->refused, "%s", host);
        return CURL_SOCKET_BAD;
    }
    return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

static CURLcode on_tls(CURL *curl UNUSED, void *context, void *own UNUSED) {
    tls_limit_set(context, TLS_MESSAGES_MAX);
    return CURLE_OK;
}

static bool set_limit(CURL *curl) {
    return !http_curl_has_our_tls() || !LIBCURL_SET(curl, CURLOPT_SSL_CTX_FUNCTION, on_tls);
}

static CURLcode set_blob(CURL *curl, CURLoption option, const char *pem) {
    struct curl_blob blob = {
        .data = (void *)(uintptr_t)pem, .len = strlen(pem), .flags = CURL_BLOB_COPY};
    return libcurl.easy_setopt(curl, option, &blob);
}

static bool set_trust(CURL *curl, const struct http_request *request) {
    const char *pem =
        request->certificate_pem ? request->certificate_pem : request->authorities_pem;
    long oldest = request->certificate_pem ? CURL_SSLVERSION_TLSv1_3 : CURL_SSLVERSION_TLSv1_2;
    bool is_set = !LIBCURL_SET(curl, CURLOPT_SSLVERSION, oldest) &&
                  !LIBCURL_SET(curl, CURLOPT_SSL_VERIFYPEER, request->is_insecure ? 0L : 1L) &&
                  !LIBCURL_SET(curl, CURLOPT_SSL_VERIFYHOST,
                               request->is_insecure || request->certificate_pem ? 0L : 2L);
    if (is_set && pem) {
        /* Debian's libcurl trusts /etc/ssl/certs unless CAPATH is taken away. */
        is_set = !LIBCURL_SET(curl, CURLOPT_CAPATH, NULL) &&
                 !LIBCURL_SET(curl, CURLOPT_CAINFO, NULL) &&
                 !set_blob(curl, CURLOPT_CAINFO_BLOB, pem);
    }
    if (is_set && request->authorities_file) {
        is_set = !LIBCURL_SET(curl, CURLOPT_CAPATH, NULL) &&
                 !LIBCURL_SET(curl, CURLOPT_CAINFO, request->authorities_file);
    }
    if (is_set && request->client_certificate_pem && request->client_key_pem) {
        /* A password, so that OpenSSL does not ask for one on the terminal. */
        is_set = !set_blob(curl, CURLOPT_SSLCERT_BLOB, request->client_certificate_pem) &&
                 !set_blob(curl, CURLOPT_SSLKEY_BLOB, request->client_key_pem) &&
                 !LIBCURL_SET(curl, CURLOPT_KEYPASSWD, "");
    }
    return is_set;
}

static void add_to(struct curl_slist **list, const char *text) {
    *list = libcurl.slist_append(*list, text);
    if (!*list) {
        abort(); /* out of memory */
    }
}

static void add_header(struct http_call *call, const char *header) {
    add_to(&call->headers, header);
}

/* libcurl sends and checks the URL's name. So the URL gets the server's name, and CONNECT_TO leads
 * the connection to the original address. */
static int set_address(struct http_call *call, const struct http_request *request,
                       struct error *err) {
    if (request->resolve) {
        /* The plus: for connections of the next minute, not permanently. */
        AUTO(text_freep) char *entry = x_printf("+%s", request->resolve);
        add_to(&call->resolve, entry);
    }
    if (!request->server_name) {
        LIBCURL_SET(call->curl, CURLOPT_URL, request->url);
        return 0;
    }
    CURLU *url = libcurl.url();
    char *host = NULL, *port = NULL, *changed = NULL;
    bool is_set = url && !libcurl.url_set(url, CURLUPART_URL, request->url, 0) &&
                  !libcurl.url_get(url, CURLUPART_HOST, &host, 0) &&
                  !libcurl.url_get(url, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
                  !libcurl.url_set(url, CURLUPART_HOST, request->server_name, 0) &&
                  !libcurl.url_get(url, CURLUPART_URL, &changed, 0);
    if (is_set) {
        AUTO(text_freep) char *route = x_printf("::%s:%s", host, port);
        AUTO(text_freep) char *header = x_printf("Host: %s:%s", host, port);
        call->connect_to = libcurl.slist_append(NULL, route);
        add_header(call, header);
        is_set = !LIBCURL_SET(call->curl, CURLOPT_URL, changed) &&
                 !LIBCURL_SET(call->curl, CURLOPT_CONNECT_TO, call->connect_to);
    }
    libcurl.free(host);
    libcurl.free(port);
    libcurl.free(changed);
    libcurl.url_cleanup(url);
    return is_set ? 0
                  : error_set(err, ERROR_INVALID, "%s with the server name %s: not an address",
                              request->url, request->server_name);
}

static void set_headers(struct http_call *call, const struct http_request *request) {
    for (const char *const *header = request->headers; header && *header; header++) {
        add_header(call, *header);
    }
    if (request->bearer_token) {
        AUTO(text_freep) char *header = x_printf("Authorization: Bearer %s", request->bearer_token);
        add_header(call, header);
    }
    if (request->body) {
        add_header(call, "Expect:"); /* saves the round trip of 100-continue */
    }
}

static bool set_body(CURL *curl, const struct http_request *request) {
    CURLoption body = request->borrows_body ? CURLOPT_POSTFIELDS : CURLOPT_COPYPOSTFIELDS;
    return !LIBCURL_SET(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_size) &&
           !libcurl.easy_setopt(curl, body, request->body);
}

static bool set_request(struct http_call *call, const struct http_request *request) {
    CURL *curl = call->curl;
    const char *method = request->method ? request->method : "GET";
    bool is_pinned = request->certificate_pem != NULL;
    long version = is_pinned || request->is_http1 ? CURL_HTTP_VERSION_1_1 : CURL_HTTP_VERSION_2TLS;
    bool is_named = is_pinned || request->authorities_pem || request->authorities_file;
    const char *schemes = is_named ? "https" : "http,https";
    bool is_set =
        !LIBCURL_SET(curl, CURLOPT_PROTOCOLS_STR, schemes) &&
        !LIBCURL_SET(curl, CURLOPT_PROXY, request->proxy ? request->proxy : "") &&
        !LIBCURL_SET(curl, CURLOPT_NOPROXY, "") && /* whatever the environment says */
        !LIBCURL_SET(curl, CURLOPT_NOSIGNAL, 1L) &&
        !LIBCURL_SET(curl, CURLOPT_HTTP_VERSION, version) &&
        !LIBCURL_SET(curl, CURLOPT_PIPEWAIT, request->reuse == HTTP_SHARE ? 1L : 0L) &&
        !LIBCURL_SET(curl, CURLOPT_FRESH_CONNECT, request->reuse != HTTP_SHARE ? 1L : 0L) &&
        !LIBCURL_SET(curl, CURLOPT_FORBID_REUSE, request->reuse == HTTP_ONCE ? 1L : 0L) &&
        !LIBCURL_SET(curl, CURLOPT_TCP_KEEPALIVE, 1L) &&
        !LIBCURL_SET(curl, CURLOPT_TCP_KEEPIDLE, 30L) &&
        !LIBCURL_SET(curl, CURLOPT_TCP_KEEPINTVL, 10L) &&
        !LIBCURL_SET(curl, CURLOPT_SOCKOPTFUNCTION, prepare_socket) &&
        !LIBCURL_SET(curl, CURLOPT_SOCKOPTDATA, call->sockets) &&
        !LIBCURL_SET(curl, CURLOPT_CLOSESOCKETFUNCTION, close_socket) &&
        !LIBCURL_SET(curl, CURLOPT_CLOSESOCKETDATA, call->sockets) &&
        !LIBCURL_SET(curl, CURLOPT_CONNECTTIMEOUT_MS, (long)request->connect_ms) &&
        !LIBCURL_SET(curl, CURLOPT_TIMEOUT_MS, (long)request->timeout_ms) &&
        !LIBCURL_SET(curl, CURLOPT_USERAGENT, "windlass/" WINDLASS_VERSION) &&
        !LIBCURL_SET(curl, CURLOPT_ERRORBUFFER, call->reason) &&
        !LIBCURL_SET(curl, CURLOPT_PRIVATE, call) &&
        !LIBCURL_SET(curl, CURLOPT_WRITEFUNCTION, receive) &&
        !LIBCURL_SET(curl, CURLOPT_WRITEDATA, call) &&
        !LIBCURL_SET(curl, CURLOPT_HEADERFUNCTION, see_header) &&
        !LIBCURL_SET(curl, CURLOPT_HEADERDATA, call) && set_trust(curl, request) && set_limit(curl);
    if (is_set && request->refuses_link_local) {
        is_set = !LIBCURL_SET(curl, CURLOPT_OPENSOCKETFUNCTION, open_socket) &&
                 !LIBCURL_SET(curl, CURLOPT_OPENSOCKETDATA, call);
    }
    if (is_set && request->body) {
        is_set = !LIBCURL_SET(curl, CURLOPT_BUFFERSIZE, (long)BUFFER_OF_WRITE) &&
                 set_body(curl, request);
    }
    if (is_set && call->resolve) {
        is_set = !LIBCURL_SET(curl, CURLOPT_RESOLVE, call->resolve);
    }
    if (is_set && strcmp(method, "HEAD") == 0) {
        is_set = !LIBCURL_SET(curl, CURLOPT_NOBODY, 1L);
    } else if (is_set && (request->body || strcmp(method, "GET") != 0)) {
        is_set = !LIBCURL_SET(curl, CURLOPT_CUSTOMREQUEST, method);
    }
    return is_set && !LIBCURL_SET(curl, CURLOPT_HTTPHEADER, call->headers);
}

/* Reports a text without a certificate as such, before connecting; curl judges what is in it. */
static int check_certificate(const struct http_request *request, struct error *err) {
    char sha256[65];
    return request->certificate_pem ? tls_certificate_sha256(request->certificate_pem, sha256, err)
                                    : 0;
}

static void set_name(struct http_call *call, const struct http_request *request) {
    free(call->method_and_url);
    call->method_and_url = x_printf("%s %s", request->method ? request->method : "GET",
                                    request->shown_url ? request->shown_url : request->url);
}

/* What prepare_again sets anew, and what it leaves. */
static void check_kind(const struct http_request *request) {
    assert(request->kind == 0 || (request->body && !request->shown_url && !request->server_name));
}

bool http_call_prepare_again(struct http_call *call, const struct http_request *request) {
    check_kind(request);
    buffer_clear(&call->body);
    error_clear(&call->err);
    *call->reason = *call->refused = 0;
    call->received = request->received;
    call->done = request->done;
    call->context = request->context;
    call->heard_ms = clock_monotonic_ms();
    call->header_bytes = call->heard_bytes = 0;
    if (strcmp(strchr(call->method_and_url, ' ') + 1, request->url) != 0) {
        set_name(call, request);
        if (LIBCURL_SET(call->curl, CURLOPT_URL, request->url)) {
            return false;
        }
    }
    return set_body(call->curl, request);
}

int http_call_prepare(struct http_call *call, const struct http_request *request,
                      struct error *err) {
    check_kind(request);
    set_name(call, request);
    call->kind = request->kind;
    buffer_init(&call->body, request->bytes_max);
    call->received = request->received;
    call->cuts_complaints = request->cuts_complaints;
    call->done = request->done;
    call->context = request->context;
    call->silence_ms = request->silence_ms;
    call->slowest_bytes = request->slowest_bytes;
    call->heard_ms = clock_monotonic_ms();
    call->curl = libcurl.easy_init();
    if (check_certificate(request, err) < 0) {
        return error_context(err, "%s", call->method_and_url);
    }
    if (!call->curl) {
        return error_set(err, ERROR_BUG, "%s: libcurl cannot start", call->method_and_url);
    }
    if (set_address(call, request, err) < 0) {
        return -1;
    }
    set_headers(call, request);
    if (!set_request(call, request)) {
        return error_set(err, ERROR_INVALID, "%s: cannot prepare the request",
                         call->method_and_url);
    }
    return 0;
}
