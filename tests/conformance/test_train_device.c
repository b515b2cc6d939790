// SPDX-License-Identifier: Apache-2.0
/* A training on a device with separate memory and time (tests/device_apart.h) against
 * the same training on the CPU: every loss, every weight has the same bits, and a checkpoint of one
 * is continued by the other. Alone it is one rank; tests/e2e/train/test_train.sh starts it by
 * mpirun.
 */
#include "agent/engine/device/kernel.h"
#include "agent/train/trainer.h"
#include "tests/agent_defaults.h"
#include "tests/device_apart.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <jansson.h>
#include <stdlib.h>
#include <unistd.h>

static struct comm *comm;
static char folder[64] = "/tmp/windlass-train-device-XXXXXX";
static int64_t timeout_ms = 60000; /* or PATIENCE_MS, for scripts that let a rank fail */
static int steps_left;             /* until the rank is asked to leave; below 0: never */
static int epochs = 3;
static const char *metrics; /* spec.metrics; NULL: none */

static bool is_stopped(void) {
    return steps_left >= 0 && steps_left-- == 0;
}

static int train(const char *output, const char *optimizer, int samples, bool is_apart,
                 struct error *err) {
    char text[2048];
    snprintf(text, sizeof text,
             "{\"model\": {\"new\": \"CNN\"}, \"data\": {\"train\": {\"synthetic\": {\"count\": "
             "%d, \"classes\": 4, \"shape\": [1, 28, 28]}}, \"test\": {\"synthetic\": {\"count\": "
             "40, \"classes\": 4, \"shape\": [1, 28, 28]}}, \"augment\": {\"pad\": 1}}, "
             "\"epochs\": %d, \"batchSize\": 32, \"fusionBufferMB\": 1, \"optimizer\": %s, "
             "\"output\": {\"path\": \"out/%s\"}}",
             samples, epochs, optimizer, output);
    json_t *spec = json_loads(text, 0, NULL);
    fill_part("crds/disttrain.yaml", "spec.trainer", spec);
    json_t *wanted = metrics ? json_loads(metrics, 0, NULL) : NULL;
    struct train_job job = {.trainer = spec,
                            .metrics = wanted,
                            .name = "device",
                            .run = "00000000000000dd",
                            .threads = 2,
                            .timeout_ms = timeout_ms,
                            .is_stopped = is_stopped};
    int result = 0;
    if (is_apart) {
        job.device = device_apart_open(2);
    } else {
        result = device_open("cpu", 2, &job.device, err);
    }
    result = result < 0 ? -1 : trainer_run(&job, comm, err);
    if (!atomic_load(&comm->is_lost)) {
        device_close(job.device);
    }
    json_decref(spec);
    json_decref(wanted);
    return result;
}

static char *read_output(const char *output, const char *name, size_t *ret_size) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", folder, output, name);
    FILE *file = fopen(path, "re");
    char *bytes = NULL;
    *ret_size = 0;
    if (!file) {
        printf("# %s is not there\n", path);
        return NULL;
    }
    fseek(file, 0, SEEK_END);
    size_t size = (size_t)ftell(file);
    rewind(file);
    bytes = x_calloc(size + 1, 1);
    *ret_size = fread(bytes, 1, size, file);
    fclose(file);
    return bytes;
}

/* metrics.csv without the columns that depend on the clock: time, speed, waiting. */
static void strip_times(char *csv) {
    char *to = csv;
    int column = 0;
    for (const char *from = csv; *from; from++) {
        column = *from == '\n' ? 0 : column + (*from == ',');
        if (column != 2 && column < 8) {
            *to++ = *from;
        }
    }
    *to = 0;
}

