// SPDX-License-Identifier: Apache-2.0
/* What a job began with, as text on its Service: with short cuts for the text that we write, which
 * give what parsing all of it gives. */
#include "operator/kinds/job/spec_snapshot.h"

#include "operator/kinds/job/owned.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>

static const char *const no_fields[] = {"workers.max", NULL};

/* A Service with that record; owned by the caller. */
static json_t *service_of(const char *begun) {
    return json_pack("{s:{s:{s:s, s:s, s:s}}}", "metadata", "annotations", ANNOTATION_SECRET,
                     "job-1", ANNOTATION_CERTIFICATE_SHA256, "c", ANNOTATION_SPEC_SNAPSHOT, begun);
}

/* A job of that spec, as if it had been read. */
static struct job_spec read_spec(const json_t *object) {
    struct job_spec spec = {.json = json_object_get(object, "spec"),
                            .image = "agent:1",
                            .run = "0123456789abcdef",
                            .generation = 1};
    job_hash(spec.json, no_fields, spec.hash);
    return spec;
}

/* As the controller that made the Service. */
static json_t *restore(const json_t *object, const json_t *service) {
    char digest[SPEC_SNAPSHOT_DIGEST];
    const struct credentials made = {.begun = digest};
    const struct spec_snapshot_known known = {.object = object, .credentials = &made};
    if (!spec_snapshot_digest_of(service, digest)) {
        snprintf(digest, sizeof digest, "none");
    }
    return spec_snapshot_restore(&known, service);
}

static void check_restored(const json_t *object, const char *begun, const struct job_spec *spec) {
    AUTO(tree_freep) json_t *service = service_of(begun);
    AUTO(tree_freep) json_t *restored = restore(object, service);
    CHECK_STR(tree_text(restored, "status.run", ""), spec->run);
    CHECK_STR(tree_text(restored, "status.specHash", ""), spec->hash);
    CHECK_STR(tree_text(restored, "status.agentImage", ""), "agent:1");
    CHECK_STR(tree_text(restored, "status.credentials.secret", ""), "job-1");
    AUTO(tree_freep) json_t *read = spec_snapshot_read(service, no_fields, spec->hash);
    CHECK(read && json_equal(read, spec->json));
    AUTO(tree_freep) json_t *other = spec_snapshot_read(service, no_fields, "other");
    CHECK(!other);
}

static void test_what_is_written_is_restored(void) {
    AUTO(tree_freep)
    json_t *object = json_pack("{s:{s:i}, s:{s:{s:i, s:i}, s:[s, {s:s}], s:s}}", "metadata",
                               "generation", 1, "spec", "workers", "min", 1, "max", 2, "command",
                               "\"spec\":{", "specHash", "x", "zone", "a\\\"}");
    const struct job_spec spec = read_spec(object);
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec);
    check_restored(object, begun, &spec);
    AUTO(tree_freep) json_t *service = service_of(begun);
    CHECK(spec_snapshot_has(service, spec.hash) && !spec_snapshot_has(service, "other"));
    /* as somebody else may have written it: in another order, with spaces */
    AUTO(tree_freep) json_t *parsed = json_loads(begun, 0, NULL);
    AUTO(tree_freep) json_t *turned = json_pack("{s:O}", "spec", json_object_get(parsed, "spec"));
    json_object_update_missing(turned, parsed);
    AUTO(text_freep) char *text = json_dumps(turned, JSON_INDENT(1));
    check_restored(object, text, &spec);
    AUTO(tree_freep) json_t *their_service = service_of(text);
    CHECK(!spec_snapshot_has(their_service, spec.hash));
}

static void test_records_that_do_not_count(void) {
    static const char *const texts[] = {"",
                                        "{",
                                        "{\"spec\":{",
                                        "{\"a\":{\"spec\":{}},\"spec\":{}}",
                                        "{\"run\":\"r\",\"spec\":{},\"specHash\":\"h\"}",
                                        "[]"};
    AUTO(tree_freep)
    json_t *object = json_pack("{s:{s:i}, s:{}}", "metadata", "generation", 1, "spec");
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO(tree_freep) json_t *service = service_of(texts[i]);
        AUTO(tree_freep) json_t *restored = restore(object, service);
        CHECK(!tree_get(restored, "status"));
        CHECK(!spec_snapshot_has(service, "other"));
        AUTO(text_freep) char *moved = spec_snapshot_move(service, object);
        CHECK(!moved);
    }
}

