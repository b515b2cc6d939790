// SPDX-License-Identifier: Apache-2.0
#include "lib/secret.h"

#include "lib/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The names of files are those of the job's Secret (operator/kinds/job/guard/pod_secrets.c). */
static const char *const files[][2] = {{"WINDLASS_TOKEN", "token"},
                                       {"WINDLASS_TLS_KEY", "tls.key"},
                                       {"WINDLASS_SIGNING_KEY", "signing.key"},
                                       {"WINDLASS_QUERY_CONNECTION", "query.connection"},
                                       {"WINDLASS_ENDPOINT_KEY", "endpoint.key"},
                                       {"WINDLASS_ENDPOINT_TLS_CERTIFICATE", "endpoint.tls.crt"},
                                       {"WINDLASS_ENDPOINT_TLS_KEY", "endpoint.tls.key"}};

static char *path_of(const char *name) {
    const char *folder = getenv("WINDLASS_SECRETS");
    for (size_t i = 0; folder && *folder && i < ARRAY_LEN(files); i++) {
        if (strcmp(files[i][0], name) == 0) {
            return file_join(folder, files[i][1]);
        }
    }
    return NULL;
}

static int take_file(const char *path, char **ret_secret, struct error *err) {
    AUTO(secret_forget) char *secret = NULL;
    size_t size = 0;
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        *ret_secret = NULL;
        return 0;
    }
    if (file_read(path, SECRET_BYTES_MAX, &secret, &size, err) < 0) {
        return -1;
    }
    if (unlink(path) < 0 && errno != EROFS) {
        return error_from_errno(err, errno, "%s: cannot be removed", path);
    }
    *ret_secret = TAKE(secret);
    return 0;
}

int secret_take(const char *name, char **ret_secret, struct error *err) {
    char *value = getenv(name);
    if (!value || !*value) {
        AUTO(text_freep) char *path = path_of(name);
        *ret_secret = NULL;
        return path ? take_file(path, ret_secret, err) : 0;
    }
    *ret_secret = x_strdup(value);
    explicit_bzero(value, strlen(value));
    unsetenv(name);
    return 0;
}

void secret_mask(char *text, size_t size, const char *secret) {
    size_t length = secret ? strlen(secret) : 0;
    char *end = text + size;
    for (char *at = text; length > 0 && (at = memmem(at, (size_t)(end - at), secret, length));) {
        memset(at, '*', length);
        at += length;
    }
}

void secret_forget(char **secret) {
    if (*secret) {
        explicit_bzero(*secret, strlen(*secret));
    }
    free(TAKE(*secret));
}
