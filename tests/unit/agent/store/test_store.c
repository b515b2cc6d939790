// SPDX-License-Identifier: Apache-2.0
/* An object is hashed piece by piece as it is at the beginning; of one that changes meanwhile there
 * is an error, and never the hash of what is left. */
#include "agent/store/store.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

enum { PIECE = 1 << 20, LARGE = 3 * PIECE + 17 };

static struct store *store;
static char *large;
static char folder[] = "/tmp/windlass-store-hash-XXXXXX";

static void put(const char *name, size_t size) {
    struct error err = {0};
    CHECK_OK(store_put(store, name, large, size, STORE_REPLACE, &err), &err);
}

static int count_bytes(void *context, const char *data, size_t size, struct error *err UNUSED) {
    int64_t *at = context;
    CHECK(memcmp(data, large + *at, size) == 0);
    *at += (int64_t)size;
    return 0;
}

static void objects_are_hashed(void) {
    static const size_t sizes[] = {0, 1, PIECE - 1, PIECE, PIECE + 1, LARGE};
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct store_digest hash;
        struct error err = {0};
        int64_t seen = 0;
        char hex[65];
        put("a/object", sizes[i]);
        digest_sha256(large, sizes[i], hex);
        CHECK_OK(store_hash(store, "a/object", count_bytes, &seen, &hash, &err), &err);
        CHECK_INT(hash.size_bytes, sizes[i]);
        CHECK_INT(seen, sizes[i]);
        CHECK_STR(hash.sha256, hex);
        CHECK_OK(store_hash(store, "a/object", NULL, NULL, &hash, &err), &err);
        CHECK_STR(hash.sha256, hex);
    }
}

struct change {
    size_t size; /* what the object becomes */
    bool is_cut; /* the same file, cut */
};

static int change_it(void *context, const char *data UNUSED, size_t size UNUSED,
                     struct error *err UNUSED) {
    const struct change *change = context;
    if (change->is_cut) {
        AUTO(text_freep) char *path = x_printf("%s/out/object", folder);
        CHECK_INT(truncate(path, (off_t)change->size), 0);
    } else {
        put("object", change->size);
    }
    return 0;
}

static void a_change_is_an_error(void) {
    static const struct change rows[] = {{LARGE, false}, {PIECE, false}, {PIECE, true}, {0, true}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct store_digest hash = {.size_bytes = 7};
        struct error err = {0};
        struct change change = rows[i];
        put("object", LARGE);
        CHECK_INT(store_hash(store, "object", change_it, &change, &hash, &err), -1);
        CHECK_INT(err.kind, ERROR_CONFLICT);
        CHECK_INT(hash.size_bytes, 7);
    }
}

static int refuse(void *context UNUSED, const char *data UNUSED, size_t size UNUSED,
                  struct error *err) {
    return error_set(err, ERROR_CANCELLED, "enough");
}

static void errors_are_passed_on(void) {
    struct store_digest hash;
    struct error missing = {0}, refused = {0};
    put("object", 5);
    CHECK_INT(store_hash(store, "none", NULL, NULL, &hash, &missing), -1);
    CHECK_INT(missing.kind, ERROR_NOT_FOUND);
    CHECK_INT(store_hash(store, "object", refuse, NULL, &hash, &refused), -1);
    CHECK_INT(refused.kind, ERROR_CANCELLED);
}

int main(void) {
    struct error err = {0};
    large = x_malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = (char)(i * 2654435761u >> 13);
    }
    setenv("storehash", mkdtemp(folder), 1);
    CHECK_OK(store_open("storehash/out", /* writes= */ true, &store, &err), &err);
    TEST(objects_are_hashed);
    TEST(a_change_is_an_error);
    TEST(errors_are_passed_on);
    store_free(store);
    free(large);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
