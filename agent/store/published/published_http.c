// SPDX-License-Identifier: Apache-2.0
#include "agent/store/published/published_http.h"

#include "lib/net/resolver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    REDIRECTS_MAX = 5,
    RESOLVE_MS = 10000,
    CONNECT_MS = 10000,
    SILENCE_MS = 30000,
    COMPLAINT_BYTES_MAX = 4096,
};

struct published_client {
    struct cloud_place place; /* authorities and name servers alone */
    struct resolver *resolver;
    struct http *http;
};

struct asking {
    const struct published_question *question;
    struct published_answer *answer;
    struct error *err;
    bool is_done;
    int result;
};

int published_client_open(struct published_client **ret_client, struct error *err) {
    struct published_client *client = x_calloc(1, sizeof *client);
    cloud_place_read(&client->place, "");
    client->resolver = resolver_new(client->place.name_servers);
    if (http_open(&client->http, err) < 0) {
        published_client_freep(&client);
        return -1;
    }
    *ret_client = client;
    return 0;
}

void published_client_freep(struct published_client **given) {
    struct published_client *client = TAKE(*given);
    if (client) {
        http_free(client->http);
        resolver_free(client->resolver);
        cloud_place_release(&client->place);
        free(client);
    }
}

void published_answer_release(struct published_answer *answer) {
    free(answer->body);
    free(answer->etag);
    free(answer->challenge);
    free(answer->location);
    *answer = (struct published_answer){0};
}

static void on_done(void *context, const struct http_answer *answer, bool is_sent UNUSED,
                    const struct error *err) {
    struct asking *asking = context;
    asking->is_done = true;
    if (!answer) {
        *asking->err = *err;
        asking->result = -1;
        return;
    }
    const char *etag = http_answer_header(answer, "ETag");
    *asking->answer = (struct published_answer){
        .status = answer->status,
        .body = x_strndup(answer->body, answer->size),
        .size = answer->size,
        .etag = etag && *etag == '"' ? x_strdup(etag) : NULL,
        .challenge = x_strdup(http_answer_header(answer, "WWW-Authenticate")),
        .location = x_strdup(http_answer_header(answer, "Location")),
    };
}

static int on_received(void *context, const char *data, size_t size, struct error *err) {
    const struct published_question *question = ((struct asking *)context)->question;
    return question->received(question->context, data, size, err);
}

/* ---- where to ------------------------------------------------------------------------------- */

static bool url_host(const char *url, char **ret_host, int *ret_port) {
    AUTO(text_freep) char *plain = x_strndup(url, strcspn(url, "?#"));
    return cloud_url_host(plain, ret_host, ret_port);
}

/* Whether NO_PROXY has the host, or a domain that it is in. */
static bool is_near(const char *host) {
    const char *given = cloud_variable("NO_PROXY");
    given = given ? given : cloud_variable("no_proxy");
    AUTO(text_freep) char *list = x_strdup(given ? given : "");
    char *rest = list;
    for (const char *each; (each = strsep(&rest, ", "));) {
        each += *each == '.';
        size_t size = strlen(each), length = strlen(host);
        bool is_end = size && size <= length && strcmp(host + length - size, each) == 0;
        if (strcmp(each, "*") == 0 ||
            (is_end && (size == length || host[length - size - 1] == '.'))) {
            return true;
        }
    }
    return false;
}

static const char *find_proxy(const char *host) {
    const char *proxy = cloud_variable("HTTPS_PROXY");
    proxy = proxy ? proxy : cloud_variable("https_proxy");
    return proxy && !is_near(host) ? proxy : NULL;
}

/* The addresses of the host, as curl takes them; NULL: an IPv6 address is in the URL, or the proxy
 * finds them. */
