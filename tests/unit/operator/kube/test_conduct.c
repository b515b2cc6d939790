// SPDX-License-Identifier: Apache-2.0
/* How the client behaves towards an API server that is busy, broken or old: the rows of
 * docs/client.md, beside what client-go does. */
#include "operator/kube/watch.h"
#include "tests/kube/script_world.h"

#define OBJECT "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}"

static int64_t gap_ms(size_t index) {
    return world.seen[index].ms - world.seen[index - 1].ms;
}

static bool has_query(const struct script_request *request, const char *part) {
    return strstr(request->query, part) != NULL;
}

/* ---- writes ---- */

static struct {
    int status, times; /* answers before it succeeds; times < 0: always */
    const char *extra;
    bool cuts; /* instead of an answer */
    const char *says;
} writes;

static void answer_writes(void *context, const struct script_request *request) {
    (void)context;
    bool succeeds = writes.times >= 0 && (int)world.count > writes.times;
    if (!succeeds && writes.cuts) {
        script_cut(request->connection);
    } else if (!succeeds) {
        AUTO(text_freep)
        char *body = x_printf("{\"kind\":\"Status\",\"message\":\"%s\"}",
                              writes.says ? writes.says : "as asked");
        script_reply(request->connection, writes.status, writes.extra,
                     writes.status < 300 ? OBJECT : body);
    } else if (writes.cuts) { /* it was done, and its answer lost */
        script_reply(request->connection, 409, "",
                     "{\"kind\":\"Status\",\"reason\":\"AlreadyExists\"}");
    } else {
        script_reply(request->connection, 201, "", OBJECT);
    }
}

