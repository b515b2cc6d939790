// SPDX-License-Identifier: Apache-2.0
/* Pods as real processes: their start, environment and end, and that none survives. In the scripts,
 * $$$$ is the shell's $$: a pod's command is expanded first. */
#include "tests/unit/operator/local/local_fixture.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

enum { GRACE_S = 4 }; /* in which a polite pod ends on a busy machine */

#define STATE "status.containerStatuses[0].state.terminated"

static void exit_codes_and_signals(void) {
    static const struct {
        const char *script, *phase, *reason;
        int exit_code, signal;
    } rows[] = {
        {"exit 0", "Succeeded", "Completed", 0, 0},
        {"exit 3", "Failed", "Error", 3, 0},
        {"kill -9 $$$$", "Failed", "Error", 137, 9},
        {"kill -SEGV $$$$", "Failed", "Error", 139, 11},
    };
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *name = x_printf("pod-%zu", i);
        AUTO(text_freep) char *key = x_printf("Pod %s", name);
        fixture_apply(&fixture, fixture_pod(name, rows[i].script));
        CHECK(fixture_wait(&fixture, key, "status.phase", rows[i].phase));
        const json_t *pod = fixture_seen(&fixture, key);
        CHECK_INT(tree_integer(pod, STATE ".exitCode", -1), rows[i].exit_code);
        CHECK_INT(tree_integer(pod, STATE ".signal", 0), rows[i].signal);
        CHECK_STR(tree_text(pod, STATE ".reason", NULL), rows[i].reason);
        CHECK_INT(strlen(tree_text(pod, STATE ".finishedAt", "")), 20);
    }
    CHECK_INT(local_pod_count(fixture.cluster), 0);
    fixture_close(&fixture);
}