static void compare(const char *left, const char *right) {
    size_t sizes[2];
    if (comm->rank != 0) {
        return;
    }
    char *models[2] = {read_output(left, "model.onnx", &sizes[0]),
                       read_output(right, "model.onnx", &sizes[1])};
    CHECK(sizes[0] > 1000 && sizes[0] == sizes[1] && memcmp(models[0], models[1], sizes[0]) == 0);
    char *curves[2] = {read_output(left, "metrics.csv", &sizes[0]),
                       read_output(right, "metrics.csv", &sizes[1])};
    for (int i = 0; i < 2 && curves[i]; i++) {
        strip_times(curves[i]);
    }
    CHECK_STR(curves[1], curves[0]);
    CHECK(curves[0] && (strstr(curves[0], "\n9,3,") || strstr(curves[0], "\n12,3,")));
    for (int i = 0; i < 2; i++) {
        free(models[i]);
        free(curves[i]);
    }
}

static void every_bit_is_the_same(void) {
    static const char *const optimizers[] = {
        "{\"learningRate\": \"0.05\", \"weightDecay\": \"0.001\"}",
        "{\"learningRate\": \"0.02\", \"momentum\": \"0.9\", \"nesterov\": true}",
        "{\"kind\": \"Adam\", \"learningRate\": \"0.002\"}",
        "{\"kind\": \"LARS\", \"learningRate\": \"2\", \"weightDecay\": \"0.0001\"}",
    };
    for (size_t i = 0; i < ARRAY_LEN(optimizers); i++) {
        struct error err = {0};
        char names[2][16];
        if (!test_samples(i, ARRAY_LEN(optimizers), 2, test_day())) {
            continue;
        }
        snprintf(names[0], sizeof names[0], "host-%zu", i);
        snprintf(names[1], sizeof names[1], "apart-%zu", i);
        CHECK_OK(train(names[0], optimizers[i], 90, false, &err), &err);
        CHECK_OK(train(names[1], optimizers[i], 90, true, &err), &err);
        compare(names[0], names[1]);
    }
}

/* The last batch of an epoch is one sample: all ranks but one add zeros. */
static void a_rank_may_have_nothing(void) {
    struct error err = {0};
    static const char optimizer[] = "{\"learningRate\": \"0.05\"}";
    CHECK_OK(train("host-few", optimizer, 97, false, &err), &err);
    CHECK_OK(train("apart-few", optimizer, 97, true, &err), &err);
    compare("host-few", "apart-few");
}

/* Asked to leave on one device, continued on the other. */
static void checkpoints_fit_both(void) {
    static const char optimizer[] = "{\"kind\": \"Adam\", \"learningRate\": \"0.002\"}";
    for (int first = 0; first < 2; first++) {
        struct error err = {0};
        const char *output = first ? "apart-left" : "host-left";
        steps_left = 4;
        CHECK_INT(train(output, optimizer, 90, first, &err), -1);
        CHECK_INT(err.kind, ERROR_CANCELLED);
        error_clear(&err);
        steps_left = -1;
        CHECK_OK(train(output, optimizer, 90, !first, &err), &err);
    }
    compare("host-left", "apart-left");
}

static void compare_models(const char *left, const char *right, bool are_same) {
    size_t sizes[2];
    if (comm->rank != 0) {
        return;
    }
    char *models[2] = {read_output(left, "model.onnx", &sizes[0]),
                       read_output(right, "model.onnx", &sizes[1])};
    bool are =
        sizes[0] == sizes[1] && sizes[0] > 1000 && memcmp(models[0], models[1], sizes[0]) == 0;
    CHECK(sizes[0] > 1000 && sizes[1] > 1000);
    if (are != are_same) {
        printf("# %s and %s are %s\n", left, right, are ? "the same" : "not the same");
        test_failures++;
    }
    free(models[0]);
    free(models[1]);
}

/* The loss falls, so with Maximize the first epoch is the best one: the published network is that
 * of a training that ended with it, also where another start made the later epochs. With three
 * ranks the mean of equal statistics, which a training takes once more at its end, may differ in
 * the last digit. */
