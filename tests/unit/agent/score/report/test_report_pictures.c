// SPDX-License-Identifier: Apache-2.0
/* Which files of an input and an output are shown side by side in report.html. */
#include "agent/score/report/report_pictures.h"

#include "tests/unit/agent/data/kinds/pictures.h"

#include <arpa/inet.h>

/* The run's list, and at which look a signal has come; -1: none comes. */
static const char *const *listed;
static int looks_left;

static int name_of(void *context, int64_t item, struct buffer *name, struct error *err) {
    (void)context;
    return buffer_append(name, listed[item], strlen(listed[item]), err);
}

static bool is_interrupted(void) {
    looks_left -= looks_left > 0;
    return looks_left == 0;
}

/* "NAME NAME ..." of what is shown. The caller frees. */
static char *shown(const char *const *names, const char *added) {
    struct error err = {0};
    AUTO(store_freep) struct store *output = NULL;
    AUTO(report_pictures_release) struct report_pictures pictures = {0};
    AUTO(tree_freep)
    json_t *spec = json_pack("{s:{s:{s:s}}}", "input", "files", "path", "out/in");
    struct report_pictures_options options = {
        .spec = spec, .added = added, .name = name_of, .is_interrupted = is_interrupted};
    char *text = x_strdup("");
    listed = names;
    while (names[options.items]) {
        options.items++;
    }
    CHECK_OK(store_open("out/made", /* writes= */ true, &output, &err), &err);
    options.output = output;
    report_pictures_make(&options, &pictures);
    for (size_t i = 0; i < pictures.count; i++) {
        char *more = x_printf("%s%s%s", text, *text ? " " : "", pictures.at[i].name);
        free(text);
        text = more;
        CHECK(pictures.at[i].sides[0] && pictures.at[i].sides[1]);
    }
    return text;
}

static void put_pair(const char *name) {
    AUTO(text_freep) char *in = x_printf("in/%s", name);
    AUTO(text_freep) char *made = x_printf("made/%s", name);
    put_picture(in, IMAGE_PNG, 30);
    put_picture(made, IMAGE_PNG, 30);
}

static void the_first_of_the_list_are_shown(void) {
    static const char *const names[] = {"z.png",   "only-in.png", "gone.png", "b.png",
                                        "s/c.png", "d.png",       "e.png",    NULL};
    put_pair("a.png"); /* a run that leaves it out does not show it */
    put_pair("b.png");
    put_pair("s/c.png");
    put_pair("d.png");
    put_pair("e.png");
    put_pair("z.png");
    put_picture("in/only-in.png", IMAGE_PNG, 30);
    looks_left = -1;
    AUTO(text_freep) char *all = shown(names, NULL);
    CHECK_STR(all, "z.png b.png s/c.png d.png");
    AUTO(text_freep) char *none = shown(names + ARRAY_LEN(names) - 1, NULL);
    CHECK_STR(none, "");
}

/* What is in a file of another name is not read. */
static void other_names_are_no_pictures(void) {
    static const char *const names[] = {"b.png", "b.txt", "s/.png", NULL};
    put_picture("made/b.png.json", IMAGE_PNG, 30);
    put_pair("b.txt");
    looks_left = -1;
    AUTO(text_freep) char *rows = shown(names, ".json");
    CHECK_STR(rows, "");
    AUTO(text_freep) char *same = shown(names, NULL);
    CHECK_STR(same, "b.png");
}

static void a_signal_leaves_out_the_rest(void) {
    static const char *const names[] = {"b.png", "d.png", "e.png", NULL};
    looks_left = 1;
    AUTO(text_freep) char *none = shown(names, NULL);
    CHECK_STR(none, "");
    looks_left = 5; /* one before all, three for each pair: with the first of the second pair */
    AUTO(text_freep) char *one = shown(names, NULL);
    CHECK_STR(one, "b.png");
}

/* A head may say any size. */
static void sizes_that_no_picture_has(void) {
    static const char *const names[] = {"wide.png", NULL};
    static const struct {
        uint32_t width, height;
    } rows[] = {{UINT32_MAX, UINT32_MAX}, {UINT32_MAX, 1}, {1, MEDIA_SIDE_MAX + 1}, {0, 0}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        uint8_t head[64] = "\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        const uint32_t sides[2] = {htonl(rows[i].width), htonl(rows[i].height)};
        memcpy(head + 16, sides, sizeof sides);
        put("in/wide.png", head, sizeof head);
        put("made/wide.png", head, sizeof head);
        looks_left = -1;
        AUTO(text_freep) char *text = shown(names, NULL);
        CHECK_STR(text, "");
    }
}

int main(void) {
    fixtures_start("report-pictures");
    TEST(the_first_of_the_list_are_shown);
    TEST(other_names_are_no_pictures);
    TEST(a_signal_leaves_out_the_rest);
    TEST(sizes_that_no_picture_has);
    return TEST_END();
}
