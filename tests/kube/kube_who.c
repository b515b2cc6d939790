// SPDX-License-Identifier: Apache-2.0
/* Authentication and leader election, against a real API server: bearer tokens, token files that
 * are rotated, exec plug-ins, and a Lease for which separate processes compete.
 *   WINDLASS_TEST_FOLDER   the server's folder, with kubeconfig, token and pki/ */
#include "operator/kube/elector.h"
#include "tests/kube/things.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const char *folder;
static char *straight;
static char temporary[64];

static char *write_to(const char *name, const char *text) {
    struct error err = {0};
    char *path = file_join(temporary, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    CHECK(chmod(path, 0755) == 0);
    return path;
}

/* A kubeconfig for the server with another user. */
static char *kubeconfig_of(const char *user) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, "port");
    AUTO(text_freep) char *port = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 100, &port, &size, &err), &err);
    port[strcspn(port, "\n")] = 0;
    AUTO(text_freep)
    char *text =
        x_printf("current-context: c\ncontexts: [{name: c, context: {cluster: k, user: u}}]\n"
                 "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:%s', "
                 "certificate-authority: '%s/pki/ca.crt'}}]\n"
                 "users: [{name: u, user: {%s}}]\n",
                 port, folder, user);
    return write_to("kubeconfig", text);
}

static char *read_token(void) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, "token");
    char *token = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 1000, &token, &size, &err), &err);
    token[strcspn(token, "\n")] = 0;
    return token;
}

static int apply_map(struct cluster *cluster, struct error *err) {
    AUTO(tree_freep)
    json_t *map = json_pack("{s:s, s:s, s:{s:s}}", "apiVersion", "v1", "kind", "ConfigMap",
                            "metadata", "name", "who");
    const struct cluster_writer writer = {.cluster = cluster};
    return cluster_write(&writer, CLUSTER_APPLY, map, NULL, err);
}

/* Opens with that user and writes once. */
static int try_user(const char *user, struct error *err) {
    AUTO(text_freep) char *path = kubeconfig_of(user);
    struct kube_options options = {.config.kubeconfig = path};
    struct cluster *cluster = NULL;
    if (kube_open(&options, &cluster, err) < 0) {
        return -1;
    }
    int result = apply_map(cluster, err);
    cluster->ops->free(cluster);
    return result;
}

static void test_users(void) {
    AUTO(text_freep) char *token = read_token();
    AUTO(text_freep)
    char *plugin =
        write_to("plugin.sh", "#!/bin/sh\necho '{\"kind\":\"ExecCredential\",\"apiVersion\":"
                              "\"client.authentication.k8s.io/v1beta1\",\"status\":"
                              "{\"token\":\"'$1'\"}}'\n");
    AUTO(text_freep) char *by_token = x_printf("token: %s", token);
    AUTO(text_freep) char *by_file = x_printf("tokenFile: '%s/token'", folder);
    AUTO(text_freep)
    char *by_plugin = x_printf("exec: {apiVersion: client.authentication.k8s.io/v1beta1, command: "
                               "'%s', args: ['%s']}",
                               plugin, token);
    AUTO(text_freep)
    char *by_bad_plugin = x_printf("exec: {apiVersion: client.authentication.k8s.io/v1beta1, "
                                   "command: '%s', args: ['none']}",
                                   plugin);
    const struct {
        const char *user, *sentence;
    } rows[] = {
        {by_token, NULL},
        {by_file, NULL},
        {by_plugin, NULL},
        {"token: wrong", "Unauthorized"},
        {by_bad_plugin, "Unauthorized"},
        {"", "forbidden"},
        {"exec: {apiVersion: client.authentication.k8s.io/v1, command: windlass-no-such-program, "
         "installHint: see the page}",
         "exec plug-in windlass-no-such-program: not found in PATH. see the "
         "page"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        int result = try_user(rows[i].user, &err);
        CHECK_INT(result, rows[i].sentence ? -1 : 0);
        if (rows[i].sentence ? !strstr(err.text, rows[i].sentence) : result < 0) {
            CHECK_STR(err.text, rows[i].sentence ? rows[i].sentence : "no error");
        }
        CHECK(!rows[i].sentence || err.kind == ERROR_DENIED || err.kind == ERROR_INVALID);
    }
}

/* The token in the file expires and is replaced: a 401 makes us read it again. */
static void test_a_rotated_token(void) {
    struct error err = {0};
    AUTO(text_freep) char *token = read_token();
    AUTO(text_freep) char *file = write_to("token", "not yet");
    AUTO(text_freep) char *user = x_printf("tokenFile: '%s'", file);
    AUTO(text_freep) char *path = kubeconfig_of(user);
    struct kube_options options = {.config.kubeconfig = path};
    struct cluster *cluster = NULL;
    CHECK_OK(kube_open(&options, &cluster, &err), &err);
    CHECK_INT(apply_map(cluster, &err), -1);
    CHECK_INT(err.kind, ERROR_DENIED);
    error_clear(&err);
    free(write_to("token", token));
    CHECK_OK(apply_map(cluster, &err), &err);
    cluster->ops->free(cluster);
}

static void test_another_certificate_is_refused(void) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, "port");
    AUTO(text_freep) char *port = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 100, &port, &size, &err), &err);
    port[strcspn(port, "\n")] = 0;
    AUTO(text_freep)
    char *text = x_printf("current-context: c\ncontexts: [{name: c, context: {cluster: k}}]\n"
                          "clusters: [{name: k, cluster: {server: 'https://127.0.0.1:%s', "
                          "certificate-authority: '%s/pki/admin.crt'}}]\n",
                          port, folder);
    AUTO(text_freep) char *kubeconfig = write_to("kubeconfig", text);
    struct kube_options options = {.config.kubeconfig = kubeconfig};
    struct cluster *cluster = NULL;
    CHECK_OK(kube_open(&options, &cluster, &err), &err);
    CHECK_INT(apply_map(cluster, &err), -1);
    CHECK_INT(err.kind, ERROR_DENIED);
    cluster->ops->free(cluster);
}

