// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_web.h"

#include "lib/digest.h"
#include "lib/text/page_style.h"
#include "operator/commands/ui/ui_action.h"
#include "operator/commands/ui/ui_text.h"
#include "operator/embedded.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

EMBED_TEXT(ui_page_html, "operator/commands/ui/page/ui.html");
EMBED_TEXT(ui_page_script, "operator/commands/ui/page/ui.js");
EMBED_TEXT(ui_page_style, "operator/commands/ui/page/ui.css");

enum { KEY_MAX = 1024 };

/* A connection for each request: one that is kept would be closed by its age, perhaps while a
 * request is on its way. */
#define COMMON                                                                                     \
    "connection:", "close", "cache-control:", "no-store", "x-content-type-options:", "nosniff",    \
        "referrer-policy:", "no-referrer", "cross-origin-resource-policy:", "same-origin"

/* The page runs its own script alone, and reads from here alone. */
static const char own_policy[] =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
static const char *const own_headers[] = {"content-security-policy:",
                                          own_policy,
                                          "cross-origin-opener-policy:",
                                          "same-origin",
                                          COMMON,
                                          NULL};
/* A page that a job has left: nothing in it runs, and it is of another origin than ours. Browsers
 * refuse a page with both sandbox and Cross-Origin-Opener-Policy. */
static const char *const left_headers[] = {
    "content-security-policy:",
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; frame-ancestors 'none'",
    COMMON, NULL};

/* One that is opened alone shows nothing else. */
static const char *const picture_headers[] = {
    "content-security-policy:", "default-src 'none'; sandbox; frame-ancestors 'none'", COMMON,
    NULL};

static struct server_page page_of(int status, const char *type, char *body_new) {
    return (struct server_page){
        .body = body_new, .content_type = type, .status = status, .headers = own_headers};
}

static struct server_page message(int status, const char *text) {
    AUTO(tree_freep) json_t *tree = json_pack("{s:o}", "message", ui_text(text, UI_TEXT_MESSAGE));
    return page_of(status, NULL, tree_compact(tree));
}

static struct server_page failed(const struct error *err) {
    return message(err->kind == ERROR_NOT_FOUND ? 404
                   : err->kind == ERROR_INVALID ? 409
                                                : 502,
                   err->text);
}

/* 304 where the page has the same already. */
static struct server_page tagged(const struct server_request *request, char *body_new) {
    char hex[65];
    struct server_page page = page_of(200, NULL, body_new);
    digest_sha256(page.body, strlen(page.body), hex);
    snprintf(page.tag, sizeof page.tag, "\"%.32s\"", hex);
    if (request->known_tag && strcmp(request->known_tag, page.tag) == 0) {
        page.status = 304;
        *page.body = 0;
    }
    return page;
}

static bool is_here(const struct ui_web *web, const char *host) {
    char numbers[32], name[32];
    snprintf(numbers, sizeof numbers, "127.0.0.1:%d", web->port);
    snprintf(name, sizeof name, "localhost:%d", web->port);
    return host && (strcmp(host, numbers) == 0 || strcmp(host, name) == 0);
}

/* What follows /TOKEN in the path: "/api/jobs/0"; NULL: it has another token. */
static const char *behind_token(const struct ui_web *web, const char *path) {
    size_t length = *path == '/' ? strcspn(path + 1, "/") : 0;
    AUTO(text_freep) char *token = x_strndup(path + (*path == '/'), length);
    return length > 0 && path[1 + length] == '/' && digest_equal(token, web->token)
               ? path + 1 + length
               : NULL;
}

/* The source of a key, and the rest of the key; NULL: there is none. */
static struct ui_source *source_of(const struct ui_web *web, const char *key,
                                   const char **ret_rest) {
    for (size_t i = 0; i < UI_WEB_SOURCES_MAX && strlen(key) <= KEY_MAX; i++) {
        struct ui_source *source = web->sources[i];
        if (source && text_starts(key, source->ops->prefix)) {
            *ret_rest = key + strlen(source->ops->prefix);
            return source;
        }
    }
    return NULL;
}

static struct server_page jobs(const struct ui_web *web, const char *version) {
    char *end = NULL;
    errno = 0;
    long long since = strtoll(version, &end, 10);
    if (errno || end == version || *end || since < 0) {
        return message(404, "expected /api/jobs/VERSION, a number");
    }
    for (size_t i = 0; i < UI_WEB_SOURCES_MAX; i++) {
        if (web->sources[i] && web->sources[i]->ops->look) {
            web->sources[i]->ops->look(web->sources[i]);
        }
    }
    char *news = ui_table_news(web->table, since);
    return news ? page_of(200, NULL, news) : message(502, "too many jobs for one answer");
}

/* The job, with what an action on it could not do. */
static struct server_page job_page(const struct ui_web *web, const struct server_request *request,
                                   struct ui_source *source, const char *rest) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct error err = {0};
    if (source->ops->job(source, rest, &tree, &err) < 0) {
        return failed(&err);
    }
    AUTO(text_freep) char *key = x_printf("%s%s", source->ops->prefix, rest);
    AUTO(text_freep) char *failure = web->deeds ? ui_deeds_failure(web->deeds, key) : NULL;
    json_object_set_new(tree, "actionFailed", ui_text(failure, UI_TEXT_MESSAGE));
    return tagged(request, tree_compact(tree));
}

