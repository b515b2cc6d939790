// SPDX-License-Identifier: Apache-2.0
#include "agent/data/parts/pack.h"

#include "lib/digest.h"
#include "tests/unit/agent/data/tries.h"

#define NAME ".windlass/" RUN "/try/3-7"

static int close_pack(struct pack *pack, struct staged_output *staged, struct error *err) {
    int result = pack_close(pack, err);
    pack_free(pack);
    return result < 0 ? result : staged_output_close(staged, err);
}

static char *read_output(struct store *output, const char *name) {
    struct error err = {0};
    struct buffer bytes;
    buffer_init(&bytes, 64 << 20);
    if (store_get(output, name, &bytes, NULL, &err) < 0) {
        buffer_release(&bytes);
        return x_strdup(err.text);
    }
    return buffer_take(&bytes, NULL);
}

static bool is_there(struct store *output, const char *name) {
    struct error ignored = {0};
    struct store_info info;
    return store_stat(output, name, &info, &ignored) == 0;
}

/* A few texts remain text: no object is made, and any process with the text can publish it. */
static void test_small_texts_need_no_object(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/small");
    AUTO(staged_output_freep) struct staged_output *staged = staged_output_new(output, NAME, true);
    struct pack *pack = pack_new(staged);
    CHECK_OK(pack_add(pack, "a.json", "{}\n", 3, &err), &err);
    CHECK_OK(pack_add(pack, "deep/\xc3\xa4.json", "[]\n", 3, &err), &err);
    CHECK_OK(pack_add(pack, "empty", "", 0, &err), &err);
    CHECK_OK(close_pack(pack, staged, &err), &err);
    CHECK_INT(staged_output_find_place(staged), STAGED_TEXT);
    CHECK(!is_there(output, NAME));
    struct part part = staged_output_part(staged);
    for (int i = 0; i < 2; i++) { /* twice: the same bytes */
        CHECK_OK(pack_publish(&part, output, &err), &err);
        AUTO(text_freep) char *first = read_output(output, "a.json");
        AUTO(text_freep) char *second = read_output(output, "deep/\xc3\xa4.json");
        AUTO(text_freep) char *third = read_output(output, "empty");
        CHECK_STR(first, "{}\n");
        CHECK_STR(second, "[]\n");
        CHECK_STR(third, "");
    }
}

/* Bytes, and more than fits into memory, become an object; all files can be read from it alone. */
static void test_much_becomes_an_object(void) {
    struct error err = {0};
    enum { LARGE = 9 << 20 };
    AUTO(store_freep) struct store *output = open_output("out/large");
    AUTO(text_freep) char *large = x_malloc(LARGE);
    for (size_t i = 0; i < LARGE; i++) {
        large[i] = (char)(i * 2654435761u >> 13);
    }
    for (size_t size = 1; size <= LARGE; size += LARGE - 1) {
        AUTO(staged_output_freep)
        struct staged_output *staged = staged_output_new(output, NAME, true);
        struct pack *pack = pack_new(staged);
        CHECK_OK(pack_add(pack, "zero", "\0", 1, &err), &err);
        CHECK_OK(pack_add(pack, "bytes", large, size, &err), &err);
        CHECK_OK(close_pack(pack, staged, &err), &err);
        CHECK_INT(staged_output_find_place(staged), STAGED_OBJECT);
        struct part made = staged_output_part(staged), part = made;
        CHECK(size == 1 || !made.bytes);
        part.bytes = NULL;
        bool is_broken = true;
        CHECK_OK(part_check(&part, &is_broken, &err), &err);
        CHECK_OK(pack_publish(&part, output, &err), &err);
        struct buffer bytes;
        buffer_init(&bytes, LARGE);
        CHECK_OK(store_get(output, "bytes", &bytes, NULL, &err), &err);
        CHECK(bytes.size == size && memcmp(bytes.data, large, size) == 0);
        buffer_release(&bytes);
        /* Different or missing bytes are detected. */
        part.crc ^= 1;
        CHECK_INT(part_check(&part, &is_broken, &err), -1);
        CHECK(is_broken);
        error_clear(&err);
        CHECK_OK(store_clear(output, ".windlass/" RUN "/try/", &err), &err);
        CHECK_INT(part_check(&part, &is_broken, &err), -1);
        CHECK(is_broken);
        error_clear(&err);
    }
}

