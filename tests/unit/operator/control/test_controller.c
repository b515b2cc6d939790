// SPDX-License-Identifier: Apache-2.0
/* The controller over the local cluster, with a kind whose passes the test controls. */
#include "operator/control/controller.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/local.h"
#include "operator/operator_metrics.h"
#include "tests/cluster_write.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>

static struct {
    int looks, looks_without_object, reports;
    int64_t again_ms, last_retry_ms;
    int last_failures;
    enum error_kind fails_with;
    bool makes;        /* each pass makes what the cache does not show yet */
    int made, refused; /* writes that ended well, and not */
    int blind;         /* passes that did not see what an earlier one had made */
    bool learns;       /* the next pass finds another resource of its kind */
    int looks_at_other;
    int postpones;      /* this many passes look at nothing */
    bool retries;       /* each pass asks for a retry, ... */
    int retry_failures; /* of what it retries; 0: 1 */
    int tries;          /* so often it might, and has added a deletion */
    int polled;         /* each pass polls this many coordinators */
    int64_t figures_ms; /* of the last pass */
    bool waits;         /* each pass waits for the Thing 'other' */
    size_t found;       /* by the last of them */
} seen;

static void *state_new(void) {
    return x_strdup("state");
}

static void state_free(void *state) {
    free(state);
}

static json_t *owned_map(const json_t *owner, const char *name) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:{s:s}, s:[{s:s, s:s, s:s}]}}", "apiVersion", "v1",
                     "kind", "ConfigMap", "metadata", "name", name, "namespace", "default",
                     "labels", LABEL_JOB, "one", "ownerReferences", "kind", "Thing", "name", "one",
                     "uid", tree_text(owner, "metadata.uid", ""));
}

/* Without an owner: its events cause no pass. */
static json_t *stranger(void) {
    return json_pack("{s:s, s:s, s:{s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                     "metadata", "name", "taken", "namespace", "default");
}

static json_t *other_thing(void) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s, s:s}}", "apiVersion", "example.dev/v1", "kind",
                     "Thing", "metadata", "name", "other", "namespace", "default", "uid", "u-other",
                     "resourceVersion", "999");
}

static void wrote(void *state, const struct written *written) {
    CHECK_STR(state, "state");
    CHECK_STR(written->namespace, "default");
    CHECK_STR(written->name, "one");
    CHECK_INT(written->verb, seen.tries ? CLUSTER_DELETE : CLUSTER_CREATE);
    CHECK(seen.tries || !written->stored == !!written->err);
    seen.made += !written->err;
    seen.refused += written->err != NULL;
}

/* As that many jobs that run, whose coordinators do not answer. */
static void poll_many(struct reconcile *request) {
    static const struct poller_target place = {"https://127.0.0.1:9/progress", "", NULL};
    for (int i = 0; i < seen.polled; i++) {
        AUTO(text_freep) char *key = x_printf("Thing default/%d", i);
        CHECK(!poller_get(request->poller, key, &place, false));
    }
}

static int reconcile(void *state, struct reconcile *request, struct error *err) {
    CHECK_STR(state, "state");
    if (strcmp(request->name, "other") == 0) {
        seen.looks_at_other += request->object != NULL;
        return 0;
    }
    CHECK_STR(request->name, "one");
    seen.looks++;
    if (seen.postpones > 0) {
        seen.postpones--;
        request->is_postponed = true;
        request->again_ms = 1;
        return 0;
    }
    if (seen.learns && request->object) {
        AUTO(tree_freep) json_t *other = other_thing();
        seen.learns = false;
        reconcile_learn(request, other);
    }
    if (seen.waits && request->object) {
        AUTO(tree_freep) json_t *found = reconcile_named(request, NULL, "other", true);
        AUTO(tree_freep) json_t *none = reconcile_named(request, "Gadget", "other", true);
        seen.found = json_array_size(found);
        CHECK_INT(json_array_size(none), 0);
    }
    seen.looks_without_object += !request->object;
    seen.figures_ms = request->figures_ms;
    poll_many(request);
    request->again_ms = seen.again_ms;
    if (seen.makes && request->object) {
        AUTO(tree_freep) json_t *there = cache_find(request->cache, "ConfigMap", "default", "made");
        seen.blind += seen.made > 0 && !there;
        if (!there) {
            reconcile_write(request, CLUSTER_CREATE, owned_map(request->object, "made"));
            reconcile_write(request, CLUSTER_CREATE, owned_map(request->object, "taken"));
        }
    }
    if (seen.retries && request->object &&
        reconcile_may_retry(request, 0, MAX(seen.retry_failures, 1))) {
        seen.tries++;
        reconcile_write(request, CLUSTER_DELETE, stranger());
    }
    return seen.fails_with ? error_set(err, seen.fails_with, "as asked") : 0;
}

