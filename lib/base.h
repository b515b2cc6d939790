/* base.h: what every file may assume: attributes, ownership helpers, allocation that cannot fail.
 * Included by everything in lib/, operator/ and agent/; includes nothing of ours. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD __attribute__((warn_unused_result))
#define PRINTF_LIKE(text_at, first_at) __attribute__((format(printf, text_at, first_at)))
#define UNUSED __attribute__((unused))
#define ARRAY_LEN(array) (sizeof(array) / sizeof((array)[0]))

/* AUTO(free_fn) declares a variable whose address goes to free_fn when it leaves scope.
 * Declare and initialise in one line:  AUTO(text_freep) char *name = NULL; */
#define AUTO(free_fn) __attribute__((cleanup(free_fn)))

/* Moves a pointer out of a variable (which becomes NULL), so that AUTO does not free it. */
#define TAKE(pointer)                                                                              \
    __extension__({                                                                                \
        __typeof__(pointer) take_ = (pointer);                                                     \
        (pointer) = NULL;                                                                          \
        take_;                                                                                     \
    })

/* Plain macros: an argument may be evaluated twice, so hand them values, not calls. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Host memory exhaustion aborts with a line on stderr: a pod restarts and no state is lost.
 * Every size from outside is bounded before it comes here, so nobody outside can cause it. */
void *x_malloc(size_t size);
void *x_calloc(size_t count, size_t size);
void *x_realloc(void *old, size_t size);
/* realloc for arrays: count * size is checked for overflow. */
void *x_realloc_array(void *old, size_t count, size_t size);
char *x_strdup(const char *text); /* NULL in, NULL out */
char *x_strndup(const char *text, size_t max);
char *x_printf(const char *format, ...) PRINTF_LIKE(1, 2);

/* Cleanup functions for AUTO. */
void text_freep(char **text);
void fd_closep(int *fd); /* -1 means none */

/* True when text starts (ends) with the other text. */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* The release, printed by --version of both programs. */
#define WINDLASS_VERSION "0.1.0"
