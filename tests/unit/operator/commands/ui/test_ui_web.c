// SPDX-License-Identifier: Apache-2.0
/* The pages of `windlass ui` over records of runs in a folder of this test's: who may ask, what the
 * answers hold, and what they never hold: markup, control characters, the value of a variable. */
#include "operator/commands/ui/ui_web.h"

#include "lib/file.h"
#include "operator/commands/ui/ui_local.h"
#include "operator/commands/ui/ui_log_lines.h"
#include "operator/local/runs/run_entry.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOKEN "0123456789abcdef0123456789abcdef"
#define HERE "127.0.0.1:4711"

static char folder[] = "/tmp/test_ui_web.XXXXXX";
static struct ui_web web = {.token = TOKEN, .port = 4711};

/* ---- a run ---- */

#define HOSTILE "</script><img src=x onerror=alert(1)>\\u001b[2J\\u202e"

static const char job[] =
    "{\"apiVersion\": \"windlass.dev/v1beta1\", \"kind\": \"BatchScore\","
    " \"metadata\": {\"name\": \"texts\"},"
    " \"spec\": {\"scorer\": {\"command\": {\"env\": [{\"name\": \"KEY\", \"value\": "
    "\"s3cret\"}]}},"
    "            \"input\": {\"files\": {\"path\": \"data/in\"}}, \"output\": {\"path\": "
    "\"data/out\"}},"
    " \"status\": {\"conditions\": [{\"type\": \"Succeeded\", \"status\": \"False\","
    "   \"reason\": \"Failed\", \"message\": \"2 of 9 failed " HOSTILE "\"}],"
    "   \"items\": {\"total\": 9, \"done\": 7, \"failed\": 2}, \"miniBatches\": {\"retried\": 3},"
    "   \"startTime\": \"2026-11-30T10:00:00Z\", \"summary\": \"data/out/summary.json\"}}";