static void report(void *context, const char *key, const struct error *err, int64_t retry_ms,
                   int failures) {
    CHECK(context == &seen);
    CHECK_STR(key, "Thing default/one");
    CHECK_STR(err->text,
              seen.makes ? "ConfigMap taken: ConfigMap taken: exists already" : "as asked");
    seen.reports++;
    seen.last_retry_ms = retry_ms;
    seen.last_failures = failures;
}

static const struct owned_kind owned[] = {{"v1", "ConfigMap"}, {NULL, NULL}};
static const struct kind thing = {.api_version = "example.dev/v1",
                                  .name = "Thing",
                                  .owned = owned,
                                  .state_new = state_new,
                                  .state_free = state_free,
                                  .reconcile = reconcile,
                                  .wrote = wrote};
static const struct kind *const kinds[] = {&thing, NULL};

static char folder[64];
static struct cluster *cluster;
static struct controller *controller;

static void open_all(void) {
    struct error err = {0};
    memset(&seen, 0, sizeof seen);
    struct local_options options = {.places = {.manifest_folder = folder, .state_folder = folder},
                                    .threads = 1,
                                    .program_folder = folder};
    CHECK_OK(local_open(&options, &cluster, &err), &err);
    CHECK_OK(controller_new(cluster, kinds, report, &seen, &controller, &err), &err);
}

static void close_all(void) {
    controller_free(controller);
    cluster->ops->free(cluster);
}

static void step(int timeout_ms) {
    struct error err = {0};
    CHECK_OK(controller_step(controller, timeout_ms, &err), &err);
}

/* Followed by one step of the controller, which gets the event and makes a pass. */
static json_t *write_and_step(enum cluster_verb verb, json_t *object_new) {
    struct cluster_write_answer answer = {0};
    cluster->ops->write(cluster, verb, object_new, cluster_write_done, &answer);
    json_decref(object_new);
    step(0);
    CHECK(answer.ended && !answer.err.kind);
    return answer.stored;
}

static json_t *make_thing(void) {
    return write_and_step(CLUSTER_APPLY,
                          json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "example.dev/v1", "kind",
                                    "Thing", "metadata", "name", "one"));
}

/* Passes that ended so, as the metrics have it. */
static double counted(const char *result) {
    AUTO(text_freep) char *page = operator_metrics_page();
    AUTO(text_freep)
    char *name = x_printf("\nwindlass_reconcile_total{kind=\"Thing\",result=\"%s\"} ", result);
    const char *line = strstr(page, name);
    return line ? strtod(line + strlen(name), NULL) : 0;
}

static void looks_when_something_happens_and_when_asked(void) {
    open_all();
    AUTO(tree_freep) json_t *owner = make_thing();
    CHECK_INT(seen.looks, 1);
    step(0);
    CHECK_INT(seen.looks, 1); /* nothing happened */
    seen.again_ms = 1000;
    AUTO(tree_freep)
    json_t *child = write_and_step(
        CLUSTER_APPLY, json_pack("{s:s, s:s, s:{s:s, s:{s:s}, s:[{s:s, s:s, s:s}]}}", "apiVersion",
                                 "v1", "kind", "ConfigMap", "metadata", "name", "child", "labels",
                                 LABEL_JOB, "one", "ownerReferences", "kind", "Thing", "name",
                                 "one", "uid", tree_text(owner, "metadata.uid", "")));
    CHECK_INT(seen.looks, 2); /* its object changed */
    CHECK(controller_idle_ms(controller) > 0 && controller_idle_ms(controller) <= 1000);
    int64_t start_ms = clock_monotonic_ms();
    step(60000); /* wakes up by itself when the pass is due */
    step(0);
    CHECK_INT(seen.looks, 3);
    CHECK(clock_monotonic_ms() - start_ms < 30000);
    write_and_step(CLUSTER_DELETE, TAKE(owner));
    CHECK(seen.looks_without_object > 0);
    close_all();
}

/* Whose owner somebody removes, or removes before the object goes: both lead to a pass of the one
 * that it belonged to. */
