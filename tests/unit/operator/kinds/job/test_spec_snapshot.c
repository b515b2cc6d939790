// SPDX-License-Identifier: Apache-2.0
/* What a job began with, as text on its Service: with short cuts for the text that we write, which
 * give what parsing all of it gives. */
#include "operator/kinds/job/spec_snapshot.h"

#include "operator/kinds/job/owned.h"
#include "tests/test.h"

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

static void check_restored(const json_t *object, const char *begun, const struct job_spec *spec) {
    AUTO(tree_freep) json_t *service = service_of(begun);
    AUTO(tree_freep) json_t *restored = spec_snapshot_restore(object, service, true);
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
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec, false);
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
        AUTO(tree_freep) json_t *restored = spec_snapshot_restore(object, service, true);
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
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec, false);
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
    AUTO(text_freep) char *begun = spec_snapshot_write(&spec, false);
    AUTO(tree_freep) json_t *service = service_of(begun);
    CHECK(!spec_snapshot_has(service, spec.hash));
    AUTO(tree_freep) json_t *restored = spec_snapshot_restore(object, service, true);
    CHECK_STR(tree_text(restored, "status.specHash", ""), spec.hash);
}

int main(void) {
    TEST(test_what_is_written_is_restored);
    TEST(test_records_that_do_not_count);
    TEST(test_the_record_moves);
    TEST(test_a_long_spec_is_left_out);
    return TEST_END();
}
