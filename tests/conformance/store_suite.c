// SPDX-License-Identifier: Apache-2.0
#include "tests/conformance/store_suite.h"

#include "agent/store/store_many.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <pthread.h>
#include <stdlib.h>

static struct store *store;
static size_t name_max; /* bytes, of plain letters */

static int put(const char *name, const char *text, enum store_put_mode how, struct error *err) {
    return store_put(store, name, text, strlen(text), how, err);
}

static void whole_objects(void) {
    struct error err = {0};
    CHECK_OBJECT("a", "[not-found]");
    CHECK_OBJECT("a/b/c", "[not-found]");
    CHECK_OK(put("a", "one", STORE_REPLACE, &err), &err);
    CHECK_OK(put("a", "three", STORE_REPLACE, &err), &err);
    CHECK_OBJECT("a", "three");
    CHECK_OK(put("f/g/h.json", "", STORE_REPLACE, &err), &err);
    CHECK_OBJECT("f/g/h.json", "");
    CHECK_OK(store_remove(store, "a", &err), &err);
    CHECK_OK(store_remove(store, "a", &err), &err);
    CHECK_OK(store_remove(store, "no/folder/there", &err), &err);
    CHECK_OBJECT("a", "[not-found]");
}

static void create_excludes(void) {
    struct error err = {0};
    CHECK_OK(put("x/1", "first", STORE_CREATE, &err), &err);
    CHECK(put("x/1", "second", STORE_CREATE, &err) < 0 && err.kind == ERROR_CONFLICT);
    CHECK(strstr(err.text, "/x/1") != NULL);
    CHECK_OBJECT("x/1", "first");
    error_clear(&err);
    CHECK_OK(put("x/1", "third", STORE_REPLACE, &err), &err);
    CHECK_OBJECT("x/1", "third");
}

struct racer {
    pthread_t thread;
    int number, won;
};

static void *race(void *argument) {
    struct racer *racer = argument;
    char name[32], text[32];
    snprintf(text, sizeof text, "%d", racer->number);
    for (int i = 0; i < 50; i++) {
        struct error err = {0};
        snprintf(name, sizeof name, "race/%d", i);
        racer->won += put(name, text, STORE_CREATE, &err) == 0;
        racer->won += err.kind != ERROR_NONE && err.kind != ERROR_CONFLICT ? 1000 : 0;
    }
    return NULL;
}

