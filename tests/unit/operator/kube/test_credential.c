// SPDX-License-Identifier: Apache-2.0
/* Token files that are rotated and plug-ins that are real programs. */
#include "operator/kube/credential.h"

#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define V1 "client.authentication.k8s.io/v1"

static char folder[64];
static int changes;

static void note_change(void *context) {
    (void)context;
    changes++;
}

static char *write_to(const char *name, const char *text, mode_t mode) {
    struct error err = {0};
    char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    CHECK(chmod(path, mode) == 0);
    return path;
}

static void test_what_a_plugin_may_say(void) {
#define SAYS(status)                                                                               \
    "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\",\"status\":{" status "}}"
    static const struct {
        const char *text, *token, *key, *sentence;
        int64_t expires_ms;
    } rows[] = {
        {SAYS("\"token\":\"t\""), "t", NULL, NULL, 0},
        {SAYS("\"token\":\"t\",\"expirationTimestamp\":\"1970-01-01T00:01:00Z\""), "t", NULL, NULL,
         60000},
        {SAYS("\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\""), NULL, "K", NULL, 0},
        {SAYS("\"clientKeyData\":\"K\""), NULL, NULL, "without its key", 0},
        {SAYS(""), NULL, NULL, "neither a token nor a certificate", 0},
        {"{\"kind\":\"ExecCredential\",\"apiVersion\":\"v9\",\"status\":{\"token\":\"secret\"}}",
         NULL, NULL, "another apiVersion", 0},
        {"secret", NULL, NULL, "not print an ExecCredential", 0},
        {"{\"kind\":\"Pod\"}", NULL, NULL, "not print an ExecCredential", 0},
        {"", NULL, NULL, "not print an ExecCredential", 0},
    };
    AUTO(tree_freep) json_t *exec = json_pack("{s:s}", "apiVersion", V1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(kube_credential_reply_release) struct kube_credential_reply reply = {0};
        int result = kube_credential_read(exec, rows[i].text, strlen(rows[i].text), &reply, &err);
        CHECK_INT(result, rows[i].sentence ? -1 : 0);
        CHECK(!rows[i].sentence || strstr(err.text, rows[i].sentence));
        CHECK(!strstr(err.text, "secret"));
        CHECK_INT(reply.expires_ms, rows[i].expires_ms);
        CHECK(!rows[i].token == !reply.token &&
              (!reply.token || !strcmp(reply.token, rows[i].token)));
        CHECK(!rows[i].key == !reply.key_pem);
    }
}

static void test_what_a_plugin_is_told(void) {
    AUTO(tree_freep)
    json_t *exec = json_pack("{s:s, s:b}", "apiVersion", V1, "provideClusterInfo", 1);
    char server[] = "https://h", authorities[] = "CA", server_name[] = "n";
    struct config config = {
        .server = server, .authorities_pem = authorities, .server_name = server_name, .exec = exec};
    AUTO(text_freep) char *all = kube_credential_exec_info(&config);
    CHECK_STR(all, "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"spec\":{\"cluster\":{"
                   "\"certificate-authority-data\":\"Q0E=\",\"insecure-skip-tls-verify\":false,"
                   "\"server\":\"https://h\",\"tls-server-name\":\"n\"},\"interactive\":false}}");
    json_object_del(exec, "provideClusterInfo");
    AUTO(text_freep) char *little = kube_credential_exec_info(&config);
    CHECK_STR(little, "{\"apiVersion\":\"" V1
                      "\",\"kind\":\"ExecCredential\",\"spec\":{\"interactive\":false}}");
}

static void test_token_files(void) {
    struct error err = {0};
    AUTO(loop_freep) struct loop *loop = NULL;
    AUTO(kube_credential_freep) struct kube_credential *credential = NULL;
    struct kube_credential_view view = {0};
    char name[] = "pod";
    struct config config = {.name = name};
    config.token_file = file_join(folder, "token");
    CHECK_OK(loop_open(&loop, &err), &err);
    CHECK_OK(kube_credential_new(&config, loop, note_change, NULL, &credential, &err), &err);
    CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_FAILED);
    CHECK(strstr(err.text, "cannot open"));
    error_clear(&err);
    free(write_to("token", "first\n", 0600));
    CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_READY);
    CHECK_STR(view.token, "first");
    unsigned number = view.number;
    free(write_to("token", "second", 0600));
    CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_READY);
    CHECK_STR(view.token, "first"); /* within the minute */
    CHECK(kube_credential_refused(credential, number));
    CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_READY);
    CHECK_STR(view.token, "second");
    /* A late refusal of the first does not affect the second. */
    number = view.number;
    CHECK(kube_credential_refused(credential, number - 1));
    CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_READY);
    CHECK_INT(view.number, number);
    free(config.token_file);
}

