/* local_fixture.h: a local cluster in a temporary folder, its windlass-agent a shell script; shared
 * by the tests of operator/local. */
#pragma once

#include "lib/file.h"
#include "lib/time/clock.h"
#include "operator/local/local.h"
#include "tests/cluster_write.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct fixture {
    char folder[64];
    char *manifest_folder, *state_folder, *program_folder;
    struct cluster *cluster;
    json_t *seen; /* "Kind name" -> last state seen; deleted ones are null */
};

static void fixture_hear(void *context, enum cluster_event event, const json_t *object) {
    struct fixture *fixture = context;
    AUTO(text_freep)
    char *key =
        x_printf("%s %s", tree_text(object, "kind", ""), tree_text(object, "metadata.name", ""));
    if (event == CLUSTER_APPLIED) {
        json_object_set(fixture->seen, key, (json_t *)object);
    } else if (event == CLUSTER_DELETED) {
        json_object_set_new(fixture->seen, key, json_null());
    }
}

static void fixture_open_with_gpus(struct fixture *fixture, struct local_gpus *gpus,
                                   struct error *err) {
    *fixture = (struct fixture){.folder = "/tmp/windlass-local-XXXXXX", .seen = json_object()};
    CHECK(mkdtemp(fixture->folder));
    fixture->manifest_folder = file_join(fixture->folder, "manifest");
    fixture->state_folder = file_join(fixture->folder, "state");
    fixture->program_folder = file_join(fixture->folder, "bin");
    CHECK_OK(file_make_folders(fixture->manifest_folder, err), err);
    CHECK_OK(file_make_folders(fixture->state_folder, err), err);
    CHECK_OK(file_make_folders(fixture->program_folder, err), err);
    AUTO(text_freep) char *agent = file_join(fixture->program_folder, "windlass-agent");
    static const char script[] = "#!/bin/sh\necho agent \"$@\"\n";
    CHECK_OK(file_write(agent, script, sizeof script - 1, err), err);
    CHECK_INT(chmod(agent, 0755), 0);
    struct local_options options = {.places = {.manifest_folder = fixture->manifest_folder,
                                               .state_folder = fixture->state_folder},
                                    .threads = 3,
                                    .gpus = gpus,
                                    .program_folder = fixture->program_folder};
    CHECK_OK(local_open(&options, &fixture->cluster, err), err);
    struct cluster *cluster = fixture->cluster;
    CHECK_OK(cluster->ops->watch(cluster, "v1", "Pod", NULL, false, err), err);
}

UNUSED static void fixture_open(struct fixture *fixture, struct error *err) {
    fixture_open_with_gpus(fixture, NULL, err);
}

static void fixture_close(struct fixture *fixture) {
    struct error err = {0};
    if (fixture->cluster) {
        fixture->cluster->ops->free(fixture->cluster);
    }
    CHECK_OK(file_remove_tree(fixture->folder, &err), &err);
    free(fixture->manifest_folder);
    free(fixture->state_folder);
    free(fixture->program_folder);
    json_decref(fixture->seen);
}

/* A pod that runs `script` in a shell; changes are merged into its spec's container. */
UNUSED static json_t *fixture_pod(const char *name, const char *script) {
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:s, s:i, s:[{s:s, s:[s,s,s], s:[]}], s:[]}}",
                     "apiVersion", "v1", "kind", "Pod", "metadata", "name", name, "spec",
                     "restartPolicy", "Never", "terminationGracePeriodSeconds", 1, "containers",
                     "name", "main", "command", "/bin/sh", "-c", script, "env", "volumes");
}

UNUSED static int fixture_write(struct fixture *fixture, enum cluster_verb verb,
                                const json_t *object, json_t **ret_stored, struct error *err) {
    const struct cluster_writer writer = {fixture->cluster, fixture_hear, fixture};
    return cluster_write(&writer, verb, object, ret_stored, err);
}

UNUSED static void fixture_apply(struct fixture *fixture, json_t *object_new) {
    struct error err = {0};
    CHECK_OK(fixture_write(fixture, CLUSTER_APPLY, object_new, NULL, &err), &err);
    json_decref(object_new);
}

UNUSED static const json_t *fixture_seen(const struct fixture *fixture, const char *key) {
    return json_object_get(fixture->seen, key);
}

/* Waits until the text at that path of the object is `wanted` (NULL: until it is deleted). */
UNUSED static bool fixture_wait(struct fixture *fixture, const char *key, const char *path,
                                const char *wanted) {
    struct error err = {0};
    int64_t end_ms = clock_monotonic_ms() + 60000;
    for (;;) {
        const json_t *object = fixture_seen(fixture, key);
        if (wanted ? strcmp(tree_text(object, path, ""), wanted) == 0 : json_is_null(object)) {
            return true;
        }
        int64_t left_ms = end_ms - clock_monotonic_ms();
        if (left_ms <= 0 || fixture->cluster->ops->wait(fixture->cluster, (int)left_ms,
                                                        fixture_hear, fixture, &err) < 0) {
            return false;
        }
    }
}

UNUSED static char *fixture_log(const struct fixture *fixture, const char *pod_name) {
    struct error err = {0};
    AUTO(text_freep) char *path = local_log_path(fixture->cluster, pod_name);
    char *text = NULL;
    size_t size;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text;
}
