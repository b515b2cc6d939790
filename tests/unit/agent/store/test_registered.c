// SPDX-License-Identifier: Apache-2.0
/* Registered models: complete or not at all, whichever call to the store is the last one of the
 * registrar, also over a store that fails by a seed (SOAK_SEED, SOAK_ROUNDS); `latest`, and files
 * read through it. */
#include "agent/store/registered.h"

#include "agent/store/local_file.h"
#include "agent/store/stored_file.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "tests/broken_store.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>

enum { TRIES_MAX = 100 };

static const char version[] = "20261122T094400Z-1a2b3c4d", newer[] = "20261123T000000Z-00000000",
                  older[] = "20261101T000000Z-ffffffff";
static char *volume;
static int folders;

static struct store *open_store(const char *path) {
    struct error err = {0};
    struct store *store = NULL;
    CHECK_OK(store_open(path, /* writes= */ true, &store, &err), &err);
    return store;
}

static struct store *open_registry(void) {
    AUTO(text_freep) char *path = x_printf("registrytest/registry-%d", ++folders);
    return open_store(path);
}

static void put(struct store *store, const char *name, const char *text, size_t size) {
    struct error err = {0};
    CHECK_OK(store_put(store, name, text, size, STORE_REPLACE, &err), &err);
}

/* A training's output, whose larger file has several pieces. */
static struct store *make_output(void) {
    enum { LARGE = 5 << 20 };
    struct store *store = open_store("registrytest/out");
    AUTO(text_freep) char *large = x_malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = (char)(i * 31 + i / 4096);
    }
    put(store, "model.onnx", large, LARGE);
    put(store, "metrics.csv", "a,b\n", 4);
    put(store, "empty", "", 0);
    put(store, "logs/rank.000/stdout/0000", "x\n", 2);
    put(store, ".windlass/run/checkpoint/1", "no", 2);
    put(store, "metadata.json", "{}", 2);
    return store;
}

static int copy(struct store *from, struct store *to, const char *which, struct error *err) {
    AUTO(tree_freep)
    json_t *metadata = json_pack("{s:{s:s}, s:s}", "parameters", "RATE", "0.1", "best", "0.91");
    struct registered_request request = {
        .from = from, .to = to, .name = "digits", .version = which, .metadata = metadata};
    return registered_copy(&request, err);
}

static bool read_object(struct store *store, const char *name, struct buffer *buffer) {
    struct error err = {0};
    buffer_init(buffer, 64 << 20);
    return store_get(store, name, buffer, NULL, &err) == 0;
}

/* Returns whether the version exists; if so it must be complete. */
static bool is_whole(struct store *to, const char *which) {
    AUTO(text_freep) char *name = x_printf("digits/%s/metadata.json", which);
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *metadata = NULL;
    struct error err = {0};
    if (!read_object(to, name, &text)) {
        return false;
    }
    CHECK_OK(tree_parse(text.data, text.size, 1 << 20, &metadata, &err), &err);
    CHECK_STR(tree_text(metadata, "parameters.RATE", ""), "0.1");
    const json_t *files = json_object_get(metadata, "files");
    CHECK_INT(json_array_size(files), 5);
    for (size_t i = 0; i < json_array_size(files); i++) {
        const json_t *file = json_array_get(files, i);
        AUTO(text_freep)
        char *path = x_printf("digits/%s/%s", which, tree_text(file, "name", "?"));
        AUTO(buffer_release) struct buffer bytes;
        char hex[65];
        CHECK(read_object(to, path, &bytes));
        digest_sha256(bytes.data ? bytes.data : "", bytes.size, hex);
        CHECK_STR(hex, tree_text(file, "sha256", ""));
        CHECK_INT(bytes.size, tree_integer(file, "size", -1));
    }
    return true;
}

/* `latest` names nothing, or a complete version. */
static void check_latest(struct store *to, const char *wanted) {
    char seen[REGISTERED_VERSION_MAX + 1];
    struct error err = {0};
    CHECK_OK(registered_latest(to, "digits/latest", seen, &err), &err);
    CHECK(!*seen || is_whole(to, seen));
    if (wanted) {
        CHECK_STR(seen, wanted);
    }
}

