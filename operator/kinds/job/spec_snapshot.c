// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/spec_snapshot.h"

#include "lib/digest.h"
#include "lib/text/jsontext.h"
#include "operator/kinds/job/owned.h"

#include <stdlib.h>
#include <string.h>

/* Without the spec, if that makes it too long. */
static char *write_line(json_t *begun) {
    AUTO(text_freep) char *text = tree_canonical(begun);
    if (strlen(text) <= SPEC_SNAPSHOT_MAX) {
        return TAKE(text);
    }
    json_object_del(begun, "spec");
    return tree_canonical(begun);
}

char *spec_snapshot_write(const struct job_spec *spec) {
    const char *standard = spec->is_image_given ? NULL : spec->image;
    AUTO(tree_freep)
    json_t *begun = json_pack("{s:s*, s:I, s:s, s:s, s:O}", "agentImage", standard, "generation",
                              (json_int_t)spec->generation, "run", spec->run, "specHash",
                              spec->hash, "spec", spec->json);
    return write_line(begun);
}

/* Where in the line the value of "spec" begins, which is most of it; NULL: there is none, or the
 * line is not as write_line makes it: sorted, so that no object or list comes before. */
static const char *find_spec(const char *text) {
    static const char key[] = "\"spec\":";
    size_t at = *text == '{' ? 1 + strcspn(text + 1, "{[") : 0;
    return at > sizeof key && text[at] == '{' &&
                   memcmp(text + at - (sizeof key - 1), key, sizeof key - 1) == 0
               ? text + at
               : NULL;
}

/* The end of a line with that hash. */
static char *write_end(const char *hash) {
    return x_printf("\"specHash\":\"%s\"}", hash);
}

/* The line with a number in place of the spec; NULL: not found. */
static char *without_spec(const char *text) {
    const char *spec = find_spec(text);
    const char *after = spec ? jsontext_value(spec, text + strlen(text)) : NULL;
    return after ? x_printf("%.*s0%s", (int)(spec - text), text, after) : NULL;
}

bool spec_snapshot_has(const json_t *made, const char *hash) {
    const char *text = owned_annotation(made, ANNOTATION_SPEC_SNAPSHOT);
    AUTO(text_freep) char *end = write_end(hash);
    return text && find_spec(text) && text_ends(text, end);
}

/* NULL unless it is complete; owned by the caller. */
static json_t *parse_line(const char *text) {
    struct error ignored = {0};
    json_t *begun = NULL;
    if (tree_parse(text, strlen(text), SPEC_SNAPSHOT_MAX, &begun, &ignored) < 0) {
        return NULL;
    }
    if (!*tree_text(begun, "run", "") || !*tree_text(begun, "specHash", "") ||
        tree_integer(begun, "generation", -1) < 0) {
        tree_freep(&begun);
    }
    return begun;
}

/* The last line that was parsed without its spec: a pass over a job reads the same one several
 * times. Used by one thread. */
static struct {
    char *text; /* NULL: none yet */
    json_t *begun;
    char *secret, *sha256; /* of the Service whose digest is the last one; NULL: none yet */
    char digest[SPEC_SNAPSHOT_DIGEST];
} last;

static void forget_last(void) {
    free(TAKE(last.text));
    free(TAKE(last.secret));
    free(TAKE(last.sha256));
    json_decref(TAKE(last.begun));
}

/* Without its spec, if the line is as write_line makes it. */
static json_t *parse_head(const char *text) {
    if (!last.text || strcmp(last.text, text) != 0) {
        AUTO(text_freep) char *shorter = without_spec(text);
        forget_last();
        last.text = x_strdup(text);
        last.begun = parse_line(shorter ? shorter : text);
    }
    return json_incref(last.begun);
}

/* The same of a Service's line. with_spec: false: its spec is not needed. */
static json_t *read_snapshot(const json_t *service, bool with_spec) {
    const char *text = owned_annotation(service, ANNOTATION_SPEC_SNAPSHOT);
    if (!text || !owned_annotation(service, ANNOTATION_SECRET) ||
        !owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256)) {
        return NULL;
    }
    return with_spec || strlen(text) > SPEC_SNAPSHOT_MAX ? parse_line(text) : parse_head(text);
}

json_t *spec_snapshot_read(const json_t *service, const char *const *mutable_fields,
                           const char *hash) {
    AUTO(tree_freep) json_t *begun = read_snapshot(service, true);
    const json_t *spec = json_object_get(begun, "spec");
    char theirs[65];
    if (!json_is_object(spec)) {
        return NULL;
    }
    job_hash(spec, mutable_fields, theirs);
    return strcmp(theirs, hash) == 0 ? json_incref((json_t *)spec) : NULL;
}

char *spec_snapshot_move(const json_t *service, const json_t *object) {
    json_t *hash = tree_get(object, "status.specHash");
    if (!json_is_string(hash) || spec_snapshot_has(service, json_string_value(hash))) {
        return NULL;
    }
    AUTO(tree_freep) json_t *begun = read_snapshot(service, true);
    if (!begun || strcmp(json_string_value(hash), tree_text(begun, "specHash", "")) == 0) {
        return NULL;
    }
    json_object_set(begun, "specHash", hash);
    json_object_set(begun, "spec", json_object_get(object, "spec"));
    json_object_set(begun, "generation", tree_get(object, "metadata.generation"));
    return write_line(begun);
}

