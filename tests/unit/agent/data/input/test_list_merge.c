// SPDX-License-Identifier: Apache-2.0
/* What a rerun makes of each line, compared with sets of names; also when the listing breaks and
 * another coordinator goes on. SOAK_SEED, SOAK_ROUNDS: other seeds, more of them. */
#include "agent/data/input/list.h"
#include "tests/seed.h"
#include "tests/unit/agent/data/tries.h"

#include <poll.h>
#include <stdlib.h>

enum { NAMES = 400 };

/* spec: {"items": [[name, fingerprint], ...], "breaks": after this many lines of a listing}. */
static int items_list(const struct input_listing *listing, input_line *line, void *context,
                      struct error *err) {
    const json_t *items = json_object_get(listing->spec, "items");
    int64_t breaks = tree_integer(listing->spec, "breaks", INT64_MAX), told = 0;
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *item = json_array_get(items, i);
        const char *name = json_string_value(json_array_get(item, 0));
        const char *print = json_string_value(json_array_get(item, 1));
        if (listing->after && strcmp(name, listing->after) <= 0) {
            continue;
        }
        if (told++ == breaks) {
            return error_set(err, ERROR_UNAVAILABLE, "the mount is gone");
        }
        AUTO(text_freep) char *text = x_printf("\"%s\"\t%s", name, print);
        if (line(context, text, strlen(text), name, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static const struct input_kind kind = {.name = "items", .list = items_list};

static struct list *list_all(struct store *store, const char *folder, json_t *spec,
                             const struct list_base *base, int64_t *ret_lines) {
    struct list_options options = {.output = store,
                                   .run = RUN,
                                   .folder = folder,
                                   .base = base,
                                   .scratch = "7",
                                   .spec = spec,
                                   .kind = &kind};
    for (;;) {
        struct list *list = NULL;
        struct error err = {0};
        int64_t lines = 0;
        int result = 0;
        CHECK_OK(list_open(&options, &list, &err), &err);
        while (!list_is_complete(list) && (result = list_turn(list, &lines, &err)) >= 0) {
            poll(NULL, 0, result ? 0 : 1);
        }
        if (list_is_complete(list) || test_failures) {
            *ret_lines = lines;
            return list;
        }
        list_free(list); /* it broke: the next coordinator */
    }
}

static void add(json_t *items, const char *name, const char *print) {
    json_array_append_new(items, json_pack("[s,s]", name, print));
}

/* The lines that are scored, as one text. */
static char *scored(struct list *list, int64_t lines) {
    struct error err = {0};
    struct buffer text;
    buffer_init(&text, 1 << 20);
    CHECK_OK(list_lines(list, 0, lines, &text, &err), &err);
    return buffer_take(&text, NULL);
}

static void test_each_line_has_its_reason(void) {
    AUTO(store_freep) struct store *store = open_output("out/reasons");
    AUTO(tree_freep) json_t *then = json_pack("{s:[]}", "items");
    AUTO(tree_freep) json_t *now = json_pack("{s:[]}", "items");
    json_t *old = json_object_get(then, "items"), *new = json_object_get(now, "items");
    add(old, "a gone", "1");
    add(old, "b same", "1");
    add(old, "c changed", "1");
    add(old, "d failed", "1");
    add(old, "e unknown", "");
    add(old, "f gone, too", "1");
    add(new, "b same", "1");
    add(new, "c changed", "2");
    add(new, "c new", "1");
    add(new, "d failed", "1");
    add(new, "e unknown", "");
    add(new, "g new", "1");
    int64_t lines = 0;
    struct list *list = list_all(store, ".windlass/" RUN "/list", then, NULL, &lines);
    uint8_t bits = 0x37; /* all but item 3 */
    struct list_base base = {.folder = ".windlass/" RUN "/list", .results = {&bits, 6}};
    struct list *next = list_all(store, ".windlass/" RUN "/list-1", now, &base, &lines);
    struct list_counts found = list_found(next);
    CHECK_INT(found.kept, 1);
    CHECK_INT(found.added, 2);
    CHECK_INT(found.changed, 2);
    CHECK_INT(found.again, 1);
    CHECK_INT(found.removed, 2);
    AUTO(text_freep) char *text = scored(next, lines);
    CHECK_STR(text, "[\"c changed\",\"c new\",\"d failed\",\"e unknown\",\"g new\"]");
    list_free(list);
    list_free(next);
}

struct entry {
    bool is_there;
    int print;
};

static json_t *make_spec(const struct entry *items, int64_t breaks) {
    json_t *spec = json_pack("{s:[],s:I}", "items", "breaks", (json_int_t)breaks);
    for (int i = 0; i < NAMES; i++) {
        AUTO(text_freep) char *name = x_printf("%04d", i);
        AUTO(text_freep) char *print = x_printf("%d", items[i].print);
        if (items[i].is_there) {
            add(json_object_get(spec, "items"), name, print);
        }
    }
    return spec;
}

static void edit(struct entry *items, uint64_t *seed) {
    for (int i = 0; i < NAMES; i++) {
        int dice = (int)test_below(seed, 8);
        items[i].is_there = dice == 0 ? !items[i].is_there : items[i].is_there;
        items[i].print += dice == 1;
    }
}

/* What a chain of generations knows. */
struct chain {
    struct entry items[NAMES], before[NAMES];
    bool had[NAMES];
    uint8_t bits[NAMES / 8 + 1];
    char *folder; /* of the generation before; NULL: none */
    uint64_t seed;
};

/* What the list must be; draws which items get a result. */
static char *expect(struct chain *chain, struct list_counts *ret_counts) {
    AUTO(buffer_release) struct buffer wanted;
    struct error err = {0};
    int64_t number = 0;
    buffer_init(&wanted, 1 << 20);
    CHECK_OK(buffer_append(&wanted, "[", 1, &err), &err);
    memset(chain->bits, 0, sizeof chain->bits);
    for (int i = 0; i < NAMES; i++) {
        const struct entry *then = &chain->before[i], *now = &chain->items[i];
        bool is_kept = chain->folder && now->is_there && then->is_there && chain->had[i] &&
                       then->print == now->print;
        ret_counts->kept += is_kept;
        ret_counts->removed += chain->folder && then->is_there && !now->is_there;
        chain->had[i] = is_kept;
        if (now->is_there && !is_kept) {
            CHECK_OK(buffer_printf(&wanted, &err, "%s\"%04d\"", number ? "," : "", i), &err);
            chain->had[i] = test_below(&chain->seed, 5) > 0;
            chain->bits[number / 8] |= (uint8_t)(chain->had[i] << (number % 8));
            number++;
        }
    }
    CHECK_OK(buffer_append(&wanted, "]", 1, &err), &err);
    return buffer_take(&wanted, NULL);
}

static void add_generation(struct chain *chain, struct store *store, int generation) {
    AUTO(text_freep) char *folder = x_printf(".windlass/" RUN "/list-%d", generation);
    uint8_t bits[NAMES / 8 + 1];
    struct list_counts counts = {0};
    int64_t lines = 0;
    memcpy(bits, chain->bits, sizeof bits);
    edit(chain->items, &chain->seed);
    AUTO(tree_freep)
    json_t *spec = make_spec(chain->items, 1 + (int64_t)test_below(&chain->seed, 200));
    struct list_base base = {.folder = chain->folder, .results = {bits, NAMES}};
    struct list *list = list_all(store, folder, spec, chain->folder ? &base : NULL, &lines);
    AUTO(text_freep) char *wanted = expect(chain, &counts);
    AUTO(text_freep) char *text = scored(list, lines);
    CHECK_STR(text, wanted);
    CHECK_INT(list_found(list).kept, counts.kept);
    CHECK_INT(list_found(list).removed, counts.removed);
    memcpy(chain->before, chain->items, sizeof chain->before);
    free(chain->folder);
    chain->folder = TAKE(folder);
    list_free(list);
}

/* Each with the list of the one before, and some failed items. */
static void test_any_edits_give_the_lines_that_differ(void) {
    int64_t rounds = test_rounds(20);
    for (int64_t round = 0; round < rounds && !test_failures; round++) {
        struct chain chain = {.seed = test_mix(test_seed(1) + (uint64_t)round)};
        AUTO(text_freep) char *path = x_printf("out/edits-%lld", (long long)round);
        AUTO(store_freep) struct store *store = open_output(path);
        for (int generation = 0; generation < 4 && !test_failures; generation++) {
            add_generation(&chain, store, generation);
        }
        free(chain.folder);
    }
}

/* A result that is not in the output any more is made again. */
static int only_b(void *context, const char *name, bool *ret_is_there, struct error *err UNUSED) {
    *ret_is_there = strcmp(name, context) == 0;
    return 0;
}

static void test_results_that_are_gone_are_made_again(void) {
    AUTO(store_freep) struct store *store = open_output("out/gone");
    AUTO(tree_freep) json_t *spec = json_pack("{s:[]}", "items");
    add(json_object_get(spec, "items"), "a", "1");
    add(json_object_get(spec, "items"), "b", "1");
    uint8_t bits = 3;
    char kept[] = "b";
    struct list_base base = {.folder = ".windlass/" RUN "/list",
                             .results = {&bits, 2},
                             .is_there = only_b,
                             .context = kept};
    int64_t lines = 0;
    struct list *list = list_all(store, base.folder, spec, NULL, &lines);
    struct list_comparison found;
    struct error err = {0};
    CHECK_OK(list_compare(list, &base, &found, &err), &err);
    CHECK(found.is_same && !found.has_all);
    base.is_there = NULL;
    CHECK_OK(list_compare(list, &base, &found, &err), &err);
    CHECK(found.is_same && found.has_all);
    base.is_there = only_b;
    struct list *next = list_all(store, ".windlass/" RUN "/list-1", spec, &base, &lines);
    AUTO(text_freep) char *text = scored(next, lines);
    CHECK_STR(text, "[\"a\"]");
    list_free(list);
    list_free(next);
}

int main(void) {
    fixtures_start("list_merge");
    TEST(test_each_line_has_its_reason);
    TEST(test_any_edits_give_the_lines_that_differ);
    TEST(test_results_that_are_gone_are_made_again);
    return TEST_END();
}