static void what_cannot_start_says_why(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    json_t *pod = fixture_pod("lost", "");
    json_array_set_new(tree_get(pod, "spec.containers[0].command"), 0, json_string("/no/such"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod lost", "status.phase", "Failed"));
    const json_t *lost = fixture_seen(&fixture, "Pod lost");
    CHECK_STR(tree_text(lost, STATE ".reason", NULL), "StartError");
    CHECK_STR(tree_text(lost, STATE ".message", NULL),
              "cannot start /no/such: No such file or directory");
    pod = fixture_pod("secretless", "");
    json_array_append_new(tree_get(pod, "spec.containers[0].env"),
                          json_pack("{s:s, s:{s:{s:s, s:s}}}", "name", "TOKEN", "valueFrom",
                                    "secretKeyRef", "name", "keys", "key", "token"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod secretless", "status.phase", "Failed"));
    CHECK_STR(tree_text(fixture_seen(&fixture, "Pod secretless"), STATE ".message", NULL),
              "variable TOKEN: no key token in a Secret keys");
    fixture_close(&fixture);
}

/* The environment of a pod: variables as in Kubernetes, volumes as folders of this machine. */
static void environment_of_a_pod(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    AUTO(text_freep) char *folder = file_join(fixture.manifest_folder, "media");
    CHECK_OK(file_make_folders(folder, &err), &err);
    fixture_apply(&fixture,
                  json_pack("{s:s, s:s, s:{s:s}, s:{s:s}}", "apiVersion", "v1", "kind", "Secret",
                            "metadata", "name", "keys", "stringData", "token", "s3cret $(media)"));
    setenv("WINDLASS_TEST_LEAK", "leaked", 1);
    json_t *pod = fixture_pod(
        "env", "printf '%s\\n' \"$media\" \"$CLIP\" \"$TOKEN\" \"$BIND\" \"$LATER\" \"$TWICE\" "
               "\"$WINDLASS_THREADS\" \"[$WINDLASS_TEST_LEAK]\"; pwd; ls /proc/self/fd | wc -l");
    json_t *container = tree_get(pod, "spec.containers[0]");
    json_object_set_new(container, "volumeMounts",
                        json_pack("[{s:s, s:s}]", "name", "media", "mountPath", "/mnt/media"));
    json_array_append_new(
        tree_get(pod, "spec.volumes"),
        json_pack("{s:s, s:{s:s}}", "name", "media", "hostPath", "path", "/no/such/folder"));
    json_object_set_new(
        container, "env",
        json_pack("[{s:s,s:s}, {s:s,s:s}, {s:s,s:{s:{s:s,s:s}}}, {s:s,s:{s:{s:s}}}, {s:s,s:s},"
                  " {s:s,s:s}, {s:s,s:s}, {s:s,s:s}]",
                  "name", "media", "value", "/mnt/media", "name", "CLIP", "value",
                  "$(media)/clip.mp4", "name", "TOKEN", "valueFrom", "secretKeyRef", "name", "keys",
                  "key", "token", "name", "IP", "valueFrom", "fieldRef", "fieldPath",
                  "status.podIP", "name", "BIND", "value", "$(IP):8443 $$(IP) $x $", "name",
                  "LATER", "value", "$(TWICE) $(open", "name", "TWICE", "value", "one", "name",
                  "TWICE", "value", "$(TWICE)two"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod env", "status.phase", "Succeeded"));
    AUTO(text_freep) char *log = fixture_log(&fixture, "env");
    AUTO(text_freep)
    char *wanted = x_printf("%s\n%s/clip.mp4\ns3cret $(media)\n127.0.0.1:8443 $(IP) $x $\n"
                            "$(TWICE) $(open\nonetwo\n3\n[]\n%s/pods/env/work\n4\n",
                            folder, folder, fixture.state_folder);
    CHECK_STR(log, wanted);
    fixture_close(&fixture);
}

static void agent_is_found_and_words_are_expanded(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    json_t *pod = fixture_pod("agent", "");
    json_t *container = tree_get(pod, "spec.containers[0]");
    json_object_del(container, "command");
    json_object_set_new(container, "args", json_pack("[s, s]", "score", "$(WHO)"));
    json_object_set_new(container, "env", json_pack("[{s:s, s:s}]", "name", "WHO", "value", "me"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod agent", "status.phase", "Succeeded"));
    AUTO(text_freep) char *log = fixture_log(&fixture, "agent");
    CHECK_STR(log, "agent score me\n");
    fixture_close(&fixture);
}

static void last_words(void) {
    static const struct {
        const char *script, *message;
        size_t size;
    } rows[] = {
        {"printf 'no such video' >$WINDLASS_TERMINATION_LOG", "no such video", 13},
        {"yes x | tr -d '\\n' | head -c 9000 >$WINDLASS_TERMINATION_LOG", NULL, 4096},
        {"printf 'a\\377\\000b' >$WINDLASS_TERMINATION_LOG", "a? b", 4},
        {"true", "", 0},
    };
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *name = x_printf("pod-%zu", i);
        AUTO(text_freep) char *key = x_printf("Pod %s", name);
        fixture_apply(&fixture, fixture_pod(name, rows[i].script));
        CHECK(fixture_wait(&fixture, key, "status.phase", "Succeeded"));
        const char *message = tree_text(fixture_seen(&fixture, key), STATE ".message", "");
        CHECK_INT(strlen(message), rows[i].size);
        if (rows[i].message) {
            CHECK_STR(message, rows[i].message);
        }
    }
    json_t *pod = fixture_pod("fallback", "echo cause >&2; exit 1");
    json_object_set_new(tree_get(pod, "spec.containers[0]"), "terminationMessagePolicy",
                        json_string("FallbackToLogsOnError"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod fallback", "status.phase", "Failed"));
    CHECK_STR(tree_text(fixture_seen(&fixture, "Pod fallback"), STATE ".message", ""), "cause\n");
    fixture_close(&fixture);
}

static pid_t read_pid(const struct fixture *fixture, const char *name) {
    AUTO(text_freep) char *path = x_printf("%s/pods/%s/work/pid", fixture->state_folder, name);
    for (int64_t end_ms = clock_monotonic_ms() + 60000; clock_monotonic_ms() < end_ms;) {
        struct error err = {0};
        AUTO(text_freep) char *text = NULL;
        size_t size;
        if (file_read(path, 100, &text, &size, &err) == 0 && size && text[size - 1] == '\n') {
            return (pid_t)strtol(text, NULL, 10);
        }
        poll(NULL, 0, 10);
    }
    return 0;
}

/* A zombie without a waiting parent counts as gone, too. */
static bool is_gone(pid_t pid) {
    AUTO(text_freep) char *path = x_printf("/proc/%d/status", (int)pid);
    for (int64_t end_ms = clock_monotonic_ms() + 60000; clock_monotonic_ms() < end_ms;) {
        struct error err = {0};
        AUTO(text_freep) char *text = NULL;
        size_t size;
        if (file_read(path, 1 << 16, &text, &size, &err) < 0 || strstr(text, "State:\tZ")) {
            return pid > 0;
        }
        poll(NULL, 0, 10);
    }
    return false;
}

static json_t *with_grace(json_t *pod) {
    json_object_set_new(json_object_get(pod, "spec"), "terminationGracePeriodSeconds",
                        json_integer(GRACE_S));
    return pod;
}

static void deletion_takes_stubborn_pods_and_their_children(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    fixture_apply(&fixture, with_grace(fixture_pod("stubborn", "trap '' TERM; sleep 100 & echo $! "
                                                               ">pid; wait; while :; do sleep 1; "
                                                               "done")));
    fixture_apply(&fixture,
                  with_grace(fixture_pod("polite", "trap 'echo bye; exit 7' TERM; echo $$$$ >pid; "
                                                   "while :; do sleep 0.1; done")));
    CHECK(fixture_wait(&fixture, "Pod stubborn", "status.phase", "Running"));
    CHECK(fixture_wait(&fixture, "Pod polite", "status.phase", "Running"));
    pid_t child = read_pid(&fixture, "stubborn"), polite = read_pid(&fixture, "polite");
    CHECK(child > 0 && polite > 0);
    int64_t start_ms = clock_monotonic_ms();
    CHECK_OK(
        fixture_write(&fixture, CLUSTER_DELETE, fixture_seen(&fixture, "Pod polite"), NULL, &err),
        &err);
    CHECK_OK(
        fixture_write(&fixture, CLUSTER_DELETE, fixture_seen(&fixture, "Pod stubborn"), NULL, &err),
        &err);
    CHECK(fixture_wait(&fixture, "Pod polite", "", NULL));
    const json_t *stubborn = fixture_seen(&fixture, "Pod stubborn");
    CHECK(tree_text(stubborn, "metadata.deletionTimestamp", NULL));
    CHECK(fixture_wait(&fixture, "Pod stubborn", "", NULL));
    int64_t took_ms = clock_monotonic_ms() - start_ms;
    CHECK(took_ms >= 1000LL * GRACE_S - 100 && took_ms < 60000);
    CHECK(is_gone(child));
    AUTO(text_freep) char *log = fixture_log(&fixture, "polite");
    CHECK(text_ends(log, "bye\n"));
    fixture_close(&fixture);
}

/* kill -9 of the program that runs the pods, the worst way to end. */
static void no_pod_survives_us(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    fixture.cluster->ops->free(TAKE(fixture.cluster));
    pid_t parent = fork();
    if (parent == 0) {
        struct fixture inner = fixture;
        struct local_options options = {.places = {.manifest_folder = fixture.manifest_folder,
                                                   .state_folder = fixture.state_folder},
                                        .threads = 1,
                                        .program_folder = fixture.program_folder};
        CHECK_OK(local_open(&options, &inner.cluster, &err), &err);
        CHECK_OK(inner.cluster->ops->watch(inner.cluster, "v1", "Pod", NULL, false, &err), &err);
        fixture_apply(&inner, fixture_pod("orphan", "trap '' TERM HUP; echo $$$$ >pid; exec sleep "
                                                    "100"));
        fixture_wait(&inner, "Pod never", "status.phase", "Succeeded");
        _exit(0);
    }
    pid_t pid = read_pid(&fixture, "orphan");
    CHECK(pid > 0);
    CHECK_INT(kill(pid, 0), 0);
    kill(parent, SIGKILL);
    waitpid(parent, NULL, 0);
    CHECK(is_gone(pid));
    fixture_close(&fixture);
}

static void freeing_the_cluster_kills(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    fixture_apply(&fixture, fixture_pod("left", "trap '' TERM; echo $$$$ >pid; exec sleep 100"));
    CHECK(fixture_wait(&fixture, "Pod left", "status.phase", "Running"));
    pid_t pid = read_pid(&fixture, "left");
    fixture.cluster->ops->free(TAKE(fixture.cluster));
    CHECK(pid > 0 && kill(pid, 0) < 0);
    fixture_close(&fixture);
}

static void memory_limit_holds(void) {
    struct fixture fixture;
    struct error err = {0};
    fixture_open(&fixture, &err);
    static const struct {
        const char *limit, *phase;
    } rows[] = {{"256Mi", "Succeeded"}, {"30M", "Failed"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *name = x_printf("pod-%zu", i);
        AUTO(text_freep) char *key = x_printf("Pod %s", name);
        json_t *pod = fixture_pod(name, "head -c 60000000 /dev/zero | tail -c 50000000 >/dev/null");
        json_object_set_new(tree_get(pod, "spec.containers[0]"), "resources",
                            json_pack("{s:{s:s}}", "limits", "memory", rows[i].limit));
        fixture_apply(&fixture, pod);
        CHECK(fixture_wait(&fixture, key, "status.phase", rows[i].phase));
    }
    json_t *pod = fixture_pod("wrong", "true");
    json_object_set_new(tree_get(pod, "spec.containers[0]"), "resources",
                        json_pack("{s:{s:s}}", "limits", "memory", "much"));
    fixture_apply(&fixture, pod);
    CHECK(fixture_wait(&fixture, "Pod wrong", "status.phase", "Failed"));
    fixture_close(&fixture);
}

int main(void) {
    TEST(exit_codes_and_signals);
    TEST(what_cannot_start_says_why);
    TEST(environment_of_a_pod);
    TEST(agent_is_found_and_words_are_expanded);
    TEST(last_words);
    TEST(deletion_takes_stubborn_pods_and_their_children);
    TEST(no_pod_survives_us);
    TEST(freeing_the_cluster_kills);
    TEST(memory_limit_holds);
    return TEST_END();
}
