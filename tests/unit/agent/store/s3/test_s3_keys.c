// SPDX-License-Identifier: Apache-2.0
/* Where keys of s3:// come from, as far as no service is asked. With services:
 * tests/e2e/storage/s3_identity.sh. */
#include "agent/store/s3/s3_keys.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/windlass-keys-XXXXXX";

static char *made_file(const char *name, const char *text) {
    struct error err = {0};
    char *path = file_join(folder, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
    return path;
}

/* Where the bucket's Secret is mounted; not there at first. */
static char *secrets;

static int read_keys(enum s3_identity identity, struct cloud_grant *grant, struct error *err) {
    struct s3_place place = {.base = {.secrets = secrets}, .identity = identity};
    return s3_read_grant(&place.base, /* resolver= */ NULL, grant, err);
}

static void forget_all(void) {
    static const char *const names[] = {"HOME",
                                        "AWS_PROFILE",
                                        "AWS_SHARED_CREDENTIALS_FILE",
                                        "AWS_ROLE_ARN",
                                        "AWS_WEB_IDENTITY_TOKEN_FILE",
                                        "AWS_ENDPOINT_URL_STS",
                                        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                                        "AWS_EC2_METADATA_SERVICE_ENDPOINT"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        unsetenv(names[i]);
    }
}

static void profiles(void) {
    static const struct {
        const char *text, *profile, *wanted; /* name|secret|session; NULL: DENIED */
    } rows[] = {
        {"[default]\naws_access_key_id = AKIA\naws_secret_access_key=s/+=\n", NULL, "AKIA|s/+=|"},
        {"# x\r\n[ a ]\r\naws_access_key_id=no\r\n[b]\r\n aws_access_key_id = B \r\n"
         "aws_secret_access_key = c\r\naws_session_token = d==\r\nregion = x\r\n[c]\r\n"
         "aws_access_key_id=no",
         "b", "B|c|d=="},
        {"[default]\n;aws_access_key_id=x\naws_secret_access_key=y", NULL, NULL},
        {"[default]\naws_access_key_id=x\n[b]\naws_secret_access_key=y", NULL, NULL},
        {"[default]\naws_access_key_id=x\naws_secret_access_key=", NULL, NULL},
        {"[default]\naws_access_key_id=x y\naws_secret_access_key=z", NULL, NULL},
        {"aws_access_key_id=x\naws_secret_access_key=y", NULL, NULL},
        {"[", NULL, NULL},
        {"", NULL, NULL},
    };
    forget_all();
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cloud_grant grant = {0};
        AUTO(text_freep) char *path = made_file("shared", rows[i].text);
        setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
        setenv("AWS_PROFILE", rows[i].profile ? rows[i].profile : "", 1);
        int result = read_keys(S3_IDENTITY_NONE, &grant, &err);
        CHECK_INT(result, rows[i].wanted ? 0 : -1);
        CHECK_INT(err.kind, rows[i].wanted ? ERROR_NONE : ERROR_DENIED);
        AUTO(text_freep)
        char *seen = result < 0 ? x_strdup("")
                                : x_printf("%s|%s|%s", grant.name, grant.bytes,
                                           grant.session ? grant.session : "");
        CHECK_STR(seen, rows[i].wanted ? rows[i].wanted : "");
        CHECK_INT((int)grant.lasts_ms, 0);
        cloud_grant_release(&grant);
    }
}

/* gs:// has keys of its Secret, and none of Amazon's; a service account has no role there. */
static void keys_of_google(void) {
    static const struct {
        const char *text;
        enum s3_identity identity;
        enum error_kind kind;
    } rows[] = {
        {"holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY (an HMAC key of Google's)",
         S3_IDENTITY_NONE, ERROR_DENIED},
        {"identity ServiceAccount is not for gs://", S3_IDENTITY_SERVICE_ACCOUNT, ERROR_INVALID},
        {"GCE_METADATA_HOST is \"http://10.0.0.1/", S3_IDENTITY_NODE, ERROR_INVALID}};
    forget_all();
    AUTO(text_freep)
    char *shared = made_file("shared", "[default]\naws_access_key_id=own\naws_secret_access_key=s");
    setenv("AWS_SHARED_CREDENTIALS_FILE", shared, 1);
    setenv("GCE_METADATA_HOST", "10.0.0.1", 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cloud_grant grant = {0};
        struct s3_place place = {
            .base = {.secrets = secrets}, .identity = rows[i].identity, .is_google = true};
        CHECK_INT(s3_read_grant(&place.base, /* resolver= */ NULL, &grant, &err), -1);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK(strstr(err.text, rows[i].text) != NULL);
    }
}

/* Files of a mounted Secret come first; the rights of a service account are not theirs. */
static void what_comes_first(void) {
    struct error err = {0};
    struct cloud_grant grant = {0};
    forget_all();
    AUTO(text_freep) char *name = made_file("mounted/AWS_ACCESS_KEY_ID", "mounted\n");
    AUTO(text_freep) char *secret = made_file("mounted/AWS_SECRET_ACCESS_KEY", "s");
    AUTO(text_freep)
    char *shared = made_file("shared", "[default]\naws_access_key_id=own\naws_secret_access_key=s");
    setenv("AWS_SHARED_CREDENTIALS_FILE", shared, 1);
    CHECK_OK(read_keys(S3_IDENTITY_NONE, &grant, &err), &err);
    CHECK_STR(grant.name ? grant.name : "", "mounted");
    cloud_grant_release(&grant);
    CHECK_OK(read_keys(S3_IDENTITY_SERVICE_ACCOUNT, &grant, &err), &err);
    CHECK_STR(grant.name ? grant.name : "", "own");
    cloud_grant_release(&grant);
    setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/x", 1);
    CHECK_INT(read_keys(S3_IDENTITY_SERVICE_ACCOUNT, &grant, &err), -1);
    CHECK(strstr(err.text, "only one is set") != NULL);
}