/* The record follows the status, once. */
static void test_the_record_moves(void) {
    AUTO(tree_freep)
    json_t *object = json_pack("{s:{s:i}, s:{s:s}}", "metadata", "generation", 1, "spec", "a", "1");
    const struct job_spec spec = read_spec(object);
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec);
    AUTO(tree_freep) json_t *service = service_of(begun);
    AUTO(tree_freep)
    json_t *changed = json_pack("{s:{s:i}, s:{s:s}, s:{s:s}}", "metadata", "generation", 2, "spec",
                                "a", "2", "status", "specHash", "next");
    AUTO(text_freep) char *moved = spec_snapshot_move(service, changed);
    CHECK(moved && strstr(moved, "\"specHash\":\"next\"}"));
    AUTO(tree_freep) json_t *moved_service = service_of(moved);
    AUTO(text_freep) char *again = spec_snapshot_move(moved_service, changed);
    CHECK(!again);
}

/* Of a spec that is too long only the hash is recorded. */
static void test_a_long_spec_is_left_out(void) {
    AUTO(text_freep) char *text = x_malloc(SPEC_SNAPSHOT_MAX + 1);
    memset(text, 'x', SPEC_SNAPSHOT_MAX);
    text[SPEC_SNAPSHOT_MAX] = 0;
    AUTO(tree_freep)
    json_t *object =
        json_pack("{s:{s:i}, s:{s:s}}", "metadata", "generation", 1, "spec", "a", text);
    const struct job_spec spec = read_spec(object);
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec);
    AUTO(tree_freep) json_t *service = service_of(begun);
    CHECK(!spec_snapshot_has(service, spec.hash));
    AUTO(tree_freep) json_t *restored = restore(object, service);
    CHECK_STR(tree_text(restored, "status.specHash", ""), spec.hash);
}

/* ---- whose Service it is ---- */

#define RUN "0123456789abcdef"

/* A Service with that name, and a record of that run and image. */
static json_t *named(const char *name, const char *secret, const char *sha256, const char *image) {
    AUTO(text_freep)
    char *begun = x_printf(
        "{\"agentImage\":\"%s\",\"generation\":1,\"run\":\"" RUN "\",\"specHash\":\"h\"}", image);
    return json_pack("{s:{s:s, s:{s:s, s:s, s:s}}}", "metadata", "name", name, "annotations",
                     ANNOTATION_SECRET, secret, ANNOTATION_CERTIFICATE_SHA256, sha256,
                     ANNOTATION_SPEC_SNAPSHOT, begun);
}

/* What is known: the status' Secret and certificate; those of this controller; those of a pod, each
 * with the image of its record. "": nothing. The wanted Service; is it known; what is restored. */
static const struct {
    const char *status_secret, *status_sha256, *made, *pod, *chosen;
    bool is_known;
    const char *restored; /* the image; "": nothing */
} choices[] = {
    {"job-1", "c1", "", "", "ours", true, ""},           /* the status has it already */
    {"job-1", "c2", "", "", "forged", true, ""},         /* each by its certificate */
    {"job-1", "c3", "", "", "forged", false, ""},        /* of a Secret's name alone: none */
    {"job-9", "c1", "", "", "forged", false, ""},        /* what the status names is gone */
    {"job-9", "c1", "agent:1", "", "ours", true, ""},    /* this controller moved on */
    {"job-9", "c1", "", "agent:1", "forged", false, ""}, /* pods say nothing beside a status */
    {"", "", "agent:1", "", "ours", true, "agent:1"},    /* made by this controller */
    {"", "", "", "agent:1", "ours", true, "agent:1"},    /* another one made it, and a pod */
    {"", "", "agent:0", "agent:1", "ours", true, "agent:1"},
    {"", "", "", "", "forged", false, ""}, /* a controller that knows nothing begins again */
    {"", "", "agent:0", "agent:0", "forged", false, ""},
};

