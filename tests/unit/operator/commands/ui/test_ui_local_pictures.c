// SPDX-License-Identifier: Apache-2.0
/* Pictures of a run of this machine: which are listed, which are served, and how long the list is
 * kept. */
#include "operator/commands/ui/ui_local_pictures.h"

#include "lib/file.h"
#include "tests/parse_json.h"
#include "tests/test.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/windlass-ui-pictures-XXXXXX";
static const char gif[] = "GIF89a 123456789";

static void put(const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    struct error err = {0};
    CHECK_OK(file_write(path, gif, strlen(gif), &err), &err);
}

static void make(const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    struct error err = {0};
    CHECK_OK(file_make_folders(path, &err), &err);
}

static json_t *record(void) {
    json_t *made = parse("{'job': {'kind': 'BatchScore', 'spec': {'input': {'files': {'path': "
                         "'d/in'}}, 'output': {'path': 'd/out'}}}}");
    json_object_set_new(made, "folders", json_pack("{s:s}", "d", folder));
    return made;
}

/* The names, each behind a space. */
static char *names_of(const json_t *list) {
    char *text = x_strdup("");
    for (size_t i = 0; i < json_array_size(list); i++) {
        AUTO(text_freep) char *before = text;
        text = x_printf("%s %s", before, tree_text(json_array_get(list, i), "name", ""));
    }
    return text;
}

static void check_names(json_t *kept, const struct run_item *item, const char *wanted) {
    AUTO(tree_freep) json_t *list = ui_local_pictures(kept, item);
    AUTO(text_freep) char *names = names_of(list);
    CHECK_STR(names, wanted);
}

static void check_served(json_t *kept, const struct run_item *item, size_t which,
                         enum error_kind wanted) {
    AUTO(tree_freep) json_t *list = ui_local_pictures(kept, item);
    struct ui_picture picture = {0};
    struct error err = {0};
    const char *token = tree_text(json_array_get(list, which), "after", "none");
    int result = ui_local_picture(kept, item, token, &picture, &err);
    CHECK_INT(result, wanted == 0 ? 0 : -1);
    CHECK_INT(err.kind, wanted);
    CHECK(result < 0 || (picture.size == strlen(gif) && strcmp(picture.type, "image/gif") == 0));
    free(picture.bytes);
}

static void test_the_list_is_kept(void) {
    AUTO(tree_freep) json_t *kept = json_object();
    AUTO(tree_freep) json_t *made = record();
    char id[] = "a", path[] = "/runs/a", other[] = "/runs/b";
    const struct run_item item = {.id = id, .path = path, .record = made};
    const struct run_item later = {.id = id, .path = other, .record = made};
    AUTO(text_freep) char *link = file_join(folder, "in/link.gif");
    AUTO(text_freep) char *gone = file_join(folder, "out/m.gif");
    make("in/sub");
    make("out/sub");
    put("in/m.gif");
    put("out/m.gif");
    put("out/link.gif");
    put("in/alone.gif");
    CHECK_INT(symlink("m.gif", link), 0);
    check_names(kept, &item, " m.gif");
    check_served(kept, &item, 0, 0);
    put("in/sub/n.gif"); /* in neither of the two folders themselves */
    put("out/sub/n.gif");
    check_names(kept, &item, " m.gif");
    check_names(kept, &later, " m.gif sub/n.gif");
    check_served(kept, &later, 1, 0);
    put("in/o.gif");
    put("out/o.gif");
    check_names(kept, &item, " m.gif o.gif sub/n.gif");
    CHECK_INT(unlink(gone), 0);
    put("out/alone.gif");
    check_names(kept, &item, " alone.gif o.gif sub/n.gif");
    put("out/m.gif");
    for (int i = 0; i < UI_PICTURES_MAX; i++) {
        AUTO(text_freep) char *in = x_printf("in/b%02d.gif", i);
        AUTO(text_freep) char *out = x_printf("out/b%02d.gif", i);
        put(in);
        put(out);
    }
    AUTO(tree_freep) json_t *full = ui_local_pictures(kept, &item);
    AUTO(text_freep) char *names = names_of(full);
    CHECK_INT(json_array_size(full), UI_PICTURES_MAX);
    put("in/a.gif");
    put("out/a.gif");
    check_names(kept, &item, names); /* as many as are shown */
    AUTO(text_freep) char *last = file_join(folder, "out/b00.gif");
    CHECK_INT(unlink(last), 0);
    check_served(kept, &item, 1, ERROR_NOT_FOUND);
}

int main(void) {
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    TEST(test_the_list_is_kept);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
