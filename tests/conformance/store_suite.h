/* store_suite.h: what every store must do alike. */
#pragma once

#include "agent/store/store.h"

/* Runs the tests on an empty, writable store; names of so many letters and slashes are its longest.
 * Where STORE_CREATE only looks first, nobody races. Returns how many checks failed. */
int store_suite(struct store *store, size_t name_max);

/* The object's text, or the kind of the error in brackets. The caller frees. */
char *store_text(struct store *store, const char *name);
/* The same of the caller's `store`, held against what is wanted (tests/test.h). */
#define CHECK_OBJECT(name, wanted)                                                                 \
    do {                                                                                           \
        AUTO(text_freep) char *text_ = store_text(store, name);                                    \
        CHECK_STR(text_, wanted);                                                                  \
    } while (0)
/* The names that are listed, each with a space behind it, or the error in brackets; 0: all. The
 * caller frees. */
char *store_names(struct store *store, const char *prefix, const char *after, int stop_after);
