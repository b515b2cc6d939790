// SPDX-License-Identifier: Apache-2.0
#include "agent/result/envelope.h"

#include "agent/result/result_file.h"
#include "lib/digest.h"
#include "lib/text/base64.h"

#include <stdlib.h>
#include <string.h>

#define PAYLOAD_TYPE "application/vnd.in-toto+json"
#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define PREDICATE_TYPE "https://windlass.dev/result/v1"

/* What is signed: "DSSEv1", then type and payload, each after its length. The caller frees. */
static char *encode(const char *type, const char *payload, size_t size, size_t *ret_size) {
    AUTO(text_freep)
    char *head = x_printf("DSSEv1 %zu %s %zu ", strlen(type), type, size);
    size_t length = strlen(head);
    char *text = x_malloc(length + size + 1);
    memcpy(text, head, length);
    memcpy(text + length, payload, size);
    text[length + size] = 0;
    *ret_size = length + size;
    return text;
}

/* ---- making --------------------------------------------------------------------------------- */

static void add_subject(json_t *subjects, const char *name, const char *sha256) {
    json_array_append_new(subjects,
                          json_pack("{s:s, s:{s:s}}", "name", name, "digest", "sha256", sha256));
}

static json_t *subjects_of(const char *text, size_t size, const json_t *result) {
    const json_t *outputs = json_object_get(result, "outputs");
    const json_t *list = json_object_get(result, "list");
    json_t *subjects = json_array();
    char hex[65];
    digest_sha256(text, size, hex);
    add_subject(subjects, RESULT_NAME, hex);
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const json_t *entry = json_array_get(outputs, i);
        add_subject(subjects, tree_text(entry, "name", ""), tree_text(entry, "sha256", ""));
    }
    if (list) {
        add_subject(subjects, tree_text(list, "name", ""), tree_text(list, "sha256", ""));
    }
    return subjects;
}

char *envelope_make(const char *text, size_t size, const json_t *result,
                    const struct signature_key *key) {
    static const char *const lists[] = {"outputs", "reports", "list", "excluded"};
    AUTO(tree_freep) json_t *predicate = json_copy((json_t *)result);
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        json_object_del(predicate, lists[i]);
    }
    AUTO(tree_freep)
    json_t *statement = json_pack("{s:s, s:o, s:s, s:O}", "_type", STATEMENT_TYPE, "subject",
                                  subjects_of(text, size, result), "predicateType", PREDICATE_TYPE,
                                  "predicate", predicate);
    AUTO(text_freep) char *payload = json_dumps(statement, JSON_COMPACT);
    size_t signed_size = 0;
    AUTO(text_freep)
    char *signed_text = encode(PAYLOAD_TYPE, payload, strlen(payload), &signed_size);
    unsigned char signature[SIGNATURE_BYTES];
    char id[65];
    signature_sign(key, signed_text, signed_size, signature);
    signature_key_id(key, id);
    AUTO(text_freep) char *payload64 = base64_encode(payload, strlen(payload));
    AUTO(text_freep) char *signature64 = base64_encode(signature, sizeof signature);
    AUTO(tree_freep)
    json_t *envelope = json_pack("{s:s, s:s, s:[{s:s, s:s}]}", "payload", payload64, "payloadType",
                                 PAYLOAD_TYPE, "signatures", "keyid", id, "sig", signature64);
    AUTO(text_freep) char *line = json_dumps(envelope, JSON_COMPACT);
    return x_printf("%s\n", line);
}

/* ---- checking ------------------------------------------------------------------------------- */

static bool is_signed(const json_t *envelope, const char *payload, size_t size,
                      const struct signature_key *key) {
    const json_t *list = json_object_get(envelope, "signatures");
    size_t signed_size = 0;
    AUTO(text_freep)
    char *signed_text = encode(tree_text(envelope, "payloadType", ""), payload, size, &signed_size);
    for (size_t i = 0; i < MIN(json_array_size(list), (size_t)ENVELOPE_SIGNATURES_MAX); i++) {
        AUTO(text_freep) char *signature = NULL;
        size_t signature_size = 0;
        struct error ignored = {0};
        if (base64_decode(tree_text(json_array_get(list, i), "sig", ""), &signature,
                          &signature_size, &ignored) == 0 &&
            signature_matches(key, signed_text, signed_size, signature, signature_size)) {
            return true;
        }
    }
    return false;
}

static int check_statement(const char *payload, size_t size, const char *result_sha256,
                           struct error *err) {
    AUTO(tree_freep) json_t *statement = NULL;
    if (tree_parse(payload, size, ENVELOPE_BYTES_MAX, &statement, err) < 0) {
        return error_context(err, "its payload");
    }
    if (strcmp(tree_text(statement, "_type", ""), STATEMENT_TYPE) != 0 ||
        strcmp(tree_text(statement, "predicateType", ""), PREDICATE_TYPE) != 0) {
        return error_set(err, ERROR_FAILED,
                         "the signed statement is not about a result of Windlass");
    }
    const json_t *subject = tree_find(json_object_get(statement, "subject"), "name", RESULT_NAME);
    return subject && strcmp(tree_text(subject, "digest.sha256", ""), result_sha256) == 0
               ? 0
               : error_set(err, ERROR_FAILED,
                           "it is about another result.json: this one was changed after it was "
                           "signed, or is of another run");
}

/* ret_rank: how far the check came. */
static int check_line(const char *text, size_t size, const struct signature_key *key,
                      const char *result_sha256, int *ret_rank, struct error *err) {
    AUTO(tree_freep) json_t *envelope = NULL;
    AUTO(text_freep) char *payload = NULL;
    size_t payload_size = 0;
    *ret_rank = 0;
    if (tree_parse(text, size, ENVELOPE_BYTES_MAX, &envelope, err) < 0 ||
        base64_decode(tree_text(envelope, "payload", ""), &payload, &payload_size, err) < 0) {
        return -1;
    }
    *ret_rank = 1;
    if (strcmp(tree_text(envelope, "payloadType", ""), PAYLOAD_TYPE) != 0) {
        return error_set(err, ERROR_FAILED, "its payload is not " PAYLOAD_TYPE);
    }
    if (!is_signed(envelope, payload, payload_size, key)) {
        return error_set(err, ERROR_FAILED, "it has no valid signature of this key");
    }
    *ret_rank = 2;
    return check_statement(payload, payload_size, result_sha256, err);
}

int envelope_check(const char *text, size_t size, const struct signature_key *key,
                   const char *result_sha256, struct error *err) {
    const char *at = text, *end = text + size;
    struct error closest = {0};
    int best = -1;
    for (int line = 0; at < end && line < ENVELOPE_LINES_MAX; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        struct error why = {0};
        int rank = 0;
        if (length > 0 && check_line(at, length, key, result_sha256, &rank, &why) == 0) {
            return 0;
        }
        if (length > 0 && rank > best) {
            best = rank;
            closest = why;
        }
        at += length + 1;
    }
    return error_set(err, ERROR_FAILED, "%s", best < 0 ? "it has no envelope" : closest.text);
}
