/* local_world.h: a local cluster in a temporary folder with a job in it, whose windlass-agent is a
 * shell script that finds $data; shared by the tests that put a cluster of their own before it. */
#pragma once

#include "lib/file.h"
#include "operator/local/local.h"
#include "operator/resource.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>

struct local_world {
    char folder[64];
    struct cluster *cluster;
};

static void local_world_open(struct local_world *world, const char *agent) {
    struct error err = {0};
    *world = (struct local_world){.folder = "/tmp/windlass-world-XXXXXX"};
    CHECK(mkdtemp(world->folder));
    AUTO(text_freep) char *program = file_join(world->folder, "windlass-agent");
    CHECK_OK(file_write(program, agent, strlen(agent), &err), &err);
    CHECK_INT(chmod(program, 0755), 0);
    AUTO(text_freep) char *data = file_join(world->folder, "data");
    CHECK_OK(file_make_folders(data, &err), &err);
    struct local_options options = {
        .places = {.manifest_folder = world->folder, .state_folder = world->folder},
        .threads = 1,
        .program_folder = world->folder};
    CHECK_OK(local_open(&options, &world->cluster, &err), &err);
}

static void local_world_apply(const struct local_world *world, const char *manifest) {
    struct error err = {0};
    AUTO(tree_freep) json_t *object = NULL;
    CHECK_OK(resource_parse("job.yaml", manifest, strlen(manifest), &object, &err), &err);
    world->cluster->ops->write(world->cluster, CLUSTER_APPLY, object, NULL, NULL);
}

/* After its controller is freed. */
static void local_world_close(struct local_world *world) {
    struct error err = {0};
    world->cluster->ops->free(world->cluster);
    CHECK_OK(file_remove_tree(world->folder, &err), &err);
}