/* For each N between `from` and `to`: the registrar dies before call N; another one follows. */
static void killed_at_every_call(void) {
    struct store *out = make_output();
    for (int side = 0; side < 2; side++) {
        int64_t calls = 1;
        bool is_done = false;
        for (; !is_done && calls < 1000 && !test_failures; calls++) {
            AUTO(store_freep) struct store *to = open_registry();
            AUTO(text_freep) char *path = x_strdup(store_path(to));
            struct broken_options options = {.seed = 1, .dies_after = calls};
            struct store *broken =
                broken_store(open_store(side ? "registrytest/out" : path), &options);
            struct error err = {0}, later = {0};
            is_done = copy(side ? broken : out, side ? to : broken, version, &err) == 0;
            store_free(broken);
            CHECK(is_done || err.kind != ERROR_INVALID);
            check_latest(to, is_done ? version : NULL);
            is_whole(to, version);
            CHECK_OK(copy(out, to, version, &later), &later);
            check_latest(to, version);
            CHECK(is_whole(to, version));
        }
        CHECK(is_done && calls > 8);
        printf("# killed at %lld calls\n", (long long)calls - 2);
    }
    store_free(out);
}

/* Calls that fail, are done twice, late, or without an answer: repeated until one succeeds. */
static void on_a_store_that_goes_wrong(void) {
    uint64_t seed = test_seed(7);
    int64_t soak = test_rounds(0) / 50, rounds = soak ? soak : 4, faults = 0;
    struct store *out = make_output();
    printf("# SOAK_SEED=%llu SOAK_ROUNDS=%lld\n", (unsigned long long)seed, (long long)rounds * 50);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        AUTO(store_freep) struct store *to = open_registry();
        AUTO(text_freep) char *path = x_strdup(store_path(to));
        struct broken_options options = {
            .seed = seed + (uint64_t)round, .percent = 4, .absent_percent = 1};
        struct store *broken = broken_store(open_store(path), &options);
        int tries = 0, result = -1;
        for (; result < 0 && tries < TRIES_MAX; tries++) {
            struct error err = {0};
            result = copy(out, broken, version, &err);
            check_latest(to, NULL);
            is_whole(to, version);
        }
        faults += broken_store_faults(broken);
        store_free(broken);
        CHECK(result == 0);
        check_latest(to, version);
    }
    CHECK(faults > 3);
    store_free(out);
}

static void the_newest(void) {
    struct store *out = make_output(), *to = open_registry();
    struct error err = {0};
    CHECK_OK(copy(out, to, version, &err), &err);
    CHECK_OK(copy(out, to, older, &err), &err);
    check_latest(to, version);
    CHECK(is_whole(to, older));
    CHECK_OK(copy(out, to, newer, &err), &err);
    check_latest(to, newer);
    put(out, "metrics.csv", "other\n", 6); /* existing files stay */
    CHECK_OK(copy(out, to, version, &err), &err);
    CHECK(is_whole(to, version));
    check_latest(to, newer);
    store_free(to);
    store_free(out);
}

/* `latest` has a text that is not a version, though it may look like one. */
static void a_latest_that_names_none(void) {
    static const char *const wrong[] = {"prod\n", "latest\n", "note\n", "20991231T000000Z-0\n",
                                        "a b\n",  ""};
    struct store *out = make_output();
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        AUTO(store_freep) struct store *to = open_registry();
        struct error err = {0};
        put(to, "digits/latest", wrong[i], strlen(wrong[i]));
        put(to, "digits/note", "x", 1);
        put(to, "digits/prod/model.onnx", "M", 1); /* put there by hand, without its description */
        CHECK_OK(copy(out, to, version, &err), &err);
        check_latest(to, version);
    }
    struct store *to = open_registry();
    struct error err = {0};
    CHECK_OK(copy(out, to, "prod", &err), &err); /* an existing version is accepted */
    CHECK_OK(copy(out, to, version, &err), &err);
    check_latest(to, "prod");
    store_free(to);
    store_free(out);
}

