/* form.h: how items become requests and answers become results, by spec.scorer.endpoint.request and
 * response. */
#pragma once

#include "agent/score/endpoint/request.h"
#include "lib/tree.h"

#define ERRORS_NAME "errors.jsonl" /* beside the output, of batch files */

/* All borrowed from the spec. */
struct endpoint_form {
    const json_t *template; /* NULL: an item is a line of a batch file, and so is its result */
    const char *path;       /* with a template */
    const json_t *select, *schema; /* NULL: the whole answer; any answer */
};

/* INVALID: a template that asks for a stream, or a schema with keywords that are not supported. */
NODISCARD int endpoint_form_read(const json_t *spec, struct endpoint_form *ret_form,
                                 struct error *err);
/* Whether items are lines of a batch file: then failed ones are lines of an error file. */
bool endpoint_form_is_batch(const json_t *spec);
/* INVALID: the item cannot be asked. Reads the files of
 * input.files. */
NODISCARD int endpoint_form_request(const struct endpoint_form *form, const struct item *item,
                                    struct endpoint_request *request, struct error *err);

struct endpoint_reply {
    int status;
    const char *body;
    size_t size;
};
/* Replaces `line` by the result, one line of JSON. INVALID: the answer is not JSON, lacks what is
 * selected, or does not fit the schema. */
NODISCARD int endpoint_form_result(const struct endpoint_form *form,
                                   const struct endpoint_request *request,
                                   const struct endpoint_reply *reply, struct buffer *line,
                                   struct error *err);