/* One that lacks a key gets no other rights instead, and nothing of it is kept. */
static void a_secret_with_other_names(void) {
    static const struct {
        const char *file, *error;
    } rows[] = {
        {"accessKey", "holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
        {"AWS_SESSION_TOKEN", "holds no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
        {"AWS_ACCESS_KEY_ID", "holds no AWS_SECRET_ACCESS_KEY"},
        {"AWS_SECRET_ACCESS_KEY", "holds no AWS_ACCESS_KEY_ID"},
    };
    forget_all();
    AUTO(text_freep)
    char *shared = made_file("shared", "[default]\naws_access_key_id=own\naws_secret_access_key=s");
    setenv("AWS_SHARED_CREDENTIALS_FILE", shared, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cloud_grant grant = {0};
        CHECK_OK(file_remove_tree(secrets, &err), &err);
        CHECK_OK(file_make_folders(secrets, &err), &err);
        AUTO(text_freep) char *name = x_printf("mounted/%s", rows[i].file);
        AUTO(text_freep) char *path = made_file(name, "x");
        CHECK_INT(read_keys(S3_IDENTITY_NONE, &grant, &err), -1);
        CHECK_INT(err.kind, ERROR_DENIED);
        CHECK(text_ends(err.text, rows[i].error));
        CHECK(!grant.name && !grant.bytes && !grant.session);
    }
}

static void ends(void) {
    static const struct {
        const char *ends;
        int64_t lasts_days; /* -1: UNAVAILABLE */
    } rows[] = {
        {"9999-12-31T23:59:59Z", 366},
        {"2263-01-01T00:00:00Z", 366},
        {"2020-01-01T00:00:00Z", -1},
        {"0000-01-01T00:00:00Z", -1},
        {"soon", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cloud_grant grant = {0};
        const struct s3_keys keys = {.name = "a", .secret = "b", .ends = rows[i].ends};
        CHECK_INT(s3_keep_keys(&keys, "x", &grant, &err), rows[i].lasts_days < 0 ? -1 : 1);
        CHECK_INT(grant.lasts_ms / 86400000, rows[i].lasts_days < 0 ? 0 : rows[i].lasts_days);
        cloud_grant_release(&grant);
    }
}

/* The token service has 400 for what passes, too; that is tried again. */
static void refusals_of_a_role(void) {
    static const struct {
        int status;
        const char *code;
        enum error_kind kind;
    } rows[] = {
        {400, "Throttling", ERROR_UNAVAILABLE},
        {400, "ThrottlingException", ERROR_UNAVAILABLE},
        {400, "RequestLimitExceeded", ERROR_UNAVAILABLE},
        {400, "InvalidIdentityToken", ERROR_UNAVAILABLE},
        {400, "IDPCommunicationError", ERROR_UNAVAILABLE},
        {503, "ServiceUnavailable", ERROR_UNAVAILABLE},
        {400, "ValidationError", ERROR_DENIED},
        {400, "ExpiredTokenException", ERROR_DENIED},
        {403, "AccessDenied", ERROR_DENIED},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep)
        char *body =
            x_printf("<ErrorResponse><Error><Code>%s</Code></Error></ErrorResponse>", rows[i].code);
        CHECK_INT(s3_refuse_role(rows[i].status, body, &err), -1);
        CHECK_INT(err.kind, rows[i].kind);
        CHECK(text_ends(err.text, rows[i].code));
    }
}

/* Nothing is sent in plain but to the addresses of these services. */
static void addresses(void) {
    static const struct {
        const char *url;
        bool is_node;
    } rows[] = {
        {"x", false},
        {"http://10.0.0.1/v1", false},
        {"https://169.254.170.23/v1", false},
        {"http://169.254.169.254/v1", false},
        {"http://169.254.170.23@10.0.0.1/", false},
        {"http://169.254.170.230/v1", false},
        {"http://[fd00:ec2::254]/v1", false},
        {"http://169.254.170.23.nip/", false},
        {"http://2852039191/v1", false},
        {"http://127.0.0.1:1/?x=http://", false},
        {"ftp://127.0.0.1/", false},
        {"http://169.254.170.23", true},
        {"http://metadata.example", true},
        {"http://[fd00:ec2::23]", true},
        {"https://169.254.169.254", true},
    };
    AUTO(text_freep) char *token = made_file("token", "word\n");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct cloud_grant grant = {0};
        forget_all();
        setenv(rows[i].is_node ? "AWS_EC2_METADATA_SERVICE_ENDPOINT"
                               : "AWS_CONTAINER_CREDENTIALS_FULL_URI",
               rows[i].url, 1);
        setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token, 1);
        CHECK_INT(read_keys(rows[i].is_node ? S3_IDENTITY_NODE : S3_IDENTITY_SERVICE_ACCOUNT,
                            &grant, &err),
                  -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, "or a loopback address") != NULL);
    }
}

int main(void) {
    if (!mkdtemp(folder)) {
        return 3;
    }
    struct error ignored = {0};
    secrets = file_join(folder, "mounted");
    TEST(profiles);
    TEST(addresses);
    TEST(keys_of_google);
    if (file_make_folders(secrets, &ignored) < 0) {
        return 3;
    }
    TEST(what_comes_first);
    TEST(a_secret_with_other_names);
    TEST(ends);
    TEST(refusals_of_a_role);
    free(secrets);
    return file_remove_tree(folder, &ignored) < 0 ? 1 : TEST_END();
}
