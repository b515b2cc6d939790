// SPDX-License-Identifier: Apache-2.0
/* The keys of a service account's role: its token is exchanged for them (AssumeRoleWithWebIdentity,
 * docs.aws.amazon.com/STS). */
#include "agent/store/s3/s3_keys.h"

#include "agent/store/cloud/cloud_client.h"
#include "agent/store/cloud/cloud_question.h"
#include "agent/store/cloud/xml.h"
#include "lib/text/text_list.h"

#include <stdlib.h>
#include <string.h>

#define RESULT "AssumeRoleWithWebIdentityResponse/AssumeRoleWithWebIdentityResult/Credentials/"

enum { FORM_BYTES_MAX = 64 << 10, VARIABLE_BYTES_MAX = 2048 };

static const char shown[] = "the role of the service account";

static int make_form(const char *role, const char *token_file, struct buffer *form,
                     struct error *err) {
    const char *session = cloud_variable("AWS_ROLE_SESSION_NAME");
    session = session ? session : "windlass";
    char *token = NULL;
    if (strlen(role) > VARIABLE_BYTES_MAX || strlen(session) > VARIABLE_BYTES_MAX) {
        return error_set(err, ERROR_INVALID,
                         "AWS_ROLE_ARN or AWS_ROLE_SESSION_NAME has more than %d bytes",
                         VARIABLE_BYTES_MAX);
    }
    if (cloud_mounted_token(token_file, &token, err) < 0) {
        return -1;
    }
    cloud_add_field(form, "Action", "AssumeRoleWithWebIdentity");
    cloud_add_field(form, "Version", "2011-06-15");
    cloud_add_field(form, "RoleArn", role);
    cloud_add_field(form, "RoleSessionName", session);
    cloud_add_field(form, "WebIdentityToken", token);
    cloud_wipe(&token, strlen(token));
    return 0;
}

static int read_leaf(void *context, const struct xml_path *path, char *text,
                     struct error *err UNUSED) {
    struct s3_keys *keys = context;
    const struct {
        const char *at, **to;
    } rows[] = {{RESULT "AccessKeyId", &keys->name},
                {RESULT "SecretAccessKey", &keys->secret},
                {RESULT "SessionToken", &keys->session},
                {RESULT "Expiration", &keys->ends}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (xml_is_at(path, rows[i].at)) {
            *rows[i].to = text;
        }
    }
    return 0;
}

static int read_answer(char *body, struct cloud_grant *grant, struct error *err) {
    struct s3_keys keys = {0};
    struct error cause = {0};
    const struct xml_visitor visitor = {.root = "AssumeRoleWithWebIdentityResponse",
                                        .refusal = "not the answer",
                                        .leaf = read_leaf,
                                        .context = &keys};
    if (xml_read(body, strlen(body), &visitor, &cause) < 0 || !keys.session || !keys.ends) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no valid keys", shown);
    }
    return s3_keep_keys(&keys, shown, grant, err);
}

/* Of the service, whose status is 400, too. InvalidIdentityToken: also where it could not read the
 * issuer's keys in time. */
static bool is_temporary(const char *code) {
    static const char *const codes[] = {
        "Throttling",           "ThrottlingException",   "RequestLimitExceeded",
        "InvalidIdentityToken", "IDPCommunicationError", NULL};
    return text_list_has(codes, code);
}

/* Only the code is shown: the text may repeat what we sent. */
int s3_refuse_role(int status, const char *body, struct error *err) {
    const char *start = strstr(body, "<Code>");
    char code[CLOUD_CODE_MAX] = "";
    if (start) {
        start += strlen("<Code>");
        cloud_copy_shown(code, sizeof code, start, strcspn(start, "<"));
    }
    bool is_refusal = (status == 400 || status == 401 || status == 403) && !is_temporary(code);
    return error_set(err, is_refusal ? ERROR_DENIED : ERROR_UNAVAILABLE,
                     "cannot get keys for %s (AWS_ROLE_ARN): %d%s%s", shown, status,
                     *code ? " " : "", code);
}

static int ask(const struct s3_place *place, struct resolver *resolver, const char *form,
               struct cloud_grant *grant, struct error *err) {
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
    const char *given = cloud_variable("AWS_ENDPOINT_URL_STS");
    const char *region = cloud_variable("AWS_REGION");
    region = region ? region : place->region;
    AUTO(text_freep)
    char *url = given ? x_printf("%s%s", given, text_ends(given, "/") ? "" : "/")
                      : x_printf("https://sts.%s.amazonaws.com%s/", region,
                                 text_starts(region, "cn-") ? ".cn" : "");
    const struct cloud_question question = {.url = url,
                                            .method = "POST",
                                            .headers = headers,
                                            .form = form,
                                            .authorities_file = place->base.authorities_file,
                                            .variable =
                                                given ? "AWS_ENDPOINT_URL_STS" : "AWS_REGION"};
    int status = 0;
    char *body = NULL;
    if (cloud_question_ask(&question, resolver, &status, &body, err) < 0) {
        return error_context(err, "%s", shown);
    }
    size_t size = strlen(body);
    int result = status == 200 ? read_answer(body, grant, err) : s3_refuse_role(status, body, err);
    cloud_wipe(&body, size);
    return result;
}

int s3_fetch_role(const struct s3_place *place, struct resolver *resolver,
                  struct cloud_grant *grant, struct error *err) {
    const char *role = cloud_variable("AWS_ROLE_ARN");
    const char *token_file = cloud_variable("AWS_WEB_IDENTITY_TOKEN_FILE");
    struct buffer form;
    if (!role || !token_file) {
        return role || token_file
                   ? error_set(err, ERROR_DENIED,
                               "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are expected, only "
                               "one is set")
                   : 0;
    }
    buffer_init(&form, FORM_BYTES_MAX);
    int result = make_form(role, token_file, &form, err);
    if (result == 0) {
        result = ask(place, resolver, form.data, grant, err);
    }
    if (form.data) {
        explicit_bzero(form.data, form.size);
    }
    buffer_release(&form);
    return result;
}
