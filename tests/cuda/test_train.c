// SPDX-License-Identifier: Apache-2.0
/* Trainings on device/cuda where there is no GPU: nothing of the built-in networks' graphs is left
 * to the host, in bfloat16 pictures stay channels last, and a short training follows the CPU's
 * (each day another sixth of the settings; in a soak all). */
#include "agent/comm/comm.h"
#include "agent/engine/device/kernel.h"
#include "agent/engine/model.h"
#include "agent/engine/ops/table.h"
#include "agent/engine/run/execution_plan.h"
#include "agent/engine/training.h"
#include "agent/train/trainer.h"
#include "tests/agent_defaults.h"
#include "tests/cuda/emulated.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { BATCH = 2, SIDE = 64, CLASSES = 10, TEXT_MAX = 16384 };

/* ---- plans ---------------------------------------------------------------------------------- */

struct counts {
    int steps, host, pictures, pictures_channels_last;
};

/* Values of rank 4 made by a step, except those of one pixel and weights. */
static struct counts count_steps(const struct schedule *schedule, const char *what) {
    struct counts counts = {0};
    for (size_t i = 0; i < schedule->step_count; i++) {
        const struct step *step = &schedule->steps[i];
        if (!step->node) {
            continue;
        }
        counts.steps++;
        if (strcmp(step->kernel->name, "cuda host") == 0) {
            counts.host++;
            printf("# %s: %s is left to the host\n", what, step->node->op->name);
        }
        const struct schedule_slot *made = &schedule->slots[step->outputs[0]];
        if (made->shape.rank == 4 && made->shape.dims[0] == BATCH && made->shape.dims[2] > 1 &&
            !made->viewed) {
            counts.pictures++;
            counts.pictures_channels_last += made->layout != 0;
        }
    }
    return counts;
}

static const char *const kind_names[NETWORK_KIND_COUNT] = {"CNN", "MLP", "ResNet18", "ResNet50"};

static void plan_model(enum network_kind kind, bool is_bfloat, struct counts *ret_counts) {
    const struct network_options options = {
        .classes = CLASSES, .shape = {3, SIDE, SIDE}, .seed = 7};
    const struct training_options loss = {.is_bfloat = is_bfloat};
    struct graph network = {0};
    struct training_graph training = {0};
    struct device *device = NULL;
    struct execution_plan *plan = NULL;
    struct error err = {0};
    CHECK_OK(network_new(kind, &options, &network, &err), &err);
    CHECK_OK(training_graph_build(&network, &loss, &training, &err), &err);
    CHECK_OK(device_open(is_bfloat ? "cuda:bfloat16" : "cuda", 1, &device, &err), &err);
    struct tensor *inputs = x_calloc(training.graph.input_count, sizeof *inputs);
    bool *is_bound = x_calloc(training.graph.output_count, sizeof *is_bound);
    inputs[0] = (struct tensor){TENSOR_FLOAT32, {4, {BATCH, 3, SIDE, SIDE}}, NULL, false};
    for (size_t i = 0; i < training.variable_count; i++) {
        inputs[training.first_variable + i] = (struct tensor){
            TENSOR_FLOAT32, network.values[training.variables[i]].shape, NULL, false};
        is_bound[training.first_gradient + i] = true;
    }
    inputs[training.target] = (struct tensor){TENSOR_INT64, {1, {BATCH}}, NULL, false};
    inputs[training.scale] = (struct tensor){TENSOR_FLOAT32, {0}, NULL, false};
    CHECK_OK(execution_plan_new_bound(device, &training.graph, inputs, is_bound, &plan, &err),
             &err);
    *ret_counts = plan ? count_steps(plan->schedule, kind_names[kind]) : (struct counts){0};
    execution_plan_free(plan);
    free(inputs);
    free(is_bound);
    device_close(device);
    training_graph_release(&training);
    graph_release(&network);
}

static void test_no_step_is_left_to_the_host(void) {
    for (int kind = 0; kind < NETWORK_KIND_COUNT; kind++) {
        for (int is_bfloat = 0; is_bfloat < 2; is_bfloat++) {
            struct counts counts;
            plan_model((enum network_kind)kind, is_bfloat, &counts);
            CHECK(counts.steps > 10);
            CHECK_INT(counts.host, 0);
        }
    }
}

/* Except the gradient of the loss: an Expand of one number per channel. */
static void test_pictures_stay_channels_last(void) {
    for (int kind = NETWORK_RESNET18; kind <= NETWORK_RESNET50; kind++) {
        struct counts counts;
        plan_model((enum network_kind)kind, true, &counts);
        CHECK(counts.pictures > 60);
        CHECK_INT(counts.pictures - counts.pictures_channels_last, 1);
        plan_model((enum network_kind)kind, false, &counts);
        CHECK_INT(counts.pictures_channels_last, 0);
    }
}

/* ---- whole trainings ------------------------------------------------------------------------ */

static char folder[] = "/tmp/windlass-cuda-train-XXXXXX";

struct settings {
    const char *model, *optimizer, *precision;
};

static int train(const struct settings *settings, const char *device, const char *output,
                 struct error *err) {
    char text[2048];
    snprintf(text, sizeof text,
             "{\"model\": {\"new\": \"%s\"}, \"data\": {\"train\": {\"synthetic\": {\"count\": 12, "
             "\"classes\": 4, \"shape\": [1, 12, 12]}}, \"test\": {\"synthetic\": {\"count\": 6, "
             "\"classes\": 4, \"shape\": [1, 12, 12]}}}, \"epochs\": 2, \"batchSize\": 8, "
             "\"optimizer\": %s, \"precision\": \"%s\", \"output\": {\"path\": \"out/%s\"}}",
             settings->model, settings->optimizer, settings->precision, output);
    json_t *spec = json_loads(text, 0, NULL);
    fill_part("crds/disttrain.yaml", "spec.trainer", spec);
    struct train_job job = {.trainer = spec,
                            .name = "cuda",
                            .run = "00000000000000cd",
                            .threads = 1,
                            .timeout_ms = 60000};
    struct comm *comm = NULL;
    int result = comm_open("single", &comm, err);
    result = result < 0 ? -1 : device_open(device, 1, &job.device, err);
    result = result < 0 ? -1 : trainer_run(&job, comm, err);
    device_close(job.device);
    comm_close(comm);
    json_decref(spec);
    return result;
}

