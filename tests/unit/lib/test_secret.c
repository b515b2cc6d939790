// SPDX-License-Identifier: Apache-2.0
#include "lib/secret.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static void a_secret_leaves_nothing_where_it_was(void) {
    struct error err = {0};
    char *secret = NULL, *again = NULL;
    setenv("WINDLASS_TEST", "secret", 1);
    const char *place = getenv("WINDLASS_TEST");
    CHECK_OK(secret_take("WINDLASS_TEST", &secret, &err), &err);
    CHECK_STR(secret, "secret");
    CHECK_STR(place, ""); /* glibc keeps what setenv stored */
    CHECK(!getenv("WINDLASS_TEST"));
    CHECK_OK(secret_take("WINDLASS_TEST", &again, &err), &err);
    CHECK(!again);
    secret_forget(&secret);
    CHECK(!secret);
    secret_forget(&secret);
}

static void texts_are_masked(void) {
    char text[] = "aba abaab ab";
    secret_mask(text, strlen(text), "aba");
    CHECK_STR(text, "*** ***ab ab");
    secret_mask(text, strlen(text), "");
    secret_mask(text, strlen(text), NULL);
    CHECK_STR(text, "*** ***ab ab");
}

static void write_secrets(const char *folder) {
    static const char *const names[] = {
        "token",        "tls.key",          "signing.key",     "query.connection",
        "endpoint.key", "endpoint.tls.crt", "endpoint.tls.key"};
    struct error err = {0};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        AUTO(text_freep) char *path = file_join(folder, names[i]);
        CHECK_OK(file_write(path, names[i], strlen(names[i]), &err), &err);
    }
}

static char *take(const char *name) {
    struct error err = {0};
    char *secret = NULL;
    CHECK_OK(secret_take(name, &secret, &err), &err);
    return secret;
}

/* As a user's program would look for them afterwards. */
static void files_are_removed_as_they_are_read(void) {
    char folder[] = "/tmp/windlass-secret-XXXXXX";
    static const char *const rows[][2] = {{"WINDLASS_TOKEN", "token"},
                                          {"WINDLASS_TLS_KEY", "tls.key"},
                                          {"WINDLASS_SIGNING_KEY", "signing.key"},
                                          {"WINDLASS_QUERY_CONNECTION", "query.connection"},
                                          {"WINDLASS_ENDPOINT_KEY", "endpoint.key"},
                                          {"WINDLASS_ENDPOINT_TLS_CERTIFICATE", "endpoint.tls.crt"},
                                          {"WINDLASS_ENDPOINT_TLS_KEY", "endpoint.tls.key"}};
    struct error err = {0};
    CHECK(mkdtemp(folder));
    write_secrets(folder);
    setenv("WINDLASS_SECRETS", folder, 1);
    AUTO(secret_forget) char *other = take("WINDLASS_READ_TOKEN");
    CHECK(!other);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *path = file_join(folder, rows[i][1]);
        AUTO(secret_forget) char *secret = take(rows[i][0]);
        AUTO(secret_forget) char *gone = take(rows[i][0]);
        CHECK_STR(secret, rows[i][1]);
        CHECK(!gone && access(path, F_OK) < 0);
    }
    setenv("WINDLASS_TOKEN", "of a variable", 1);
    write_secrets(folder);
    AUTO(secret_forget) char *variable = take("WINDLASS_TOKEN");
    CHECK_STR(variable, "of a variable");
    unsetenv("WINDLASS_SECRETS");
    AUTO(secret_forget) char *nowhere = take("WINDLASS_TLS_KEY");
    CHECK(!nowhere);
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

/* In a pod where a program of the user runs, a file that stays is a fault; in others the volume is
 * read-only. */
static void a_file_that_stays_is_a_fault(void) {
    char folder[] = "/tmp/windlass-secret-XXXXXX";
    struct error err = {0};
    char *secret = NULL;
    CHECK(mkdtemp(folder));
    write_secrets(folder);
    setenv("WINDLASS_SECRETS", folder, 1);
    AUTO(text_freep) char *token = file_join(folder, "token");
    if (geteuid() != 0) {
        chmod(folder, 0500);
        CHECK_INT(secret_take("WINDLASS_TOKEN", &secret, &err), -1);
        CHECK(!secret && strstr(err.text, "token: cannot be removed"));
        chmod(folder, 0700);
    } else if (mount(folder, folder, NULL, MS_BIND, NULL) == 0) {
        CHECK(mount(NULL, folder, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY, NULL) == 0);
        secret = take("WINDLASS_TOKEN");
        CHECK_STR(secret, "token");
        CHECK(access(token, F_OK) == 0);
        secret_forget(&secret);
        CHECK(umount(folder) == 0);
    }
    CHECK(truncate(token, SECRET_BYTES_MAX + 1) == 0);
    CHECK_INT(secret_take("WINDLASS_TOKEN", &secret, &err), -1);
    CHECK(!secret && strstr(err.text, token));
    err = (struct error){0};
    unsetenv("WINDLASS_SECRETS");
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

int main(void) {
    TEST(a_secret_leaves_nothing_where_it_was);
    TEST(texts_are_masked);
    TEST(files_are_removed_as_they_are_read);
    TEST(a_file_that_stays_is_a_fault);
    return TEST_END();
}
