// SPDX-License-Identifier: Apache-2.0
/* Features of local runs: reserved ports, and unsupported requests. */
#include "tests/unit/operator/local/local_fixture.h"

#include <arpa/inet.h>
#include <sys/socket.h>

static json_t *service(const char *name) {
    return json_pack("{s:s, s:s, s:{s:s}, s:{s:[{s:i, s:i}]}}", "apiVersion", "v1", "kind",
                     "Service", "metadata", "name", name, "spec", "ports", "port", 8443,
                     "targetPort", 8443);
}

/* Listens as a server does; -1 when the port is taken. */
static int listen_on(int port, int reuse) {
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
                                  .sin_port = htons((uint16_t)port)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || listen(fd, 5) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void a_port_stays_the_services(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    AUTO(tree_freep) json_t *wanted = service("one");
    AUTO(tree_freep) json_t *stored = NULL;
    CHECK_OK(fixture_write(&fixture, CLUSTER_APPLY, wanted, &stored, &err), &err);
    int port = (int)tree_integer(stored, "spec.ports[0].port", 0);
    CHECK(port > 1023);
    CHECK_INT(tree_integer(stored, "spec.ports[0].targetPort", 0), port);
    CHECK_INT(listen_on(port, 0), -1); /* no process gets it by chance */
    for (int i = 0; i < 2; i++) {      /* but a coordinator and its replacement do */
        AUTO(fd_closep) int fd = listen_on(port, 1);
        CHECK(fd >= 0);
    }
    CHECK_OK(fixture_write(&fixture, CLUSTER_DELETE, stored, NULL, &err), &err);
    AUTO(fd_closep) int fd = listen_on(port, 0);
    CHECK(fd >= 0);
    fixture_close(&fixture);
}

static void what_this_cluster_cannot_do_is_refused(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    AUTO(tree_freep) json_t *pod = fixture_pod("one", "true");
    json_object_set_new(json_object_get(pod, "spec"), "restartPolicy", json_string("Always"));
    CHECK(fixture_write(&fixture, CLUSTER_APPLY, pod, NULL, &err) < 0);
    CHECK_STR(err.text, "Pod one: spec.restartPolicy must be Never here");
    error_clear(&err);
    fixture_apply(&fixture, fixture_pod("two", "true"));
    AUTO(tree_freep) json_t *changed = fixture_pod("two", "false");
    CHECK(fixture_write(&fixture, CLUSTER_APPLY, changed, NULL, &err) < 0);
    CHECK_STR(err.text, "Pod two: spec cannot be changed");
    fixture_close(&fixture);
}

/* An object whose owner was deleted must not be made any more. */
static void nothing_is_made_for_a_deleted_owner(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    AUTO(tree_freep) json_t *pod = fixture_pod("late", "true");
    json_object_set_new(
        json_object_get(pod, "metadata"), "ownerReferences",
        json_pack("[{s:s, s:s, s:s}]", "kind", "BatchScore", "name", "gone", "uid", "no-such-uid"));
    CHECK(fixture_write(&fixture, CLUSTER_APPLY, pod, NULL, &err) < 0);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    fixture_close(&fixture);
}

static void a_missing_agent_is_named(void) {
    struct error err = {0};
    struct local_options options = {.program_folder = "/no/such/folder"};
    struct cluster *cluster = NULL;
    CHECK(local_open(&options, &cluster, &err) < 0);
    CHECK_INT(error_exit_code(&err), 3);
    CHECK(strstr(err.text, "/no/such/folder/windlass-agent"));
}

int main(void) {
    TEST(a_port_stays_the_services);
    TEST(what_this_cluster_cannot_do_is_refused);
    TEST(nothing_is_made_for_a_deleted_owner);
    TEST(a_missing_agent_is_named);
    return TEST_END();
}