/* ---- leases ---- */

static volatile sig_atomic_t is_asked_to_leave;

static void ask_to_leave(int number) {
    (void)number;
    is_asked_to_leave = 1;
}

static void say(void *context, enum elector_state state) {
    int fd = *(int *)context;
    char letter = state == ELECTOR_LEADER ? 'H' : 'L';
    if (write(fd, &letter, 1) != 1) {
        _exit(1);
    }
}

/* A replica: until SIGTERM, after which it gives the lease back. */
static void be_replica(int fd) {
    struct error err = {0};
    struct kube_options options = {.config.kubeconfig = straight};
    struct cluster *cluster = NULL;
    struct elector *lease = NULL;
    struct elector_options elector_options = {
        .namespace = "default", .name = "leader", .changed = say, .context = &fd};
    signal(SIGTERM, ask_to_leave);
    if (kube_open(&options, &cluster, &err) < 0 ||
        elector_open(&elector_options, kube_client(cluster), kube_loop(cluster), &lease, &err) <
            0) {
        _exit(1);
    }
    while (!is_asked_to_leave && cluster->ops->wait(cluster, 200, NULL, NULL, &err) == 0) {
    }
    elector_step_down(lease, 2000);
    elector_free(lease);
    cluster->ops->free(cluster);
    _exit(0);
}

struct replica {
    pid_t pid;
    int fd;
};

static struct replica replica_start(void) {
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(ends[0]);
        be_replica(ends[1]);
    }
    close(ends[1]);
    return (struct replica){pid, ends[0]};
}

/* The time until it holds the lease; -1: not within the limit. */
static int64_t wait_until_held(const struct replica *replica, int limit_ms) {
    int64_t start_ms = clock_monotonic_ms();
    struct pollfd fd = {.fd = replica->fd, .events = POLLIN};
    char letter = 0;
    if (poll(&fd, 1, limit_ms) != 1 || read(replica->fd, &letter, 1) != 1 || letter != 'H') {
        return -1;
    }
    return clock_monotonic_ms() - start_ms;
}

static void replica_end(struct replica *replica, int number) {
    kill(replica->pid, number);
    while (waitpid(replica->pid, NULL, 0) < 0 && errno == EINTR) {
    }
    close(replica->fd);
}

static void test_a_lease_is_taken_over(void) {
    struct replica first = replica_start();
    CHECK(wait_until_held(&first, 15000) >= 0);
    struct replica second = replica_start();
    CHECK_INT(wait_until_held(&second, 3000), -1); /* while the first renews it */
    replica_end(&first, SIGKILL);
    int64_t took_ms = wait_until_held(&second, 16000);
    printf("# after kill -9 another leads in %lld ms\n", (long long)took_ms);
    CHECK(took_ms >= 0 && took_ms <= 15000);
    struct replica third = replica_start();
    CHECK_INT(wait_until_held(&third, 1500), -1);
    int64_t start_ms = clock_monotonic_ms();
    replica_end(&second, SIGTERM);
    CHECK(wait_until_held(&third, 5000) >= 0);
    took_ms = clock_monotonic_ms() - start_ms;
    printf("# after a clean stop another leads in %lld ms\n", (long long)took_ms);
    CHECK(took_ms <= 2000);
    replica_end(&third, SIGTERM);
}

int main(void) {
    struct error err = {0};
    folder = getenv("WINDLASS_TEST_FOLDER");
    if (!folder) {
        fprintf(stderr, "WINDLASS_TEST_FOLDER: the folder of an API server is expected\n");
        return 3;
    }
    straight = x_printf("%s/kubeconfig", folder);
    snprintf(temporary, sizeof temporary, "/tmp/windlass-who-XXXXXX");
    CHECK(mkdtemp(temporary));
    TEST(test_users);
    TEST(test_a_rotated_token);
    TEST(test_another_certificate_is_refused);
    TEST(test_a_lease_is_taken_over);
    CHECK_OK(file_remove_tree(temporary, &err), &err);
    free(straight);
    return TEST_END();
}
