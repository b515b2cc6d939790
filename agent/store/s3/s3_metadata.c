// SPDX-License-Identifier: Apache-2.0
/* Keys from services that only the pods of a node reach: EKS Pod Identity, and the instance
 * metadata service. They are asked in plain, so only at the addresses that they have. */
#include "agent/store/s3/s3_keys.h"

#include "agent/store/cloud/cloud_client.h"
#include "agent/store/cloud/cloud_question.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_BYTES_MAX = 64 << 10, ROLE_BYTES_MAX = 64 };

static int refuse(const char *shown, int status, struct error *err) {
    return error_set(err, status == 429 || status >= 500 ? ERROR_UNAVAILABLE : ERROR_DENIED,
                     "%s answered %d", shown, status);
}

/* {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"}; the node's has "Code", too. */
static int read_keys(const char *body, const char *shown, struct cloud_grant *grant,
                     struct error *err) {
    AUTO(tree_freep) json_t *answer = NULL;
    struct error cause = {0};
    if (tree_parse(body, strlen(body), ANSWER_BYTES_MAX, &answer, &cause) < 0 ||
        strcmp(tree_text(answer, "Code", "Success"), "Success") != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no valid keys", shown);
    }
    const struct s3_keys keys = {.name = tree_text(answer, "AccessKeyId", NULL),
                                 .secret = tree_text(answer, "SecretAccessKey", NULL),
                                 .session = tree_text(answer, "Token", NULL),
                                 .ends = tree_text(answer, "Expiration", NULL)};
    if (!keys.session || !keys.ends) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no valid keys", shown);
    }
    return s3_keep_keys(&keys, shown, grant, err);
}

/* ---- EKS Pod Identity ----------------------------------------------------------------------- */

int s3_fetch_pod(const struct s3_place *place UNUSED, struct resolver *resolver,
                 struct cloud_grant *grant, struct error *err) {
    static const char shown[] = "EKS Pod Identity";
    static const char *const addresses[] = {"169.254.170.23", "fd00:ec2::23", NULL};
    const char *url = cloud_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    const char *token_file = cloud_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    if (!url) {
        return 0;
    }
    if (!token_file) {
        return error_set(
            err, ERROR_DENIED,
            "%s: AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE, the file with the token, is not set",
            shown);
    }
    char *token = NULL, *body = NULL;
    if (cloud_mounted_token(token_file, &token, err) < 0) {
        return error_context(err, "%s", shown);
    }
    char *header = x_printf("Authorization: %s", token);
    const char *const headers[] = {header, NULL};
    const struct cloud_question question = {.url = url,
                                            .headers = headers,
                                            .variable = "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                                            .addresses = addresses};
    int status = 0;
    int result = cloud_question_ask(&question, resolver, &status, &body, err);
    cloud_wipe(&token, strlen(token));
    cloud_wipe(&header, strlen(header));
    if (result < 0) {
        return error_context(err, "%s", shown);
    }
    result = status == 200 ? read_keys(body, shown, grant, err) : refuse(shown, status, err);
    cloud_wipe(&body, strlen(body));
    return result;
}

/* ---- the node's instance metadata ----------------------------------------------------------- */

static const char node[] = "the instance metadata service";

/* 0: *ret_body is its answer of 200. */
static int ask_node(const char *method, const char *path, const char *header,
                    struct resolver *resolver, char **ret_body, struct error *err) {
    static const char *const addresses[] = {"169.254.169.254", "fd00:ec2::254", NULL};
    static const char variable[] = "AWS_EC2_METADATA_SERVICE_ENDPOINT";
    const char *given = cloud_variable(variable);
    const char *base = given ? given : "http://169.254.169.254";
    AUTO(text_freep) char *url = x_printf("%s%s%s", base, text_ends(base, "/") ? "" : "/", path);
    const char *const headers[] = {header, NULL};
    const struct cloud_question question = {.url = url,
                                            .method = method,
                                            .headers = headers,
                                            .form = method ? "" : NULL,
                                            .variable = variable,
                                            .addresses = addresses};
    int status = 0;
    char *body = NULL;
    if (cloud_question_ask(&question, resolver, &status, &body, err) < 0) {
        return error_context(err, "%s (a node whose hop limit is 1 keeps it from pods)", node);
    }
    if (status != 200) {
        cloud_wipe(&body, strlen(body));
        return status == 404 ? error_set(err, ERROR_DENIED, "%s: the node has no role", node)
                             : refuse(node, status, err);
    }
    *ret_body = body;
    return 0;
}

/* The first line of the list of roles, of which a node has one. */
static int find_role(const char *list, char **ret_path, struct error *err) {
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+=,.@_-";
    size_t size = strcspn(list, "\r\n");
    if (!size || size > ROLE_BYTES_MAX || strspn(list, plain) != size) {
        return error_set(err, ERROR_UNAVAILABLE, "%s: the answer has no name of a role", node);
    }
    AUTO(text_freep) char *role = x_strndup(list, size);
    /* "@" would end the host of a URL, and there is "?" nowhere. */
    AUTO(buffer_release) struct buffer path;
    buffer_init(&path, 1024);
    cloud_append(&path, "latest/meta-data/iam/security-credentials/");
    cloud_append_encoded(&path, role, "");
    *ret_path = buffer_take(&path, NULL);
    return 0;
}

int s3_fetch_node(const struct s3_place *place UNUSED, struct resolver *resolver,
                  struct cloud_grant *grant, struct error *err) {
    char *token = NULL, *body = NULL;
    AUTO(text_freep) char *roles = NULL, *path = NULL;
    if (ask_node("PUT", "latest/api/token", "X-aws-ec2-metadata-token-ttl-seconds: 300", resolver,
                 &token, err) < 0) {
        return -1;
    }
    token[strcspn(token, "\r\n")] = 0;
    char *header = x_printf("X-aws-ec2-metadata-token: %s", token);
    int result =
        ask_node(NULL, "latest/meta-data/iam/security-credentials/", header, resolver, &roles, err);
    result = result < 0 ? -1 : find_role(roles, &path, err);
    result = result < 0 ? -1 : ask_node(NULL, path, header, resolver, &body, err);
    cloud_wipe(&token, strlen(token));
    cloud_wipe(&header, strlen(header));
    if (result == 0) {
        result = read_keys(body, node, grant, err);
        cloud_wipe(&body, strlen(body));
    }
    return result;
}