static void what_is_refused(void) {
    struct store *out = make_output(), *to = open_registry();
    struct store *none = open_store("registrytest/nothing");
    static const char *const wrong[] = {"", "latest", "../x", ".x", "a/b", "a b"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct error err = {0};
        CHECK(copy(out, to, wrong[i], &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
    }
    struct error err = {0};
    CHECK(copy(none, to, version, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "registrytest/nothing: no files to register") != NULL);
    check_latest(to, "");
    store_free(none);
    store_free(to);
    store_free(out);
}

/* The output is not what its training wrote: nothing is registered. */
static void what_has_changed(void) {
    static const char seven[] = "32ba7dc58f7c72872c66a1a4f93b4ba0be29bc9fad4c3a2d6ff0d1bdc1bd0fe6";
    struct store *out = make_output(), *to = open_registry();
    AUTO(tree_freep) json_t *metadata = json_pack("{s:{s:s}}", "parameters", "RATE", "0.1");
    AUTO(tree_freep) json_t *hashes = json_object();
    struct registered_request request = {.from = out,
                                         .to = to,
                                         .name = "digits",
                                         .version = version,
                                         .metadata = metadata,
                                         .hashes = hashes};
    struct error err = {0};
    json_object_set_new(hashes, "gone.onnx", json_string(seven));
    CHECK(registered_copy(&request, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK_STR(err.text, "registrytest/out/gone.onnx is missing, which was written there");
    json_object_clear(hashes);
    json_object_set_new(hashes, "metrics.csv", json_string(seven));
    error_clear(&err);
    CHECK(registered_copy(&request, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "registrytest/out/metrics.csv has changed since it was written") !=
          NULL);
    CHECK(!is_whole(to, version));
    check_latest(to, "");
    char sha256[65];
    digest_sha256("a,b\n", 4, sha256);
    json_object_set_new(hashes, "metrics.csv", json_string(sha256));
    error_clear(&err);
    CHECK_OK(registered_copy(&request, &err), &err);
    CHECK(is_whole(to, version));
    check_latest(to, version);
    store_free(to);
    store_free(out);
}

static void check_path(const char *path, const char *wanted) {
    struct error err = {0};
    AUTO(text_freep) char *meant = NULL;
    CHECK_OK(stored_file_path(path, &meant, &err), &err);
    CHECK_STR(meant, wanted);
}

static void through_latest(void) {
    struct store *to = open_store("registrytest/through");
    struct error err = {0};
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(stored_file_release) struct stored_file stored = {0};
    put(to, "digits/latest", "v2\n", 3);
    put(to, "digits/v2/model.onnx", "M", 1);
    put(to, "plain/latest/model.onnx", "P", 1);
    put(to, "wrong/latest", "../../x\n", 8);
    put(to, "long/latest", "0123456789012345678901234567890123456789012345678901234567890123456789",
        70);
    check_path("registrytest/through/digits/latest/model.onnx",
               "registrytest/through/digits/v2/model.onnx");
    check_path("registrytest/through/digits/latest/a/latest/b",
               "registrytest/through/digits/v2/a/latest/b");
    check_path("registrytest/through/digits/latest", "registrytest/through/digits/latest");
    check_path("registrytest/through/plain/latest/model.onnx",
               "registrytest/through/plain/latest/model.onnx");
    check_path("registrytest/through/wrong/latest/m", "registrytest/through/wrong/latest/m");
    check_path("registrytest/through/long/latest/m", "registrytest/through/long/latest/m");
    check_path("registrytest/through/none/m", "registrytest/through/none/m");
    check_path("az://account/latest/model.onnx", "az://account/latest/model.onnx");
    check_path("az://latest/latest/a/model.onnx", "az://latest/latest/a/model.onnx");
    CHECK_OK(local_file_open("registrytest/through/digits/latest/model.onnx", &file, &err), &err);
    CHECK(text_ends(file.path, "/through/digits/v2/model.onnx"));
    CHECK_OK(stored_file_open("registrytest/through/digits/latest/model.onnx", &stored, &err),
             &err);
    CHECK_STR(store_path(stored.store), "registrytest/through/digits/v2");
    CHECK_STR(stored.name, "model.onnx");
    store_free(to);
}

int main(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-registered-XXXXXX";
    volume = mkdtemp(folder);
    setenv("registrytest", volume, 1);
    AUTO(text_freep) char *nothing = file_join(volume, "nothing");
    CHECK_OK(file_make_folders(nothing, &err), &err);
    TEST(killed_at_every_call);
    TEST(on_a_store_that_goes_wrong);
    TEST(the_newest);
    TEST(a_latest_that_names_none);
    TEST(what_is_refused);
    TEST(what_has_changed);
    TEST(through_latest);
    CHECK_OK(file_remove_tree(volume, &err), &err);
    return TEST_END();
}
