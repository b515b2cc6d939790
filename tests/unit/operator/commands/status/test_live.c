// SPDX-License-Identifier: Apache-2.0
/* Live figures: what hubs answer through the API server's proxy of Services enters the status, and
 * every other answer, or none, leaves it as it was, with a word of why and within the bound. */
#include "operator/commands/status/live.h"

#include "lib/time/clock.h"
#include "tests/kube/script_server.h"
#include "tests/test.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    PATH_MAX_BYTES = 256,
    ENOUGH_MS = 60000,
    IN_TIME_MS = 3 * LIVE_WAIT_MS, /* the best of three tries, on a machine that may be busy */
};

/* ---- an API server, in a thread of its own ---- */

static struct {
    struct script_server *server;
    pthread_t thread;
    atomic_bool ends;
    pthread_mutex_t lock;
    int lists, proxies; /* requests */
    char path[PATH_MAX_BYTES], query[PATH_MAX_BYTES];
    bool has_token, has_no_token; /* of the last requests to proxies */
    int status;                   /* of the proxy's answer; 0: none at all */
    const char *answer;           /* its body */
    int list_status;
    const char *services;
} api = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define SERVICE(name, uid, port) SERVICE_WITH(name, uid, port, "s", "c", "")
#define SERVICE_WITH(name, uid, port, secret, sha256, more)                                        \
    "{\"metadata\":{\"name\":\"" name "\",\"annotations\":{\"windlass.dev/secret\":\"" secret      \
    "\",\"windlass.dev/certificate-sha256\":\"" sha256 "\"" more "},"                              \
    "\"ownerReferences\":[{\"kind\":\"ConfigMap\","                                                \
    "\"uid\":\"u9\"},{\"controller\":true,\"uid\":\"" uid                                          \
    "\"}]},\"spec\":{\"ports\":[{\"port\":" #port "}]}}"
/* The job is one of its owners, but does not control it. */
#define NOT_CONTROLLED                                                                             \
    "{\"metadata\":{\"name\":\"x\",\"ownerReferences\":[{\"uid\":\"u1\"},{\"controller\":true,"    \
    "\"uid\":\"u8\"}]},\"spec\":{\"ports\":[{\"port\":1}]}}"
#define SERVICES(items) "{\"kind\":\"ServiceList\",\"items\":[" items "]}"
/* The last two are not the job's, whatever they say: they name another Secret, or another
 * certificate, than its status. */
#define READ_TOKEN ",\"windlass.dev/read-token\":\"00ff\""
#define ALL                                                                                        \
    SERVICES(SERVICE("a-coordinator", "u-of-another", 1) "," SERVICE(                              \
        "a-coordinator-b", "u1",                                                                   \
        8443) "," SERVICE_WITH("t", "u2", 8444, "s", "c",                                          \
                               READ_TOKEN) "," NOT_CONTROLLED                                      \
                                           "," SERVICE_WITH("zz", "u1", 2, "theirs", "c",          \
                                                            "") "," SERVICE_WITH("zzz", "u1", 3,   \
                                                                                 "s", "theirs",    \
                                                                                 ""))

static void answer(void *context UNUSED, const struct script_request *request) {
    pthread_mutex_lock(&api.lock);
    if (strstr(request->path, "/proxy/")) {
        api.proxies++;
        snprintf(api.path, sizeof api.path, "%s", request->path);
        bool has_token = strcasestr(request->headers, "\r\nWindlass-Read-Token: 00ff\r\n");
        api.has_token |= has_token;
        api.has_no_token |= !strcasestr(request->headers, "Read-Token");
        if (api.status) {
            script_reply(request->connection, api.status, "", api.answer);
        }
    } else {
        api.lists++;
        snprintf(api.query, sizeof api.query, "%s", request->query);
        script_reply(request->connection, api.list_status, "", api.services);
    }
    pthread_mutex_unlock(&api.lock);
}

