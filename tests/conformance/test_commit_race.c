// SPDX-License-Identifier: Apache-2.0
/* Several coordinators of one run, each a process, frozen, thawed and killed at random. All that
 * they reported as stored is there, and each cell once. On the disk, where links are real, and on
 * Azurite. SOAK_SEED, SOAK_ROUNDS. */
#include "agent/score/log/commit.h"
#include "lib/file.h"
#include "lib/time/clock.h"
#include "tests/broken_store.h"
#include "tests/conformance/store_server.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CELLS = 300, PROCESSES = 4, ROUND_MS = 60000 };

/* What was acknowledged to the processes, in memory that outlives them. */
static struct shared {
    _Atomic int acked[CELLS]; /* times */
    _Atomic int claims, superseded;
} * shared;

static char *store_name; /* the store they share: each process opens it itself */

static const struct commit_identity identity = {
    .run = "00000000000000aa", .uid = "uid", .job = "race", .absent_ms = 5000};

struct seen {
    int cells[CELLS];
};

static int see(void *context, const struct commit_head *head UNUSED,
               const struct commit_record *record, struct error *err) {
    struct seen *seen = context;
    if (record->first >= CELLS || record->type != COMMIT_DONE) {
        return error_set(err, ERROR_BUG, "no writer wrote this");
    }
    seen->cells[record->first]++;
    return 0;
}

/* One coordinator's life: returns 1 if superseded, 0 if done, -1 on an error. */
static int coordinate(struct store *store, uint64_t *state) {
    struct error err = {0};
    struct commit_log *log = NULL;
    struct seen seen = {0};
    int64_t cells[CELLS], added = 0, told = 0, through = 0;
    if (commit_open(store, &identity, see, &seen, &log, &err) < 0) {
        printf("# open: %s\n", err.text);
        return -1;
    }
    shared->claims++;
    int64_t at = (int64_t)(test_random(state) % CELLS), left = CELLS;
    int result = 0;
    while (result >= 0 && (left > 0 || told < added)) {
        for (int i = (int)(test_random(state) % 6); i > 0 && left > 0; i--, left--, at++) {
            int64_t cell = at % CELLS;
            struct commit_record record = {.type = COMMIT_DONE,
                                           .first = cell,
                                           .cells = 1,
                                           .items = 1,
                                           .lease = cell,
                                           .try = 1,
                                           .worker = "w"};
            if (!seen.cells[cell] && commit_add(log, &record, &err) == 0) {
                cells[added++] = cell;
            }
        }
        result =
            commit_poll(log, test_random(state) % 2 || !left, clock_monotonic_ms(), &through, &err);
        for (; result > 0 && told < through; told++) {
            shared->acked[cells[told]]++;
        }
        poll(NULL, 0, (int)(test_random(state) % 3));
    }
    commit_free(log);
    if (result < 0 && err.kind != ERROR_GONE) {
        printf("# turn: %s\n", err.text);
        return -1;
    }
    shared->superseded += result < 0;
    return result < 0;
}

__attribute__((noreturn)) static void be_coordinator(uint64_t seed, int percent) {
    uint64_t state = seed;
    struct error err = {0};
    struct store *store = NULL;
    if (store_open(store_name, /* writes= */ true, &store, &err) < 0) {
        printf("# store: %s\n", err.text);
        fflush(stdout);
        _exit(2);
    }
    store = broken_store(store, &(struct broken_options){.seed = seed, .percent = percent});
    int result = 0;
    while ((result = coordinate(store, &state)) > 0) {
        poll(NULL, 0, (int)(test_random(&state) % 60));
    }
    fflush(stdout);
    _exit(result < 0);
}

static pid_t start(uint64_t seed, int percent) {
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        be_coordinator(seed, percent);
    }
    return pid;
}

