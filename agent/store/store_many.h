/* store_many.h: several objects of a store with one call, which over a network takes as long as a
 * few of them one after the other. Any thread. */
#pragma once

#include "agent/store/store.h"

/* Size, time and token of several objects, 16 at a time on az://. is_known: the object is as info
 * says or, where its token is empty, absent, for which its name may be the reason. -1: az://
 * failed; on volumes an object whose state cannot be read is not known. */
struct store_asked {
    const char *name;
    struct store_info info;
    bool is_known;
};
enum { STORE_ASK_MAX = 64 };
NODISCARD int store_ask(struct store *store, struct store_asked *objects, size_t count,
                        struct error *err);

/* Reads small objects, several at once if that is faster (az://). An object with is_whole set is as
 * it was at some moment of the call, with that token. Of the others nothing is known: they may be
 * absent, larger than their room, without a response, or not tried, as on volumes. */
struct store_peeked {
    const char *name;
    char *data; /* of the caller */
    size_t room, size;
    bool is_whole;
    char token[STORE_TOKEN_MAX];
};
enum { STORE_PEEK_MAX = 32 };
void store_peek(struct store *store, struct store_peeked *objects, size_t count);