/* Runs the credential until it is ready or has failed. */
static enum kube_credential_state settle(struct loop *loop, struct kube_credential *credential,
                                         struct kube_credential_view *view, struct error *err) {
    enum kube_credential_state state = kube_credential_get(credential, view, err);
    int64_t end_ms = clock_monotonic_ms() + 60000;
    while (state == CREDENTIAL_PENDING && clock_monotonic_ms() < end_ms) {
        int before = changes;
        struct error loop_err = {0};
        CHECK(loop_wait(loop, 60000, &loop_err) >= 0);
        state = changes > before ? kube_credential_get(credential, view, err) : state;
    }
    return state;
}

static void test_plugins(void) {
    AUTO(text_freep)
    char *good = write_to("good.sh",
                          "#!/bin/sh\necho x >>$COUNT\ncat >/dev/null\n"
                          "echo '{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1
                          "\",\"status\":{\"token\":\"'$1-$MARK-${#KUBERNETES_EXEC_INFO}'\"}}'\n",
                          0755);
    AUTO(text_freep) char *bad = write_to("bad.sh", "#!/bin/sh\necho secret\nexit 3\n", 0755);
    AUTO(text_freep) char *mute = write_to("mute.sh", "#!/bin/sh\necho secret\n", 0755);
    AUTO(text_freep)
    char *large = write_to("large.sh", "#!/bin/sh\nhead -c 3000000 /dev/zero\n", 0755);
    const struct {
        const char *command, *token, *sentence;
    } rows[] = {
        {good, "a b-m-101", NULL},
        {bad, NULL, "exited with code 3"},
        {mute, NULL, "did not print an ExecCredential"},
        {large, NULL, "exec plug-in"},
        {"/none/kubelogin", NULL, "not found in PATH. get it there"},
    };
    AUTO(text_freep) char *count = file_join(folder, "count");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct kube_credential_view view = {0};
        char name[] = "context c";
        AUTO(tree_freep)
        json_t *exec =
            json_pack("{s:s, s:s, s:[s], s:[{s:s, s:s}, {s:s, s:s}], s:s}", "apiVersion", V1,
                      "command", rows[i].command, "args", "a b", "env", "name", "MARK", "value",
                      "m", "name", "COUNT", "value", count, "installHint", "get it there");
        struct config config = {.name = name, .exec = exec};
        AUTO(loop_freep) struct loop *loop = NULL;
        CHECK_OK(loop_open(&loop, &err), &err);
        AUTO(kube_credential_freep) struct kube_credential *credential = NULL;
        CHECK_OK(kube_credential_new(&config, loop, note_change, NULL, &credential, &err), &err);
        enum kube_credential_state state = settle(loop, credential, &view, &err);
        CHECK_INT(state, rows[i].token ? CREDENTIAL_READY : CREDENTIAL_FAILED);
        if (rows[i].token) {
            CHECK_STR(view.token, rows[i].token);
            CHECK_INT(kube_credential_get(credential, &view, &err), CREDENTIAL_READY);
            CHECK(kube_credential_refused(credential, view.number)); /* runs it once more */
            CHECK_INT(settle(loop, credential, &view, &err), CREDENTIAL_READY);
        } else {
            CHECK(strstr(err.text, rows[i].sentence));
            CHECK(text_starts(err.text, "context c: exec plug-in "));
            CHECK(!strstr(err.text, "secret"));
        }
    }
    AUTO(text_freep) char *ran = NULL;
    size_t size = 0;
    struct error err = {0};
    CHECK_OK(file_read(count, 100, &ran, &size, &err), &err);
    CHECK_STR(ran, "x\nx\n");
}

static void test_plugins_that_are_refused(void) {
    static const struct {
        const char *version, *mode, *sentence;
    } rows[] = {{"client.authentication.k8s.io/v1alpha1", "Never", "exec.apiVersion"},
                {V1, "Always", "interactiveMode is Always"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char name[] = "c";
        AUTO(tree_freep)
        json_t *exec = json_pack("{s:s, s:s, s:s}", "apiVersion", rows[i].version,
                                 "interactiveMode", rows[i].mode, "command", "true");
        struct config config = {.name = name, .exec = exec};
        AUTO(kube_credential_freep) struct kube_credential *credential = NULL;
        CHECK_INT(kube_credential_new(&config, NULL, note_change, NULL, &credential, &err), -1);
        CHECK(strstr(err.text, rows[i].sentence));
    }
}

int main(void) {
    struct error err = {0};
    snprintf(folder, sizeof folder, "/tmp/windlass-credential-XXXXXX");
    CHECK(mkdtemp(folder));
    TEST(test_what_a_plugin_may_say);
    TEST(test_what_a_plugin_is_told);
    TEST(test_token_files);
    TEST(test_plugins);
    TEST(test_plugins_that_are_refused);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