static void *serve(void *context UNUSED) {
    while (!api.ends) {
        if (!script_server_poll(api.server)) {
            poll(NULL, 0, 1);
        }
    }
    return NULL;
}

static struct remote remote;
static char kubeconfig[] = "/tmp/test_live.XXXXXX";

static void open_all(void) {
    struct error err = {0};
    api.server = script_server_new(answer, NULL);
    CHECK(pthread_create(&api.thread, NULL, serve, NULL) == 0);
    AUTO(text_freep)
    char *text = x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                          "clusters: [{name: c, cluster: {server: \"http://127.0.0.1:%d\"}}]\n"
                          "users: [{name: c, user: {}}]\n"
                          "contexts: [{name: c, context: {cluster: c, user: c, namespace: lab}}]\n",
                          script_server_port(api.server));
    int fd = mkstemp(kubeconfig);
    CHECK(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    const struct remote_options options = {.kubeconfig = kubeconfig};
    CHECK(remote_open(&options, &remote, &err) == 0);
}

static void close_all(void) {
    api.ends = true;
    pthread_join(api.thread, NULL);
    remote_release(&remote);
    script_server_free(api.server);
    unlink(kubeconfig);
}

static int slow_count; /* since says */

static void says(int status, const char *body) {
    pthread_mutex_lock(&api.lock);
    api.lists = api.proxies = 0;
    slow_count = 0;
    api.status = status;
    api.answer = body;
    api.list_status = 200;
    api.services = ALL;
    pthread_mutex_unlock(&api.lock);
}

static void lists_services(int status, const char *body) {
    pthread_mutex_lock(&api.lock);
    api.list_status = status;
    api.services = body;
    pthread_mutex_unlock(&api.lock);
}

static int count_of(const int *requests) {
    pthread_mutex_lock(&api.lock);
    int count = *requests;
    pthread_mutex_unlock(&api.lock);
    return count;
}

static void said(const char *last, char ret_text[static PATH_MAX_BYTES]) {
    pthread_mutex_lock(&api.lock);
    snprintf(ret_text, PATH_MAX_BYTES, "%s", last);
    pthread_mutex_unlock(&api.lock);
}

/* live_update with a server that answers. A busy machine may make it slower than the bound: then
 * once more, and slow_count says that there were more requests. */
static size_t update(struct live *live, json_t *jobs, char ret_why[static LIVE_WHY_MAX]) {
    int64_t end_ms = clock_monotonic_ms() + ENOUGH_MS;
    size_t count = live_update(live, jobs, ret_why);
    while (strstr(ret_why, "no answer within") && clock_monotonic_ms() < end_ms) {
        slow_count++;
        count = live_update(live, jobs, ret_why);
    }
    return count;
}

static bool is_count(const int *requests, int expected) {
    int count = count_of(requests);
    return slow_count > 0 && expected > 0 ? count >= expected : count == expected;
}

/* ---- jobs ---- */

static json_t *job(const char *kind, const char *name, const char *uid, const char *state,
                   const char *waiting) {
    return json_pack("{s:s, s:s, s:{s:s, s:s, s:s}, s:{}, s:{s:{s:s, s:s}, s:[{s:s, s:s, s:s}, "
                     "{s:s, s:s, s:s}], s:{s:i, s:i}}}",
                     "apiVersion", "windlass.dev/v1beta1", "kind", kind, "metadata", "name", name,
                     "namespace", "lab", "uid", uid, "spec", "status", "credentials", "secret", "s",
                     "certificateSHA256", "c", "conditions", "type", "Succeeded", "status",
                     "Unknown", "reason", state, "type", "Waiting", "status", waiting, "reason",
                     "QuotaExceeded", "items", "total", 280, "done", 16);
}

#define PROGRESS                                                                                   \
    "{\"items\":{\"total\":280,\"done\":24,\"failed\":1},\"workers\":2,"                           \
    "\"itemsPerSecond\":\"12.5\",\"secondsLeft\":20,\"step\":7,\"loss\":\"0.5\"}"