/* The digest that the one with that image has whose Secret and certificate are job-1's. */
static void digest_with(const char *image, char ret_digest[static SPEC_SNAPSHOT_DIGEST]) {
    AUTO(tree_freep) json_t *like = named("like", "job-1", "c1", image);
    CHECK(spec_snapshot_digest_of(like, ret_digest));
}

/* Somebody's Service comes first: of the same job by its owner, with the name of its Secret. */
static void test_whose_service(void) {
    for (size_t i = 0; i < ARRAY_LEN(choices); i++) {
        char made[SPEC_SNAPSHOT_DIGEST], pod[SPEC_SNAPSHOT_DIGEST];
        digest_with(choices[i].made, made);
        digest_with(choices[i].pod, pod);
        const struct credentials credentials = {.begun = made};
        AUTO(tree_freep)
        json_t *object = json_pack("{s:{s:i}, s:{}}", "metadata", "generation", 1, "spec");
        AUTO(tree_freep)
        json_t *pods = *choices[i].pod ? json_pack("[{s:{s:{s:s}}}]", "metadata", "annotations",
                                                   ANNOTATION_BEGUN_DIGEST, pod)
                                       : json_array();
        AUTO(tree_freep)
        json_t *services = json_pack("[o, o]", named("forged", "job-1", "c2", "evil:1"),
                                     named("ours", "job-1", "c1", "agent:1"));
        if (*choices[i].status_secret) {
            json_object_set_new(object, "status",
                                json_pack("{s:{s:s, s:s}}", "credentials", "secret",
                                          choices[i].status_secret, "certificateSHA256",
                                          choices[i].status_sha256));
        }
        const struct spec_snapshot_known known = {object, pods,
                                                  *choices[i].made ? &credentials : NULL};
        bool is_known = false;
        const json_t *chosen = spec_snapshot_choose(&known, services, &is_known);
        CHECK_STR(tree_text(chosen, "metadata.name", ""), choices[i].chosen);
        CHECK_INT(is_known, choices[i].is_known);
        AUTO(tree_freep) json_t *restored = spec_snapshot_restore(&known, chosen);
        CHECK_STR(tree_text(restored, "status.agentImage", ""), choices[i].restored);
    }
}

/* Each part of what a job began with is in the digest. */
static void test_the_digest_has_every_part(void) {
    static const char *const paths[] = {"run", "specHash", "agentImage"};
    static const char *const parts[] = {"secret", "certificateSHA256"};
    AUTO(tree_freep)
    json_t *status =
        json_pack("{s:s, s:s, s:s, s:{s:s, s:s}}", "run", "r", "specHash", "h", "agentImage", "i",
                  "credentials", "secret", "s", "certificateSHA256", "c");
    char first[SPEC_SNAPSHOT_DIGEST], other[SPEC_SNAPSHOT_DIGEST];
    spec_snapshot_digest(status, first);
    CHECK_INT((long)strlen(first), SPEC_SNAPSHOT_DIGEST - 1);
    for (size_t i = 0; i < ARRAY_LEN(paths) + ARRAY_LEN(parts); i++) {
        AUTO(tree_freep) json_t *changed = json_deep_copy(status);
        bool is_part = i >= ARRAY_LEN(paths);
        json_object_set_new(is_part ? json_object_get(changed, "credentials") : changed,
                            is_part ? parts[i - ARRAY_LEN(paths)] : paths[i], json_string("x"));
        spec_snapshot_digest(changed, other);
        CHECK(strcmp(first, other) != 0);
    }
}

int main(void) {
    TEST(test_whose_service);
    TEST(test_the_digest_has_every_part);
    TEST(test_what_is_written_is_restored);
    TEST(test_records_that_do_not_count);
    TEST(test_the_record_moves);
    TEST(test_a_long_spec_is_left_out);
    return TEST_END();
}