static json_t *status_of(const json_t *object, const json_t *service, const json_t *begun) {
    static const char *const fields[] = {"run", "specHash", "agentImage"};
    const json_t *old = json_object_get(object, "status");
    json_t *status = json_is_object(old) ? json_copy((json_t *)old) : json_object();
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        json_t *value = json_object_get(begun, fields[i]);
        if (json_is_string(value)) {
            json_object_set(status, fields[i], value);
        }
    }
    json_object_set(status, "observedGeneration", json_object_get(begun, "generation"));
    json_object_set_new(status, "credentials",
                        json_pack("{s:s, s:s, s:b}", "secret",
                                  owned_annotation(service, ANNOTATION_SECRET), "certificateSHA256",
                                  owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256),
                                  "created", false));
    return status;
}

/* ---- whose record is believed ---- */

void spec_snapshot_digest(const json_t *status, char ret_digest[static SPEC_SNAPSHOT_DIGEST]) {
    const json_t *credentials = json_object_get(status, "credentials");
    AUTO(tree_freep)
    json_t *what =
        json_pack("[s, s, s, s, s]", tree_text(credentials, "secret", ""),
                  tree_text(credentials, "certificateSHA256", ""), tree_text(status, "run", ""),
                  tree_text(status, "specHash", ""), tree_text(status, "agentImage", ""));
    AUTO(text_freep) char *text = tree_canonical(what);
    char hex[65];
    digest_sha256(text, strlen(text), hex);
    memcpy(ret_digest, hex, SPEC_SNAPSHOT_DIGEST - 1);
    ret_digest[SPEC_SNAPSHOT_DIGEST - 1] = 0;
}

/* begun: from parse_head. */
static void digest_of_begun(const json_t *service, const json_t *begun,
                            char ret_digest[static SPEC_SNAPSHOT_DIGEST]) {
    const char *secret = owned_annotation(service, ANNOTATION_SECRET);
    const char *sha256 = owned_annotation(service, ANNOTATION_CERTIFICATE_SHA256);
    bool is_last = begun == last.begun && last.secret && strcmp(last.secret, secret) == 0 &&
                   strcmp(last.sha256, sha256) == 0;
    if (!is_last) {
        AUTO(tree_freep) json_t *status = status_of(NULL, service, begun);
        spec_snapshot_digest(status, last.digest);
        free(last.secret);
        free(last.sha256);
        last.secret = x_strdup(secret);
        last.sha256 = x_strdup(sha256);
    }
    memcpy(ret_digest, last.digest, sizeof last.digest);
}

bool spec_snapshot_digest_of(const json_t *service, char ret_digest[static SPEC_SNAPSHOT_DIGEST]) {
    AUTO(tree_freep) json_t *begun = read_snapshot(service, false);
    if (begun) {
        digest_of_begun(service, begun, ret_digest);
    }
    return begun != NULL;
}

static bool is_digest(const char *text, const char *digest) {
    return text && strcmp(text, digest) == 0;
}

static bool has_pod(const json_t *pods, const char *digest) {
    for (size_t i = 0; i < json_array_size(pods); i++) {
        if (is_digest(owned_annotation(json_array_get(pods, i), ANNOTATION_BEGUN_DIGEST), digest)) {
            return true;
        }
    }
    return false;
}

static bool is_by_status(const struct spec_snapshot_known *known, const json_t *service) {
    const char *secret = tree_text(known->object, "status.credentials.secret", NULL);
    const char *sha256 = tree_text(known->object, "status.credentials.certificateSHA256", NULL);
    return secret && owned_is_service_of(service, secret, sha256);
}

static bool is_made_here(const struct spec_snapshot_known *known, const json_t *service) {
    const struct credentials *made = known->credentials;
    char digest[SPEC_SNAPSHOT_DIGEST];
    return made && made->begun && spec_snapshot_digest_of(service, digest) &&
           is_digest(made->begun, digest);
}

static bool is_by_pods(const struct spec_snapshot_known *known, const json_t *service) {
    char digest[SPEC_SNAPSHOT_DIGEST];
    return !tree_get(known->object, "status.credentials") && json_array_size(known->pods) > 0 &&
           spec_snapshot_digest_of(service, digest) && has_pod(known->pods, digest);
}

const json_t *spec_snapshot_choose(const struct spec_snapshot_known *known, const json_t *services,
                                   bool *ret_is_known) {
    static bool (*const by[])(const struct spec_snapshot_known *known,
                              const json_t *service) = {is_by_status, is_made_here, is_by_pods};
    *ret_is_known = true;
    for (size_t i = 0; i < ARRAY_LEN(by); i++) {
        for (size_t k = 0; k < json_array_size(services); k++) {
            const json_t *service = json_array_get(services, k);
            if (by[i](known, service)) {
                return service;
            }
        }
    }
    *ret_is_known = false;
    return json_array_get(services, 0);
}

json_t *spec_snapshot_restore(const struct spec_snapshot_known *known, const json_t *service) {
    const json_t *object = known->object;
    const struct credentials *made = known->credentials;
    bool is_written = tree_get(object, "status.credentials") != NULL;
    AUTO(tree_freep) json_t *begun = is_written ? NULL : read_snapshot(service, false);
    if (!begun) {
        return json_incref((json_t *)object);
    }
    char digest[SPEC_SNAPSHOT_DIGEST];
    digest_of_begun(service, begun, digest);
    bool is_same =
        tree_integer(begun, "generation", -1) == tree_integer(object, "metadata.generation", 0);
    bool goes_on = is_same || json_array_size(known->pods) > 0;
    if (!has_pod(known->pods, digest) && !(goes_on && made && is_digest(made->begun, digest))) {
        return json_incref((json_t *)object);
    }
    json_t *recalled = json_copy((json_t *)object);
    json_object_set_new(recalled, "status", status_of(object, service, begun));
    return recalled;
}