static void one_creator_of_eight(void) {
    struct racer racers[8];
    int won = 0;
    if (!store_features(store).creates) {
        return;
    }
    for (int i = 0; i < 8; i++) {
        racers[i] = (struct racer){.number = i};
        pthread_create(&racers[i].thread, NULL, race, &racers[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(racers[i].thread, NULL);
        won += racers[i].won;
    }
    CHECK_INT(won, 50);
}

static void reads_of_ranges(void) {
    struct error err = {0};
    struct store_info info, other;
    char data[16];
    size_t size = 99;
    CHECK_OK(put("r", "0123456789", STORE_REPLACE, &err), &err);
    CHECK_OK(store_stat(store, "r", &info, &err), &err);
    CHECK_INT(info.size_bytes, 10);
    int64_t age_ms = clock_wall_ms() - info.modified_ns / 1000000;
    CHECK(age_ms > -5000 && age_ms < 60000);
    CHECK_OK(store_read(store, "r", &(struct store_piece){3, data, 4, info.token}, &size, &err),
             &err);
    CHECK(size == 4 && memcmp(data, "3456", 4) == 0);
    CHECK_OK(store_read(store, "r", &(struct store_piece){8, data, 16, NULL}, &size, &err), &err);
    CHECK(size == 2 && memcmp(data, "89", 2) == 0);
    CHECK_OK(store_read(store, "r", &(struct store_piece){10, data, 16, NULL}, &size, &err), &err);
    CHECK_INT(size, 0);
    CHECK_OK(put("r", "abcdefghij", STORE_REPLACE, &err), &err);
    CHECK_OK(store_stat(store, "r", &other, &err), &err);
    CHECK(strcmp(info.token, other.token) != 0);
    CHECK(store_read(store, "r", &(struct store_piece){0, data, 4, info.token}, &size, &err) < 0 &&
          err.kind == ERROR_CONFLICT);
    error_clear(&err);
    CHECK(store_stat(store, "nothing", &other, &err) < 0 && err.kind == ERROR_NOT_FOUND);
}

static void limits(void) {
    struct error err = {0};
    struct buffer buffer;
    AUTO(text_freep) char *large = x_calloc(1, 200001);
    memset(large, 'x', 200000);
    CHECK_OK(put("large", large, STORE_REPLACE, &err), &err);
    buffer_init(&buffer, 199999);
    CHECK(store_get(store, "large", &buffer, NULL, &err) < 0 && err.kind == ERROR_INVALID);
    CHECK(!store_error_is_machine(&err));
    buffer_release(&buffer);
    buffer_init(&buffer, 200000);
    error_clear(&err);
    CHECK_OK(store_get(store, "large", &buffer, NULL, &err), &err);
    CHECK_INT(buffer.size, 200000);
    buffer_release(&buffer);
    static const char *const bad[] = {"", "/a", "a/", "a//b", ".", "a/./b", "..", "../a", "a/.."};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error refused = {0};
        CHECK(put(bad[i], "x", STORE_REPLACE, &refused) < 0 && refused.kind == ERROR_INVALID);
        error_clear(&refused);
        CHECK(store_stat(store, bad[i], &(struct store_info){0}, &refused) < 0 &&
              refused.kind == ERROR_INVALID);
    }
    AUTO(text_freep) char *longest = x_calloc(1, name_max + 2);
    for (size_t i = 0; i <= name_max; i++) {
        longest[i] = i % 200 == 199 ? '/' : 'n';
    }
    error_clear(&err);
    CHECK(put(longest, "x", STORE_REPLACE, &err) < 0 && err.kind == ERROR_INVALID);
    longest[name_max] = 0;
    error_clear(&err);
    CHECK_OK(put(longest, "x", STORE_REPLACE, &err), &err);
    CHECK_OBJECT(longest, "x");
}

static void check_list(const char *prefix, const char *after, int stop_after, const char *wanted) {
    AUTO(text_freep) char *names = store_names(store, prefix, after, stop_after);
    CHECK_STR(names, wanted);
}

static void lists_in_order(void) {
    struct error err = {0};
    static const char *const names[] = {"l/b",      "l/a.txt", "l/a/z",       "l/a/b/c",   "l/a0",
                                        "l/.hid/x", "l/.h",    "l/a/.hidden", "l/\xC3\xA4"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_OK(put(names[i], names[i], STORE_REPLACE, &err), &err);
    }
    check_list("l/", NULL, 0, "l/a.txt l/a/b/c l/a/z l/a0 l/b l/\xC3\xA4 ");
    check_list("l/a/", NULL, 0, "l/a/b/c l/a/z ");
    check_list("l/.hid/", NULL, 0, "l/.hid/x ");
    check_list("l/", "l/a.txt", 0, "l/a/b/c l/a/z l/a0 l/b l/\xC3\xA4 ");
    check_list("l/", "l/a/b/c", 0, "l/a/z l/a0 l/b l/\xC3\xA4 ");
    check_list("l/", "l/a/q", 0, "l/a/z l/a0 l/b l/\xC3\xA4 ");
    check_list("l/", "l/a", 2, "l/a.txt l/a/b/c ");
    check_list("l/", "l/zz", 0, "l/\xC3\xA4 ");
    check_list("l/", "m", 0, "");
    check_list("l/", "k", 1, "l/a.txt ");
    check_list("l/b/", NULL, 0, "");
    check_list("nowhere/", NULL, 0, "");
}

static int compare(void *context, const char *name, const struct store_info *info,
                   struct error *err) {
    struct store_info wanted = {0};
    *(int *)context += info != NULL;
    if (store_stat(store, name, &wanted, err) < 0) {
        return -1;
    }
    return !info || (info->size_bytes == wanted.size_bytes &&
                     info->modified_ns == wanted.modified_ns &&
                     strcmp(info->token, wanted.token) == 0)
               ? 0
               : error_set(err, ERROR_BUG, "%s differs from store_stat", name);
}

static void list_tells_what_stat_tells(void) {
    struct error err = {0};
    int told = 0;
    CHECK_OK(store_list(store, "l/", NULL, compare, &told, &err), &err);
    told = 0;
    CHECK_OK(store_list_infos(store, "l/", NULL, compare, &told, &err), &err);
    CHECK_INT(told, 6);
}

/* Appends "NAME ", in parentheses if it is left out. */
static int note_all(void *context, const char *name, const struct store_info *info,
                    struct error *err UNUSED) {
    char *told = context;
    size_t size = strlen(told);
    CHECK(info && info->is_folder == (name[strlen(name) - 1] == '/'));
    snprintf(told + size, 1024 - size, info->is_left_out ? "(%s) " : "%s ", name);
    return 0;
}

static void list_all_tells_what_is_left_out(void) {
    static const char *const more[] = {"l/.hid/a/y", "l/.windlass/x", "l/.windlass-tmp-1"};
    struct error err = {0};
    char told[1024] = "";
    for (size_t i = 0; i < ARRAY_LEN(more); i++) {
        CHECK_OK(put(more[i], more[i], STORE_REPLACE, &err), &err);
    }
    CHECK_OK(store_list_all(store, "l/", NULL, note_all, told, &err), &err);
    CHECK_STR(told, "(l/.h) (l/.hid/) l/a.txt (l/a/.hidden) l/a/b/c l/a/z l/a0 l/b l/\xC3\xA4 ");
    told[0] = 0; /* behind a name only what is behind it */
    CHECK_OK(store_list_all(store, "l/", "l/a.txt", note_all, told, &err), &err);
    CHECK_STR(told, "(l/a/.hidden) l/a/b/c l/a/z l/a0 l/b l/\xC3\xA4 ");
    told[0] = 0;
    CHECK_OK(store_list_all(store, "l/", "l/a/b/c", note_all, told, &err), &err);
    CHECK_STR(told, "l/a/z l/a0 l/b l/\xC3\xA4 ");
}

static int refuse(void *context UNUSED, const char *name, const struct store_info *info UNUSED,
                  struct error *err) {
    return error_set(err, ERROR_CANCELLED, "enough of %s", name);
}

static void list_hands_on_errors(void) {
    struct error err = {0};
    CHECK(store_list(store, "l/", NULL, refuse, NULL, &err) < 0 && err.kind == ERROR_CANCELLED);
}

static void uploads(void) {
    struct error err = {0};
    {
        AUTO(store_upload_freep) struct store_upload *upload = NULL;
        CHECK_OK(store_upload_open(store, "u/1", &upload, &err), &err);
        CHECK_OK(store_upload_add(upload, "half", 4, &err), &err);
        check_list("u/", NULL, 0, "");
        CHECK_OBJECT("u/1", "[not-found]");
    }
    check_list("u/", NULL, 0, "");
    for (int i = 0; i < 2; i++) {
        AUTO(store_upload_freep) struct store_upload *upload = NULL;
        error_clear(&err);
        CHECK_OK(store_upload_open(store, "u/1", &upload, &err), &err);
        CHECK_OK(store_upload_add(upload, i ? "second" : "fir", i ? 6 : 3, &err), &err);
        CHECK_OK(store_upload_add(upload, i ? "" : "st", i ? 0 : 2, &err), &err);
        CHECK_INT(store_upload_commit(upload, STORE_CREATE, &err), i ? -1 : 0);
        CHECK(err.kind == (i ? ERROR_CONFLICT : ERROR_NONE));
    }
    CHECK_OBJECT("u/1", "first");
    check_list("u/", NULL, 0, "u/1 ");
}

/* Longer than one put or read of az:// (8 MiB), and not a multiple of it. */
enum { LARGE = (20 << 20) + 12345 };

static void check_large(const char *name, const char *wanted) {
    struct error err = {0};
    struct store_info info = {0}, same = {0};
    struct buffer buffer;
    AUTO(text_freep) char *data = x_malloc(LARGE);
    size_t size = 0;
    buffer_init(&buffer, LARGE + 2);
    CHECK_OK(buffer_append(&buffer, "<", 1, &err), &err);
    CHECK_OK(store_get(store, name, &buffer, &info, &err), &err);
    CHECK(buffer.size == LARGE + 1 && memcmp(buffer.data + 1, wanted, LARGE) == 0);
    buffer_release(&buffer);
    CHECK_OK(store_stat(store, name, &same, &err), &err);
    CHECK(info.size_bytes == LARGE && strcmp(info.token, same.token) == 0);
    for (int with_token = 0; with_token < 2; with_token++) {
        const char *token = with_token ? info.token : NULL;
        CHECK_OK(store_read(store, name, &(struct store_piece){3, data, LARGE, token}, &size, &err),
                 &err);
        CHECK(size == LARGE - 3 && memcmp(data, wanted + 3, size) == 0);
        CHECK_OK(
            store_read(store, name, &(struct store_piece){LARGE, data, LARGE, token}, &size, &err),
            &err);
        CHECK_INT(size, 0);
        CHECK_OK(store_read(store, name, &(struct store_piece){LARGE - 1, data, LARGE, token},
                            &size, &err),
                 &err);
        CHECK(size == 1 && data[0] == wanted[LARGE - 1]);
    }
    CHECK(store_read(store, name, &(struct store_piece){3, data, LARGE, "other"}, &size, &err) <
              0 &&
          err.kind == ERROR_CONFLICT);
    error_clear(&err);
    buffer_init(&buffer, LARGE - 1);
    CHECK(store_get(store, name, &buffer, NULL, &err) < 0 && err.kind == ERROR_INVALID);
    buffer_release(&buffer);
}

static void large_objects(void) {
    struct error err = {0};
    uint64_t state = 11;
    AUTO(text_freep) char *data = x_malloc(LARGE + 8);
    AUTO(store_upload_freep) struct store_upload *upload = NULL, *late = NULL;
    for (size_t i = 0; i < LARGE; i += 8) {
        uint64_t random = test_random(&state);
        memcpy(data + i, &random, 8);
    }
    CHECK_OK(store_put(store, "big/put", data, LARGE, STORE_CREATE, &err), &err);
    check_large("big/put", data);
    CHECK_OK(store_upload_open(store, "big/upload", &upload, &err), &err);
    for (size_t at = 0, piece; at < LARGE; at += piece) {
        size_t random = test_random(&state) % 3000000;
        piece = MIN(random, LARGE - at);
        CHECK_OK(store_upload_add(upload, data + at, piece, &err), &err);
    }
    check_list("big/", NULL, 0, "big/put ");
    CHECK_OBJECT("big/upload", "[not-found]");
    CHECK_OK(store_upload_commit(upload, STORE_CREATE, &err), &err);
    check_large("big/upload", data);
    CHECK(store_put(store, "big/put", data, LARGE - 1, STORE_CREATE, &err) < 0);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    error_clear(&err);
    CHECK_OK(store_upload_open(store, "big/upload", &late, &err), &err);
    CHECK_OK(store_upload_add(late, data + 1, LARGE - 1, &err), &err);
    CHECK(store_upload_commit(late, STORE_CREATE, &err) < 0 && err.kind == ERROR_CONFLICT);
    check_large("big/upload", data);
    check_large("big/put", data);
}

static void clears_a_folder(void) {
    struct error err = {0};
    static const char *const names[] = {"run/try/1", "run/try/2/deep", "run/tries", "run/other/1"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        CHECK_OK(put(names[i], "x", STORE_CREATE, &err), &err);
    }
    for (int i = 0; i < 2; i++) { /* the second time the object is gone */
        CHECK_OK(store_clear(store, "run/try/", &err), &err);
        CHECK_OBJECT("run/try/1", "[not-found]");
        CHECK_OBJECT("run/try/2/deep", "[not-found]");
    }
    CHECK_OBJECT("run/tries", "x");
    CHECK_OBJECT("run/other/1", "x");
    CHECK_OK(put("run/try/1", "y", STORE_CREATE, &err), &err);
    CHECK_OBJECT("run/try/1", "y");
    CHECK_INT(store_clear(store, "run/../try/", &err), -1);
    error_clear(&err);
    CHECK_OK(store_remove_leftovers(store, &err), &err);
    CHECK_OBJECT("run/try/1", "y");
}

static void clears_many(void) {
    struct error err = {0};
    enum { MANY = 150 };
    char name[32];
    for (int i = 0; i < MANY; i++) {
        snprintf(name, sizeof name, "many/%d/%d", i % 7, i);
        CHECK_OK(put(name, "x", STORE_CREATE, &err), &err);
    }
    CHECK_OK(store_clear(store, "many/", &err), &err);
    CHECK_OK(store_list(store, "many/", NULL, refuse, NULL, &err), &err);
}

/* A peek that a store calls whole has the whole object; az:// does peek. */
static void peeks(void) {
    struct error err = {0};
    char data[STORE_PEEK_MAX][32], names[STORE_PEEK_MAX][32];
    struct store_peeked objects[STORE_PEEK_MAX];
    for (int i = 0; i < STORE_PEEK_MAX; i++) {
        snprintf(names[i], sizeof names[i], "peek/%d", i);
        snprintf(data[i], sizeof data[i], "bytes of %d", i);
        if (i < STORE_PEEK_MAX - 2) {
            CHECK_OK(
                put(names[i], i == 3 ? "more than there is room" : data[i], STORE_CREATE, &err),
                &err);
        }
        objects[i] = (struct store_peeked){.name = names[i], .data = data[i], .room = 15};
        memset(data[i], 0, sizeof data[i]);
    }
    store_peek(store, objects, STORE_PEEK_MAX);
    bool peeks = objects[0].is_whole;
    CHECK(!peeks || !store_features(store).is_local);
    for (int i = 0; i < STORE_PEEK_MAX; i++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, "bytes of %d", i);
        CHECK(objects[i].is_whole == (peeks && i != 3 && i < STORE_PEEK_MAX - 2));
        if (objects[i].is_whole) {
            CHECK_INT(objects[i].size, strlen(wanted));
            CHECK_STR(data[i], wanted);
        }
    }
}

