// SPDX-License-Identifier: Apache-2.0
/* The program that made a result: its SHA-256, or nothing where it is unreadable.
 */
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

int main(int argc, char **argv UNUSED) {
    if (argc > 1) {
        AUTO(tree_freep) json_t *result = json_object();
        result_origin_add_program(result);
        return tree_text(result, "program.sha256", NULL) ? TOLD : NOT_TOLD;
    }
    TEST(the_program_is_hashed);
    TEST(an_unreadable_one_is_left_out);
    return TEST_END();
}
