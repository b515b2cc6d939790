// SPDX-License-Identifier: Apache-2.0
#include "lib/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *checked(void *memory, size_t size) {
    if (!memory && size) {
        fprintf(stderr, "out of memory: cannot allocate %zu bytes\n", size);
        abort();
    }
    return memory;
}

void *x_malloc(size_t size) {
    return checked(malloc(size), size);
}

void *x_calloc(size_t count, size_t size) {
    return checked(calloc(count, size), count && size ? count : 0);
}

void *x_realloc(void *old, size_t size) {
    return checked(realloc(old, size), size);
}

void *x_realloc_array(void *old, size_t count, size_t size) {
    size_t total;
    if (__builtin_mul_overflow(count, size, &total)) {
        checked(NULL, SIZE_MAX);
    }
    return x_realloc(old, total);
}

char *x_strdup(const char *text) {
    return text ? checked(strdup(text), strlen(text) + 1) : NULL;
}

char *x_strndup(const char *text, size_t max) {
    return checked(strndup(text, max), max + 1);
}

char *x_printf(const char *format, ...) {
    char *text = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&text, format, arguments);
    va_end(arguments);
    return checked(length < 0 ? NULL : text, 1);
}

void text_freep(char **text) {
    free(*text);
    *text = NULL;
}

void fd_closep(int *fd) {
    if (*fd >= 0) {
        close(*fd);
    }
    *fd = -1;
}

bool text_starts(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix) {
    size_t text_length = strlen(text), suffix_length = strlen(suffix);
    return text_length >= suffix_length && strcmp(text + text_length - suffix_length, suffix) == 0;
}