static struct server_page logs_page(const struct server_request *request, struct ui_source *source,
                                    const char *rest) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct error err = {0};
    return source->ops->logs(source, rest, &tree, &err) < 0 ? failed(&err)
                                                            : tagged(request, tree_compact(tree));
}

static struct server_page left_page(struct ui_source *source, const char *rest,
                                    enum ui_page which) {
    char *html = NULL;
    struct error err = {0};
    if (source->ops->page(source, rest, which, &html, &err) < 0) {
        return failed(&err);
    }
    return (struct server_page){
        .body = html, .content_type = "text/html; charset=utf-8", .headers = left_headers};
}

/* at: "PICTURE/KEY". */
static struct server_page picture(const struct ui_web *web, const char *at) {
    const char *rest = NULL, *slash = strchr(at, '/');
    struct ui_source *source = slash ? source_of(web, slash + 1, &rest) : NULL;
    struct ui_picture found = {0};
    struct error err = {0};
    if (!source || !source->ops->picture) {
        return message(404, "page not found");
    }
    AUTO(text_freep) char *token = x_strndup(at, (size_t)(slash - at));
    if (source->ops->picture(source, rest, token, &found, &err) < 0) {
        return failed(&err);
    }
    struct server_page page = page_of(200, found.type, found.bytes);
    page.body_size = found.size;
    page.headers = picture_headers;
    return page;
}

static struct server_page act(const struct ui_web *web, struct ui_source *source, const char *rest,
                              const char *action) {
    AUTO(tree_freep) json_t *words = NULL;
    struct error err = {0};
    if (!web->allows_actions) {
        return message(403, "this page only shows jobs: windlass ui --allow-actions");
    }
    AUTO(text_freep) char *key = x_printf("%s%s", source->ops->prefix, rest);
    if (source->ops->words(source, rest, &words, &err) < 0) {
        return failed(&err);
    }
    const struct ui_order order = {action, key, words};
    if (ui_action(web->deeds, &order, &err) < 0) {
        return failed(&err);
    }
    return page_of(202, NULL, x_strdup("{}"));
}

/* A page of one job. at: "/api/job/KEY". */
static struct server_page of_job(const struct ui_web *web, const struct server_request *request,
                                 const char *at) {
    static const char *const heads[] = {"/api/job/", "/api/logs/", "/page/report/",
                                        "/page/children/"};
    const char *rest = NULL;
    for (size_t i = 0; i < ARRAY_LEN(heads) && !request->is_post; i++) {
        struct ui_source *source =
            text_starts(at, heads[i]) ? source_of(web, at + strlen(heads[i]), &rest) : NULL;
        if (source) {
            return i == 0   ? job_page(web, request, source, rest)
                   : i == 1 ? logs_page(request, source, rest)
                            : left_page(source, rest, i == 2 ? UI_PAGE_REPORT : UI_PAGE_CHILDREN);
        }
    }
    for (size_t i = 0; ui_actions[i] && request->is_post && request->is_meant; i++) {
        AUTO(text_freep) char *head = x_printf("/api/%s/", ui_actions[i]);
        struct ui_source *source =
            text_starts(at, head) ? source_of(web, at + strlen(head), &rest) : NULL;
        if (source) {
            return act(web, source, rest, ui_actions[i]);
        }
    }
    return message(404, "page not found");
}

/* The page, with its only setting in an attribute, since it has no inline script. */
static char *front(const struct ui_web *web) {
    const char *mark = strstr(ui_page_html, "@ACTIONS@");
    return x_printf("%.*s%s%s", (int)(mark - ui_page_html), ui_page_html,
                    web->allows_actions ? "yes" : "no", mark + strlen("@ACTIONS@"));
}

struct server_page ui_web_page(void *context, const struct server_request *request) {
    const struct ui_web *web = context;
    const char *at = is_here(web, request->host) ? behind_token(web, request->path) : NULL;
    if (!at) {
        return message(404, "page not found");
    }
    if (request->is_post) {
        return of_job(web, request, at);
    }
    if (strcmp(at, "/") == 0) {
        return page_of(200, "text/html; charset=utf-8", front(web));
    }
    if (strcmp(at, "/ui.js") == 0) {
        return page_of(200, "text/javascript; charset=utf-8", x_strdup(ui_page_script));
    }
    if (text_starts(at, "/picture/")) {
        return picture(web, at + strlen("/picture/"));
    }
    if (strcmp(at, "/ui.css") == 0) {
        return page_of(200, "text/css; charset=utf-8",
                       x_printf(":root{color-scheme:light dark;" PAGE_LIGHT "}\n@media "
                                "(prefers-color-scheme:dark){:root{" PAGE_DARK "}}\n%s",
                                ui_page_style));
    }
    return text_starts(at, "/api/jobs/") ? jobs(web, at + strlen("/api/jobs/"))
                                         : of_job(web, request, at);
}
