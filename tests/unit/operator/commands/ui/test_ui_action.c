// SPDX-License-Identifier: Apache-2.0
/* Which failure of an action the page shows. This program itself is started as `windlass`: ACTION
 * and what it is to do. */
#include "operator/commands/ui/ui_action.h"

#include "lib/file.h"
#include "tests/test.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { STEP_MS = 5 };

static char folder[] = "/tmp/windlass-ui-action-XXXXXX";

/* ACTION DEED PATH [--dry-run]: do; fail; wait for the file, and fail; die. */
static int act(char **words) {
    if (words[4]) {
        return 0;
    }
    if (strcmp(words[2], "die") == 0) {
        raise(SIGKILL);
    }
    while (strcmp(words[2], "wait") == 0 && access(words[3], F_OK) != 0) {
        poll(NULL, 0, STEP_MS);
    }
    if (strcmp(words[2], "do") == 0) {
        return 0;
    }
    fputs("it cannot be done", stderr);
    return 3;
}

static void start(struct ui_deeds *deeds, const char *key, const char *action, const char *deed) {
    struct error err = {0};
    AUTO(text_freep) char *path = file_join(folder, "end");
    AUTO(tree_freep) json_t *words = json_pack("[s, s]", deed, path);
    const struct ui_order order = {.action = action, .key = key, .words = words};
    CHECK_OK(ui_action(deeds, &order, &err), &err);
}

/* Until a child has ended; that is noted by the deeds. */
static void wait_for_one(void) {
    siginfo_t info;
    CHECK_INT(waitid(P_ALL, 0, &info, WEXITED | WNOWAIT), 0);
}

static void check_failure(struct ui_deeds *deeds, const char *key, const char *wanted) {
    AUTO(text_freep) char *failure = ui_deeds_failure(deeds, key);
    CHECK_STR(failure ? failure : "none", wanted);
}

static void a_failure_lasts_until_the_next_action(void) {
    struct error err = {0};
    struct ui_deeds *deeds = ui_deeds_new();
    AUTO(text_freep) char *path = file_join(folder, "end");
    start(deeds, "k", "rerun", "wait");
    check_failure(deeds, "k", "none");
    start(deeds, "k", "cancel", "do");
    wait_for_one();
    check_failure(deeds, "k", "none");
    CHECK_OK(file_write(path, "", 0, &err), &err);
    wait_for_one();
    check_failure(deeds, "k", "rerun: it cannot be done");
    check_failure(deeds, "other", "none");
    start(deeds, "k", "cancel", "do");
    wait_for_one();
    check_failure(deeds, "k", "none");
    start(deeds, "k", "resume", "fail");
    wait_for_one();
    check_failure(deeds, "k", "resume: it cannot be done");
    ui_deeds_free(deeds);
}

static void the_newest_failure_is_shown(void) {
    struct ui_deeds *deeds = ui_deeds_new();
    start(deeds, "other", "cancel", "do");
    wait_for_one();
    check_failure(deeds, "other", "none");
    start(deeds, "k", "rerun", "fail");
    wait_for_one();
    start(deeds, "k", "cancel", "die");
    wait_for_one();
    check_failure(deeds, "k", "cancel: the command failed");
    ui_deeds_free(deeds);
}

int main(int argc, char **argv) {
    struct error err = {0};
    if (argc >= 4) {
        return act(argv);
    }
    CHECK(mkdtemp(folder) != NULL);
    TEST(a_failure_lasts_until_the_next_action);
    TEST(the_newest_failure_is_shown);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
