// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/job/template.h"

#include "operator/cluster.h"
#include "operator/control/claim.h"
#include "operator/kinds/batchscore/series.h"
#include "operator/kinds/disttrain/cache_transform.h"
#include "operator/kinds/disttrain/pods.h"
#include "operator/kinds/job/owned.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { ENTRIES = 100000, PROCESSOR_SECONDS = 100 };

/* A user's template costs the controller time in proportion to its size: one comparison of each
 * entry with each other is 5 * 10^9 of them here, some ten minutes. */
static void a_template_of_many_entries(void) {
    struct rlimit limit;
    CHECK(getrlimit(RLIMIT_CPU, &limit) == 0);
    limit.rlim_cur = PROCESSOR_SECONDS;
    CHECK(setrlimit(RLIMIT_CPU, &limit) == 0); /* SIGXCPU ends this program */
    AUTO(tree_freep)
    json_t *pod = json_pack("{s:{}, s:{s:[{s:s, s:s}]}}", "metadata", "spec", "containers", "name",
                            "agent", "image", "ours");
    json_t *containers = json_array();
    for (int i = 0; i < ENTRIES; i++) {
        char name[32];
        snprintf(name, sizeof name, "c%d", i);
        json_array_append_new(containers, json_pack("{s:s, s:i}", "name", name, "tty", i));
    }
    json_array_append_new(containers, json_pack("{s:s, s:b}", "name", "c7", "stdin", 1));
    json_array_append_new(containers, json_pack("{s:s, s:b}", "name", "agent", "stdin", 1));
    AUTO(tree_freep) json_t *template = json_pack("{s:{s:o}}", "spec", "containers", containers);
    template_apply(pod, template);
    const json_t *made = tree_get(pod, "spec.containers");
    CHECK_INT(json_array_size(made), ENTRIES + 1);
    const json_t *agent = json_array_get(made, 0), *twice = json_array_get(made, 8);
    CHECK_STR(tree_text(agent, "image", ""), "ours");
    CHECK(tree_bool(agent, "stdin", false));
    CHECK_STR(tree_text(twice, "name", ""), "c7");
    CHECK(tree_bool(twice, "stdin", false));
    CHECK_INT(tree_integer(twice, "tty", 0), 7);
}

/* A port's number and a text are different keys. */
static void entries_by_number(void) {
    AUTO(tree_freep)
    json_t *pod =
        json_pack("{s:{}, s:{s:[{s:s, s:[{s:i, s:s}]}]}}", "metadata", "spec", "containers", "name",
                  "agent", "ports", "containerPort", 8443, "name", "hub");
    AUTO(tree_freep)
    json_t *template = json_pack("{s:{s:[{s:s, s:[{s:i, s:i}, {s:s}, {s:i}]}]}}", "spec",
                                 "containers", "name", "agent", "ports", "containerPort", 8443,
                                 "hostPort", 1, "containerPort", "8443", "containerPort", 80);
    template_apply(pod, template);
    const json_t *ports = tree_get(json_array_get(tree_get(pod, "spec.containers"), 0), "ports");
    CHECK_INT(json_array_size(ports), 3);
    CHECK_STR(tree_text(json_array_get(ports, 0), "name", ""), "hub");
    CHECK_INT(tree_integer(json_array_get(ports, 0), "hostPort", 0), 1);
    CHECK_INT(tree_integer(json_array_get(ports, 2), "containerPort", 0), 80);
}

/* All labels and annotations by which the controller finds, numbers and believes pods. */
static const char *const notes[] = {
    LABEL_JOB,
    LABEL_ROLE,
    LABEL_ATTEMPT,
    LABEL_INDEX,
    ANNOTATION_ALONE,
    ANNOTATION_BEGUN_DIGEST,
    ANNOTATION_CERTIFICATE,
    ANNOTATION_CERTIFICATE_SHA256,
    ANNOTATION_DEATHS,
    ANNOTATION_FINISHES,
    ANNOTATION_PASSWD,
    ANNOTATION_READ_TOKEN,
    ANNOTATION_RESTART,
    ANNOTATION_RUN,
    ANNOTATION_SECRET,
    ANNOTATION_SPEC_SNAPSHOT,
    ANNOTATION_TRIAL,
    ANNOTATION_UID,
    ANNOTATION_WATCH,
    "windlass.dev/of-a-later-version",
    "deep.windlass.dev/note",
};

static json_t *make_notes(json_t *(*value)(void)) {
    json_t *made = json_object();
    for (size_t i = 0; i < ARRAY_LEN(notes); i++) {
        json_object_set_new(made, notes[i], value());
    }
    return made;
}

static json_t *another(void) {
    return json_string("another");
}

/* Whether the pod has ours and theirs after that value of all notes, as labels and annotations. */
static void check_notes(json_t *(*value)(void)) {
    AUTO(tree_freep) json_t *ours = json_object();
    for (size_t i = 0; i < ARRAY_LEN(notes); i += 2) { /* the others are not on this pod */
        json_object_set_new(ours, notes[i], json_string("true"));
    }
    AUTO(tree_freep)
    json_t *pod = json_pack("{s:{s:s, s:[s], s:O, s:o}, s:{}}", "metadata", "name", "ours-0",
                            "ownerReferences", "ours", "labels", ours, "annotations",
                            json_copy(ours), "spec");
    AUTO(tree_freep) json_t *wanted = json_deep_copy(pod);
    json_object_set_new(tree_get(wanted, "metadata.labels"), "team", json_string("a"));
    json_object_set_new(tree_get(wanted, "metadata.annotations"), "notwindlass.dev/x",
                        json_string("b"));
    json_t *labels = make_notes(value), *annotations = make_notes(value);
    json_object_set_new(labels, "team", json_string("a"));
    json_object_set_new(annotations, "notwindlass.dev/x", json_string("b"));
    AUTO(tree_freep)
    json_t *template =
        json_pack("{s:{s:o, s:o, s:s, s:s, s:s, s:[], s:[s]}}", "metadata", "labels", labels,
                  "annotations", annotations, "name", "other-0", "namespace", "kube-system",
                  "generateName", "other-", "ownerReferences", "finalizers", "example.com/never");
    template_apply(pod, template);
    CHECK(json_equal(pod, wanted));
}

/* Neither another value nor null reaches them, and of a template's metadata only labels and
 * annotations count. */
static void our_notes_stay(void) {
    check_notes(another);
    check_notes(json_null);
    check_notes(json_object);
    check_notes(json_array);
}

/* null, a list or a text in place of the labels or annotations takes none away. */
static void our_notes_stay_as_a_whole(void) {
    json_t *(*const values[])(void) = {json_null, json_array, another};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        AUTO(tree_freep)
        json_t *pod = json_pack("{s:{s:{s:s}, s:{s:s}}, s:{}}", "metadata", "labels", LABEL_JOB,
                                "ours", "annotations", ANNOTATION_ALONE, "true", "spec");
        AUTO(tree_freep) json_t *wanted = json_deep_copy(pod);
        AUTO(tree_freep)
        json_t *template = json_pack("{s:{s:o, s:o}}", "metadata", "labels", values[i](),
                                     "annotations", values[i]());
        template_apply(pod, template);
        CHECK(json_equal(pod, wanted));
    }
}

int main(void) {
    TEST(our_notes_stay);
    TEST(our_notes_stay_as_a_whole);
    TEST(a_template_of_many_entries);
    TEST(entries_by_number);
    return TEST_END();
}