static void the_best_epoch_is_the_result(void) {
    static const char optimizer[] = "{\"kind\": \"Adam\", \"learningRate\": \"0.002\"}";
    struct error err = {0};
    epochs = 1;
    CHECK_OK(train("one-epoch", optimizer, 90, false, &err), &err);
    epochs = 3;
    CHECK_OK(train("last", optimizer, 90, false, &err), &err);
    metrics = "{\"objective\": \"loss\", \"goal\": \"Maximize\"}";
    CHECK_OK(train("best", optimizer, 90, false, &err), &err);
    CHECK_OK(train("best-apart", optimizer, 90, true, &err), &err);
    compare_models("best", "best-apart", true);
    compare_models("best", "last", false);
    if (comm->size < 3) {
        compare_models("best", "one-epoch", true);
    }
    /* In the middle of the second epoch, and at its last step. */
    for (int step = 4; step < 6; step++) {
        char output[16];
        snprintf(output, sizeof output, "best-left-%d", step);
        steps_left = step;
        CHECK_INT(train(output, optimizer, 90, step == 4, &err), -1);
        CHECK_INT(err.kind, ERROR_CANCELLED);
        error_clear(&err);
        steps_left = -1;
        CHECK_OK(train(output, optimizer, 90, step != 4, &err), &err);
        compare_models("best", output, true);
        /* With more ranks the last digit of a test's loss may differ, like the statistics. */
        if (comm->size == 1) {
            compare("best", output);
        }
    }
    /* A metric that trainings do not report, and one with the opposite goal. */
    metrics = "{\"objective\": \"f1\", \"goal\": \"Maximize\"}";
    CHECK_OK(train("other", optimizer, 90, false, &err), &err);
    compare_models("other", "last", true);
    metrics = "{\"objective\": \"loss\", \"goal\": \"Minimize\"}";
    CHECK_OK(train("least", optimizer, 90, false, &err), &err);
    compare_models("least", "best", false);
    if (comm->size < 3) {
        compare_models("least", "last", true);
    }
    metrics = NULL;
}

/* On all ranks, at the step, before anything of it is published. */
static void a_loss_that_is_not_a_number_ends_it(void) {
    /* Each step multiplies the weights by -100,000. */
    static const char optimizer[] = "{\"learningRate\": \"1e5\", \"weightDecay\": \"1\"}";
    for (int is_apart = 0; is_apart < 2; is_apart++) {
        struct error err = {0};
        CHECK_INT(train(is_apart ? "apart-nan" : "host-nan", optimizer, 320, is_apart, &err), -1);
        CHECK_INT(err.kind, ERROR_FAILED);
        CHECK(text_starts(err.text, "the loss of step "));
    }
}

/* As TEST, but only rank 0 prints "ok". */
#define RUN(function)                                                                              \
    do {                                                                                           \
        test_failures = 0;                                                                         \
        test_skip_reason[0] = 0;                                                                   \
        function();                                                                                \
        if (test_failures) {                                                                       \
            printf("not ok " #function ", rank %d of %d\n", comm->rank, comm->size);               \
        } else if (comm->rank == 0) {                                                              \
            printf("ok " #function ", %s of %d\n", comm->name, comm->size);                        \
        }                                                                                          \
        fflush(stdout);                                                                            \
        if (atomic_load(&comm->is_lost)) {                                                         \
            comm_abandon(3);                                                                       \
        }                                                                                          \
        test_failures_total += test_failures;                                                      \
    } while (0)

int main(int argc, char **argv) {
    struct error err = {0};
    if (comm_open(argc > 1 ? argv[1] : NULL, &comm, &err) < 0 ||
        (comm->rank == 0 && !mkdtemp(folder)) ||
        comm_broadcast(comm, folder, sizeof folder, &err) < 0) {
        printf("not ok beginning: %s\n", err.text);
        return 1;
    }
    setenv("out", folder, 1);
    timeout_ms = getenv("PATIENCE_MS") ? strtoll(getenv("PATIENCE_MS"), NULL, 10) : timeout_ms;
    steps_left = -1;
    RUN(every_bit_is_the_same);
    RUN(a_rank_may_have_nothing);
    RUN(checkpoints_fit_both);
    RUN(the_best_epoch_is_the_result);
    RUN(a_loss_that_is_not_a_number_ends_it);
    if (comm->rank == 0) {
        char command[128];
        snprintf(command, sizeof command, "rm -rf %s", folder);
        CHECK(system(command) == 0);
    }
    comm_close(comm);
    return TEST_END();
}
