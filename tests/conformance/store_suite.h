/* store_suite.h: tests that every store must pass. */
#pragma once

#include "agent/store/store.h"

/* Runs the tests on an empty, writable store; its longest names have name_max letters and slashes.
 * Where STORE_CREATE only checks before it writes, the races are left out. Returns the number of
 * failed checks. */
int store_suite(struct store *store, size_t name_max);

/* The object's text, or the error's kind in brackets. The caller frees. */
char *store_text(struct store *store, const char *name);
/* Compares the text of an object of the caller's `store` with the wanted one (tests/test.h). */
#define CHECK_OBJECT(name, wanted)                                                                 \
    do {                                                                                           \
        AUTO(text_freep) char *text_ = store_text(store, name);                                    \
        CHECK_STR(text_, wanted);                                                                  \
    } while (0)
/* The listed names, each followed by a space, or the error in brackets; 0: all. The caller
 * frees. */
char *store_names(struct store *store, const char *prefix, const char *after, int stop_after);
