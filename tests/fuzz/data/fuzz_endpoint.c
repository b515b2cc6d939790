// SPDX-License-Identifier: Apache-2.0
/* What a batch file and a model server may send. The first line is a row of a batch file, the
 * second spec.scorer.endpoint.response, the third a template; the rest is the answer. A request's
 * body and a result are one line of JSON; a complaint is one line. */
#include "agent/score/endpoint/answer.h"
#include "agent/score/endpoint/body_template.h"
#include "agent/score/endpoint/complaint.h"
#include "agent/score/endpoint/form.h"
#include "lib/text/jsontext.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINES = 3, SIZE_MAX_OF_ALL = 1 << 16 };

/* Cuts the next line off; the last one is the rest. */
static struct buffer_view {
    const char *data;
    size_t size;
} cut(const char **at, const char *end) {
    const char *newline = memchr(*at, '\n', (size_t)(end - *at));
    struct buffer_view line = {*at, (size_t)((newline ? newline : end) - *at)};
    *at = newline ? newline + 1 : end;
    return line;
}

static void check_line(const struct buffer *text) {
    if (!jsontext_is_value(text->data, text->size) || memchr(text->data, '\n', text->size)) {
        abort();
    }
}

static void take_answer(const struct endpoint_form *form, const struct endpoint_request *request,
                        const char *body, size_t size) {
    const struct endpoint_reply reply = {200, body, size};
    struct buffer line;
    struct error err = {0};
    buffer_init(&line, 8 * SIZE_MAX_OF_ALL);
    if (endpoint_form_result(form, request, &reply, &line, &err) == 0) {
        check_line(&line);
    }
    if (jsontext_is_value(body, size)) {
        (void)answer_usage_of(body, size);
    }
    buffer_release(&line);
}

static void take_complaint(const char *body, size_t size) {
    static const int statuses[] = {0, 200, 404, 500, 999};
    char text[COMPLAINT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        complaint_read(statuses[i], body, size, i % 2 ? "key" : NULL, text);
        if (strchr(text, '\n')) {
            abort();
        }
    }
    (void)complaint_is_of_model(body, size);
}

static void fill(const json_t *template, struct buffer_view row) {
    AUTO(tree_freep) json_t *values = json_loadb(row.data, row.size, 0, NULL);
    struct buffer body;
    struct error err = {0};
    buffer_init(&body, 8 * SIZE_MAX_OF_ALL);
    if (values && body_template_fill(template, values, &body, &err) == 0) {
        check_line(&body);
    }
    (void)body_template_names(template, "text");
    buffer_release(&body);
}

/* As the definition of the resource admits it. */
static bool is_admitted(const json_t *response) {
    const json_t *select = json_object_get(response, "select"), *pointer;
    const char *name;
    bool is_sound = !select || json_is_object(select);
    json_object_foreach((json_t *)(uintptr_t)select, name, pointer) {
        is_sound = is_sound && json_is_string(pointer);
    }
    return is_sound;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > SIZE_MAX_OF_ALL) {
        return 0;
    }
    AUTO(text_freep) char *text = x_strndup((const char *)data, size);
    const char *at = text, *end = text + strlen(text);
    struct buffer_view row = cut(&at, end), said = cut(&at, end), filled = cut(&at, end);
    AUTO(tree_freep) json_t *response = json_loadb(said.data, said.size, 0, NULL);
    AUTO(tree_freep) json_t *template = json_loadb(filled.data, filled.size, 0, NULL);
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:O?}}}", "scorer", "endpoint", "response", response);
    struct endpoint_form form = {0};
    struct endpoint_request request;
    struct error err = {0};
    endpoint_request_init(&request);
    if (endpoint_request_of_line(row.data, row.size, &request, &err) == 0) {
        check_line(&request.body);
        check_line(&request.id);
    }
    err = (struct error){0};
    if (is_admitted(response) && endpoint_form_read(spec, &form, &err) == 0) {
        take_answer(&form, &request, at, (size_t)(end - at));
    }
    take_complaint(at, (size_t)(end - at));
    if (template) {
        fill(template, row);
    }
    endpoint_request_release(&request);
    return 0;
}
