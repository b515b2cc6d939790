// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/jobs/job_print.h"

#include "lib/text/utf8.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int job_form_read(const char *text, enum job_form *ret_form, struct error *err) {
    static const char *const names[] = {[JOB_FORM_TABLE] = "table",
                                        [JOB_FORM_WIDE] = "wide",
                                        [JOB_FORM_JSON] = "json",
                                        [JOB_FORM_YAML] = "yaml",
                                        [JOB_FORM_NAME] = "name"};
    for (size_t i = 0; text && i < ARRAY_LEN(names); i++) {
        if (strcmp(text, names[i]) == 0) {
            *ret_form = (enum job_form)i;
            return 0;
        }
    }
    if (text) {
        return error_set(err, ERROR_INVALID, "-o %s: expected one of %s", text, JOB_FORMS);
    }
    *ret_form = JOB_FORM_TABLE;
    return 0;
}

/* A text that YAML reads as text without quotes: a word, other than true, null and the like. */
static bool is_plain(const char *text) {
    static const char *const words[] = {"true", "false", "null", "yes", "no",
                                        "on",   "off",   "y",    "n"};
    if (!isalpha((unsigned char)*text) || text_ends(text, ":")) {
        return false;
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (strcasecmp(text, words[i]) == 0) {
            return false;
        }
    }
    for (const char *at = text; *at; at++) {
        if (!isalnum((unsigned char)*at) && !strchr("-_./", *at)) {
            return false;
        }
    }
    return true;
}

/* JSON in which what would act on a terminal (lib/text/shown.h) is written as \u202E: jansson does
 * so only below U+0020. The caller frees; NULL: not a value of JSON. */
static char *dump(const json_t *value, size_t flags) {
    AUTO(text_freep) char *text = json_dumps(value, flags);
    if (!text) {
        return NULL;
    }
    size_t left = strlen(text), size = 0;
    char *safe = x_malloc(3 * left + 1), *to = safe; /* two bytes become six */
    for (const char *at = text; left > 0; at += size, left -= size) {
        size = MAX(utf8_character(at, left), (size_t)1);
        unsigned code = utf8_code(at, size);
        if ((code >= 0x80 && code < 0xA0) || utf8_is_deceptive(code)) {
            to += snprintf(to, 7, "\\u%04X", code);
        } else {
            to = mempcpy(to, at, size);
        }
    }
    *to = 0;
    return safe;
}

static void put(FILE *to, const json_t *value, int depth, bool is_in_list);

static void put_scalar(FILE *to, const json_t *value) {
    const char *text = json_string_value(value);
    if (text && is_plain(text)) {
        fputs(text, to);
        return;
    }
    AUTO(text_freep) char *quoted = dump(value, JSON_ENCODE_ANY);
    fputs(quoted ? quoted : "null", to);
}

static bool is_block(const json_t *value) {
    return json_object_size(value) > 0 || json_array_size(value) > 0;
}

static void put_key(FILE *to, const char *key) {
    AUTO(tree_freep) json_t *text = json_string(key);
    put_scalar(to, text);
    putc(':', to);
}

static void put_object(FILE *to, const json_t *object, int depth, bool is_in_list) {
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value) {
        fprintf(to, "%*s", is_in_list ? 0 : 2 * depth, "");
        is_in_list = false; /* the first is on the line of the dash */
        put_key(to, key);
        putc(is_block(value) ? '\n' : ' ', to);
        put(to, value, json_is_array(value) ? depth : depth + 1, false);
    }
}

static void put(FILE *to, const json_t *value, int depth, bool is_in_list) {
    if (json_object_size(value) > 0) {
        put_object(to, value, depth, is_in_list);
        return;
    }
    size_t i;
    json_t *item;
    json_array_foreach((json_t *)value, i, item) {
        fprintf(to, "%*s- ", is_in_list && i == 0 ? 0 : 2 * depth, "");
        put(to, item, depth + 1, true);
    }
    if (!is_block(value)) {
        put_scalar(to, value);
        putc('\n', to);
    }
}

char *job_print_yaml(const json_t *tree) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    if (!to) {
        abort(); /* out of memory */
    }
    put(to, tree, 0, false);
    fclose(to);
    return text;
}

static void print_name(const json_t *job) {
    const char *kind = tree_text(job, "kind", "");
    for (; *kind; kind++) {
        putchar(tolower((unsigned char)*kind));
    }
    printf("/%s\n", tree_text(job, "metadata.name", ""));
}

int job_print(const json_t *jobs, bool is_list, enum job_form form, struct error *err) {
    AUTO(tree_freep)
    json_t *all =
        is_list ? json_pack("{s:s, s:s, s:O}", "apiVersion", "v1", "kind", "List", "items", jobs)
                : json_incref(json_array_get(jobs, 0));
    if (form == JOB_FORM_NAME) {
        for (size_t i = 0; i < json_array_size(jobs); i++) {
            print_name(json_array_get(jobs, i));
        }
    } else {
        AUTO(text_freep)
        char *text = form == JOB_FORM_YAML ? job_print_yaml(all) : dump(all, JSON_INDENT(2));
        printf("%s%s", text, form == JOB_FORM_YAML ? "" : "\n");
    }
    return fflush(stdout) == 0
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "cannot write to standard output: %m");
}
