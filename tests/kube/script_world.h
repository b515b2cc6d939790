/* script_world.h: operator/kube against a script_server.h in stepped time. One world at a time. */
#pragma once

#include "lib/file.h"
#include "operator/kube/kube.h"
#include "tests/kube/script_server.h"
#include "tests/kube/stepped_clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

enum { WORLD_SEEN_MAX = 20000 };

struct world_seen {
    int64_t ms;
    char what[200]; /* "GET /api/v1/pods?limit=20", cut */
};

struct world {
    struct script_server *server;
    struct cluster *cluster;
    script_answer *answer; /* of the test */
    struct world_seen *seen;
    size_t count;
    int listings, listed, applied, deleted, absences; /* what the listener heard */
    int wakes;                                        /* how often a timer was due */
    json_t *names;                                    /* objects since the last LISTING */
    char folder[64];
};
static struct world world;
static bool world_skips_answered; /* of the next world's kube_options */

static inline void world_hear(void *context UNUSED, enum cluster_event event,
                              const json_t *object) {
    const char *name = tree_text(object, "metadata.name", "");
    world.listings += event == CLUSTER_LISTING;
    world.listed += event == CLUSTER_LISTED;
    world.applied += event == CLUSTER_APPLIED;
    world.deleted += event == CLUSTER_DELETED;
    world.absences += event == CLUSTER_ABSENT;
    if (event == CLUSTER_LISTING || event == CLUSTER_ABSENT) {
        json_object_clear(world.names);
    } else if (event == CLUSTER_APPLIED) {
        json_object_set_new(world.names, name, json_true());
    } else if (event == CLUSTER_DELETED) {
        json_object_del(world.names, name);
    }
}

static inline void world_answer(void *context UNUSED, const struct script_request *request) {
    if (world.count < WORLD_SEEN_MAX) {
        struct world_seen *seen = &world.seen[world.count];
        seen->ms = stepped_clock_ms();
        snprintf(seen->what, sizeof seen->what, "%s %.90s%s%.90s", request->method, request->path,
                 *request->query ? "?" : "", request->query);
    }
    world.count++;
    world.answer(NULL, request);
}

/* user: of the kubeconfig, "token: x". */
static inline void world_open(script_answer *answer, const char *user) {
    struct error err = {0};
    world = (struct world){.answer = answer, .names = json_object(), .folder = "/tmp/world-XXXXXX"};
    world.seen = x_calloc(WORLD_SEEN_MAX, sizeof *world.seen);
    world.server = script_server_new(world_answer, NULL);
    CHECK(mkdtemp(world.folder));
    AUTO(text_freep) char *path = x_printf("%s/kubeconfig", world.folder);
    AUTO(text_freep)
    char *text =
        x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                 "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}]\n"
                 "users: [{name: u, user: {%s}}]\ncontexts: [{name: c, context: {cluster: c, "
                 "user: u}}]\n",
                 script_server_port(world.server), user);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    struct kube_options options = {{.kubeconfig = path}, NULL, world_skips_answered};
    CHECK_OK(kube_open(&options, &world.cluster, &err), &err);
}

static inline void world_close(void) {
    world.cluster->ops->free(world.cluster);
    script_server_free(world.server);
    json_decref(world.names);
    free(world.seen);
    AUTO(text_freep) char *command = x_printf("rm -rf %s", world.folder);
    CHECK_INT(system(command), 0);
}

static inline void world_settle(void) {
    struct error err = {0};
    for (int quiet = 0; quiet < 6; quiet++) {
        size_t before = world.count;
        bool any = script_server_poll(world.server);
        CHECK_OK(world.cluster->ops->wait(world.cluster, 0, world_hear, NULL, &err), &err);
        quiet = any || world.count != before ? 0 : quiet;
    }
}

static inline void world_run(int64_t ms) {
    int64_t end_ms = stepped_clock_ms() + ms;
    world_settle();
    while (stepped_clock_ms() < end_ms) {
        int64_t next_ms = stepped_clock_next_ms(), left_ms = end_ms - stepped_clock_ms();
        next_ms = next_ms < 0 ? left_ms : MAX(next_ms, 1);
        world.wakes += next_ms <= left_ms;
        stepped_clock_advance(MIN(next_ms, left_ms));
        world_settle();
    }
}

/* From since_ms on, that begin with the text. */
static inline int world_count(const char *begins, int64_t since_ms) {
    int count = 0;
    for (size_t i = 0; i < MIN(world.count, (size_t)WORLD_SEEN_MAX); i++) {
        count += world.seen[i].ms >= since_ms &&
                 strncmp(world.seen[i].what, begins, strlen(begins)) == 0;
    }
    return count;
}

struct world_write {
    bool ended;
    struct error err;
};

static inline void world_written(void *context, const json_t *stored UNUSED,
                                 const struct error *err) {
    struct world_write *write = context;
    write->ended = true;
    write->err = err ? *err : (struct error){0};
}

static inline void world_begin_in(const char *namespace, enum cluster_verb verb, const char *name,
                                  struct world_write *write) {
    AUTO(tree_freep)
    json_t *object =
        json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                  "metadata", "name", name, "namespace", namespace, "resourceVersion", "7");
    *write = (struct world_write){0};
    world.cluster->ops->write(world.cluster, verb, object, world_written, write);
}

#define world_begin(verb, name, write) world_begin_in("n", (verb), (name), (write))

static inline void world_watch(void) {
    struct error err = {0};
    CHECK_OK(world.cluster->ops->watch(world.cluster, "v1", "ConfigMap", NULL, false, &err), &err);
}
