// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/health_server.h"

#include "lib/net/http.h"
#include "operator/operator_metrics.h"

#include "tests/test.h"

#include <stdlib.h>

static int get(const struct health_server *server, const char *path, char **ret_body) {
    struct error err = {0};
    AUTO(text_freep) char *address = health_server_address(server);
    AUTO(text_freep) char *url = x_printf("%s%s", address, path);
    struct http_request request = {.url = url, .timeout_ms = 60000, .bytes_max = 1 << 20};
    int status = 0;
    CHECK_OK(http_get(&request, &status, ret_body, &err), &err);
    return status;
}

static void test_the_three_pages(void) {
    struct error err = {0};
    struct health_server *server = NULL;
    CHECK_OK(health_server_open("127.0.0.1:0", true, &server, &err), &err);
    static const struct {
        bool is_ready;
        const char *state;
        int status;
        const char *body;
    } rows[] = {{false, "starts", 503, "starts\n"},
                {true, "stands by", 200, "stands by\n"},
                {false, "lists", 503, "lists\n"},
                {true, "leads", 200, "leads\n"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (i > 0) { /* the first is the initial state */
            health_server_set_state(server, rows[i].is_ready, rows[i].state);
        }
        AUTO(text_freep) char *body = NULL;
        CHECK_INT(get(server, "/readyz", &body), rows[i].status);
        CHECK_STR(body, rows[i].body);
    }
    AUTO(text_freep) char *health = NULL;
    CHECK_INT(get(server, "/healthz", &health), 200);
    operator_metrics_queue(42);
    AUTO(text_freep) char *metrics = NULL;
    CHECK_INT(get(server, "/metrics", &metrics), 200);
    CHECK(strstr(metrics, "\nwindlass_workqueue_depth 42\n"));
    AUTO(text_freep) char *nothing = NULL;
    CHECK_INT(get(server, "/debug", &nothing), 404);
    health_server_free(server);
}

static void test_an_address_that_is_taken_is_told(void) {
    struct error err = {0};
    struct health_server *server = NULL, *second = NULL;
    CHECK_OK(health_server_open("127.0.0.1:0", true, &server, &err), &err);
    AUTO(text_freep) char *address = health_server_address(server);
    CHECK_INT(health_server_open(address + strlen("http://"), true, &second, &err), -1);
    CHECK(strstr(err.text, "Address already in use"));
    health_server_free(server);
}

int main(void) {
    TEST(test_the_three_pages);
    TEST(test_an_address_that_is_taken_is_told);
    return TEST_END();
}
