// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/answer.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { ID_HEX = 24 };

/* ---- usage ---------------------------------------------------------------------------------- */

static int64_t number(const struct jsontext_member *member) {
    long long value = member->value_size < 20 ? strtoll(member->value, NULL, 10) : 0;
    return MAX(MIN(value, 1LL << 40), 0LL);
}

static void read_cached(const struct jsontext_member *details, struct answer_usage *usage) {
    const char *at = details->value, *end = at + details->value_size;
    struct jsontext_member member;
    while (*details->value == '{' && jsontext_next_member(&at, end, &member)) {
        if (jsontext_is_named(&member, "\"cached_tokens\"")) {
            usage->cached = number(&member);
        }
    }
}

static void read_usage(const struct jsontext_member *of, struct answer_usage *usage) {
    const char *at = of->value, *end = at + of->value_size;
    struct jsontext_member member;
    if (*at != '{') {
        return;
    }
    while (jsontext_next_member(&at, end, &member)) {
        if (jsontext_is_named(&member, "\"prompt_tokens\"") ||
            jsontext_is_named(&member, "\"input_tokens\"")) {
            usage->in = number(&member);
        } else if (jsontext_is_named(&member, "\"completion_tokens\"") ||
                   jsontext_is_named(&member, "\"output_tokens\"")) {
            usage->out = number(&member);
        } else if (jsontext_is_named(&member, "\"prompt_tokens_details\"") ||
                   jsontext_is_named(&member, "\"input_tokens_details\"")) {
            read_cached(&member, usage);
        }
    }
}

/* ---- how it ends ---------------------------------------------------------------------------- */

static bool is_text(const struct jsontext_member *member, const char *name, const char *text) {
    size_t size = strlen(text);
    return jsontext_is_named(member, name) && member->value_size == size &&
           memcmp(member->value, text, size) == 0;
}

/* Whether one of the list's objects ends at the limit. */
static bool has_cut_choice(const struct jsontext_member *choices) {
    const char *at = choices->value, *end = at + choices->value_size;
    struct jsontext_member member;
    bool is_cut = false;
    if (*at != '[') {
        return false;
    }
    for (at = jsontext_space(at + 1, end); at && at < end && *at != ']';) {
        const char *inner = at, *next = jsontext_value(at, end);
        while (next && *at == '{' && jsontext_next_member(&inner, next, &member)) {
            is_cut = is_cut || is_text(&member, "\"finish_reason\"", "\"length\"");
        }
        at = next ? jsontext_space(next, end) : NULL;
        at = at && at < end && *at == ',' ? jsontext_space(at + 1, end) : at;
    }
    return is_cut;
}

static bool is_cut_by(const struct jsontext_member *member) {
    static const char *const rows[][2] = {{"\"stop_reason\"", "\"max_tokens\""},
                                          {"\"done_reason\"", "\"length\""},
                                          {"\"stop_type\"", "\"limit\""},
                                          {"\"stopped_limit\"", "true"},
                                          {"\"status\"", "\"incomplete\""}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (is_text(member, rows[i][0], rows[i][1])) {
            return true;
        }
    }
    return jsontext_is_named(member, "\"choices\"") && has_cut_choice(member);
}

struct answer_usage answer_usage_of(const char *body, size_t size) {
    struct answer_usage usage = {0};
    struct jsontext_member member;
    const char *end = body + size, *at = jsontext_space(body, end);
    if (at == end || *at != '{') {
        return usage;
    }
    while (jsontext_next_member(&at, end, &member)) {
        usage.is_cut = usage.is_cut || is_cut_by(&member);
        if (jsontext_is_named(&member, "\"usage\"")) {
            read_usage(&member, &usage);
        } else if (jsontext_is_named(&member, "\"tokens_evaluated\"")) {
            usage.in = number(&member);
        } else if (jsontext_is_named(&member, "\"tokens_predicted\"")) {
            usage.out = number(&member);
        }
    }
    return usage;
}

/* ---- OpenAI's files ------------------------------------------------------------------------- */

static const char *text_of(const struct buffer *id) {
    return id->size > 0 ? id->data : "null";
}

static int begin(struct buffer *line, const struct buffer *id, struct error *err) {
    char hex[65];
    digest_sha256(text_of(id), strlen(text_of(id)), hex);
    return buffer_printf(line, err, "{\"id\":\"batch_req_%.*s\",\"custom_id\":%s,", ID_HEX, hex,
                         text_of(id));
}

int answer_batch_line(struct buffer *line, const struct buffer *id, int status, const char *body,
                      size_t size, struct error *err) {
    if (begin(line, id, err) < 0 ||
        buffer_printf(line, err, "\"response\":{\"status_code\":%d,\"request_id\":\"\",\"body\":",
                      status) < 0 ||
        jsontext_compact(line, body, size, err) < 0) {
        return -1;
    }
    return buffer_printf(line, err, "},\"error\":null}");
}

/* "429 Too Many Requests: ..." has the code http_429. */
static bool has_status(const char *cause, size_t size) {
    return size > 4 && isdigit(cause[0]) && isdigit(cause[1]) && isdigit(cause[2]) &&
           cause[3] == ' ';
}

int answer_error_line(struct buffer *line, const struct buffer *id, const char *cause, size_t size,
                      struct error *err) {
    char code[16] = "failed";
    if (has_status(cause, size)) {
        memcpy(code, "http_", 5);
        memcpy(code + 5, cause, 3);
        code[8] = 0;
    }
    if (begin(line, id, err) < 0 ||
        buffer_printf(line, err, "\"response\":null,\"error\":{\"code\":\"%s\",\"message\":\"",
                      code) < 0 ||
        jsontext_escape(line, cause, size, err) < 0) {
        return -1;
    }
    return buffer_printf(line, err, "\"}}\n");
}