/* The column's numbers of metrics.csv at the ends of epochs (other rows depend on the clock); how
 * many there are. */
static int read_column(const char *output, const char *column, double *numbers, int room) {
    char path[256], *line = NULL;
    size_t size = 0;
    int index = -1, count = 0;
    snprintf(path, sizeof path, "%s/%s/metrics.csv", folder, output);
    FILE *file = fopen(path, "re");
    while (file && count < room && getline(&line, &size, file) > 0) {
        char *rest = line, *field, *epoch = strchr(line, ',');
        if (index >= 0 && epoch && memchr(epoch + 1, '.', strcspn(epoch + 1, ","))) {
            continue;
        }
        for (int at = 0; (field = strsep(&rest, ",\n")); at++) {
            if (index < 0 && strcmp(field, column) == 0) {
                index = at;
                break;
            }
            if (at == index && *field) {
                numbers[count++] = strtod(field, NULL);
            }
        }
    }
    free(line);
    if (file) {
        fclose(file);
    }
    return count;
}

static void compare_curves(const char *column, double tolerance, int wanted_least) {
    double wanted[64], seen[64];
    int count = read_column("cpu", column, wanted, 64);
    CHECK_INT(read_column("cuda", column, seen, 64), count);
    CHECK(count >= wanted_least);
    for (int i = 0; i < count; i++) {
        if (!(fabs(seen[i] - wanted[i]) <= tolerance * fmax(fabs(wanted[i]), 0.1))) {
            printf("# %s, row %d: %g on the device, %g on the CPU\n", column, i, seen[i],
                   wanted[i]);
            test_failures++;
        }
    }
}

static void follow(const struct settings *settings, double tolerance) {
    bool is_bfloat = strcmp(settings->precision, "BF16") == 0;
    struct error err = {0};
    char command[128];
    CHECK_OK(train(settings, "cpu", "cpu", &err), &err);
    CHECK_OK(train(settings, is_bfloat ? "cuda:bfloat16" : "cuda", "cuda", &err), &err);
    printf("# %s, %s, %s\n", settings->model, settings->optimizer, settings->precision);
    compare_curves("loss", tolerance, 2);
    compare_curves("test_loss", tolerance, 2);
    snprintf(command, sizeof command, "rm -rf %s/cpu %s/cuda", folder, folder);
    CHECK(system(command) == 0);
    CHECK_INT(emulated_allocated(), 0);
}

static void test_a_training_follows_the_cpu(void) {
    static const struct settings all[] = {
        {"CNN", "{\"learningRate\": \"0.02\", \"momentum\": \"0.9\", \"nesterov\": true}", "FP32"},
        {"MLP", "{\"kind\": \"LARS\", \"learningRate\": \"1\", \"weightDecay\": \"0.0001\"}",
         "FP32"},
        {"MLP", "{\"kind\": \"Adam\", \"learningRate\": \"0.002\"}", "FP32"},
        {"MLP", "{\"learningRate\": \"0.05\", \"weightDecay\": \"0.001\"}", "FP32"},
        {"MLP",
         "{\"kind\": \"AdamW\", \"weightDecay\": \"1\", \"learningRate\": \"0.02\", "
         "\"clipValue\": \"0.01\"}, \"ema\": {\"decay\": \"0.5\"}, \"gradientAccumulationSteps\": "
         "3",
         "FP32"},
        {"MLP", "{\"kind\": \"LAMB\", \"learningRate\": \"0.1\", \"clipNorm\": \"0.02\"}", "FP32"},
        {"MLP",
         "{\"learningRate\": \"0.5\", \"momentum\": \"0\", \"clipNorm\": \"0.5\", \"layerRates\": "
         "[{\"weights\": \"*\", \"factor\": \"0.5\"}]}",
         "FP32"},
        {"MLP", "{\"kind\": \"RMSprop\", \"weightDecay\": \"0.5\", \"decoupledWeightDecay\": true}",
         "FP32"},
        /* Adagrad divides what is only a rounding error by itself, where its epsilon is smaller: a
         * bias before a norm. */
        {"CNN",
         "{\"kind\": \"Adagrad\", \"noDecay\": [], \"weightDecay\": \"0.01\", \"epsilon\": "
         "\"1e-4\"}",
         "FP32"},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (test_samples(i, ARRAY_LEN(all), 6, test_day())) {
            follow(&all[i], 1e-3);
        }
    }
}

static void test_in_bfloat16_too(void) {
    static const struct settings all[] = {
        {"CNN", "{\"learningRate\": \"0.02\", \"momentum\": \"0.9\"}", "BF16"},
        {"MLP", "{\"learningRate\": \"0.05\"}", "BF16"},
    };
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        follow(&all[i], 0.05);
    }
}

int main(void) {
    if (!mkdtemp(folder) || setenv("out", folder, 1) < 0) {
        return 3;
    }
    TEST(test_no_step_is_left_to_the_host);
    TEST(test_pictures_stay_channels_last);
    TEST(test_a_training_follows_the_cpu);
    TEST(test_in_bfloat16_too);
    rmdir(folder);
    return TEST_END();
}