static void test_answers_are_shown(void) {
    char why[LIVE_WHY_MAX];
    AUTO(live_freep) struct live *live = live_new(&remote);
    AUTO(tree_freep)
    json_t *jobs = json_pack("[o, o]", job("BatchScore", "a", "u1", "Running", "False"),
                             job("DistTrain", "t", "u2", "Running", "False"));
    says(200, PROGRESS);
    CHECK_INT(update(live, jobs, why), 2);
    CHECK_STR(why, "");
    CHECK_INT(tree_integer(jobs, "[0].status.items.done", 0), 24);
    CHECK_STR(tree_text(jobs, "[0].status.itemsPerSecond", ""), "12.5");
    CHECK_STR(tree_text(jobs, "[0].status.progress", ""), "24/280");
    CHECK_INT(tree_integer(jobs, "[1].status.step", 0), 7);
    CHECK_STR(tree_text(jobs, "[1].status.loss", ""), "0.5");
    char seen[PATH_MAX_BYTES];
    said(api.query, seen);
    CHECK_STR(seen, "labelSelector=windlass.dev%2Fjob%20in%20%28a%2Ct%29");
    CHECK_INT(update(live, jobs, why), 2);
    CHECK(is_count(&api.lists, 1)); /* their Services are known */
    CHECK(is_count(&api.proxies, 4));
    /* Of two jobs, one began under a controller that made no read token. */
    CHECK(api.has_token && api.has_no_token);

    /* The Service that has the job as its controller, and its own port. */
    json_array_remove(jobs, 1);
    says(200, PROGRESS);
    CHECK_INT(update(live, jobs, why), 1);
    said(api.path, seen);
    CHECK_STR(seen, "/api/v1/namespaces/lab/services/https:a-coordinator-b:8443/proxy/progress");
}

static void test_who_is_asked(void) {
    static const struct {
        const char *state, *waiting;
        bool is_asked;
    } rows[] = {{"Running", "False", true},  {"Listing", "False", true},
                {"Pending", "False", false}, {"Suspended", "False", false},
                {"Running", "True", false},  /* it starts again, and nothing answers */};
    says(200, PROGRESS);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char why[LIVE_WHY_MAX];
        AUTO(live_freep) struct live *live = live_new(&remote);
        AUTO(tree_freep)
        json_t *jobs =
            json_pack("[o]", job("BatchScore", "a", "u1", rows[i].state, rows[i].waiting));
        CHECK_INT(update(live, jobs, why), rows[i].is_asked);
        CHECK_STR(why, "");
        json_t *status = json_object_get(json_array_get(jobs, 0), "status");
        json_t *ended = json_pack("{s:s, s:s}", "type", "Succeeded", "status", "True");
        json_array_set_new(json_object_get(status, "conditions"), 0, ended);
        CHECK_INT(update(live, jobs, why), 0);
    }
    char why[LIVE_WHY_MAX];
    AUTO(live_freep) struct live *live = live_new(&remote);
    AUTO(tree_freep) json_t *sweeps = json_pack("[o]", job("Sweep", "a", "u1", "Running", "False"));
    CHECK_INT(live_update(live, sweeps, why), 0); /* it has no hub */
}

static char *large(void) {
    char *text = x_malloc(LIVE_ANSWER_MAX + 2);
    memset(text, ' ', LIVE_ANSWER_MAX);
    memcpy(text + LIVE_ANSWER_MAX, "1", 2);
    return text;
}

