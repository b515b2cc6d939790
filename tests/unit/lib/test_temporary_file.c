// SPDX-License-Identifier: Apache-2.0
#include "lib/temporary_file.h"

#include "tests/test.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_nothing_is_left_in_the_folder(void) {
    char folder[] = "/tmp/windlass-test-temporary-XXXXXX", text[8] = "";
    struct error err = {0};
    struct stat file_status, folder_status;
    CHECK(mkdtemp(folder) != NULL);
    setenv("TMPDIR", folder, 1);
    FILE *file = temporary_file_open(&err);
    CHECK_OK(file ? 0 : -1, &err);
    if (file) {
        CHECK(fstat(fileno(file), &file_status) == 0 && stat(folder, &folder_status) == 0);
        CHECK(file_status.st_dev == folder_status.st_dev && file_status.st_nlink == 0);
        CHECK_INT(rmdir(folder), 0); /* it is empty */
        CHECK(fputs("one", file) >= 0 && fseek(file, 0, SEEK_SET) == 0);
        CHECK_STR(fgets(text, sizeof text, file), "one");
        (void)fclose(file);
    }
    CHECK(!temporary_file_open(&err)); /* the folder is gone */
    CHECK(strstr(err.text, "cannot make a file in $TMPDIR (/tmp/windlass-test-temporary-"));
}

int main(void) {
    TEST(test_nothing_is_left_in_the_folder);
    return TEST_END();
}
