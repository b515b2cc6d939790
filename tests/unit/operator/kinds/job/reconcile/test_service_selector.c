// SPDX-License-Identifier: Apache-2.0
/* A Service whose selector somebody changes: it is put right, and not as often as one likes. */
#include "operator/kinds/job/reconcile/service_selector.h"

#include "lib/time/clock.h"
#include "operator/control/retry_pace.h"
#include "operator/kinds/job/cache_transform.h"
#include "tests/parse_json.h"
#include "tests/test.h"

/* More than delays differ from each other, so that time goes on; eight are too short to forget. */
enum { STEP_MS = 60000 };

static const struct owned_hub hub = {.suffix = "hub", .role = "member", .index = "0"};
static const char right[] =
    "{'windlass.dev/job': 'a', 'windlass.dev/role': 'member', 'windlass.dev/index': '0'}";

static struct {
    struct service_selector selector;
    struct retry_pace *pace;
    json_t *job, *change; /* the change that the last pass asked for; NULL: none */
    size_t events;
    json_t *event;   /* the last Event about a change; NULL: none */
    json_t *refused; /* the last Event about a refusal; NULL: none */
} world;

static void open_world(void) {
    memset(&world, 0, sizeof world);
    world.pace = retry_pace_new();
    world.job = parse("{'apiVersion': 'windlass.dev/v1beta1', 'kind': 'DistTrain', 'metadata': "
                      "{'name': 'a', 'namespace': 'ml', 'uid': 'u-1'}}");
}

static void close_world(void) {
    retry_pace_free(world.pace);
    json_decref(world.job);
    json_decref(world.change);
    json_decref(world.refused);
    json_decref(world.event);
    service_selector_release(&world.selector);
}

static json_t *service_of(const char *selector) {
    json_t *service = parse("{'apiVersion': 'v1', 'kind': 'Service', 'metadata': {'name': 'a-hub', "
                            "'namespace': 'ml', 'uid': 's-1', 'resourceVersion': '7'}, 'spec': "
                            "{'clusterIP': '10.0.0.1'}}");
    if (selector) {
        json_object_set_new(json_object_get(service, "spec"), "selector", parse(selector));
    }
    return service;
}

/* Whether a pass at that time that sees the Service asks for a change. */
static bool pass(const json_t *service, int64_t now_ms) {
    AUTO(tree_freep) json_t *events = json_array();
    AUTO(tree_freep) json_t *writes = json_array();
    struct reconcile request = {.kind = "DistTrain",
                                .namespace = "ml",
                                .name = "a",
                                .object = world.job,
                                .monotonic_ms = now_ms,
                                .writes = writes,
                                .events = events,
                                .pace = world.pace};
    (void)retry_pace_take(world.pace, now_ms); /* its turn, if it has come */
    service_selector_settle(&request, &world.selector, &hub, service);
    retry_pace_passed(world.pace, "DistTrain ml/a");
    if (request.is_retry) {
        retry_pace_ended(world.pace, "DistTrain ml/a", RETRY_UNKNOWN);
    }
    json_decref(TAKE(world.refused));
    for (size_t i = 0; i < json_array_size(events); i++) {
        json_t *event = json_object_get(json_array_get(events, i), "event");
        bool is_refusal = strcmp(tree_text(event, "reason", ""), "ServiceRefused") == 0;
        world.events += !is_refusal;
        if (!is_refusal) {
            json_decref(world.event);
            world.event = json_incref(event);
        }
        world.refused = is_refusal ? json_incref(event) : world.refused;
    }
    CHECK_INT(json_array_size(events) - (world.refused != NULL), json_array_size(writes));
    json_decref(TAKE(world.change));
    if (json_array_size(writes) > 0) {
        const json_t *write = json_array_get(writes, 0);
        CHECK_INT(tree_integer(write, "verb", -1), CLUSTER_MERGE);
        world.change = json_incref(json_object_get(write, "object"));
    }
    return world.change != NULL;
}