static void test_failures_leave_the_status(void) {
    AUTO(text_freep) char *too_large = large();
    const struct {
        const char *what;
        int status;
        const char *body, *why;
    } rows[] = {
        {"no right", 403,
         "{\"kind\":\"Status\",\"message\":\"services \\\"https:a:8443\\\" is forbidden\"}",
         "get services/proxy"},
        {"no pod", 503,
         "{\"kind\":\"Status\",\"message\":\"no endpoints available for service \\\"a\\\"\"}",
         "no endpoints"},
        {"gone", 404, "{\"kind\":\"Status\",\"message\":\"services \\\"a\\\" not found\"}",
         "not found"},
        {"no JSON", 200, "<html>", "not a JSON object"},
        {"no object", 200, "[1]", "not a JSON object"},
        {"nothing", 200, "", "not a JSON object"},
        {"too large", 200, too_large, "larger than"},
        {"slow", 0, NULL, "no answer within 2 s"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char why[LIVE_WHY_MAX];
        AUTO(live_freep) struct live *live = live_new(&remote);
        AUTO(tree_freep)
        json_t *jobs = json_pack("[o]", job("BatchScore", "a", "u1", "Running", "False"));
        AUTO(tree_freep) json_t *before = json_deep_copy(jobs);
        says(rows[i].status, rows[i].body);
        int64_t took_ms = 0;
        for (int tries = 0; tries == 0 || (tries < 3 && took_ms > IN_TIME_MS); tries++) {
            int64_t start_ms = clock_monotonic_ms();
            CHECK_INT((rows[i].status ? update : live_update)(live, jobs, why), 0);
            took_ms = clock_monotonic_ms() - start_ms;
        }
        CHECK(json_equal(jobs, before));
        if (!strstr(why, rows[i].why) || took_ms > IN_TIME_MS) {
            printf("# %s: \"%s\" in %lld ms\n", rows[i].what, why, (long long)took_ms);
            CHECK(false);
        }
        bool is_denied = rows[i].status == 403;
        says(200, PROGRESS);
        CHECK_INT(update(live, jobs, why), !is_denied);
        int asked = count_of(&api.proxies); /* a missing right is not asked for each second */
        CHECK(is_denied ? asked == 0 : asked >= 1);
        CHECK((*why != 0) == is_denied);
    }
}

static void test_no_service(void) {
    char why[LIVE_WHY_MAX];
    AUTO(live_freep) struct live *live = live_new(&remote);
    AUTO(tree_freep)
    json_t *jobs = json_pack("[o]", job("BatchScore", "a", "u1", "Running", "False"));
    says(200, PROGRESS);
    lists_services(200, SERVICES(""));
    CHECK_INT(update(live, jobs, why), 0);
    CHECK_STR(why, "its Service is not there");
    lists_services(200, SERVICES("{\"metadata\":1},2"));
    CHECK_INT(update(live, jobs, why), 0);
    lists_services(403, "{\"kind\":\"Status\",\"message\":\"services is forbidden\"}");
    CHECK_INT(update(live, jobs, why), 0);
    CHECK(strstr(why, "services is forbidden") != NULL);
    CHECK(is_count(&api.proxies, 0));
}

/* Of many trials some are asked, all at the same time. */
static void test_many(void) {
    char why[LIVE_WHY_MAX];
    AUTO(live_freep) struct live *live = live_new(&remote);
    AUTO(tree_freep) json_t *jobs = json_array();
    for (int i = 0; i < 2 * LIVE_JOBS_MAX; i++) {
        json_array_append_new(jobs, job("DistTrain", "t", "u2", "Running", "False"));
    }
    says(200, PROGRESS);
    CHECK_INT(update(live, jobs, why), LIVE_JOBS_MAX);
    CHECK(is_count(&api.proxies, LIVE_JOBS_MAX));
    says(0, NULL);
    int64_t start_ms = clock_monotonic_ms();
    CHECK_INT(live_update(live, jobs, why), 0);
    CHECK(clock_monotonic_ms() - start_ms < ENOUGH_MS);
}

int main(void) {
    open_all();
    TEST(test_answers_are_shown);
    TEST(test_who_is_asked);
    TEST(test_failures_leave_the_status);
    TEST(test_no_service);
    TEST(test_many);
    close_all();
    return TEST_END();
}