static void write_text(const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

/* A run that has ended. */
static void record(const char *text) {
    struct run_entry *entry = NULL;
    struct error err = {0};
    AUTO(tree_freep) json_t *object = json_loads(text, 0, NULL);
    AUTO(text_freep) char *state = file_join(folder, "state");
    AUTO(text_freep) char *data = file_join(folder, "data");
    AUTO(tree_freep)
    json_t *about = json_pack("{s:s, s:s, s:s, s:s, s:{s:s}}", "name",
                              tree_text(object, "metadata.name", ""), "state", state, "startTime",
                              "2026-11-30T10:00:00Z", "host", "elsewhere", "folders", "data", data);
    CHECK_OK(run_entry_open(about, &entry, &err), &err);
    run_entry_set(entry, "job", object);
    run_entry_write(entry, /* is_last= */ true);
    run_entry_free(entry);
}

static void open_all(void) {
    CHECK(mkdtemp(folder));
    setenv("XDG_STATE_HOME", folder, 1);
    static const char *const made[] = {"state", "data", "data/out", "data/in", "data/in/more"};
    for (size_t i = 0; i < ARRAY_LEN(made); i++) {
        AUTO(text_freep) char *path = file_join(folder, made[i]);
        CHECK(mkdir(path, 0700) == 0);
    }
    record(job);
    web.table = ui_table_new();
    web.sources[0] = ui_local_new(web.table);
}

static void close_all(void) {
    struct error ignored = {0};
    ui_local_free(web.sources[0]);
    ui_table_free(web.table);
    CHECK(file_remove_tree(folder, &ignored) == 0);
}

/* ---- requests ---- */

static struct server_page get(const char *path) {
    AUTO(text_freep) char *whole = x_printf("/" TOKEN "%s", path);
    const struct server_request request = {.path = whole, .host = HERE};
    return ui_web_page(&web, &request);
}

static int status_of(struct server_page page) {
    free(page.body);
    return page.status ? page.status : 200;
}

static json_t *tree_of(struct server_page page) {
    json_t *tree = page.body ? json_loads(page.body, 0, NULL) : NULL;
    CHECK(tree);
    free(page.body);
    return tree;
}

/* The key of the only run; owned. */
static char *only_key(void) {
    AUTO(tree_freep) json_t *jobs = tree_of(get("/api/jobs/0"));
    CHECK_INT(json_array_size(json_object_get(jobs, "jobs")), 1);
    return x_strdup(tree_text(jobs, "jobs[0][0]", ""));
}

static void who_may_ask(void) {
    static const struct {
        const char *host, *path;
        int status;
    } rows[] = {
        {HERE, "/" TOKEN "/", 200},
        {"localhost:4711", "/" TOKEN "/", 200},
        {HERE, "/" TOKEN "/ui.js", 200},
        {HERE, "/" TOKEN "/ui.css", 200},
        {HERE, "/" TOKEN, 404},
        {HERE, "/", 404},
        {HERE, "", 404},
        {HERE, "//", 404},
        {HERE, "/ui.js", 404},
        {HERE, "/0123456789abcdef0123456789abcdee/", 404},
        {HERE, "/" TOKEN "0/", 404},
        {HERE, "/" TOKEN "/ui.c", 404},
        {NULL, "/" TOKEN "/", 404},
        {"127.0.0.1", "/" TOKEN "/", 404},
        {"127.0.0.1:47110", "/" TOKEN "/", 404},
        {"rebound.example:4711", "/" TOKEN "/", 404},
        {"localhost:4711.example", "/" TOKEN "/", 404},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct server_request request = {.path = rows[i].path, .host = rows[i].host};
        int status = status_of(ui_web_page(&web, &request));
        if (status != rows[i].status) {
            printf("# %s %s\n", rows[i].host ? rows[i].host : "(none)", rows[i].path);
        }
        CHECK_INT(status, rows[i].status);
    }
}

/* Every answer says what the browser may do with it, and allows no other origin anything. */
static bool has_header(const struct server_page *page, const char *name, const char *part) {
    for (const char *const *pair = page->headers; pair && *pair; pair += 2) {
        if (strcmp(pair[0], name) == 0) {
            return strstr(pair[1], part) != NULL;
        }
    }
    return false;
}

static void what_every_answer_says(void) {
    static const char *const paths[] = {"/", "/ui.js", "/ui.css", "/api/jobs/0", "/api/none"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct server_page page = get(paths[i]);
        CHECK(
            has_header(&page, "content-security-policy:", "default-src 'none'; script-src 'self'"));
        CHECK(has_header(&page, "cache-control:", "no-store"));
        CHECK(has_header(&page, "x-content-type-options:", "nosniff"));
        CHECK(has_header(&page, "cross-origin-opener-policy:", "same-origin"));
        CHECK(!has_header(&page, "access-control-allow-origin:", ""));
        free(page.body);
    }
    struct server_page front = get("/");
    CHECK(!strstr(front.body, "<script>") && !strstr(front.body, "style=") &&
          !strstr(front.body, "onclick") && strstr(front.body, "data-actions=\"no\""));
    free(front.body);
}

static void a_job_is_text_without_secrets(void) {
    write_text(
        "data/out/failed.jsonl",
        "{\"item\":\"a.txt\",\"cause\":\"too \\u001b[31mred\",\"tries\":3}\nno json\n{\"item\":");
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *path = x_printf("/api/job/%s", key);
    struct server_page page = get(path);
    CHECK(!strstr(page.body, "s3cret"));
    CHECK(!strchr(page.body, 27) && !strstr(page.body, "\\u001b") && !strstr(page.body, "\\u202e"));
    CHECK(!strstr(page.body, "\xe2\x80\xae"));
    AUTO(tree_freep) json_t *tree = tree_of(page);
    CHECK_STR(tree_text(tree, "row[2]", ""), "texts");
    CHECK_STR(tree_text(tree, "row[5]", ""), "bad");
    CHECK_INT(tree_integer(tree, "row[6]", 0), 7);
    CHECK_INT(tree_integer(tree, "row[13]", 0), 3);
    CHECK(strstr(tree_text(tree, "message", ""), "</script>")); /* as text, in JSON */
    CHECK_INT(json_array_size(json_object_get(tree, "failures")), 1);
    CHECK_STR(tree_text(tree, "failures[0].item", ""), "a.txt");
    CHECK_STR(tree_text(tree, "actions[0]", ""), "resume");
}

static void the_same_again_is_304(void) {
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *path = x_printf("/" TOKEN "/api/job/%s", key);
    struct server_request request = {.path = path, .host = HERE};
    struct server_page first = ui_web_page(&web, &request);
    request.known_tag = first.tag;
    struct server_page second = ui_web_page(&web, &request);
    CHECK_INT(second.status, 304);
    CHECK_STR(second.body, "");
    free(second.body);
    write_text("data/out/failed.jsonl", "{\"item\":\"b.txt\",\"cause\":\"new\",\"tries\":1}\n");
    CHECK_INT(status_of(ui_web_page(&web, &request)), 200);
    free(first.body);
}

static void logs_are_bounded(void) {
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *path = x_printf("/api/logs/%s", key);
    AUTO(tree_freep) json_t *none = tree_of(get(path));
    CHECK_INT(json_array_size(none), 0); /* no pod has begun */
    AUTO(text_freep) char *text = x_malloc(200001);
    for (size_t i = 0; i < 200000; i += 10) {
        memcpy(text + i, "line \x1b[2J\n", 10);
    }
    text[200000] = 0;
    write_text("state/texts-worker-0.log", text);
    memset(text, 'x', 5000);
    text[5000] = 0;
    write_text("state/texts-coordinator-1.log", text); /* one line */
    AUTO(tree_freep) json_t *logs = tree_of(get(path));
    CHECK_INT(json_array_size(logs), 2);
    CHECK_STR(tree_text(json_array_get(logs, 0), "pod", ""), "coordinator-1");
    const json_t *first = json_object_get(json_array_get(logs, 0), "lines");
    CHECK_INT(json_array_size(first), 1);
    CHECK(strlen(json_string_value(json_array_get(first, 0))) <= UI_LOG_LINE_MAX + 3);
    size_t lines = json_array_size(json_object_get(json_array_get(logs, 1), "lines"));
    CHECK(lines > 1000 && lines <= UI_LOG_BYTES_MAX / 10);
}

/* A page that a job has left runs nothing, and is of no origin. */
static void pages_of_jobs_are_in_a_sandbox(void) {
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *path = x_printf("/page/report/%s", key);
    CHECK_INT(status_of(get(path)), 404); /* it is not there yet */
    write_text("data/out/report.html", "<p>hello</p><script>alert(1)</script>");
    struct server_page page = get(path);
    CHECK_STR(page.body, "<p>hello</p><script>alert(1)</script>");
    CHECK(has_header(&page, "content-security-policy:", "sandbox"));
    CHECK(has_header(&page, "content-security-policy:", "default-src 'none'"));
    CHECK(!has_header(&page, "content-security-policy:", "script-src"));
    CHECK(!has_header(&page, "cross-origin-opener-policy:", "")); /* browsers refuse both */
    free(page.body);
    AUTO(text_freep) char *none = x_printf("/page/children/%s", key);
    CHECK_INT(status_of(get(none)), 404);
}

#define PNG "\x89PNG\r\n\x1a\n more of it"

static int status_of_picture(const char *token, const char *key) {
    AUTO(text_freep) char *path = x_printf("/picture/%s/%s", token, key);
    return status_of(get(path));
}

/* Only what its input and output both have, by tokens, and no file that a link leads to. */
static void pictures_are_of_the_job_alone(void) {
    static const char *const both[] = {"a.png", "b.png", ".c.png", "more/d.png"};
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *link = file_join(folder, "data/in/link.png");
    AUTO(text_freep) char *outside = file_join(folder, "state/outside.png");
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        AUTO(text_freep) char *before = x_printf("data/in/%s", both[i]);
        AUTO(text_freep)
        char *after = x_printf("data/out/%s", strrchr(both[i], '/') ? "x" : both[i]);
        write_text(before, i == 1 ? "no picture at all" : PNG);
        write_text(after, PNG);
    }
    write_text("state/outside.png", PNG);
    write_text("data/out/link.png", PNG);
    CHECK(symlink(outside, link) == 0);
    AUTO(text_freep) char *path = x_printf("/api/job/%s", key);
    AUTO(tree_freep) json_t *tree = tree_of(get(path));
    CHECK_INT(json_array_size(json_object_get(tree, "pictures")), 2);
    CHECK_STR(tree_text(tree, "pictures[0].name", ""), "a.png");
    const char *token = tree_text(tree, "pictures[0].before", "");
    AUTO(text_freep) char *first = x_printf("/picture/%s/%s", token, key);
    struct server_page page = get(first);
    CHECK_STR(page.content_type, "image/png");
    CHECK_INT(page.body_size, strlen(PNG));
    CHECK(has_header(&page, "content-security-policy:", "default-src 'none'; sandbox"));
    CHECK(has_header(&page, "x-content-type-options:", "nosniff"));
    free(page.body);
    CHECK_INT(status_of_picture(tree_text(tree, "pictures[1].before", ""), key), 404);
    CHECK_INT(status_of_picture(tree_text(tree, "pictures[1].after", ""), key), 200);
    CHECK_INT(status_of_picture(token, "run/x"), 404);
    CHECK_INT(status_of_picture("0123456789abcdef01234567", key), 404);
    CHECK_INT(status_of_picture("a.png", key), 404);
    CHECK_INT(status_of_picture("", key), 404);
    CHECK(truncate(outside, 0) == 0);
}

