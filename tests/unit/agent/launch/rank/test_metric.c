// SPDX-License-Identifier: Apache-2.0
/* Figures: texts that are metrics and texts that are not, over the socket, and in a status. */
#include "agent/launch/gang/latest_metrics.h"
#include "agent/launch/rank/metric_socket.h"
#include "tests/test.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static void texts(void) {
    static const char *const wrong[] = {"",
                                        "loss 1 2",
                                        "0 loss 1",
                                        "0 loss x 2",
                                        "0 loss 1 x",
                                        "0 loss 1 -2",
                                        "-1 loss 1 2",
                                        "0  1 2",
                                        "0 lo$s 1 2",
                                        "0 loss 1 2 3",
                                        "0 loss 1 99999999999999999999",
                                        "9999999 loss 1 2"};
    struct metric metric;
    char text[METRIC_TEXT_MAX], longest[METRIC_NAME_MAX + 20];
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        CHECK(!metric_read(wrong[i], &metric));
    }
    CHECK(metric_read("3 train/loss 0.25 1200\n", &metric));
    metric_write(&metric, text);
    CHECK_STR(text, "3 train/loss 0.25 1200");
    CHECK(metric_read("0 loss nan 7", &metric) && isnan(metric.value));
    CHECK(metric_read("0 mAP@IoU=0.50 0.1 -1", &metric) && metric.step == -1);
    metric_write(&metric, text); /* to the last bit */
    CHECK_STR(text, "0 mAP@IoU=0.50 0.10000000000000001 -1");
    snprintf(longest, sizeof longest, "0 %0*d 1 2", METRIC_NAME_MAX, 7);
    CHECK(metric_read(longest, &metric));
    snprintf(longest, sizeof longest, "0 %0*d 1 2", METRIC_NAME_MAX + 1, 7);
    CHECK(!metric_read(longest, &metric));
}

static void over_a_socket(void) {
    struct error err = {0};
    struct metric_socket *socket = NULL;
    struct metric metric;
    char folder[] = "/tmp/windlass-metric-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *path = x_printf("%s/metrics", folder);
    setenv("WINDLASS_METRICS", path, 1);
    setenv("RANK", "5", 1);
    metric_send("loss", 1, 1); /* no listener: nothing happens */
    CHECK_OK(metric_socket_open(path, &socket, &err), &err);
    CHECK(!metric_socket_take(socket, &metric));
    metric_send("no metric", 1, 1);
    metric_send("loss", 0.5, 12);
    CHECK(metric_socket_take(socket, &metric));
    CHECK(metric.rank == 5 && metric.value == 0.5 && metric.step == 12);
    CHECK(!metric_socket_take(socket, &metric));
    for (int i = 0; i < 100000; i++) { /* more than the socket buffers: the sender does not wait */
        metric_send("loss", 0.5, i);
    }
    CHECK(metric_socket_take(socket, &metric) && metric.step == 0);
    metric_socket_free(socket);
    CHECK(access(path, F_OK) != 0);
    rmdir(folder);
}

static void add(struct latest_metrics *latest, const char *text) {
    struct metric metric;
    CHECK(metric_read(text, &metric));
    latest_metrics_add(latest, &metric);
}