/* Freezes, thaws and kills them until all have ended by themselves; replaces those it killed. */
static void harass(uint64_t seed, uint64_t *state, int percent) {
    pid_t pids[PROCESSES];
    int kills = 12, ended = 0;
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = start(seed * 100 + (uint64_t)i, percent);
    }
    int64_t end_ms = clock_monotonic_ms() + ROUND_MS;
    while (ended < PROCESSES && clock_monotonic_ms() < end_ms) {
        int i = (int)(test_random(state) % PROCESSES);
        poll(NULL, 0, (int)(test_random(state) % 15));
        if (pids[i] > 0) {
            bool is_kill = kills > 0 && test_random(state) % 4 == 0;
            kills -= is_kill;
            kill(pids[i], is_kill ? SIGKILL : test_random(state) % 3 == 0 ? SIGSTOP : SIGCONT);
        }
        int status = 0;
        for (int k = 0; k < PROCESSES; k++) {
            if (pids[k] <= 0 || waitpid(pids[k], &status, WNOHANG) != pids[k]) {
                continue;
            }
            bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
            CHECK(was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0));
            ended += !was_killed;
            pids[k] = was_killed ? start(test_random(state), percent) : 0;
        }
    }
    CHECK_INT(ended, PROCESSES);
    for (int i = 0; i < PROCESSES; i++) {
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
    }
}

static void run_round(uint64_t seed, int percent) {
    struct error err = {0};
    uint64_t state = seed;
    memset(shared, 0, sizeof *shared);
    harass(seed, &state, percent);
    AUTO(store_freep) struct store *store = NULL;
    struct seen seen = {0};
    struct commit_log *log = NULL;
    CHECK_OK(store_open(store_name, true, &store, &err), &err);
    CHECK_OK(commit_open(store, &identity, see, &seen, &log, &err), &err);
    commit_free(log);
    int wrong = 0;
    for (int i = 0; i < CELLS; i++) {
        wrong += seen.cells[i] != 1 || shared->acked[i] > 1;
    }
    CHECK_INT(wrong, 0);
    CHECK(shared->claims > PROCESSES / 2);
    if (test_failures) {
        printf("# SOAK_SEED=%llu: %d claims, %d superseded\n", (unsigned long long)seed,
               shared->claims, shared->superseded);
    }
}

static void run_round_on_disk(uint64_t seed, int percent) {
    struct error err = {0};
    char volume[] = "/tmp/windlass-race-XXXXXX";
    CHECK(mkdtemp(volume) != NULL);
    setenv("racetest", volume, 1);
    store_name = x_strdup("racetest/out");
    run_round(seed, percent);
    text_freep(&store_name);
    CHECK_OK(file_remove_tree(volume, &err), &err);
}

static int rounds_of(int few) {
    int soak = (int)test_rounds(0) / 10; /* so few are always all run */
    return soak ? soak : few;
}

static void four_processes(void) {
    int superseded = 0, rounds = rounds_of(4);
    for (int i = 0; i < rounds && !test_failures; i++) {
        run_round_on_disk(test_seed(1) + (uint64_t)i, 0);
        superseded += shared->superseded;
    }
    CHECK(superseded > 0); /* otherwise there was no race */
}

static void four_processes_and_a_broken_store(void) {
    int rounds = rounds_of(4);
    for (int i = 0; i < rounds && !test_failures; i++) {
        run_round_on_disk(test_seed(1) + 1000 + (uint64_t)i, 15);
    }
}

static void four_processes_on_azurite(void) {
    int rounds = rounds_of(2);
    struct store_server azurite;
    CHECK(store_server_start(&azurite, "azurite"));
    for (int i = 0; i < rounds && !test_failures; i++) {
        uint64_t seed = test_seed(1) + 2000 + (uint64_t)i;
        store_name = x_printf("az://films/tests/race/%llu", (unsigned long long)seed);
        run_round(seed, i % 2 ? 15 : 0);
        text_freep(&store_name);
    }
    /* The claims show that there was a race (run_round): commits are so slow here that those who
     * are superseded may be killed before they notice. */
    store_server_stop(&azurite);
}

int main(void) {
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) {
        return 1;
    }
    TEST(four_processes);
    TEST(four_processes_and_a_broken_store);
    TEST(four_processes_on_azurite);
    return TEST_END();
}
