// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/setting.h"

#include "agent/job.h"
#include "agent/score/endpoint/answer_memory.h"
#include "lib/cgroup.h"
#include "lib/secret.h"

#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.endpoint."

static int add_url(struct endpoint_setting *setting, const char *url, struct error *err) {
    size_t size = strlen(url);
    bool is_http = text_starts(url, "http://") || text_starts(url, "https://");
    if (!is_http || setting->url_count == BACKENDS_MAX) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "url: \"%.200s\" does not begin with http:// or https://",
                         url);
    }
    while (size > 0 && url[size - 1] == '/') {
        size--;
    }
    setting->urls[setting->url_count++] = x_strndup(url, size);
    return 0;
}

int endpoint_setting_read(const json_t *spec, struct endpoint_setting *ret_setting,
                          struct error *err) {
    struct endpoint_setting setting = {.endpoint = tree_get(spec, "scorer.endpoint")};
    const json_t *urls = json_object_get(setting.endpoint, "urls"), *more;
    const char *url = tree_text(setting.endpoint, "url", NULL);
    int result = url ? add_url(&setting, url, err) : 0;
    size_t i;
    json_array_foreach(urls, i, more) {
        const char *text = json_string_value(more);
        result = result < 0 ? -1 : add_url(&setting, text ? text : "", err);
    }
    bool has_server = json_object_get(setting.endpoint, "server");
    if (result == 0 && (setting.url_count > 0) == has_server) {
        result = error_set(err, ERROR_INVALID,
                           "spec.scorer.endpoint: exactly one of url, urls and server is expected");
    }
    if (result < 0) {
        endpoint_setting_release(&setting);
        return -1;
    }
    const json_t *given = json_object_get(setting.endpoint, "concurrency");
    setting.is_fixed = !json_is_string(given) || strcmp(json_string_value(given), "Auto") != 0;
    setting.in_flight_max = (int)MIN(job_in_flight(spec), (int64_t)SETTING_IN_FLIGHT_MAX);
    setting.tries = (int)tree_integer(spec, FIELD "tries", -1);
    setting.timeout_ms = tree_integer(spec, FIELD "timeoutSeconds", -1) * 1000;
    setting.ready_ms = tree_integer(spec, FIELD "readyTimeoutSeconds", -1) * 1000;
    setting.header = tree_text(spec, FIELD "key.header", NULL);
    setting.authority = tree_text(spec, FIELD "authority", NULL);
    setting.proxy = tree_text(spec, FIELD "proxy", NULL);
    setting.headers = tree_get(spec, FIELD "headers");
    setting.requests_per_minute = tree_integer(spec, FIELD "limits.requestsPerMinute", 0);
    setting.tokens_per_minute = tree_integer(spec, FIELD "limits.tokensPerMinute", 0);
    setting.answer_bytes = answer_memory_most(cgroup_memory_bytes(NULL));
    setting.ready_path = tree_text(spec, FIELD "server.readyPath", NULL);
    *ret_setting = setting;
    return 0;
}

void endpoint_setting_take_server(struct endpoint_setting *setting, struct own_server *server) {
    setting->server = server;
    setting->proxy = NULL; /* it is in the worker's own pod */
    setting->urls[setting->url_count++] = x_printf("http://127.0.0.1:%d", own_server_port(server));
}

int endpoint_setting_take_key(struct endpoint_setting *setting, const char *key,
                              struct error *err) {
    size_t size = key ? strlen(key) : 0;
    while (size > 0 && strchr("\r\n\t ", key[size - 1])) {
        size--;
    }
    for (size_t i = 0; i < size; i++) {
        if ((unsigned char)key[i] < ' ' || key[i] == 0x7f) {
            return error_set(err, ERROR_INVALID,
                             "the key of spec." FIELD "key has a control character");
        }
    }
    if (key && size == 0) {
        return error_set(err, ERROR_INVALID, "the key of spec." FIELD "key is empty");
    }
    setting->secret = key ? x_strndup(key, size) : NULL;
    return 0;
}

void endpoint_setting_release(struct endpoint_setting *setting) {
    for (int i = 0; i < setting->url_count; i++) {
        free(setting->urls[i]);
    }
    secret_forget(&setting->secret);
    *setting = (struct endpoint_setting){0};
}