static void what_is_asked_is_bounded(void) {
    char longer[4096] = "/api/job/run/";
    memset(longer + strlen(longer), 'a', 3000);
    const char *const paths[] = {"/api/jobs/",
                                 "/api/jobs/x",
                                 "/api/jobs/-1",
                                 "/api/jobs/1e3",
                                 "/api/job/",
                                 "/api/job/run/",
                                 "/api/job/run/x",
                                 "/api/job/other/x",
                                 "/api/job/run/../../etc/passwd",
                                 longer,
                                 "/api/cancel/run/x",
                                 "/page/other/run/x",
                                 "/picture/",
                                 "/picture/x",
                                 "/picture/x/",
                                 "/picture/x/other/y",
                                 "/api/jobs/99999999999999999999"};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        CHECK_INT(status_of(get(paths[i])), 404);
    }
}

static void nothing_is_changed_unless_allowed(void) {
    AUTO(text_freep) char *key = only_key();
    AUTO(text_freep) char *path = x_printf("/" TOKEN "/api/cancel/%s", key);
    AUTO(text_freep) char *jobs = x_printf("/" TOKEN "/api/job/%s", key);
    struct server_request request = {.path = path, .host = HERE, .is_post = true, .is_meant = true};
    CHECK_INT(status_of(ui_web_page(&web, &request)), 403);
    web.allows_actions = true;
    request.is_meant = false; /* a form of another page can send that */
    CHECK_INT(status_of(ui_web_page(&web, &request)), 404);
    request.is_meant = true;
    request.is_post = false;
    CHECK_INT(status_of(ui_web_page(&web, &request)), 404);
    request.is_post = true;
    request.host = "rebound.example:4711";
    CHECK_INT(status_of(ui_web_page(&web, &request)), 404);
    request.host = HERE;
    request.path = jobs;
    CHECK_INT(status_of(ui_web_page(&web, &request)), 404);
    struct server_page front = get("/");
    CHECK(strstr(front.body, "data-actions=\"yes\""));
    free(front.body);
    web.allows_actions = false;
}

int main(int argc, char **argv UNUSED) {
    if (argc > 1) {
        return 2; /* an action, which a planted fault lets through, starts this program again */
    }
    open_all();
    TEST(who_may_ask);
    TEST(what_every_answer_says);
    TEST(a_job_is_text_without_secrets);
    TEST(the_same_again_is_304);
    TEST(logs_are_bounded);
    TEST(pages_of_jobs_are_in_a_sandbox);
    TEST(pictures_are_of_the_job_alone);
    TEST(what_is_asked_is_bounded);
    TEST(nothing_is_changed_unless_allowed);
    close_all();
    return TEST_END();
}