/* What is asked for together is what each alone says; an absent object, and one with a name that no
 * object can have, is absent. */
static void asks(void) {
    struct error err = {0};
    char names[STORE_ASK_MAX][1400];
    struct store_asked objects[STORE_ASK_MAX];
    for (int i = 0; i < STORE_ASK_MAX; i++) {
        snprintf(names[i], sizeof names[i], "ask/%d", i);
        if (i % 3) {
            CHECK_OK(put(names[i], names[i], STORE_CREATE, &err), &err);
        }
        objects[i] = (struct store_asked){.name = names[i]};
    }
    memset(names[5], 'l', sizeof names[5] - 1);
    CHECK_OK(store_ask(store, objects, STORE_ASK_MAX, &err), &err);
    for (int i = 0; i < STORE_ASK_MAX; i++) {
        struct store_info info = {0};
        struct error why = {0};
        bool is_there = store_stat(store, names[i], &info, &why) == 0;
        CHECK(objects[i].is_known || i == 5);
        CHECK(is_there == (i % 3 && i != 5));
        CHECK_STR(objects[i].info.token, info.token);
        CHECK_INT(objects[i].info.size_bytes, info.size_bytes);
        CHECK_INT(objects[i].info.modified_ns, info.modified_ns);
    }
    CHECK_OK(store_clear(store, "ask/", &err), &err);
}