static void test_which_writes_are_tried_again(void) {
    static const struct {
        const char *what;
        int status, times;
        const char *extra;
        bool cuts;
        enum cluster_verb verb;
        int requests;
        enum error_kind kind;
        const char *says;
    } rows[] = {
        {"429", 429, 4, "", false, CLUSTER_CREATE, 5, ERROR_NONE, NULL},
        {"429 for ever", 429, -1, "", false, CLUSTER_CREATE, KUBE_WRITE_TRIES_MAX, ERROR_BUSY,
         NULL},
        {"429, Retry-After", 429, 1, "Retry-After: 7\r\n", false, CLUSTER_CREATE, 2, ERROR_NONE,
         NULL},
        {"503", 503, 3, "", false, CLUSTER_CREATE, 4, ERROR_NONE, NULL},
        {"500", 500, -1, "", false, CLUSTER_CREATE, KUBE_REFUSED_TRIES_MAX, ERROR_UNAVAILABLE,
         NULL},
        {"a webhook", 500, -1, "", false, CLUSTER_CREATE, KUBE_REFUSED_TRIES_MAX, ERROR_UNAVAILABLE,
         "Internal error occurred: failed calling webhook w"},
        {"a full etcd", 500, -1, "", false, CLUSTER_STATUS, KUBE_REFUSED_TRIES_MAX,
         ERROR_UNAVAILABLE, "etcdserver: mvcc: database space exceeded"},
        {"500, Retry-After", 500, 3, "Retry-After: 1\r\n", false, CLUSTER_CREATE, 4, ERROR_NONE,
         NULL},
        {"504 for ever", 504, -1, "", false, CLUSTER_CREATE, KUBE_WRITE_TRIES_MAX, ERROR_TIMEOUT,
         NULL},
        {"the connection is lost in the middle", 0, 1, "", true, CLUSTER_CREATE, 2, ERROR_CONFLICT,
         NULL},
        {"409 of a stale resourceVersion", 409, -1, "", false, CLUSTER_STATUS, 1, ERROR_CONFLICT,
         NULL},
        {"403", 403, -1, "", false, CLUSTER_CREATE, 1, ERROR_DENIED, NULL},
        {"422", 422, -1, "", false, CLUSTER_CREATE, 1, ERROR_INVALID, NULL},
        {"413", 413, -1, "", false, CLUSTER_CREATE, 1, ERROR_INVALID, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct world_write write;
        world_open(answer_writes, "token: t");
        writes.status = rows[i].status;
        writes.times = rows[i].times;
        writes.extra = rows[i].extra;
        writes.cuts = rows[i].cuts;
        writes.says = rows[i].says;
        world_begin(rows[i].verb, "x", &write);
        world_run(200000);
        if (!write.ended || (int)world.count != rows[i].requests ||
            write.err.kind != rows[i].kind) {
            printf("# %s: %zu requests, %s\n", rows[i].what, world.count, write.err.text);
        }
        CHECK(write.ended);
        CHECK_INT(world.count, rows[i].requests);
        CHECK_INT(write.err.kind, rows[i].kind);
        for (size_t j = 1; j < world.count && j < WORLD_SEEN_MAX; j++) {
            CHECK(gap_ms(j) >= (strstr(rows[i].extra, "7") ? 7000 : 50));
            CHECK(gap_ms(j) <= 46000);
        }
        world_close();
    }
}

static void test_429_names_the_queue(void) {
    struct world_write write;
    world_open(answer_writes, "token: t");
    writes.status = 429;
    writes.times = -1;
    writes.cuts = false;
    writes.extra = "X-Kubernetes-PF-FlowSchema-UID: f-1\r\n"
                   "X-Kubernetes-PF-PriorityLevel-UID: p-2\r\n";
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(200000);
    CHECK(strstr(write.err.text, "as asked (flow schema f-1, priority level p-2)"));
    world_close();
}

static char warned[256];

static void keep_warning(void *context, const char *text) {
    CHECK(context == &warned);
    snprintf(warned + strlen(warned), sizeof warned - strlen(warned), "[%s]", text);
}

/* Each text once, however many answers and headers have it. */
static void test_warnings_of_the_server_are_told_once(void) {
    struct world_write write;
    world_open(answer_writes, "token: t");
    client_on_warning(kube_client(world.cluster), keep_warning, &warned);
    writes.status = 200;
    writes.times = -1;
    writes.cuts = false;
    writes.extra = "Warning: 299 - \"v1alpha1 is deprecated\"\r\n"
                   "Warning: 299 - \"unknown field \\\"a\\\"\", 299 - \"third\"\r\n";
    for (int i = 0; i < 3; i++) {
        world_begin(CLUSTER_CREATE, "x", &write);
        world_run(1000);
        CHECK(write.ended);
    }
    CHECK_STR(warned, "[v1alpha1 is deprecated][unknown field \"a\"][third]");
    world_close();
}

/* 300 writes of five namespaces: however many there are, a server that refuses all gets few
 * requests, and the writes end well when it recovers. */
static void test_a_storm_of_refusals(void) {
    enum { COUNT = 300, STORM_MS = 600000 };
    static const struct {
        int status;
        bool cuts;
    } rows[] = {{429, false}, {503, false}, {0, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        static struct world_write results[COUNT];
        world_open(answer_writes, "token: t");
        int64_t start_ms = stepped_clock_ms();
        writes.status = rows[i].status;
        writes.cuts = rows[i].cuts;
        writes.times = -1;
        writes.extra = "";
        for (int j = 0; j < COUNT; j++) {
            AUTO(text_freep) char *name = x_printf("x-%d", j);
            AUTO(text_freep) char *namespace = x_printf("n-%d", j % 5);
            world_begin_in(namespace, CLUSTER_CREATE, name, &results[j]);
        }
        world_run(STORM_MS);
        int later = world_count("POST", start_ms + STORM_MS / 10);
        printf("# %d writes, status %d for 10 minutes: %zu requests, %d after the first minute\n",
               COUNT, rows[i].status, world.count, later);
        CHECK(later <= 9 * 20);
        CHECK(world.count <= COUNT); /* eight tries of each would be 2,400 */
        writes.times = 0;
        writes.cuts = false;
        world_run(30000);
        int ended = 0;
        for (int j = 0; j < COUNT; j++) {
            ended += results[j].ended;
        }
        CHECK_INT(ended, COUNT);
        world_close();
    }
}

/* One namespace's webhook hangs or answers 503: the writes of another go on at their pace. */
static void answer_sick(void *context, const struct script_request *request) {
    (void)context;
    if (!strstr(request->path, "/sick/")) {
        script_reply(request->connection, 201, "", OBJECT);
    } else if (!writes.cuts) {
        script_reply(request->connection, 503, "", "{}");
    } /* else no answer */
}

static void test_a_sick_namespace_slows_no_other(void) {
    enum { SICK = 60, WELL = 200 };
    static struct world_write sick[SICK], well;
    for (int hangs = 0; hangs < 2; hangs++) {
        world_open(answer_sick, "token: t");
        writes.cuts = hangs;
        world_begin_in("well", CLUSTER_CREATE, "x", &well);
        world_run(200); /* libcurl learns that this server has no HTTP/2 */
        for (int i = 0; i < SICK; i++) {
            world_begin_in("sick", CLUSTER_CREATE, "x", &sick[i]);
        }
        for (int i = 0; i < WELL; i++) {
            world_begin_in("well", CLUSTER_CREATE, "x", &well);
            world_run(200);
            CHECK(well.ended && !well.err.kind);
        }
        world_close();
    }
}

static char agent[200];
static void answer_agent(void *context, const struct script_request *request) {
    (void)context;
    const char *at = strstr(request->headers, "User-Agent: ");
    snprintf(agent, sizeof agent, "%.*s", at ? (int)strcspn(at, "\r") : 0, at ? at : "");
    script_reply(request->connection, 201, "", OBJECT);
}

static void answer_nothing(void *context UNUSED, const struct script_request *request UNUSED) {
}

/* The server is away, or takes requests and never answers, and hundreds of writes wait: they are
 * looked at together, when a probe is due or has ended. */
static void test_writes_that_wait_cost_nothing(void) {
    enum { COUNT = 600 };
    for (int hangs = 0; hangs < 2; hangs++) {
        static struct world_write results[COUNT];
        world_open(hangs ? answer_nothing : answer_writes, "token: t");
        writes.cuts = true;
        writes.times = -1;
        for (int i = 0; i < COUNT; i++) {
            AUTO(text_freep) char *name = x_printf("x-%d", i);
            world_begin(CLUSTER_CREATE, name, &results[i]);
            world_run(3); /* each at another time */
        }
        world_run(120000);
        size_t requests = world.count;
        world.wakes = 0;
        world_run(60000);
        printf("# %d writes wait for a server that %s: %zu requests in a minute, %d wakes\n", COUNT,
               hangs ? "hangs" : "is away", world.count - requests, world.wakes);
        CHECK(world.count - requests < 40);
        CHECK(world.wakes < 200);
        world.answer = answer_writes;
        writes.times = 0;
        writes.cuts = false;
        world_run(120000);
        int ended = 0;
        for (int i = 0; i < COUNT; i++) {
            ended += results[i].ended;
        }
        CHECK_INT(ended, COUNT);
        world_close();
    }
}

static void test_the_user_agent_has_the_version(void) {
    struct world_write write;
    world_open(answer_agent, "token: t");
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(10);
    CHECK_STR(agent, "User-Agent: windlass/" WINDLASS_VERSION);
    world_close();
}

/* ---- tokens ---- */

static char token_path[96];
static void answer_tokens(void *context, const struct script_request *request) {
    (void)context;
    bool is_new = strstr(request->headers, "Authorization: Bearer new") != NULL;
    if (!is_new && *token_path) { /* it was rotated, and the old one is refused from now on */
        struct error err = {0};
        CHECK_OK(file_write(token_path, "new\n", 4, &err), &err);
    }
    script_reply(request->connection, is_new ? 201 : 401, "", is_new ? OBJECT : "{}");
}

static void test_a_token_is_rotated(void) {
    struct error err = {0};
    struct world_write write;
    char user[128];
    snprintf(token_path, sizeof token_path, "/tmp/test-conduct-%d", getpid());
    CHECK_OK(file_write(token_path, "old\n", 4, &err), &err);
    snprintf(user, sizeof user, "tokenFile: %s", token_path);
    world_open(answer_tokens, user);
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(1000);
    CHECK(write.ended && !write.err.kind);
    CHECK_INT(world.count, 2);
    world_close();
    unlink(token_path);
    token_path[0] = 0;
    world_open(answer_tokens, "token: old"); /* nothing to read again */
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(60000);
    CHECK_INT(write.err.kind, ERROR_DENIED);
    CHECK_INT(world.count, 1);
    world_close();
}

/* ---- lists and watches ---- */

/* A server with `objects` objects at resourceVersion 1000. */
static struct {
    int objects;
    bool streams_lists;    /* watch-list streaming */
    bool never_ends_lists; /* the same, without the bookmark at the end */
    bool is_behind;        /* its cache has not seen version 1000 */
    int expires_at;        /* the page's start at which the continue token has expired, once */
    bool is_gone_status, is_gone_line; /* every watch */
    const char *line;                  /* sent to every watch, then its end */
    bool cuts;                         /* the connection after that, not the end */
    struct script_connection *watch;   /* the last one */
} kind;

static void reply_items(const struct script_request *request, int from, int count,
                        const char *metadata) {
    size_t size = 200 + (size_t)count * 80;
    AUTO(text_freep) char *body = x_malloc(size);
    int used = snprintf(body, size, "{\"metadata\":{\"resourceVersion\":\"1000\"%s},\"items\":[",
                        metadata);
    for (int i = from; i < from + count; i++) {
        used += snprintf(body + used, size - (size_t)used,
                         "%s{\"metadata\":{\"name\":\"o-%d\",\"resourceVersion\":\"%d\"}}",
                         i > from ? "," : "", i, i + 1);
    }
    snprintf(body + used, size - (size_t)used, "]}");
    script_reply(request->connection, 200, "", body);
}

static void answer_list(const struct script_request *request) {
    const char *token = strstr(request->query, "continue="),
               *limit = strstr(request->query, "limit=");
    int from = token ? (int)strtol(token + 9, NULL, 10) : 0;
    int most = limit ? (int)strtol(limit + 6, NULL, 10) : kind.objects;
    int count = MIN(most, kind.objects - from);
    char metadata[64] = "";
    if (token && kind.expires_at && from >= kind.expires_at) {
        kind.expires_at = 0;
        script_reply(request->connection, 410, "",
                     "{\"kind\":\"Status\",\"reason\":\"Expired\",\"code\":410}");
        return;
    }
    if (!limit && kind.is_behind) {
        script_reply(request->connection, 504, "Retry-After: 1\r\n",
                     "{\"kind\":\"Status\",\"message\":\"Timeout: Too large resource version: "
                     "1000, current: 900\",\"reason\":\"Timeout\",\"details\":{\"causes\":[{"
                     "\"reason\":\"ResourceVersionTooLarge\"}],\"retryAfterSeconds\":1}}");
        return;
    }
    if (from + count < kind.objects) {
        snprintf(metadata, sizeof metadata, ",\"continue\":\"%d\"", from + count);
    }
    reply_items(request, from, count, metadata);
}

static void answer_initial(const struct script_request *request) {
    if (!kind.streams_lists) { /* as 1.20 does */
        script_reply(request->connection, 422, "",
                     "{\"kind\":\"Status\",\"message\":\"resourceVersionMatch is forbidden for "
                     "watch\",\"code\":422}");
        return;
    }
    script_stream(request->connection);
    for (int i = 0; i < kind.objects; i++) {
        AUTO(text_freep)
        char *line = x_printf("{\"type\":\"ADDED\",\"object\":{\"apiVersion\":\"v1\",\"kind\":"
                              "\"ConfigMap\",\"metadata\":{\"name\":\"o-%d\",\"resourceVersion\":"
                              "\"%d\"}}}\n",
                              i, i + 1);
        script_send(request->connection, line);
    }
    if (!kind.never_ends_lists) {
        script_send(request->connection,
                    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{"
                    "\"resourceVersion\":\"1000\",\"annotations\":{\"k8s.io/initial-events-end\":"
                    "\"true\"}}}}\n");
    }
}

static void answer_kind(void *context, const struct script_request *request) {
    (void)context;
    if (!has_query(request, "watch=true")) {
        answer_list(request);
        return;
    }
    if (has_query(request, "sendInitialEvents=true")) {
        answer_initial(request);
        return;
    }
    if (kind.is_gone_status) {
        script_reply(request->connection, 410, "", "{\"kind\":\"Status\",\"code\":410}");
        return;
    }
    kind.watch = request->connection;
    script_stream(request->connection);
    if (kind.is_gone_line) {
        script_send(request->connection,
                    "{\"type\":\"ERROR\",\"object\":{\"kind\":\"Status\",\"code\":410}}\n");
        script_end(request->connection);
    } else if (kind.line) {
        script_send(request->connection, kind.line);
        kind.cuts ? script_cut(request->connection) : script_end(request->connection);
    }
}

static void kind_open(int objects) {
    memset(&kind, 0, sizeof kind);
    kind.objects = objects;
    world_open(answer_kind, "token: t");
}

static void test_lists(void) {
    static const struct {
        const char *what;
        int objects;
        bool streams, never_ends, is_behind;
        int expires_at;
        int lists, watches; /* requests */
        int64_t most_ms;    /* until everything is listed */
    } rows[] = {
        {"none", 0, false, false, false, 0, 1, 2, 0},
        {"a page", 20, false, false, false, 0, 1, 2, 0},
        {"two pages", 520, false, false, true, 0, 2, 2, 0},
        {"from the cache", 521, false, false, false, 0, 3, 2, 0},
        {"too large resource version", 1600, false, false, true, 0, 6, 2, 0},
        {"an expired token, then the cache", 1600, false, false, true, 1000, 11, 2, 1000},
        {"streamed", 1600, true, false, false, 0, 0, 1, 0},
        {"streamed, none", 0, true, false, false, 0, 0, 1, 0},
        {"streamed without an end", 30, true, true, false, 0, 2, 2, WATCH_INITIAL_MS},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kind_open(rows[i].objects);
        kind.streams_lists = rows[i].streams;
        kind.never_ends_lists = rows[i].never_ends;
        kind.is_behind = rows[i].is_behind;
        kind.expires_at = rows[i].expires_at;
        world_watch();
        int64_t start_ms = stepped_clock_ms();
        while (world.listed == 0 && stepped_clock_ms() < start_ms + 60000) {
            world_run(1);
        }
        int64_t took_ms = stepped_clock_ms() - start_ms;
        world_run(1000);
        int watched = world_count("GET /api/v1/configmaps?watch", 0);
        if (took_ms > rows[i].most_ms + 5 || watched != rows[i].watches ||
            (int)world.count - watched != rows[i].lists) {
            printf("# %s: %lld ms, %zu requests\n", rows[i].what, (long long)took_ms, world.count);
            for (size_t j = 0; j < world.count; j++) {
                printf("#   %lld %s\n", (long long)world.seen[j].ms, world.seen[j].what);
            }
        }
        CHECK(took_ms <= rows[i].most_ms + 5);
        CHECK_INT(world.listed, 1);
        CHECK_INT(json_object_size(world.names), rows[i].objects);
        CHECK_INT(watched, rows[i].watches);
        CHECK_INT((int)world.count - watched, rows[i].lists);
        world_close();
    }
}

static const char bookmark[] = "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\","
                               "\"metadata\":{\"resourceVersion\":\"1050\"}}}\n";

static void test_bookmarks_and_truncated_lines(void) {
    kind_open(3);
    kind.line = bookmark;
    world_watch();
    world_run(500);
    CHECK(world_count("GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion="
                      "1050",
                      0) > 0);
    CHECK_INT(world.listed, 1);
    kind.line = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"ConfigMap\",\"metadata\":{\"na";
    kind.cuts = true;
    world_run(120000);
    CHECK_INT(world.listed, 1); /* the half line was not an event: nothing is lost */
    CHECK_INT(world.applied, 3);
    kind.line = "{\"type\":\"ADDED\",\"object\":\n";
    world_run(120000);
    CHECK(world.listed > 1); /* an event that cannot be read is lost */
    CHECK_INT(json_object_size(world.names), 3);
    world_close();
}

/* The same of an event that is too large: it would come again and again. */
static void test_a_line_above_the_limit(void) {
    enum { PIECE = 16 << 10, TRIES = 20 /* a piece that does not fit into the socket cuts it */ };
    AUTO(text_freep) char *piece = x_calloc(PIECE + 1, 1);
    memset(piece, 'x', PIECE);
    kind_open(3);
    world_watch();
    world_run(500);
    for (int i = 0; i < TRIES && world.listed == 1; i++) {
        struct script_connection *watch = kind.watch;
        script_send(watch, "{\"type\":\"MODIFIED\",\"object\":{\"data\":\"");
        for (int sent = 0; sent <= CLIENT_OBJECT_MAX && script_is_open(watch); sent += PIECE) {
            script_send(watch, piece);
            world_settle();
        }
        world_run(120000);
        CHECK(kind.watch != watch);
    }
    CHECK_INT(world.listed, 2);
    CHECK_INT(json_object_size(world.names), 3);
    CHECK(script_is_open(kind.watch));
    world_close();
}

/* A connection that a firewall has forgotten: no byte comes, and no end. Bookmarks keep a watch. */
static void test_a_silent_watch_is_opened_again(void) {
    static const char watches[] =
        "GET /api/v1/configmaps?watch=true&allowWatchBookmarks=true&resourceVersion=";
    kind_open(3);
    world_watch();
    for (int minute = 0; minute < 5; minute++) {
        world_run(60000);
        script_send(kind.watch, bookmark);
        world_settle();
    }
    CHECK_INT(world_count(watches, 0), 1);
    int64_t silent_ms = stepped_clock_ms();
    world_run(WATCH_SILENCE_MS - 1000);
    CHECK_INT(world_count(watches, 0), 1);
    world_run(3000);
    CHECK_INT(world_count(watches, 0), 2);
    AUTO(text_freep) char *where_it_was = x_printf("%s1050", watches);
    CHECK_INT(world_count(where_it_was, silent_ms), 1);
    CHECK(script_is_open(kind.watch));
    CHECK_INT(world.listed, 1);
    CHECK_INT(json_object_size(world.names), 3);
    world_close();
}

/* Ten minutes of each; before the delay was one for list and watch, the first were ten requests a
 * second. */
static void test_a_watch_that_never_works_costs_little(void) {
    static const char event[] = "{\"type\":\"MODIFIED\",\"object\":{\"kind\":\"ConfigMap\","
                                "\"metadata\":{\"name\":\"o-1\",\"resourceVersion\":\"1051\"}}}\n";
    static const struct {
        const char *what;
        bool gone_status, gone_line, cuts_each_second;
        const char *line;
    } rows[] = {
        {"410 as status", true, false, false, NULL},
        {"410 as a line", false, true, false, NULL},
        {"an event, then the end", false, false, false, event},
        {"a line that is not JSON", false, false, false, "nonsense\n"},
        {"cut each second", false, false, true, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        kind_open(3);
        kind.is_gone_status = rows[i].gone_status;
        kind.is_gone_line = rows[i].gone_line;
        kind.line = rows[i].line;
        world_watch();
        int64_t start_ms = stepped_clock_ms();
        for (int second = 0; second < 600; second++) {
            world_run(1000);
            if (rows[i].cuts_each_second && kind.watch) {
                script_cut(kind.watch);
                kind.watch = NULL;
            }
        }
        int later = world_count("GET", start_ms + 60000);
        printf("# %s for 10 minutes: %zu requests, %d after the first minute\n", rows[i].what,
               world.count, later);
        CHECK(later <= 60);
        memset(&kind, 0, sizeof kind); /* it works again */
        kind.objects = 5;
        world_run(50000);
        CHECK(script_is_open(kind.watch));
        world_close();
    }
}

int main(void) {
    TEST(test_which_writes_are_tried_again);
    TEST(test_429_names_the_queue);
    TEST(test_warnings_of_the_server_are_told_once);
    TEST(test_a_storm_of_refusals);
    TEST(test_writes_that_wait_cost_nothing);
    TEST(test_a_sick_namespace_slows_no_other);
    TEST(test_the_user_agent_has_the_version);
    TEST(test_a_token_is_rotated);
    TEST(test_lists);
    TEST(test_bookmarks_and_truncated_lines);
    TEST(test_a_line_above_the_limit);
    TEST(test_a_silent_watch_is_opened_again);
    TEST(test_a_watch_that_never_works_costs_little);
    return TEST_END();
}
