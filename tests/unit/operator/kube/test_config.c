// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/config.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

/* One cluster, one user whose fields a row gives. */
static char *kubeconfig(const char *cluster, const char *user) {
    return x_printf("apiVersion: v1\nkind: Config\ncurrent-context: c\n"
                    "contexts: [{name: c, context: {cluster: k, user: u, namespace: ns}}]\n"
                    "clusters: [{name: k, cluster: {%s}}]\nusers: [{name: u, user: {%s}}]\n",
                    cluster, user);
}

static int read_one(const char *text, const char *context, struct config **ret_config,
                    struct error *err) {
    AUTO(tree_freep) json_t *merged = json_object();
    if (config_merge(merged, "F", text, "/folder", err) < 0) {
        return -1;
    }
    return config_choose(merged, "F", context, ret_config, err);
}

static void test_what_is_taken(void) {
    struct error err = {0};
    AUTO(config_freep) struct config *config = NULL;
    AUTO(text_freep)
    char *text = kubeconfig("server: 'https://h:6443/', certificate-authority-data: Q0E=, "
                            "tls-server-name: name, proxy-url: 'http://p:1'",
                            "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, "
                            "token: t, tokenFile: tokens/t");
    CHECK_OK(read_one(text, NULL, &config, &err), &err);
    CHECK_STR(config->server, "https://h:6443");
    CHECK_STR(config->namespace, "ns");
    CHECK_STR(config->authorities_pem, "CA");
    CHECK_STR(config->server_name, "name");
    CHECK_STR(config->proxy, "http://p:1");
    CHECK_STR(config->client_certificate_pem, "CERT");
    CHECK_STR(config->client_key_pem, "KEY");
    CHECK_STR(config->token, "t");
    CHECK_STR(config->token_file, "/folder/tokens/t");
    CHECK_STR(config->name, "context c of F");
    CHECK(!config->is_insecure && !config->exec);
}

