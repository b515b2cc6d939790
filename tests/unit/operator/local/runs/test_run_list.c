// SPDX-License-Identifier: Apache-2.0
/* Runs are real processes that hold real locks. */
#include "operator/local/runs/run_list.h"

#include "lib/file.h"
#include "operator/local/runs/run_entry.h"
#include "tests/test.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[] = "/tmp/test-run-list-XXXXXX";
static const char *other_host; /* of the runs that start; NULL: this machine */

/* A process that has a record of that name, and lives until it is signalled. */
static pid_t start(const char *name, const char *state, const char *when) {
    int ready[2];
    CHECK(pipe(ready) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        char host[256] = "";
        struct run_entry *entry = NULL;
        struct error err = {0};
        gethostname(host, sizeof host - 1);
        AUTO(tree_freep)
        json_t *about = json_pack("{s:s, s:s, s:s, s:s, s:{s:s, s:{s:s}}}", "name", name, "state",
                                  state, "host", other_host ? other_host : host, "startTime", when,
                                  "manifest", "kind", "Toy", "metadata", "name", name);
        bool is_open = run_entry_open(about, &entry, &err) == 0;
        (void)!write(ready[1], is_open ? "y" : "n", 1);
        for (;;) {
            pause();
        }
    }
    char word = 0;
    CHECK(read(ready[0], &word, 1) == 1 && word == 'y');
    close(ready[0]);
    close(ready[1]);
    return pid;
}

static void end(pid_t pid) {
    kill(pid, SIGKILL);
    CHECK(waitpid(pid, NULL, 0) == pid);
}

static struct run_list list(void) {
    struct run_list runs = {0};
    struct error err = {0};
    CHECK_OK(run_list_read(&runs, &err), &err);
    return runs;
}

static const char *reason_of(const struct run_item *item, json_t **job) {
    *job = run_list_job(item);
    return tree_text(*job, "status.conditions[0].reason", "none");
}

static void a_killed_run_does_not_live(void) {
    struct error err = {0};
    pid_t pid = start("one", folder, "2026-11-21T04:00:00Z");
    AUTO(run_list_release) struct run_list before = list();
    CHECK(before.count == 1 && before.at[0].is_alive && before.at[0].pid == pid);
    CHECK(run_list_wait(&before.at[0], 1, &err) < 0 && err.kind == ERROR_TIMEOUT);
    error_clear(&err);
    CHECK(run_list_set_outcome(&before.at[0], "Suspended", &err) < 0);
    error_clear(&err);
    end(pid);
    AUTO(run_list_release) struct run_list after = list();
    AUTO(tree_freep) json_t *job = NULL;
    CHECK(after.count == 1 && !after.at[0].is_alive);
    CHECK_STR(reason_of(&after.at[0], &job), "Killed");
    /* The older view still has its number, which may be another process's by now. */
    CHECK(run_list_signal(&before.at[0], SIGTERM, &err) < 0 && err.kind == ERROR_NOT_FOUND);
    error_clear(&err);
    CHECK_OK(run_list_set_outcome(&after.at[0], "Suspended", &err), &err);
    AUTO(run_list_release) struct run_list again = list();
    AUTO(tree_freep) json_t *now = NULL;
    CHECK_STR(reason_of(&again.at[0], &now), "Suspended");
    CHECK_OK(run_list_forget(&again.at[0], &err), &err);
    AUTO(run_list_release) struct run_list none = list();
    CHECK(none.count == 0);
}

static void the_newest_of_a_name_is_found(void) {
    struct error err = {0};
    pid_t old = start("two", folder, "2026-11-21T04:00:00Z");
    pid_t new = start("two", folder, "2026-11-21T05:00:00Z");
    AUTO(run_list_release) struct run_list runs = list();
    CHECK(runs.count == 2 && run_list_find(&runs, "two")->pid == new);
    CHECK(run_list_find(&runs, runs.at[1].id)->pid == old);
    CHECK(run_list_find(&runs, "tw") == NULL);
    CHECK_OK(run_list_signal(&runs.at[0], SIGKILL, &err), &err);
    CHECK(waitpid(new, NULL, 0) == new);
    CHECK_OK(run_list_wait(&runs.at[0], 0, &err), &err);
    end(old);
}

static void records_without_logs_are_dropped(void) {
    AUTO(text_freep) char *state = file_join(folder, "gone");
    struct error err = {0};
    CHECK_OK(file_make_folders(state, &err), &err);
    pid_t pid = start("three", state, "2026-11-21T06:00:00Z");
    CHECK(rmdir(state) == 0);
    AUTO(run_list_release) struct run_list alive = list();
    CHECK(run_list_find(&alive, "three"));
    end(pid);
    AUTO(run_list_release) struct run_list after = list();
    CHECK(!run_list_find(&after, "three"));
}

/* Its folder may be there, and is not seen from here. */
static void records_of_other_machines_stay(void) {
    other_host = "other.example";
    end(start("four", "/no/such", "2026-11-21T07:00:00Z"));
    other_host = NULL;
    AUTO(run_list_release) struct run_list runs = list();
    CHECK(run_list_find(&runs, "four"));
}

static void without_a_registry_there_is_no_run(void) {
    AUTO(text_freep) char *home = x_strdup(getenv("HOME") ? getenv("HOME") : "/");
    CHECK(setenv("XDG_STATE_HOME", "/dev/null", 1) == 0);
    AUTO(run_list_release) struct run_list of_file = list();
    CHECK(unsetenv("XDG_STATE_HOME") == 0 && unsetenv("HOME") == 0);
    AUTO(run_list_release) struct run_list of_none = list();
    CHECK(of_file.count == 0 && of_none.count == 0);
    CHECK(setenv("XDG_STATE_HOME", folder, 1) == 0 && setenv("HOME", home, 1) == 0);
}

int main(void) {
    struct error err = {0};
    if (!mkdtemp(folder) || setenv("XDG_STATE_HOME", folder, 1) < 0) {
        return 1;
    }
    TEST(a_killed_run_does_not_live);
    TEST(the_newest_of_a_name_is_found);
    TEST(records_without_logs_are_dropped);
    TEST(records_of_other_machines_stay);
    TEST(without_a_registry_there_is_no_run);
    return file_remove_tree(folder, &err) < 0 || TEST_END();
}
