// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/run/run_secrets.h"

#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum { VALUE_MAX = 64 << 10 };

static int read_value(const char *path, json_t **ret_value, struct error *err) {
    char *text = NULL;
    size_t size = 0;
    if (file_read(path, VALUE_MAX, &text, &size, err) < 0) {
        err->kind = ERROR_INVALID; /* the user has to give it */
        return -1;
    }
    size -= size > 0 && text[size - 1] == '\n';
    *ret_value = memchr(text, 0, size) ? NULL : json_stringn(text, size);
    explicit_bzero(text, size);
    free(text);
    return *ret_value ? 0 : error_set(err, ERROR_INVALID, "%s is not UTF-8 text", path);
}

/* The secret of that name; creates it if it is missing. Borrowed. */
static json_t *secret_of(json_t *secrets, const json_t *object, const char *name) {
    size_t i;
    json_t *secret;
    json_array_foreach(secrets, i, secret) {
        if (strcmp(tree_text(secret, "metadata.name", ""), name) == 0) {
            return secret;
        }
    }
    secret = json_pack("{s:s, s:s, s:{s:s, s:s}, s:{}}", "apiVersion", "v1", "kind", "Secret",
                       "metadata", "name", name, "namespace",
                       tree_text(object, "metadata.namespace", "default"), "stringData");
    json_array_append_new(secrets, secret);
    return secret;
}

/* field: where the manifest names the Secret, for messages. */
static int add_value(const char *folder, const json_t *object, const json_t *one, const char *field,
                     json_t *secrets, struct error *err) {
    const char *name = tree_text(one, "secretName", ""), *key = tree_text(one, "key", "");
    json_t *value = NULL;
    if (!folder) {
        return error_set(err, ERROR_INVALID,
                         "%s: a Secret is not known on this machine; give --secrets DIR, with the "
                         "file DIR/%s/%s",
                         field, name, key);
    }
    AUTO(text_freep) char *path = x_printf("%s/%s/%s", folder, name, key);
    if (read_value(path, &value, err) < 0) {
        return error_context(err, "%s", field);
    }
    json_object_set_new(json_object_get(secret_of(secrets, object, name), "stringData"), key,
                        value);
    return 0;
}

/* Of a model server: two keys of one Secret. */
static int add_client_certificate(const char *folder, const json_t *object, const char *within,
                                  const json_t *spec, json_t *secrets, struct error *err) {
    static const char *const parts[] = {"certificate", "key"};
    const json_t *client = tree_get(spec, "scorer.endpoint.clientCertificate");
    AUTO(text_freep) char *field = x_printf("%s.scorer.endpoint.clientCertificate", within);
    for (size_t i = 0; client && i < ARRAY_LEN(parts); i++) {
        AUTO(tree_freep)
        json_t *one = json_pack("{s:O, s:O}", "secretName", json_object_get(client, "secretName"),
                                "key", json_object_get(client, parts[i]));
        if (add_value(folder, object, one, field, secrets, err) < 0) {
            return -1;
        }
    }
    return 0;
}

int run_secrets_read(const char *folder, const json_t *object, const char *within,
                     json_t **ret_secrets, struct error *err) {
    const json_t *spec = tree_get(object, within), *wanted = json_object_get(spec, "secrets");
    AUTO(tree_freep) json_t *secrets = json_array();
    for (size_t i = 0; i < json_array_size(wanted); i++) {
        AUTO(text_freep) char *field = x_printf("%s.secrets[%zu]", within, i);
        if (add_value(folder, object, json_array_get(wanted, i), field, secrets, err) < 0) {
            return -1;
        }
    }
    static const char *const single[] = {"signingKey", "scorer.endpoint.key",
                                         "input.table.query.connection"};
    for (size_t i = 0; i < ARRAY_LEN(single); i++) {
        const json_t *one = tree_get(spec, single[i]);
        AUTO(text_freep) char *field = x_printf("%s.%s", within, single[i]);
        if (one && add_value(folder, object, one, field, secrets, err) < 0) {
            return -1;
        }
    }
    if (add_client_certificate(folder, object, within, spec, secrets, err) < 0) {
        return -1;
    }
    *ret_secrets = TAKE(secrets);
    return 0;
}