/* The object does not exist before the pack is closed, nor if it never is. */
static void test_what_is_not_closed_leaves_nothing(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/dropped");
    struct staged_output *staged = staged_output_new(output, NAME, false);
    AUTO(text_freep) char *much = x_calloc(1, STAGED_MEMORY);
    CHECK_OK(staged_output_add(staged, much, STAGED_MEMORY, &err), &err);
    CHECK_OK(staged_output_add(staged, "x", 1, &err), &err);
    CHECK(!is_there(output, NAME));
    staged_output_free(staged);
    CHECK_INT(ask_number("find '%s/dropped' -type f | wc -l", fixtures_out), 0);
}

/* A try's name is used once: a writer that finds other bytes there has failed, and one that finds
 * its own bytes has succeeded, although the answer was lost. */
static void test_a_taken_name_is_an_error(void) {
    static const char *const bytes[] = {"x", "y", "x", "xy"};
    AUTO(store_freep) struct store *output = open_output("out/taken");
    for (int i = 0; i < 4; i++) {
        struct error err = {0};
        bool fits = i % 2 == 0;
        AUTO(staged_output_freep)
        struct staged_output *staged = staged_output_new(output, NAME, false);
        CHECK_OK(staged_output_add(staged, bytes[i], strlen(bytes[i]), &err), &err);
        CHECK_INT(staged_output_close(staged, &err), fits ? 0 : -1);
        CHECK_INT(staged_output_has_failed(staged), !fits);
        CHECK_INT(err.kind, fits ? ERROR_NONE : ERROR_CONFLICT);
    }
}

static void test_packs_that_are_none_write_nothing_of_ours(void) {
    static const char *const indexes[] = {
        "[[\".windlass/owner\",2]]",
        "[[\"a/.windlass/x\",2]]",
        "[[\"../x\",2]]",
        "[[\"/x\",2]]",
        "[[\"a\",3]]",
        "[[\"a\",1]]",
        "[[\"a\",-2]]",
        "[[7,2]]",
        "[\"a\"]",
        "{}",
        "[",
    };
    AUTO(store_freep) struct store *output = open_output("out/bad");
    for (size_t i = 0; i < ARRAY_LEN(indexes); i++) {
        struct error err = {0};
        AUTO(text_freep)
        char *bytes = x_printf("hi%s%016zx", indexes[i], strlen(indexes[i]));
        struct part part = {.store = output, .name = "bad", .bytes = bytes};
        part.size_bytes = (int64_t)strlen(bytes);
        if (pack_publish(&part, output, &err) == 0) {
            printf("# published: %s\n", bytes);
            test_failures++;
        }
    }
    static const char *const tails[] = {"", "short", "ffffffffffffffff", "00000000000000ZZ"};
    for (size_t i = 0; i < ARRAY_LEN(tails); i++) {
        struct error err = {0};
        struct part part = {.store = output, .name = "bad", .bytes = tails[i]};
        part.size_bytes = (int64_t)strlen(tails[i]);
        CHECK_INT(pack_publish(&part, output, &err), -1);
    }
    CHECK(!is_there(output, ".windlass/owner"));
}

/* ---- the list of a pack ---- */

static int add_line(void *context, const char *name, int64_t size_bytes, const char *sha256,
                    struct error *err) {
    struct buffer *text = context;
    return buffer_printf(text, err, "%s %lld %s\n", name, (long long)size_bytes, sha256);
}

