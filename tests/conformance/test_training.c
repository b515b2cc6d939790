// SPDX-License-Identifier: Apache-2.0
// Fused steps and blocked layouts of the CPU device in a training step, against the plain kernels:
// loss, every gradient and the norms' statistics of small networks, in every instruction set of
// this processor, with one thread and with three, which must agree bit for bit. SOAK_SEED and
// SOAK_ROUNDS: other numbers, and how many draws (2).
#include "agent/engine/device/cpu/isa.h"
#include "tests/conformance/training_step.h"
#include "tests/seed.h"

#include <sys/wait.h>
#include <unistd.h>

static const double tolerance = 2e-5; /* of the largest number of a result */

/* ---- the comparison ------------------------------------------------------------------------- */

static void compare(struct work *work, const struct row *row, const struct tensor *wanted) {
    struct tensor one[RESULTS_MAX] = {0}, three[RESULTS_MAX] = {0};
    if (step(work, "cpu", 1, one) && step(work, "cpu", 3, three)) {
        double apart = distance(work, one, wanted);
        if (!(apart <= tolerance)) {
            printf("# %s at %dx%dx%d: off by %g\n", row->name, row->n, row->h, row->w, apart);
            test_failures++;
        }
        for (size_t i = 0; i < work->graph.graph.output_count; i++) {
            size_t size = (size_t)shape_count(&one[i].shape) * sizeof(float);
            CHECK(memcmp(one[i].data, three[i].data, size) == 0);
        }
    }
    release(one);
    release(three);
}

static uint32_t number_of(const char *variable, uint32_t fallback) {
    const char *text = getenv(variable);
    return text && *text ? (uint32_t)strtoul(text, NULL, 10) : fallback;
}

static void check_row(const struct row *row, uint32_t seed) {
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        struct work work;
        struct tensor wanted[RESULTS_MAX] = {0};
        work_init(&work, row, seed + (uint32_t)draw * 1000, false);
        set_target(&work);
        bool fits =
            step(&work, "reference", 2, wanted) && !is_on_edge(&work, wanted, 10 * tolerance);
        if (fits) {
            compare(&work, row, wanted);
        }
        release(wanted);
        work_release(&work);
        if (fits) {
            return;
        }
    }
    printf("# %s: every draw is on an edge\n", row->name);
    test_failures++;
}

static int check_all(void) {
    uint32_t seed = number_of("SOAK_SEED", 1), rounds = number_of("SOAK_ROUNDS", 2);
    printf("# SOAK_SEED=%u SOAK_ROUNDS=%u\n", seed, rounds);
    for (uint32_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
            if (test_takes(i + round, ARRAY_LEN(rows))) {
                check_row(&rows[i], seed + round);
            }
        }
    }
    return test_failures;
}

// In a separate process: oneDNN chooses its instruction set once per process.
static void check_isa(enum isa isa) {
    int status = 0;
    if (!isa_runs_here(isa)) {
        SKIP("this processor has no %s", isa_name(isa));
    }
    setenv("WINDLASS_CPU_ISA", isa_name(isa), 1);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        int failures = check_all();
        fflush(stdout);
        _exit(failures ? 1 : 0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unsetenv("WINDLASS_CPU_ISA");
}

static void test_plain(void) {
    check_isa(ISA_PLAIN);
}

static void test_avx2(void) {
    check_isa(ISA_AVX2);
}

static void test_avx512(void) {
    check_isa(ISA_AVX512);
}

// The comparison would pass even if nothing were fused.
static void test_resnet_is_fused(void) {
    struct error err = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct work work;
    work_init(&work, &rows[0], 1, false);
    set_target(&work);
    CHECK_OK(device_open("cpu", 1, &device, &err), &err);
    CHECK_OK(execution_plan_new(device, &work.graph.graph, work.inputs, &plan, &err), &err);
    int norms = 0, gradients = 0, elementwise = 0, row_major = 0;
    for (size_t i = 0; plan && i < plan->schedule->step_count; i++) {
        const struct step *made = &plan->schedule->steps[i];
        int id = made->node ? made->node->op->id : -1;
        norms += id == OP_NORM_TRAINING && strcmp(made->kernel->name, "fast NormTraining") == 0;
        gradients += id == OP_NORM_GRADIENT && strcmp(made->kernel->name, "fast NormGradient") == 0;
        elementwise += id == OP_RELU || id == OP_UNARY_GRADIENT;
        if (id == OP_CONV || id == OP_CONV_GRADIENT_INPUT) {
            row_major += plan->schedule->slots[made->outputs[0]].layout == 0;
        }
    }
    CHECK_INT(norms, 6);
    CHECK_INT(gradients, 6);
    CHECK_INT(elementwise, 0);
    if (isa_best() != ISA_PLAIN) {
        CHECK_INT(row_major, 0);
    }
    execution_plan_free(plan);
    device_close(device);
    work_release(&work);
}

int main(void) {
    TEST(test_plain);
    TEST(test_avx2);
    TEST(test_avx512);
    TEST(test_resnet_is_fused);
    return TEST_END();
}
