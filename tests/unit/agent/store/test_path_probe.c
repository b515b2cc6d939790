// SPDX-License-Identifier: Apache-2.0
#include "agent/store/path_folder.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/test.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TIMEOUT_MS = 3000, PAUSE_MS = 4000, PAUSES = 2 };

static void set_volume(void) {
    struct error err = {0};
    CHECK_OK(file_make_folders("build/tests/path-probe", &err), &err);
    AUTO(text_freep) char *volume = realpath("build/tests/path-probe", NULL);
    CHECK(volume != NULL);
    setenv("vol", volume, 1);
}

static void answers(void) {
    struct error err = {0};
    struct path_probe *probe = path_probe_new("vol");
    CHECK_OK(path_probe_wait(probe, 60000, &err), &err);
    path_probe_free(probe);
    probe = path_probe_new("vol/missing");
    CHECK_INT(path_probe_wait(probe, 60000, &err), -1);
    CHECK(err.kind != ERROR_TIMEOUT);
    path_probe_free(probe);
}

/* Asks all the time, so that it is stopped while it waits. Ends with 1 if the storage is said not
 * to respond. */
__attribute__((noreturn)) static void ask_until_killed(void) {
    struct path_probe *probe = path_probe_new("vol");
    struct error err = {0};
    while (path_probe_wait(probe, TIMEOUT_MS, &err) == 0) {
    }
    _exit(1);
}

/* A paused container, a machine that sleeps: longer than the storage may take. */
static void pauses_are_no_silence(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        ask_until_killed();
    }
    for (int i = 0; i < PAUSES; i++) {
        poll(NULL, 0, 50);
        kill(child, SIGSTOP);
        poll(NULL, 0, PAUSE_MS);
        kill(child, SIGCONT);
    }
    poll(NULL, 0, 50);
    kill(child, SIGKILL);
    int status = 0;
    CHECK_INT(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status));
}

int main(void) {
    set_volume();
    TEST(answers);
    TEST(pauses_are_no_silence);
    return TEST_END();
}