/* The files of a part by its list, or the error. */
static char *list_of(const struct part *part) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, 1 << 20);
    return pack_list(part, add_line, &text, &err) < 0 ? x_strdup(err.text)
                                                      : buffer_take(&text, NULL);
}

static char *wanted_list(const char *const *names, const char *const *texts, size_t count) {
    char *wanted = x_strdup("");
    for (size_t i = 0; i < count; i++) {
        char hex[65];
        digest_sha256(texts[i], strlen(texts[i]), hex);
        char *more = x_printf("%s%s %zu %s\n", wanted, names[i], strlen(texts[i]), hex);
        free(wanted);
        wanted = more;
    }
    return wanted;
}

/* Small packs have no hashes, which makes them shorter; large ones have them, and a damaged entry
 * is hashed again. */
static void test_the_list_of_a_pack_has_hashes(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = open_output("out/listed");
    AUTO(text_freep) char *large = x_malloc(STAGED_TEXT_MAX + 1);
    memset(large, 'x', STAGED_TEXT_MAX);
    large[STAGED_TEXT_MAX] = 0;
    for (int is_large = 0; is_large < 2; is_large++) {
        const char *const names[] = {"a.json", "b/\xc3\xa4.json"};
        const char *const texts[] = {"1", is_large ? large : "22"};
        AUTO(staged_output_freep)
        struct staged_output *staged = staged_output_new(output, NAME, true);
        struct pack *pack = pack_new(staged);
        for (int i = 0; i < 2; i++) {
            CHECK_OK(pack_add(pack, names[i], texts[i], strlen(texts[i]), &err), &err);
        }
        CHECK_OK(close_pack(pack, staged, &err), &err);
        struct part part = staged_output_part(staged);
        AUTO(text_freep) char *bytes = x_strndup(part.bytes, (size_t)part.size_bytes);
        AUTO(text_freep) char *wanted = wanted_list(names, texts, 2);
        AUTO(text_freep) char *seen = list_of(&part);
        char hex[65];
        digest_sha256("1", 1, hex);
        char *at = strstr(bytes, hex);
        CHECK_STR(seen, wanted);
        CHECK_INT(!!at, is_large);
        if (at) { /* another digit: of the commit's bytes, then not of them */
            *at = *at == '0' ? '1' : '0';
            part.bytes = bytes;
            part.crc = digest_crc32c(0, bytes, (size_t)part.size_bytes);
            AUTO(text_freep) char *again = list_of(&part);
            CHECK_STR(again, wanted);
            part.crc ^= 1;
            AUTO(text_freep) char *refused = list_of(&part);
            CHECK(strstr(refused, "differs from what was committed"));
        }
        CHECK_OK(store_remove(output, NAME, &err), &err);
    }
}

/* A pack as earlier releases wrote it. */
static void test_the_list_of_an_old_pack_is_hashed(void) {
    static char old[] = "122[[\"a.json\",1],[\"b.json\",2]]000000000000001b";
    static const char *const names[] = {"a.json", "b.json"}, *const texts[] = {"1", "22"};
    AUTO(store_freep) struct store *output = open_output("out/old");
    struct part part = {.store = output, .bytes = old, .size_bytes = (int64_t)strlen(old)};
    part.crc = digest_crc32c(0, old, strlen(old));
    AUTO(text_freep) char *wanted = wanted_list(names, texts, 2);
    AUTO(text_freep) char *seen = list_of(&part);
    CHECK_STR(seen, wanted);
}

int main(void) {
    fixtures_start("pack");
    TEST(test_small_texts_need_no_object);
    TEST(test_much_becomes_an_object);
    TEST(test_what_is_not_closed_leaves_nothing);
    TEST(test_a_taken_name_is_an_error);
    TEST(test_packs_that_are_none_write_nothing_of_ours);
    TEST(test_the_list_of_a_pack_has_hashes);
    TEST(test_the_list_of_an_old_pack_is_hashed);
    return TEST_END();
}