static void test_what_is_changed(void) {
    static const struct {
        const char *has, *change; /* NULL: none */
    } rows[] = {
        {right, NULL},
        {NULL, right},
        {"{}", right},
        {"{'windlass.dev/job': 'b', 'windlass.dev/role': 'member', 'windlass.dev/index': '0'}",
         right},
        {"{'windlass.dev/job': 'a', 'windlass.dev/role': 'member'}", right},
        {"{'app': 'x'}",
         "{'windlass.dev/job': 'a', 'windlass.dev/role': 'member', 'windlass.dev/index': '0', "
         "'app': null}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *service = service_of(rows[i].has);
        open_world();
        CHECK_INT(pass(service, clock_monotonic_ms()), rows[i].change != NULL);
        if (rows[i].change) {
            AUTO(tree_freep) json_t *wanted = parse(rows[i].change);
            CHECK(json_equal(tree_get(world.change, "spec.selector"), wanted));
            CHECK_INT(json_object_size(json_object_get(world.change, "spec")), 1);
            CHECK_STR(tree_text(world.change, "metadata.uid", ""), "s-1");
            CHECK_STR(tree_text(world.change, "metadata.resourceVersion", ""), "7");
            CHECK_STR(tree_text(world.change, "metadata.namespace", ""), "ml");
        }
        close_world();
    }
}

/* A type and a port that lead nowhere are changed back; what older programs made is left. */
static void test_type_and_port(void) {
    static const char ports[] = "[{'name': 'work', 'protocol': 'TCP', 'port': 8443, "
                                "'targetPort': 8443}]";
    static const struct {
        const char *has, *change; /* of the spec, without the selector; NULL: none */
        const char *what;
    } rows[] = {
        {"{'ports': [{'name': 'work', 'port': 8443, 'targetPort': 8443}]}", NULL, NULL},
        {"{'clusterIP': '127.0.0.1', 'ports': [{'name': 'work', 'port': 9000, 'targetPort': "
         "9000}]}",
         NULL, NULL}, /* of `windlass run`, which has a free port */
        {"{'ports': [{'name': 'work', 'port': 9000, 'targetPort': 9000}]}", "{'ports': PORTS}",
         "ports"},
        {"{'ports': [{'name': 'work', 'protocol': 'UDP', 'port': 8443, 'targetPort': 8443}]}",
         "{'ports': PORTS}", "ports"},
        {"{'ports': [{'name': 'work', 'port': 8443, 'targetPort': 'https'}]}", "{'ports': PORTS}",
         "ports"},
        {"{'ports': [{'name': 'x', 'port': 80, 'targetPort': 80}]}", "{'ports': PORTS}", "ports"},
        {"{'ports': [{'name': 'work', 'port': 8443, 'targetPort': 1}]}", "{'ports': PORTS}",
         "ports"},
        {"{'type': 'NodePort', 'ports': [{'name': 'work', 'port': 8443, 'targetPort': 8443, "
         "'nodePort': 31000}]}",
         "{'type': 'ClusterIP', 'ports': PORTS}", "type"},
        {"{'type': 'LoadBalancer', 'loadBalancerSourceRanges': ['10.0.0.0/8'], 'ports': [{'name': "
         "'work', 'port': 8443, 'targetPort': 8443, 'nodePort': 31000}]}",
         "{'type': 'ClusterIP', 'loadBalancerSourceRanges': null, 'ports': PORTS}", "type"},
        {"{'type': 'ExternalName', 'externalName': 'a.example'}",
         "{'type': 'ClusterIP', 'externalName': null, 'ports': PORTS}", "type"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *service = service_of(right);
        json_object_update_new(json_object_get(service, "spec"), parse(rows[i].has));
        AUTO(tree_freep) json_t *kept = cache_transform_owned(service);
        json_object_set(service, "spec", json_object_get(kept, "spec"));
        open_world();
        CHECK_INT(pass(service, clock_monotonic_ms()), rows[i].change != NULL);
        if (rows[i].change) {
            const char *at = strstr(rows[i].change, "PORTS");
            AUTO(text_freep)
            char *text = x_printf("%.*s%s%s", (int)(at - rows[i].change), rows[i].change, ports,
                                  at + strlen("PORTS"));
            AUTO(tree_freep) json_t *wanted = parse(text);
            CHECK(json_equal(tree_get(world.change, "spec"), wanted));
            AUTO(text_freep)
            char *note = x_printf("somebody changed the %s of Service a-hub", rows[i].what);
            CHECK(text_starts(tree_text(world.event, "note", ""), note));
        }
        close_world();
    }
}

static void test_what_is_left(void) {
    AUTO(tree_freep) json_t *leaving = service_of("{'app': 'x'}");
    json_object_set_new(json_object_get(leaving, "metadata"), "deletionTimestamp",
                        json_string("2026-01-01T00:00:00Z"));
    open_world();
    CHECK(!pass(leaving, clock_monotonic_ms()));
    CHECK(!pass(NULL, clock_monotonic_ms()));
    close_world();
}

/* Somebody changes it as often as it is put right. */
static void test_more_and_more_rarely(void) {
    AUTO(tree_freep) json_t *service = service_of("{'app': 'x'}");
    AUTO(tree_freep) json_t *well = service_of(right);
    open_world();
    int64_t now_ms = clock_monotonic_ms();
    for (int times = 1; times <= 8; times++) {
        CHECK(pass(service, now_ms));
        CHECK_INT(world.selector.delay.failures, times);
        int64_t due_ms = world.selector.delay.not_before_ms;
        CHECK(!pass(well, due_ms - 1));
        CHECK(!pass(service, due_ms - 1));
        now_ms = due_ms + (int64_t)times * STEP_MS;
    }
    CHECK_INT(world.events, 8);
    now_ms += SERVICE_SELECTOR_FORGET_MS;
    CHECK(pass(service, now_ms));
    CHECK_INT(world.selector.delay.failures, 1);
    close_world();
}

/* A right that is missing, or a webhook: the job says so once for each refusal; a server that does
 * not answer refuses nothing. */
static void test_a_refusal_is_told(void) {
    static const struct {
        enum error_kind kind; /* NONE: the write succeeds */
        bool is_told;
    } rows[] = {{ERROR_DENIED, true},    {ERROR_INVALID, true},    {ERROR_TIMEOUT, false},
                {ERROR_CONFLICT, false}, {ERROR_NOT_FOUND, false}, {ERROR_NONE, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *service = service_of("{'app': 'x'}");
        AUTO(tree_freep) json_t *well = service_of(right);
        open_world();
        int64_t now_ms = clock_monotonic_ms();
        struct error err = {.kind = rows[i].kind, .text = "services is forbidden: no"};
        CHECK(pass(service, now_ms) && !world.refused);
        struct written written = {.verb = CLUSTER_MERGE,
                                  .object = world.change,
                                  .err = rows[i].kind == ERROR_NONE ? NULL : &err};
        service_selector_note(&world.selector, &written);
        (void)pass(service, now_ms);
        CHECK_INT(world.refused != NULL, rows[i].is_told);
        CHECK(!rows[i].is_told || strstr(tree_text(world.refused, "note", ""),
                                         "cannot be put right: services is forbidden: no"));
        (void)pass(service, now_ms);
        CHECK(!world.refused);
        service_selector_note(&world.selector, &written);
        CHECK(!pass(well, now_ms) && !world.refused);
        close_world();
    }
}

int main(void) {
    TEST(test_what_is_changed);
    TEST(test_type_and_port);
    TEST(test_what_is_left);
    TEST(test_more_and_more_rarely);
    TEST(test_a_refusal_is_told);
    return TEST_END();
}