static void looks_when_an_object_is_taken_away(void) {
    open_all();
    AUTO(tree_freep) json_t *owner = make_thing();
    for (int is_deleted = 0; is_deleted <= 1; is_deleted++) {
        json_decref(write_and_step(CLUSTER_CREATE, owned_map(owner, "child")));
        AUTO(tree_freep)
        json_t *change = json_pack("{s:s, s:s, s:{s:s, s:[]}}", "apiVersion", "v1", "kind",
                                   "ConfigMap", "metadata", "name", "child", "ownerReferences");
        int looks = seen.looks;
        cluster->ops->write(cluster, CLUSTER_MERGE, change, NULL, NULL);
        if (is_deleted) { /* the watch reports both at once */
            cluster->ops->write(cluster, CLUSTER_DELETE, change, NULL, NULL);
        }
        step(0);
        CHECK_INT(seen.looks, looks + 1);
        json_decref(write_and_step(CLUSTER_DELETE, json_incref(change)));
    }
    close_all();
}

static void errors_are_retried_by_their_kind(void) {
    static const struct {
        enum error_kind kind;
        bool retried;
    } rows[] = {
        {ERROR_INVALID, false},    {ERROR_UNSUPPORTED, false}, {ERROR_BUG, false},
        {ERROR_UNAVAILABLE, true}, {ERROR_CONFLICT, true},     {ERROR_EXHAUSTED, true},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_all();
        seen.fails_with = rows[i].kind;
        AUTO(tree_freep) json_t *owner = make_thing();
        CHECK_INT(seen.reports, 1);
        CHECK_INT(seen.last_retry_ms >= 0, rows[i].retried);
        for (int j = 0; j < 4; j++) {
            step(400);
            step(0);
        }
        CHECK_INT(seen.reports > 2, rows[i].retried);
        CHECK_INT(seen.last_failures > 2, rows[i].retried);
        close_all();
    }
}

/* All writes of a reconcile pass end before the next one, which sees what they made; one that
 * failed makes the pass a failure, and another follows. */
static void a_look_sees_what_the_last_one_made(void) {
    open_all();
    double succeeded = counted("success"), failed = counted("error");
    AUTO(tree_freep) json_t *other = stranger();
    cluster->ops->write(cluster, CLUSTER_CREATE, other, NULL, NULL);
    seen.makes = true;
    AUTO(tree_freep)
    json_t *owner = make_thing(); /* and a reconcile pass, whose writes are under way now */
    CHECK_INT(seen.looks, 1);
    CHECK_INT(seen.made + seen.refused, 0);
    for (int i = 0; i < 5; i++) {
        step(100);
    }
    CHECK_INT(seen.made, 1);
    CHECK_INT(seen.refused, 1);
    CHECK_INT(seen.reports, 1);
    CHECK_INT(seen.blind, 0);
    CHECK(seen.looks >= 2);
    /* the first pass had a creation that was refused, which is a failure */
    CHECK(counted("success") == succeeded + seen.looks - 1);
    CHECK(counted("error") == failed + 1);
    CHECK(seen.last_retry_ms >= 25 && seen.last_retry_ms <= 75);
    close_all();
}

/* What a pass learned of is reconciled, for its event is ignored as known. */
static void what_a_look_learns_is_looked_at(void) {
    open_all();
    seen.learns = true;
    AUTO(tree_freep) json_t *owner = make_thing();
    for (int i = 0; i < 600 && seen.looks_at_other == 0; i++) {
        step(100);
    }
    CHECK_INT(seen.looks_at_other, 1);
    close_all();
}

static json_t *set_other(enum cluster_verb verb, const char *text) {
    json_t *object = json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "example.dev/v1",
                               "kind", "Thing", "metadata", "name", "other", "spec", "text", text);
    return write_and_step(verb, object);
}

/* A resource that waits for another is reconciled when that comes, changes or goes, whether it is
 * there or not; and no longer once its pass does not ask. */
