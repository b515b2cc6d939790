// SPDX-License-Identifier: Apache-2.0
/* The program that made a result: its SHA-256, or nothing where it is unreadable. The images of the
 * pods: as they are named on a cluster, none on this machine. */
#include "agent/result/result_origin.h"

#include "lib/digest.h"
#include "lib/file.h"
#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAM_MAX = 512 << 20, NOBODY = 65534, TOLD = 42, NOT_TOLD = 43 };

static const char *program_hash(json_t *result) {
    result_origin_add_program(result);
    CHECK_STR(tree_text(result, "program.version", ""), WINDLASS_VERSION);
    return tree_text(result, "program.sha256", NULL);
}

static void the_program_is_hashed(void) {
    AUTO(tree_freep) json_t *result = json_object();
    AUTO(text_freep) char *bytes = NULL;
    struct error err = {0};
    size_t size = 0;
    char hex[65];
    CHECK_OK(file_read("/proc/self/exe", PROGRAM_MAX, &bytes, &size, &err), &err);
    digest_sha256(bytes, size, hex);
    CHECK_STR(program_hash(result), hex);
}

/* A program that others may run and not read. */
static void an_unreadable_one_is_left_out(void) {
    char folder[] = "/tmp/windlass-origin-XXXXXX";
    AUTO(text_freep) char *bytes = NULL;
    struct error err = {0};
    size_t size = 0;
    int status = 0;
    if (getuid() != 0) {
        return; /* it cannot become another user */
    }
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *copy = file_join(folder, "program");
    CHECK_OK(file_read("/proc/self/exe", PROGRAM_MAX, &bytes, &size, &err), &err);
    CHECK_OK(file_write(copy, bytes, size, &err), &err);
    CHECK_INT(chmod(copy, 0711) | chmod(folder, 0711), 0);
    pid_t child = fork();
    if (child == 0) {
        if (setgid(NOBODY) == 0 && setuid(NOBODY) == 0) {
            execl(copy, copy, "tell", (char *)NULL);
        }
        _exit(1);
    }
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), NOT_TOLD);
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

/* The "images" of a Sweep's result, "" where it has none. Owned. */
static char *images_of_a_result(struct store *output) {
    AUTO(result_origin_freep) struct result_origin *origin = NULL;
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *result = NULL;
    struct error err = {0};
    char sha256[65];
    buffer_init(&text, RESULT_BYTES_MAX);
    json_t *sweep = json_object();
    CHECK_OK(result_origin_new(&origin, &err), &err);
    CHECK_OK(result_origin_write_sweep(origin, output, "s", sweep, sha256, &err), &err);
    json_decref(sweep);
    CHECK_OK(store_get(output, RESULT_NAME, &text, NULL, &err), &err);
    CHECK_OK(tree_parse(text.data, text.size, RESULT_BYTES_MAX, &result, &err), &err);
    const json_t *images = json_object_get(result, "images");
    return images ? tree_canonical(images) : x_strdup("");
}

static void the_pods_images_are_named(void) {
    static const char images[] = "{\"agent\":\"a@sha256:01\",\"program\":\"p:1\"}";
    char folder[] = "/tmp/windlass-origin-XXXXXX";
    AUTO(store_freep) struct store *output = NULL;
    struct error err = {0};
    setenv("origintest", mkdtemp(folder), 1);
    setenv("WINDLASS_JOB", "j", 1);
    setenv("WINDLASS_UID", "u", 1);
    setenv("WINDLASS_RUN", "0123456789abcdef", 1);
    setenv("WINDLASS_MANIFEST", "{\"metadata\": {\"name\": \"j\"}, \"spec\": {}}", 1);
    setenv("WINDLASS_IMAGES", images, 1);
    CHECK_OK(store_open("origintest/out", /* writes= */ true, &output, &err), &err);
    AUTO(text_freep) char *there = images_of_a_result(output);
    CHECK_STR(there, images);
    setenv("WINDLASS_FOLDER", folder, 1);
    AUTO(text_freep) char *here = images_of_a_result(output);
    CHECK_STR(here, "");
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

int main(int argc, char **argv UNUSED) {
    if (argc > 1) {
        AUTO(tree_freep) json_t *result = json_object();
        result_origin_add_program(result);
        return tree_text(result, "program.sha256", NULL) ? TOLD : NOT_TOLD;
    }
    TEST(the_program_is_hashed);
    TEST(an_unreadable_one_is_left_out);
    TEST(the_pods_images_are_named);
    return TEST_END();
}
