// SPDX-License-Identifier: Apache-2.0
/* How the client takes a token that is replaced in its file, as the kubelet does: a row of
 * docs/client.md. (One that is refused: test_conduct.c.) */
#include "operator/kube/credential.h"
#include "tests/kube/script_world.h"

#define OBJECT "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"x\"}}"

static char sent_token[32];
static void answer_any_token(void *context UNUSED, const struct script_request *request) {
    const char *at = strstr(request->headers, "Authorization: Bearer ");
    snprintf(sent_token, sizeof sent_token, "%.*s", at ? (int)strcspn(at + 22, "\r") : 0,
             at ? at + 22 : "");
    script_reply(request->connection, 201, "", OBJECT);
}

/* The kubelet replaces it long before the server refuses the old one. */
static void test_a_token_file_is_read_each_minute(void) {
    struct error err = {0};
    struct world_write write;
    char user[128], path[96];
    snprintf(path, sizeof path, "/tmp/test-token-file-%d", getpid());
    snprintf(user, sizeof user, "tokenFile: %s", path);
    CHECK_OK(file_write(path, "early\n", 6, &err), &err);
    world_open(answer_any_token, user);
    static const char *const sent[] = {"early", "early", "late"};
    for (size_t i = 0; i < ARRAY_LEN(sent); i++) {
        world_begin(CLUSTER_CREATE, "x", &write);
        world_run(CREDENTIAL_FILE_AGE_MS / 2);
        CHECK(write.ended && !write.err.kind);
        CHECK_STR(sent_token, sent[i]);
        CHECK_OK(file_write(path, "late\n", 5, &err), &err);
    }
    CHECK_INT(world.count, ARRAY_LEN(sent)); /* none was refused */
    /* Without the file, the last token is still used. */
    unlink(path);
    world_run(CREDENTIAL_FILE_AGE_MS);
    world_begin(CLUSTER_CREATE, "x", &write);
    world_run(1000);
    CHECK(write.ended && !write.err.kind);
    CHECK_STR(sent_token, "late");
    world_close();
}

int main(void) {
    TEST(test_a_token_file_is_read_each_minute);
    return TEST_END();
}
