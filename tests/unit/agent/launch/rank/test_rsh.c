// SPDX-License-Identifier: Apache-2.0
/* The arguments that launchers give to the program that replaces ssh: tests/data/launch/rsh-*.json.
 * Those with "run": false are of launchers that have not been run here; their number is printed. */
#include "agent/launch/pod/shell_words.h"
#include "agent/launch/rank/rsh.h"
#include "lib/file.h"
#include "lib/tree.h"
#include "tests/test.h"

#include <glob.h>
#include <stdlib.h>

enum { ARGUMENTS_MAX = 200 };

static void vector(const char *path, int *not_run) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    AUTO(text_freep) char *line = NULL;
    AUTO(tree_freep) json_t *tree = NULL;
    const char *host = NULL;
    char *argv[ARGUMENTS_MAX + 1] = {0};
    struct shell_words words;
    size_t size = 0;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    CHECK_OK(tree_parse(text, size, 1 << 20, &tree, &err), &err);
    const json_t *list = json_object_get(tree, "argv");
    size_t count = json_array_size(list);
    CHECK(count > 3 && count < ARGUMENTS_MAX);
    for (size_t i = 0; i < count && i < ARGUMENTS_MAX; i++) {
        argv[i] = (char *)json_string_value(json_array_get(list, i));
    }
    CHECK_OK(rsh_read((int)count, argv, &host, &line, &err), &err);
    CHECK_STR(host, tree_text(tree, "host", ""));
    CHECK_STR(line, tree_text(tree, "line", ""));
    /* None of them needs a shell: an image may not have one. */
    CHECK(shell_words_split(line, &words));
    if (words.count) {
        CHECK(words.count + 3 >= count - 1 && words.assigned == 0);
        shell_words_release(&words);
    }
    *not_run += !tree_bool(tree, "run", false);
}

static void vectors(void) {
    glob_t found;
    int not_run = 0;
    CHECK_INT(glob("tests/data/launch/rsh-*.json", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        vector(found.gl_pathv[i], &not_run);
    }
    CHECK(found.gl_pathc >= 4);
    printf("# %zu launchers, %d of them not run\n", found.gl_pathc, not_run);
    globfree(&found);
}

static void options(void) {
    static const struct {
        const char *words[12], *host, *line;
    } rows[] = {
        {{"ssh", "h", "a"}, "h", "a"},
        {{"ssh", "-x", "-q", "-n", "-T", "-o", "BatchMode=yes", "-l", "root", "h", "a", "b"},
         "h",
         "a b"},
        {{"ssh", "-xqp22", "user@h", "a"}, "h", "a"},
        {{"ssh", "h", "-p", "22", "a", "-x"}, "h", "a -x"},
        {{"ssh", "-oPort=1", "--", "h", "-a"}, "h", "-a"},
        {{"rsh", "h", "-n", "a"}, "h", "a"},
        {{"ssh", "h", "a  b", "'c d'"}, "h", "a  b 'c d'"},
        {{"ssh", "fd00::1", "a"}, "fd00::1", "a"},
        /* horovodrun */
        {{"ssh", "-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no", "h", "-p",
          "22", "-o", "ConnectTimeout=10", "true"},
         "h",
         "true"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *line = NULL;
        const char *host = NULL;
        int count = 0;
        while (count < 12 && rows[i].words[count]) {
            count++;
        }
        CHECK_OK(rsh_read(count, (char *const *)rows[i].words, &host, &line, &err), &err);
        CHECK_STR(host, rows[i].host);
        CHECK_STR(line, rows[i].line);
    }
}

static void refusals(void) {
    static const struct {
        const char *words[6], *error;
    } rows[] = {{{"ssh"}, "host or command missing"},
                {{"ssh", "h"}, "h: host or command missing"},
                {{"ssh", "-l"}, "-l needs a value"},
                {{"ssh", "-z", "h", "a"}, "unknown option -z"},
                {{"ssh", "--what", "h", "a"}, "unknown option"},
                {{"ssh", "", "a"}, "host or command missing"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        char *line = NULL;
        const char *host = NULL;
        int count = 0;
        while (count < 6 && rows[i].words[count]) {
            count++;
        }
        CHECK(rsh_read(count, (char *const *)rows[i].words, &host, &line, &err) < 0);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK(strstr(err.text, rows[i].error) != NULL);
    }
}

int main(void) {
    TEST(vectors);
    TEST(options);
    TEST(refusals);
    return TEST_END();
}
