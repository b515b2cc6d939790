// SPDX-License-Identifier: Apache-2.0
/* `windlass status -w NAME` of a job with trials, against an API server whose list of trials fails:
 * what may be over at the next request does not end it. And against servers that know one version
 * of the kinds, or both: the older one is asked only where the newer one is not served. What a
 * status says reaches a terminal as text alone. */
#include "operator/commands/status/status.h"

#include "tests/kube/script_server.h"
#include "tests/test.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ENOUGH_MS = 60000 };

#define REFUSAL(reason) "{\"kind\":\"Status\",\"reason\":\"" reason "\",\"message\":\"as asked\"}"

/* Only the object is missing: the server knows its kind and version. */
#define MISSING                                                                                    \
    "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"disttrains \\\"s\\\" not found\"," \
    "\"details\":{\"name\":\"s\",\"group\":\"windlass.dev\",\"kind\":\"disttrains\"},\"code\":"    \
    "404}"

static struct {
    int list_status;      /* of the first list of trials */
    const char *unserved; /* its answer where it has no v1beta1; NULL: it has */
    int gets, lists, olds;
    const char *more; /* members of the status; NULL: none */
    FILE *said;       /* its standard output; NULL: ours */
} api;

static void answer_job(const struct script_request *request) {
    bool is_ended = api.gets++ > 0; /* by the second look */
    AUTO(text_freep)
    char *text = x_printf(
        "{\"apiVersion\":\"windlass.dev/v1beta1\",\"kind\":\"Sweep\","
        "\"metadata\":{\"name\":\"s\",\"namespace\":\"lab\",\"uid\":\"u1\"},"
        "\"spec\":{\"objective\":{\"metric\":\"accuracy\","
        "\"goal\":\"Maximize\"},\"parameters\":[{\"name\":\"RATE\","
        "\"choice\":[1,2]}],\"algorithm\":{\"kind\":\"Random\"},"
        "\"maxTrials\":2,\"trial\":{}},\"status\":{%s\"conditions\":[{\"type\":\"Succeeded\","
        "\"status\":\"%s\",\"reason\":\"%s\"%s}]}}",
        api.more ? api.more : "", is_ended ? "True" : "Unknown", is_ended ? "Completed" : "Running",
        api.more ? ",\"message\":\"\\u001b]0;x\\u0007 all \\u202ellew\"" : "");
    script_reply(request->connection, 200, "", text);
}

static void answer(void *context UNUSED, const struct script_request *request) {
    api.olds += strstr(request->path, "/v1alpha1/") != NULL;
    if (api.unserved && strstr(request->path, "/v1beta1/")) {
        script_reply(request->connection, 404, "", api.unserved);
    } else if (strstr(request->path, "/sweeps/")) {
        answer_job(request);
    } else if (strstr(request->path, "/disttrains") && !strstr(request->path, "/disttrains/")) {
        bool is_refused = api.lists++ == 0;
        script_reply(request->connection, is_refused ? api.list_status : 200, "",
                     is_refused ? REFUSAL("InternalError") : "{\"items\":[]}");
    } else if (strstr(request->path, "/pods")) {
        script_reply(request->connection, 200, "", "{\"items\":[]}");
    } else {
        script_reply(request->connection, 404, "", MISSING);
    }
}

static char kubeconfig[] = "/tmp/test_status.XXXXXX";

static void write_kubeconfig(int port) {
    AUTO(text_freep)
    char *text = x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}]\n"
                          "users: [{name: c, user: {}}]\n"
                          "contexts: [{name: c, context: {cluster: c, user: c, namespace: lab}}]\n",
                          port);
    int fd = mkstemp(kubeconfig);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
}

/* In a process of its own, for at most ENOUGH_MS. Returns the exit code. */
static int follow(struct script_server *server) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        if (api.said && dup2(fileno(api.said), STDOUT_FILENO) < 0) {
            _exit(99);
        }
        char name[] = "status", watch[] = "-w", job[] = "s", option[] = "--kubeconfig";
        char *words[] = {name, watch, job, option, kubeconfig, NULL};
        int code = status_command((int)ARRAY_LEN(words) - 1, words);
        fflush(stdout);
        _exit(code);
    }
    CHECK(pid > 0);
    int status = 0, ended = 0;
    for (int i = 0; i < ENOUGH_MS && !(ended = waitpid(pid, &status, WNOHANG)); i++) {
        if (!script_server_poll(server)) {
            poll(NULL, 0, 1);
        }
    }
    if (!ended) {
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
    }
    return ended && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Against the server as `api` says. Returns the exit code. */
static int run(void) {
    snprintf(kubeconfig, sizeof kubeconfig, "/tmp/test_status.XXXXXX");
    struct script_server *server = script_server_new(answer, NULL);
    write_kubeconfig(script_server_port(server));
    int code = follow(server);
    script_server_free(server);
    unlink(kubeconfig);
    return code;
}

static void test_a_failed_list_does_not_end_it(void) {
    static const int statuses[] = {200, 403, 429, 500, 503};
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        memset(&api, 0, sizeof api);
        api.list_status = statuses[i];
        int code = run();
        if (code != 0 || api.gets < 2 || api.lists < 2) {
            printf("# %d: exit code %d, %d looks, %d lists\n", statuses[i], code, api.gets,
                   api.lists);
            CHECK(false);
        }
    }
}

/* The name is that of a Sweep: the kinds before it lack it. */
static void test_the_older_version(void) {
    static const char *const unserved[] = {
        NULL, "404 page not found\n", REFUSAL("NotFound"),
        "{\"kind\":\"Status\",\"reason\":\"NotFound\",\"message\":\"the server could not find the "
        "requested resource\",\"details\":{},\"code\":404}"};
    for (size_t i = 0; i < ARRAY_LEN(unserved); i++) {
        memset(&api, 0, sizeof api);
        api.list_status = 200;
        api.unserved = unserved[i];
        CHECK_INT(run(), 0);
        CHECK(api.gets >= 2);
        CHECK((api.olds > 0) == (unserved[i] != NULL));
    }
}

/* Users who may write a status, and a pod that answers as the hub, say what is printed here. */
static void test_a_terminal_obeys_no_status(void) {
    char text[4000];
    memset(&api, 0, sizeof api);
    api.list_status = 200;
    api.more = "\"outputs\":[\"data/\\u009b2Jx\"],\"summary\":\"\\u001b[2J\\ny\",";
    api.said = tmpfile();
    CHECK(api.said != NULL);
    CHECK_INT(run(), 0);
    rewind(api.said);
    text[fread(text, 1, sizeof text - 1, api.said)] = 0;
    fclose(api.said);
    CHECK(strstr(text, "\n  \\x1B]0;x\\x07 all \\u202Ellew\n") != NULL);
    CHECK(strstr(text, "\n  output   data/\\x9B2Jx\n") != NULL);
    CHECK(strstr(text, "\n  summary  \\x1B[2J y\n") != NULL);
    CHECK(!strchr(text, '\x1B') && !strstr(text, "\xe2\x80\xae") && !strstr(text, "\xc2\x9b"));
}

int main(void) {
    TEST(test_a_terminal_obeys_no_status);
    TEST(test_a_failed_list_does_not_end_it);
    TEST(test_the_older_version);
    return TEST_END();
}