static void test_what_is_refused(void) {
    static const char server[] = "server: 'https://h'";
    static const struct {
        const char *cluster, *user, *context, *sentence;
    } rows[] = {
        {"", "", NULL, "F: cluster k: server is '', expected an address that starts with https://"},
        {"server: 'h:6443'", "", NULL, "F: cluster k: server is 'h:6443'"},
        {server, "", "other", "F: no context named other, expected one of: c"},
        {"server: 'https://h', certificate-authority-data: '*'", "", NULL,
         "F: cluster k: certificate-authority-data: not base64"},
        {"server: 'https://h', certificate-authority: none.crt", "", NULL,
         "F: cluster k: certificate-authority: cannot open /folder/none.crt"},
        {"server: 'https://h', certificate-authority-data: Q0E=, insecure-skip-tls-verify: true",
         "", NULL, "cannot be combined"},
        {server, "client-key-data: S0VZ", NULL,
         "F: user u: client-certificate and client-key belong together: client-certificate is "
         "missing"},
        {server, "auth-provider: {name: azure}", NULL, "kubelogin convert-kubeconfig"},
        {server, "username: a, password: b", NULL, "F: user u: username and password were removed"},
        {server, "as: somebody", NULL, "(impersonation) is not supported"},
        {server, "exec: {args: [a]}", NULL, "F: user u: exec.command: expected a program"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(config_freep) struct config *config = NULL;
        AUTO(text_freep) char *text = kubeconfig(rows[i].cluster, rows[i].user);
        CHECK_INT(read_one(text, rows[i].context, &config, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        if (!strstr(err.text, rows[i].sentence)) {
            CHECK_STR(err.text, rows[i].sentence);
        }
    }
}

static void test_what_is_no_kubeconfig(void) {
    static const char *const rows[] = {
        "kind: Pod\n",
        "clusters: 7\n",
        "clusters: [{cluster: {}}]\n",
        "[]\n",
        "a: [\n",
        "contexts: [{name: c, context: {cluster: k}}]\n", /* and no current-context */
        "current-context: c\ncontexts: [{name: c, context: {cluster: none}}]\n",
        "current-context: c\ncontexts: [{name: c}]\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(config_freep) struct config *config = NULL;
        CHECK_INT(read_one(rows[i], NULL, &config, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(text_starts(err.text, "F"));
    }
}

/* The first file with a value wins, and paths in a file are relative to its folder. */
static void test_several_files(void) {
    struct error err = {0};
    AUTO(tree_freep) json_t *merged = json_object();
    AUTO(config_freep) struct config *config = NULL;
    CHECK_OK(config_merge(merged, "one",
                          "current-context: c\nusers: [{name: u, user: {token: 1a}}]\n", "/one",
                          &err),
             &err);
    CHECK_OK(config_merge(merged, "empty", "", "/e", &err), &err);
    CHECK_OK(config_merge(merged, "two",
                          "current-context: d\n"
                          "contexts: [{name: c, context: {cluster: k, user: u}}]\n"
                          "clusters: [{name: k, cluster: {server: 'https://two'}}]\n"
                          "users: [{name: u, user: {token: other}}]\n",
                          "/two", &err),
             &err);
    CHECK_OK(config_choose(merged, "one:two", NULL, &config, &err), &err);
    CHECK_STR(config->server, "https://two");
    CHECK_STR(config->token, "1a");
    CHECK_STR(config->namespace, "default");
}

static void write_to(const char *folder, const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

static void test_from_a_pod(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-config-XXXXXX";
    CHECK(mkdtemp(folder));
    AUTO(config_freep) struct config *config = NULL;
    CHECK_INT(config_from_pod(folder, "10.0.0.1", "443", &config, &err), -1);
    CHECK(strstr(err.text, "ca.crt"));
    error_clear(&err);
    write_to(folder, "ca.crt", "PEM");
    write_to(folder, "namespace", "team\n");
    CHECK_OK(config_from_pod(folder, "fd00::1", "443", &config, &err), &err);
    CHECK_STR(config->server, "https://[fd00::1]:443");
    CHECK_STR(config->namespace, "team");
    CHECK(text_ends(config->token_file, "/token"));
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

static void test_where_it_is_looked_for(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-config-XXXXXX";
    CHECK(mkdtemp(folder));
    AUTO(text_freep) char *text = kubeconfig("server: 'https://h'", "token: t");
    AUTO(text_freep) char *path = file_join(folder, "config");
    AUTO(text_freep) char *list = x_printf("%s/none:%s", folder, path);
    write_to(folder, "config", text);
    unsetenv("KUBERNETES_SERVICE_HOST");
    setenv("HOME", folder, 1);
    setenv("KUBECONFIG", list, 1);
    struct config *config = NULL;
    CHECK_OK(config_load(&(struct config_options){NULL, NULL}, &config, &err), &err);
    config_freep(&config);
    setenv("KUBECONFIG", "/none/a:/none/b", 1);
    CHECK_INT(config_load(&(struct config_options){NULL, NULL}, &config, &err), -1);
    CHECK(strstr(err.text, "none of the files in $KUBECONFIG exists"));
    error_clear(&err);
    CHECK_OK(config_load(&(struct config_options){path, "c"}, &config, &err), &err);
    config_freep(&config);
    unsetenv("KUBECONFIG");
    CHECK_INT(config_load(&(struct config_options){NULL, NULL}, &config, &err), -1);
    CHECK(strstr(err.text, "give --kubeconfig FILE"));
    error_clear(&err);
    CHECK_INT(config_load(&(struct config_options){"/none/x", NULL}, &config, &err), -1);
    CHECK(strstr(err.text, "cannot open /none/x"));
    error_clear(&err);
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

int main(void) {
    TEST(test_what_is_taken);
    TEST(test_what_is_refused);
    TEST(test_what_is_no_kubeconfig);
    TEST(test_several_files);
    TEST(test_from_a_pod);
    TEST(test_where_it_is_looked_for);
    return TEST_END();
}
