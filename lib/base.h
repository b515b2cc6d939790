/* base.h: what every file may use: attributes, ownership helpers, allocation that cannot fail.
 * Everything in lib/, operator/ and agent/ includes it; it includes no other header of this
 * project. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NODISCARD __attribute__((warn_unused_result))
#define PRINTF_LIKE(format_at, first_at) __attribute__((format(printf, format_at, first_at)))
#define UNUSED __attribute__((unused))
/* For a large local that is written before it is read, in code that runs often: the compiler does
 * not zero it first (as it does with all others, see HARDEN in the Makefile). */
#define NOT_ZEROED __attribute__((uninitialized))
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

/* Arguments are evaluated twice: avoid side effects. */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* When memory is exhausted these print a line on stderr and abort: in a pod the program starts
 * again and continues, `windlass run` can be run again. Sizes from outside are checked against a
 * maximum before they come here. */
void *x_malloc(size_t size);
void *x_calloc(size_t count, size_t size);
void *x_realloc(void *old, size_t size);
/* Resizes an array to count items of size bytes; aborts when count * size overflows. */
void *x_realloc_array(void *old, size_t count, size_t size);
char *x_strdup(const char *text); /* NULL in, NULL out */
char *x_strndup(const char *text, size_t max);
char *x_printf(const char *format, ...) PRINTF_LIKE(1, 2);

/* Cleanup functions for AUTO; each leaves NULL or -1 behind. */
void text_freep(char **text);
void fd_closep(int *fd); /* -1 means none */

/* Whether the string starts (ends) with prefix (suffix). */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);

/* The release that --version prints. */
#define WINDLASS_VERSION "0.1.0"
