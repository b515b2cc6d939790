// SPDX-License-Identifier: Apache-2.0
/* The ONNX project's own tests, where Debian's libonnx-testdata is installed: no test may be
 * accepted and computed wrongly, and the number of supported ones must not fall. */
#include "agent/commands/model.h"

#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static const char data[] = "/usr/share/libonnx-testdata/data";

/* Runs the command on a set of tests with its output in a pipe; reads the last line's counts. */
static void check_set(const char *set, const char *device, int passed_at_least) {
    char folder[256], line[1024], last[1024] = "";
    snprintf(folder, sizeof folder, "%s/%s", data, set);
    if (access(folder, F_OK) != 0) {
        SKIP("%s is not installed", data);
    }
    char *argv[] = {(char[]){"test"}, folder, (char[]){"--device"}, strdup(device), NULL};
    char path[] = "build/test_model_XXXXXX";
    int fd = mkstemp(path), console = dup(1);
    struct error err = {0};
    fflush(stdout);
    dup2(fd, 1);
    int code = model_test_command(4, argv, &err);
    fflush(stdout);
    dup2(console, 1);
    close(console);
    close(fd);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "failed", 6) == 0) {
            printf("# %s", line);
        }
        memcpy(last, line, sizeof last);
    }
    if (file) {
        fclose(file);
    }
    unlink(path);
    free(argv[3]);
    int passed = 0, failed = -1;
    CHECK_INT(sscanf(last, "%d passed, %d failed", &passed, &failed), 2);
    CHECK_INT(code, 0);
    CHECK_INT(failed, 0);
    if (passed < passed_at_least) {
        printf("# %s: %d passed, at least %d did before\n", set, passed, passed_at_least);
        test_failures++;
    }
}

static void test_node(void) {
    check_set("node", "cpu", 865);
}

static void test_node_on_reference(void) {
    check_set("node", "reference", 865);
}

static void test_simple(void) {
    check_set("simple", "cpu", 15);
}

static void test_pytorch_converted(void) {
    check_set("pytorch-converted", "cpu", 82);
}

static void test_pytorch_operator(void) {
    check_set("pytorch-operator", "cpu", 35);
}

int main(void) {
    TEST(test_node);
    TEST(test_node_on_reference);
    TEST(test_simple);
    TEST(test_pytorch_converted);
    TEST(test_pytorch_operator);
    return TEST_END();
}
