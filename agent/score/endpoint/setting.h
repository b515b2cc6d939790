/* setting.h: spec.scorer.endpoint, read once. */
#pragma once

#include "agent/score/endpoint/backends.h"
#include "agent/score/endpoint/own_server.h"
#include "lib/tree.h"

enum { SETTING_IN_FLIGHT_MAX = 1024 };

struct endpoint_setting {
    const json_t *endpoint;   /* borrowed from the spec */
    char *urls[BACKENDS_MAX]; /* owned; without / at the end */
    int url_count;
    int in_flight_max; /* per worker and server */
    bool is_fixed;     /* concurrency is a number */
    int tries;
    int64_t timeout_ms, ready_ms;
    char *secret;          /* an API key, owned; NULL: none */
    const char *header;    /* has the key; NULL: Authorization: Bearer */
    const char *authority; /* PEM: who has certified https servers; NULL: this machine's */
    const char *certificate_pem, *certificate_key_pem; /* ours, borrowed; NULL: none */
    const char *proxy;                                 /* NULL: none */
    const json_t *headers;                             /* an object of texts; NULL: none */
    int64_t requests_per_minute, tokens_per_minute;    /* 0: no limit */
    int64_t answer_bytes;      /* memory for all answers of this worker (answer_memory.h) */
    const char *ready_path;    /* answered with 2xx when a server is ready; NULL: any answer at / */
    struct own_server *server; /* borrowed; NULL: none of our own */
};

/* INVALID names the field. */
NODISCARD int endpoint_setting_read(const json_t *spec, struct endpoint_setting *ret_setting,
                                    struct error *err);
/* Sets `secret` to a copy of the key (NULL: none) without spaces and line ends behind it, which
 * files have. INVALID: it has other control characters, which would be lines of a request's head.
 */
NODISCARD int endpoint_setting_take_key(struct endpoint_setting *setting, const char *key,
                                        struct error *err);
/* The server of this worker alone, and its URL; it must outlive the setting. */
void endpoint_setting_take_server(struct endpoint_setting *setting, struct own_server *server);
void endpoint_setting_release(struct endpoint_setting *setting);