static void who_waits_is_woken(void) {
    open_all();
    seen.waits = true;
    AUTO(tree_freep) json_t *owner = make_thing();
    CHECK_INT(seen.looks, 1);
    CHECK_INT(seen.found, 0);
    AUTO(tree_freep) json_t *first = set_other(CLUSTER_APPLY, "a");
    CHECK_INT(seen.looks, 2);
    CHECK_INT(seen.found, 1);
    AUTO(tree_freep) json_t *second = set_other(CLUSTER_APPLY, "b");
    CHECK_INT(seen.looks, 3);
    json_decref(set_other(CLUSTER_DELETE, "b"));
    CHECK_INT(seen.looks, 4);
    CHECK_INT(seen.found, 0);
    seen.waits = false; /* the next pass, which this wakes, is the last */
    AUTO(tree_freep) json_t *third = set_other(CLUSTER_APPLY, "c");
    CHECK_INT(seen.looks, 5);
    AUTO(tree_freep) json_t *fourth = set_other(CLUSTER_APPLY, "d");
    CHECK_INT(seen.looks, 5);
    close_all();
}

/* A turn that has come, and passes that look at nothing before the one that uses it: as when a busy
 * Sweep is asked for one too often. The try is the second: the first needs no turn. */
static void a_postponed_look_keeps_the_turn(void) {
    open_all();
    seen.retries = true;
    seen.retry_failures = 2;
    AUTO(tree_freep) json_t *owner = make_thing();
    CHECK_INT(seen.tries, 0);
    int looks = seen.looks;
    seen.postpones = 5;
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (seen.tries == 0 && clock_monotonic_ms() < end_ms) {
        step(100);
    }
    CHECK_INT(seen.postpones, 0);
    CHECK_INT(seen.tries, 1);
    CHECK_INT(seen.looks, looks + 5 + 1);
    close_all();
}

/* A pass that may try again, and then fails, has not used up the tries of its resource. */
static void a_pass_that_fails_ends_its_try(void) {
    open_all();
    seen.retries = true;
    seen.fails_with = ERROR_UNAVAILABLE;
    AUTO(tree_freep) json_t *owner = make_thing();
    CHECK_INT(seen.tries, 1);
    for (int i = 0; i < 600 && seen.tries < 2; i++) {
        step(100);
    }
    CHECK(seen.tries >= 2);
    close_all();
}

/* What was tried again has succeeded, and causes no event: a pass finds whether more is to do. */
static void a_pass_follows_a_try(void) {
    open_all();
    AUTO(tree_freep) json_t *other = stranger();
    cluster->ops->write(cluster, CLUSTER_CREATE, other, NULL, NULL);
    seen.retries = true;
    AUTO(tree_freep) json_t *owner = make_thing();
    CHECK_INT(seen.looks, 1);
    CHECK_INT(seen.tries, 1);
    seen.retries = false;
    for (int i = 0; i < 600 && seen.looks < 2; i++) {
        step(100);
    }
    CHECK_INT(seen.made, 1);
    CHECK_INT(seen.looks, 2);
    close_all();
}

/* The figures of many running jobs are written less often: 33 statuses a second for all of them. */
static void figures_of_many_are_rare(void) {
    static const struct {
        int jobs;
        int64_t figures_ms;
    } rows[] = {{1, 1000}, {30, 1000}, {330, 10000}, {1000, 30303}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        open_all();
        seen.polled = rows[i].jobs;
        seen.again_ms = 1;
        AUTO(tree_freep) json_t *owner = make_thing();
        CHECK_INT(seen.figures_ms, 1000); /* the local cluster's; none was polled before */
        for (int j = 0; j < 600 && seen.looks < 2; j++) {
            step(100);
        }
        CHECK(seen.looks >= 2);
        CHECK_INT(seen.figures_ms, rows[i].figures_ms);
        close_all();
    }
}

int main(void) {
    struct error err = {0};
    snprintf(folder, sizeof folder, "/tmp/windlass-controller-XXXXXX");
    AUTO(text_freep) char *agent = mkdtemp(folder) ? file_join(folder, "windlass-agent") : NULL;
    if (!agent || file_write(agent, "#!/bin/sh\n", 10, &err) < 0 || chmod(agent, 0755) < 0) {
        return 1;
    }
    TEST(looks_when_something_happens_and_when_asked);
    TEST(looks_when_an_object_is_taken_away);
    TEST(errors_are_retried_by_their_kind);
    TEST(a_look_sees_what_the_last_one_made);
    TEST(what_a_look_learns_is_looked_at);
    TEST(who_waits_is_woken);
    TEST(a_postponed_look_keeps_the_turn);
    TEST(a_pass_that_fails_ends_its_try);
    TEST(a_pass_follows_a_try);
    TEST(figures_of_many_are_rare);
    return file_remove_tree(folder, &err) < 0 ? 1 : TEST_END();
}
