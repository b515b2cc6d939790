// SPDX-License-Identifier: Apache-2.0
/* An answer that never ends is cut at its bound: the write fails, and says why. */
#include "operator/kube/client.h"
#include "tests/kube/script_world.h"

enum { PIECE = 16 << 10, /* fits into the socket */ SENT_MAX = 4 * CLIENT_ANSWER_MAX };

static struct script_connection *answering;

static void answer_create(void *context UNUSED, const struct script_request *request) {
    if (strcmp(request->method, "POST") == 0) {
        answering = request->connection;
        script_stream(answering);
        script_send(answering, "{\"kind\":\"ConfigMap\",\"data\":\"");
    } else {
        script_reply(request->connection, 404, "", "{\"kind\":\"Status\",\"code\":404}");
    }
}

static void test_an_answer_without_end(void) {
    struct world_write write;
    AUTO(text_freep) char *piece = x_calloc(1, PIECE + 1);
    memset(piece, 'x', PIECE);
    world_open(answer_create, "token: t");
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(500);
    int64_t sent = 0;
    while (script_is_open(answering) && sent < SENT_MAX) {
        CHECK(!write.ended);
        script_send(answering, piece);
        sent += PIECE;
        world_settle();
    }
    CHECK(sent >= CLIENT_ANSWER_MAX && sent <= CLIENT_ANSWER_MAX + (1 << 20));
    world_run(500);
    CHECK(write.ended);
    CHECK_INT(write.err.kind, ERROR_EXHAUSTED);
    CHECK(strstr(write.err.text, "larger than the limit of 16777216 bytes") != NULL);
    world_close();
}

int main(void) {
    TEST(test_an_answer_without_end);
    return TEST_END();
}
