// SPDX-License-Identifier: Apache-2.0
#include "operator/local/volume.h"

#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>

static char folder[64];

static char *make(const char *name) {
    struct error err = {0};
    char *path = file_join(folder, name);
    CHECK_OK(file_make_folders(path, &err), &err);
    return path;
}

static json_t *volume(const char *name, const char *kind, const char *host_path) {
    return host_path ? json_pack("{s:s, s:{s:s}}", "name", name, kind, "path", host_path)
                     : json_pack("{s:s, s:{}}", "name", name, kind);
}

static void the_four_places_in_order(void) {
    AUTO(text_freep) char *given = make("given");
    AUTO(text_freep) char *host = make("host");
    AUTO(text_freep) char *beside = make("manifest/beside");
    AUTO(text_freep) char *manifest = make("manifest");
    AUTO(text_freep) char *state = make("state");
    AUTO(text_freep) char *option = x_printf("given=%s", given);
    const char *list[] = {"given=/no/such", option};
    struct volume_places places = {list, 2, manifest, state};
    AUTO(text_freep) char *scratch = x_printf("%s/volumes/scratch", state);
    const struct {
        const char *name, *kind, *host_path, *wanted;
    } rows[] = {
        {"given", "hostPath", host, given}, /* the last --volume wins over everything */
        {"other", "hostPath", host, host},
        {"beside", "hostPath", "/no/such", beside},
        {"beside", "persistentVolumeClaim", NULL, beside},
        {"beside", "blobfuse", NULL, beside},
        {"beside", "azureFile", NULL, beside},
        {"beside", "nfs", NULL, beside},
        {"beside", "emptyDir", NULL, beside},
        {"scratch", "emptyDir", NULL, scratch},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *found = NULL;
        AUTO(tree_freep) json_t *tree = volume(rows[i].name, rows[i].kind, rows[i].host_path);
        CHECK_OK(volume_find(&places, tree, &found, &err), &err);
        CHECK_STR(found, rows[i].wanted);
    }
}

static void what_is_nowhere_is_told_how(void) {
    AUTO(text_freep) char *manifest = make("manifest");
    struct volume_places places = {NULL, 0, manifest, folder};
    const struct {
        const char *kind, *host_path, *contains;
    } rows[] = {
        {"persistentVolumeClaim", NULL,
         "volume lost has no folder on this machine: give --volume "
         "lost=DIR, or make "},
        {"hostPath", "/no/such", "or make its hostPath /no/such, or make "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char *found = NULL;
        AUTO(tree_freep) json_t *tree = volume("lost", rows[i].kind, rows[i].host_path);
        CHECK(volume_find(&places, tree, &found, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].contains));
        CHECK(strstr(err.text, "/manifest/lost"));
    }
}

static void wrong_options_are_refused(void) {
    AUTO(text_freep) char *manifest = make("manifest");
    AUTO(tree_freep) json_t *volumes = json_pack("[o]", volume("media", "emptyDir", NULL));
    static const struct {
        const char *option, *contains;
    } rows[] = {
        {"media", "expected NAME=DIR"},         {"=/tmp", "expected NAME=DIR"},
        {"media=", "expected NAME=DIR"},        {"media=/no/such", "/no/such is not a folder"},
        {"medium=/", "no volume of that name"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        struct volume_places places = {&rows[i].option, 1, manifest, folder};
        CHECK(volume_check_given(&places, volumes, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].contains));
    }
    struct error err = {0};
    const char *fine = "media=/";
    struct volume_places places = {&fine, 1, manifest, folder};
    CHECK_OK(volume_check_given(&places, volumes, &err), &err);
}

int main(void) {
    snprintf(folder, sizeof folder, "/tmp/windlass-volume-XXXXXX");
    if (!mkdtemp(folder)) {
        return 1;
    }
    TEST(the_four_places_in_order);
    TEST(what_is_nowhere_is_told_how);
    TEST(wrong_options_are_refused);
    struct error err = {0};
    return file_remove_tree(folder, &err) < 0 ? 1 : TEST_END();
}
