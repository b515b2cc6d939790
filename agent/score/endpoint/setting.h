/* setting.h: spec.scorer.endpoint, read once. */
#pragma once

#include "agent/score/endpoint/backends.h"
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
    const char *secret; /* an API key, borrowed; NULL: none */
    const char *header; /* that it is sent in; NULL: Authorization: Bearer */
    int64_t requests_per_minute, tokens_per_minute; /* 0: no limit */
};

/* INVALID names the field. */
NODISCARD int endpoint_setting_read(const json_t *spec, struct endpoint_setting *ret_setting,
                                    struct error *err);
void endpoint_setting_release(struct endpoint_setting *setting);
