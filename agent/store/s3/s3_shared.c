// SPDX-License-Identifier: Apache-2.0
/* The file of keys that a user has for other programs, too: "~/.aws/credentials", with profiles:
 *
 *   [default]
 *   aws_access_key_id = AKIA...
 *   aws_secret_access_key = ...
 */
#include "agent/store/s3/s3_keys.h"

#include "lib/file.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 256 << 10 };

static char *trim(char *text) {
    text += strspn(text, " \t\r");
    size_t size = strlen(text);
    while (size && strchr(" \t\r", text[size - 1])) {
        text[--size] = 0;
    }
    return text;
}

/* Takes a line of the profile. */
static void read_line(char *line, struct s3_keys *keys) {
    const struct {
        const char *name, **to;
    } rows[] = {{"aws_access_key_id", &keys->name},
                {"aws_secret_access_key", &keys->secret},
                {"aws_session_token", &keys->session}};
    char *value = strchr(line, '=');
    if (!value || *line == '#' || *line == ';') {
        return;
    }
    *value++ = 0;
    const char *name = trim(line);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(name, rows[i].name) == 0) {
            *rows[i].to = trim(value);
        }
    }
}

/* Cuts the text; the keys point into it. */
static void read_profile(char *text, const char *profile, struct s3_keys *keys) {
    bool is_inside = false;
    for (char *line; (line = strsep(&text, "\n"));) {
        line = trim(line);
        size_t size = strlen(line);
        if (*line == '[' && line[size - 1] == ']') {
            line[size - 1] = 0;
            is_inside = strcmp(trim(line + 1), profile) == 0;
        } else if (is_inside) {
            read_line(line, keys);
        }
    }
}

int s3_fetch_shared(const struct s3_place *place UNUSED, struct resolver *resolver UNUSED,
                    struct cloud_grant *grant, struct error *err) {
    const char *given = cloud_variable("AWS_SHARED_CREDENTIALS_FILE");
    const char *profile = cloud_variable("AWS_PROFILE"), *home = cloud_variable("HOME");
    profile = profile ? profile : "default";
    AUTO(text_freep)
    char *path = given ? x_strdup(given) : file_join(home ? home : "", ".aws/credentials");
    char *text = NULL;
    size_t size = 0;
    struct error cause = {0};
    if ((!given && !home) || file_read(path, FILE_BYTES_MAX, &text, &size, &cause) < 0) {
        return !given && (!cause.kind || cause.kind == ERROR_NOT_FOUND)
                   ? 0
                   : error_set(err, ERROR_DENIED, "%s", cause.text);
    }
    struct s3_keys keys = {0};
    read_profile(text, profile, &keys);
    int result = s3_keep_keys(&keys, path, grant, &cause);
    cloud_wipe(&text, size);
    return result > 0 ? 1
                      : error_set(err, ERROR_DENIED,
                                  "%s: the profile \"%.60s\" has no valid aws_access_key_id and "
                                  "aws_secret_access_key",
                                  path, profile);
}