static int find_route(struct published_client *client, const char *url, const char **ret_proxy,
                      char **ret_route, struct error *err) {
    AUTO(text_freep) char *host = NULL, *addresses = NULL;
    int port = 0;
    if (!url_host(url, &host, &port)) {
        int shown = (int)MIN(strcspn(url, "?#"), (size_t)100); /* a query may be a signature */
        return error_set(err, ERROR_INVALID, "\"%.*s\": expected https:// and a host", shown, url);
    }
    *ret_proxy = find_proxy(host);
    if (cloud_check_addresses(host, host, err) < 0) {
        return -1;
    }
    if (*ret_proxy) {
        return 0;
    }
    if (resolver_find(client->resolver, host, RESOLVE_MS, &addresses, err) < 0 ||
        cloud_check_addresses(host, addresses, err) < 0) {
        return -1;
    }
    *ret_route = strchr(host, ':') ? NULL : x_printf("%s:%d:%s", host, port, addresses);
    return 0;
}

static bool is_same_host(const char *one, const char *other) {
    AUTO(text_freep) char *one_host = NULL, *other_host = NULL;
    int one_port = 0, other_port = 0;
    return url_host(one, &one_host, &one_port) && url_host(other, &other_host, &other_port) &&
           one_port == other_port && strcmp(one_host, other_host) == 0;
}

/* ---- asking --------------------------------------------------------------------------------- */

static int ask_once(struct published_client *client, const char *url,
                    const struct published_question *question, struct published_answer *ret_answer,
                    struct error *err) {
    AUTO(text_freep)
    char *route = NULL, *authorization = NULL, *accept = NULL, *range = NULL, *condition = NULL;
    const char *proxy = NULL, *headers[5] = {0};
    size_t count = 0;
    if (find_route(client, url, &proxy, &route, err) < 0) {
        return -1;
    }
    if (question->authorization && is_same_host(url, question->url)) {
        headers[count++] = authorization = x_printf("Authorization: %s", question->authorization);
    }
    if (question->accept) {
        headers[count++] = accept = x_printf("Accept: %s", question->accept);
    }
    if (question->offset) {
        headers[count++] = range = x_printf("Range: bytes=%lld-", (long long)question->offset);
    }
    if (question->etag) {
        headers[count++] = condition = x_printf("If-Match: %s", question->etag);
    }
    struct asking asking = {.question = question, .answer = ret_answer, .err = err};
    /* A redirect's query may be a signature, which no message has. */
    AUTO(text_freep) char *shown = x_strndup(url, strcspn(url, "?#"));
    const struct http_request request = {.url = url,
                                         .shown_url = shown,
                                         .method = question->method,
                                         .headers = headers,
                                         .is_http1 = true,
                                         .authorities_file = client->place.authorities_file,
                                         .resolve = route,
                                         .refuses_link_local = true,
                                         .proxy = proxy,
                                         .reuse = HTTP_ONCE,
                                         .connect_ms = CONNECT_MS,
                                         .silence_ms = SILENCE_MS,
                                         .bytes_max = MAX(question->bytes_max, COMPLAINT_BYTES_MAX),
                                         .cuts_complaints = true,
                                         .received = question->received ? on_received : NULL,
                                         .done = on_done,
                                         .context = &asking};
    if (http_start(client->http, &request, NULL, err) < 0) {
        return -1;
    }
    while (!asking.is_done) {
        if (http_wait(client->http, -1, err) < 0) {
            return -1;
        }
    }
    return asking.result;
}

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* The target of a redirect: an address, or a path of the same host. */
static char *find_target(const char *url, const char *location) {
    if (*location != '/' || location[1] == '/') {
        return x_strdup(location);
    }
    size_t scheme = strlen("https://");
    size_t size = scheme + strcspn(url + scheme, "/?#");
    return x_printf("%.*s%s", (int)size, url, location);
}

int published_ask(struct published_client *client, const struct published_question *question,
                  struct published_answer *ret_answer, struct error *err) {
    AUTO(text_freep) char *url = x_strdup(question->url);
    *ret_answer = (struct published_answer){0};
    for (int i = 0; i <= REDIRECTS_MAX; i++) {
        if (ask_once(client, url, question, ret_answer, err) < 0) {
            return -1;
        }
        if (!is_redirect(ret_answer->status) || !ret_answer->location) {
            return 0;
        }
        char *target = find_target(url, ret_answer->location);
        free(url);
        url = target;
        published_answer_release(ret_answer);
    }
    return error_set(err, ERROR_INVALID, "%.100s: more than %d redirects", question->url,
                     REDIRECTS_MAX);
}