static void what_a_status_gets(void) {
    struct latest_metrics latest = {0}, there = {0};
    AUTO(tree_freep) json_t *none = json_object();
    AUTO(tree_freep) json_t *progress = json_object();
    latest_metrics_add_json(&latest, none);
    CHECK_INT(json_object_size(none), 0);
    add(&latest, "0 loss 0.5 10");
    add(&latest, "0 accuracy 0.8725 10");
    add(&latest, "0 epoch 3 10");
    add(&latest, "0 epoch -1 10");
    add(&latest, "0 samplesPerSecond 4123.456789 11");
    add(&latest, "0 checkpoint 1150 11");
    add(&latest, "0 windlass.trained.tensors 20 -1");
    add(&latest, "0 windlass.trained.ofTensors 22 -1");
    add(&latest, "0 windlass.trained.parameters 123456789 -1");
    add(&latest, "0 windlass.trained.ofParameters 123456799 -1");
    add(&latest, "0 windlass.badSamples 3 11");
    add(&latest, "0 windlass.firstLoss 2.302585 11");
    add(&latest, "0 windlass.losses.age 1.5 11");
    add(&latest, "0 windlass.losses.kind/1 0.75 11");
    add(&latest, "0 windlass.losses.age 1.25 11");
    add(&latest, "0 windlass.losses. 3 11");
    add(&latest, "0 unknown 1 12");
    add(&latest, "0 loss 0.25 11");
    AUTO(text_freep) char *lines = latest_metrics_write(&latest);
    latest_metrics_read(&there, lines);
    latest_metrics_read(&there, "nonsense\n\n");
    latest_metrics_add_json(&there, progress);
    AUTO(text_freep) char *text = tree_canonical(progress);
    CHECK_STR(text, "{\"accuracy\":\"0.8725\",\"badSamples\":{\"count\":3},\"checkpoint\":{"
                    "\"step\":1150},\"epoch\":3,\"firstLoss\":\"2.30259\",\"loss\":"
                    "\"0.25\",\"losses\":{\"age\":\"1.25\",\"kind/"
                    "1\":\"0.75\"},\"samplesPerSecond\":\"4123.46\",\"step\":11,"
                    "\"trained\":{\"ofParameters\":123456799,\"ofTensors\":22,"
                    "\"parameters\":123456789,\"tensors\":20}}");
}

/* What a program reports beyond the known ones is shown by its name, if it is not too long. */
static void test_reported_metrics_are_shown(void) {
    struct latest_metrics latest = {0}, there = {0};
    AUTO(tree_freep) json_t *progress = json_object();
    struct metric metric = {.value = 1, .step = 3};
    snprintf(metric.name, sizeof metric.name, "%047d", 7);
    latest_metrics_report(&latest, &metric);
    CHECK_INT((long long)latest.other_count, 0);
    for (int i = 0; i < 2 * LATEST_OTHERS_MAX; i++) {
        snprintf(metric.name, sizeof metric.name, "n%045d", i);
        latest_metrics_report(&latest, &metric);
    }
    CHECK_INT((long long)latest.other_count, LATEST_OTHERS_MAX);
    latest = (struct latest_metrics){0};
    static const char *const texts[] = {
        "0 windlass.percent 42 10",       "0 windlass.secondsLeft 120 10", "0 loss 0.5 10",
        "0 eval_loss 0.625 10",           "0 windlass.unknown 0.5 10",     "0 eval_loss 0.5 11",
        "0 windlass.trained.tensors 3 11"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        CHECK(metric_read(texts[i], &metric));
        latest_metrics_report(&latest, &metric);
    }
    AUTO(text_freep) char *lines = latest_metrics_write(&latest);
    latest_metrics_read(&there, lines);
    latest_metrics_add_json(&there, progress);
    AUTO(text_freep) char *text = tree_canonical(progress);
    CHECK_STR(text, "{\"loss\":\"0.5\",\"metrics\":{\"eval_loss\":\"0.5\"},\"percent\":42,"
                    "\"secondsLeft\":120,\"step\":11,\"trained\":{\"tensors\":3}}");
}

static void test_losses_of_several_outputs_are_bounded(void) {
    struct latest_metrics latest = {0};
    for (int i = 0; i < 2 * LATEST_LOSSES_MAX; i++) {
        AUTO(text_freep) char *text = x_printf("0 windlass.losses.n%d %d 11", i, i);
        add(&latest, text);
    }
    add(&latest, "0 windlass.losses.n3 99 12");
    CHECK_INT((long long)latest.loss_count, LATEST_LOSSES_MAX);
    CHECK(latest.losses[3].value == 99 && latest.step == 12);
}

int main(void) {
    TEST(test_reported_metrics_are_shown);
    TEST(test_losses_of_several_outputs_are_bounded);
    TEST(texts);
    TEST(over_a_socket);
    TEST(what_a_status_gets);
    return TEST_END();
}
