/* request.h: a row as a request: a line of OpenAI's batch form (custom_id, method, url, body), or
 * spec.scorer.endpoint.request (body_template.h). Pure. Source: OpenAI, "Batch API", the input
 * file. */
#pragma once

#include "agent/data/input/input.h"
#include "lib/buffer.h"

enum {
    REQUEST_ID_MAX = 512,                      /* bytes of a custom_id, ... */
    REQUEST_ID_BYTES = REQUEST_ID_MAX * 6 + 2, /* ... and as JSON */
    REQUEST_BODY_MAX = 32 << 20,
    REQUEST_PATH_MAX = 1024,
    REQUEST_MODEL_MAX = 256,
};

struct endpoint_request {
    const char *method; /* "POST" */
    char path[REQUEST_PATH_MAX];
    char key[REQUEST_PATH_MAX + REQUEST_MODEL_MAX + 2]; /* path and model (pool.h) */
    struct buffer id;   /* custom_id as JSON, with its quotes; empty: none */
    struct buffer body; /* JSON, one line */
    int64_t tokens;     /* likely, in and out: a token for 4 bytes, and max_tokens */
};

void endpoint_request_init(struct endpoint_request *request);
void endpoint_request_release(struct endpoint_request *request);

/* Reads a line of a batch file. INVALID says what is wrong with it and what is expected. */
NODISCARD int endpoint_request_of_line(const char *line, size_t size,
                                       struct endpoint_request *request, struct error *err);
/* Replaces id by the line's custom_id as JSON. INVALID: it has none. */
NODISCARD int endpoint_request_id(const char *line, size_t size, struct buffer *id,
                                  struct error *err);
/* After path and body are set: key, and tokens. INVALID: the body asks for a stream. */
NODISCARD int endpoint_request_look(struct endpoint_request *request, struct error *err);
/* The path behind this server's URL, whose last part is not repeated if the path begins with it:
 * "http://host/v1" and "/v1/embeddings" are http://host/v1/embeddings. Borrowed from path. */
const char *endpoint_path_at(const char *base, const char *path);