static void probes(void) {
    struct error err = {0};
    CHECK_OK(store_probe(store, 10000, &err), &err);
}

int store_suite(struct store *tested, size_t longest_name) {
    store = tested;
    name_max = longest_name;
    test_failures_total = 0;
    TEST(whole_objects);
    TEST(create_excludes);
    TEST(one_creator_of_eight);
    TEST(reads_of_ranges);
    TEST(asks);
    TEST(limits);
    TEST(lists_in_order);
    TEST(list_tells_what_stat_tells);
    TEST(list_all_tells_what_is_left_out);
    TEST(list_hands_on_errors);
    TEST(uploads);
    TEST(large_objects);
    TEST(clears_a_folder);
    TEST(clears_many);
    TEST(peeks);
    TEST(probes);
    return test_failures_total;
}

char *store_text(struct store *from, const char *name) {
    struct error err = {0};
    struct buffer buffer;
    buffer_init(&buffer, 1 << 20);
    if (store_get(from, name, &buffer, NULL, &err) < 0) {
        buffer_release(&buffer);
        return x_printf("[%s]", error_kind_name(err.kind));
    }
    return buffer_take(&buffer, NULL);
}

struct names {
    struct buffer text;
    int stop_after;
};

static int collect(void *context, const char *name, const struct store_info *info UNUSED,
                   struct error *err) {
    struct names *names = context;
    if (buffer_printf(&names->text, err, "%s ", name) < 0) {
        return -1;
    }
    return --names->stop_after == 0;
}

char *store_names(struct store *from, const char *prefix, const char *after, int stop_after) {
    struct error err = {0};
    struct names names = {.stop_after = stop_after};
    buffer_init(&names.text, 1 << 20);
    if (store_list(from, prefix, after, collect, &names, &err) < 0) {
        buffer_release(&names.text);
        return x_printf("[%s]", err.text);
    }
    return buffer_take(&names.text, NULL);
}
