// SPDX-License-Identifier: Apache-2.0
#include "operator/local/environment.h"

#include "lib/buffer.h"
#include "lib/contract.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* On Linux the arguments and environment of a process are limited to 2 MiB, one text to 128 KiB. */
enum { TEXT_MAX = 128 << 10 };

static const char *const inherited[] = {
    "PATH", "HOME", "USER", "LANG", "TZ", "LC_ALL", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES",
    CONTRACT_MACHINE_VARIABLES, "GCE_METADATA_HOST",
    /* Where keys of S3 are found: not the keys themselves. */
    "AWS_REGION", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ENDPOINT_URL_STS",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
    "AWS_EC2_METADATA_SERVICE_ENDPOINT", "DOCKER_CONFIG", "XDG_CACHE_HOME", "HTTPS_PROXY",
    "NO_PROXY", "https_proxy", "no_proxy"};
static const char *const inherited_prefixes[] = {"ASAN_", "UBSAN_",  "LSAN_", "TSAN_",
                                                 "DNNL_", "ONEDNN_", "AZURE_"};

static size_t count_of(char **list) {
    size_t count = 0;
    while (list && list[count]) {
        count++;
    }
    return count;
}

/* Takes the text over. */
static void append(char ***list, char *text) {
    size_t count = count_of(*list);
    *list = x_realloc_array(*list, count + 2, sizeof **list);
    (*list)[count] = text;
    (*list)[count + 1] = NULL;
}

static char **find(const struct local_environment *environment, const char *name, size_t length) {
    for (char **at = environment->variables; at && *at; at++) {
        if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') {
            return at;
        }
    }
    return NULL;
}

void local_environment_set(struct local_environment *environment, const char *name,
                           const char *value) {
    char *text = x_printf("%s=%s", name, value);
    char **at = find(environment, name, strlen(name));
    if (at) {
        free(*at);
        *at = text;
    } else {
        append(&environment->variables, text);
    }
}

void local_environment_release(struct local_environment *environment) {
    char **lists[] = {environment->words, environment->variables};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        for (char **at = lists[i]; at && *at; at++) {
            free(*at);
        }
        free(lists[i]);
    }
    *environment = (struct local_environment){0};
}

/* As in Kubernetes, an unknown $(NAME) and a single $ stay unchanged. */
static int expand(const struct local_environment *environment, const char *text, char **ret_text,
                  struct error *err) {
    AUTO(buffer_release) struct buffer out;
    buffer_init(&out, TEXT_MAX);
    while (*text) {
        size_t plain = strcspn(text, "$");
        const char *end = text[plain] && text[plain + 1] == '(' ? strchr(text + plain, ')') : NULL;
        const char *insert = "";
        size_t taken = plain;
        if (text[plain] && text[plain + 1] == '$') {
            insert = "$";
            taken += 2;
        } else if (end) {
            const char *name = text + plain + 2;
            char **at = find(environment, name, (size_t)(end - name));
            insert = at ? strchr(*at, '=') + 1 : NULL;
            taken = (size_t)(end + 1 - text);
            plain = insert ? plain : taken;
        } else if (text[plain]) {
            taken = ++plain;
        }
        if (buffer_append(&out, text, plain, err) < 0 ||
            (insert && buffer_append(&out, insert, strlen(insert), err) < 0)) {
            return -1;
        }
        text += taken;
    }
    size_t size;
    *ret_text = buffer_take(&out, &size);
    return 0;
}

/* The caller frees. */
static int value_of(const struct local_environment *environment, const json_t *variable,
                    const struct local_environment_source *source, char **ret_value,
                    struct error *err) {
    const char *name = tree_text(variable, "name", "");
    const char *secret = tree_text(variable, "valueFrom.secretKeyRef.name", NULL);
    const char *field = tree_text(variable, "valueFrom.fieldRef.fieldPath", NULL);
    const char *value = NULL;
    if (secret) {
        const char *key = tree_text(variable, "valueFrom.secretKeyRef.key", "");
        value = source->secret(source->context, secret, key);
        if (!value) {
            return error_set(err, ERROR_NOT_FOUND, "variable %s: no key %s in a Secret %s", name,
                             key, secret);
        }
    } else if (field) {
        value = source->field(source->context, field);
        if (!value) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "variable %s: field %s is not available on this machine", name, field);
        }
    } else if (tree_get(variable, "valueFrom")) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "variable %s: valueFrom must be a secretKeyRef or a fieldRef", name);
    }
    if (value) {
        *ret_value = x_strdup(value);
        return 0;
    }
    return expand(environment, tree_text(variable, "value", ""), ret_value, err);
}

static int add_variables(struct local_environment *environment, const json_t *container,
                         const struct local_environment_source *source, struct error *err) {
    size_t i;
    json_t *variable;
    json_array_foreach(json_object_get(container, "env"), i, variable) {
        const char *name = tree_text(variable, "name", "");
        if (!*name || strchr(name, '=')) {
            return error_set(err, ERROR_INVALID, "env[%zu]: invalid variable name '%s'", i, name);
        }
        const char *folder = tree_find(json_object_get(container, "volumeMounts"), "name", name)
                                 ? source->folder(source->context, name)
                                 : NULL;
        if (folder) {
            local_environment_set(environment, name, folder);
            continue;
        }
        AUTO(text_freep) char *value = NULL;
        if (value_of(environment, variable, source, &value, err) < 0) {
            return -1;
        }
        local_environment_set(environment, name, value);
    }
    return 0;
}

static int add_words(struct local_environment *environment, const json_t *container,
                     struct error *err) {
    static const char *const lists[] = {"command", "args"};
    if (json_array_size(json_object_get(container, "command")) == 0) {
        append(&environment->words, x_strdup("windlass-agent")); /* the image's entry point */
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        size_t j;
        json_t *word;
        json_array_foreach(json_object_get(container, lists[i]), j, word) {
            char *text = NULL;
            const char *raw = json_string_value(word);
            if (expand(environment, raw ? raw : "", &text, err) < 0) {
                return error_context(err, "%s[%zu]", lists[i], j);
            }
            append(&environment->words, text);
        }
    }
    return 0;
}

/* Adds variables that the container does not define itself; $(NAME) cannot refer to them. */
static void inherit(struct local_environment *environment) {
    for (char **at = environ; *at; at++) {
        size_t length = strcspn(*at, "=");
        bool wanted = false;
        for (size_t i = 0; i < ARRAY_LEN(inherited); i++) {
            wanted = wanted ||
                     (strlen(inherited[i]) == length && strncmp(*at, inherited[i], length) == 0);
        }
        for (size_t i = 0; i < ARRAY_LEN(inherited_prefixes); i++) {
            wanted = wanted || text_starts(*at, inherited_prefixes[i]);
        }
        if (wanted && (*at)[length] == '=' && !find(environment, *at, length)) {
            append(&environment->variables, x_strdup(*at));
        }
    }
}

int local_environment_build(const json_t *container, const struct local_environment_source *source,
                            struct local_environment *ret_environment, struct error *err) {
    struct local_environment made = {0};
    if (add_variables(&made, container, source, err) < 0 || add_words(&made, container, err) < 0) {
        local_environment_release(&made);
        return -1;
    }
    inherit(&made);
    *ret_environment = made;
    return 0;
}
