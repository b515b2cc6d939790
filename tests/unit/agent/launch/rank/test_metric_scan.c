// SPDX-License-Identifier: Apache-2.0
/* Metrics in the usual forms of a program's output, and what is not a metric. */
#include "agent/launch/rank/metric_scan.h"

#include "agent/launch/rank/metric_line.h"
#include "lib/buffer.h"
#include "tests/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "NAME VALUE; NAME VALUE" */
static void check_line(const char *line, const char *wanted) {
    struct metric found[METRIC_SCAN_MAX];
    char text[1024] = "";
    size_t used = 0, count = metric_scan(line, found);
    for (size_t i = 0; i < count; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %g", i ? "; " : "",
                                 found[i].name, found[i].value);
        CHECK_INT(found[i].rank, 0);
    }
    if (strcmp(text, wanted) != 0) {
        printf("# of %s\n", line);
        CHECK_STR(text, wanted);
    }
}

static void usual_forms(void) {
    static const char *const rows[][2] = {
        {"accuracy=0.5", "accuracy 0.5"},
        {"loss: 1e-3", "loss 0.001"},
        {" loss: 1", "loss 1"},
        {"INFO loss=0.7", "loss 0.7"},
        {"INFO:root:loss=0.7", "loss 0.7"},
        {"2026-11-21 12:30:45,123 INFO train: loss=0.7", "loss 0.7"},
        {"epoch=1 loss=0.2", "epoch 1; loss 0.2"},
        {"loss = 0.4", "loss 0.4"},
        {"loss :0.4, acc:0.5", "loss 0.4; acc 0.5"},
        {"{\"loss\": 0.3}", "loss 0.3"},
        {"{'loss': 0.3, 'learning_rate': 1e-05, 'epoch': 1.0}",
         "loss 0.3; learning_rate 1e-05; epoch 1"},
        {"{\"loss\":0.3,\"acc\":0.5}", "loss 0.3; acc 0.5"},
        {"{\"name\": \"acc\", \"value\": 0.91, \"step\": 7}", "acc 0.91"},
        {"Epoch 3 - loss: 0.52", "loss 0.52"},
        {"Epoch 3/10 - 4s - loss: 0.5234 - val_loss: 0.6", "loss 0.5234; val_loss 0.6"},
        {"[epoch 3] [loss=0.25]", "loss 0.25"},
        {"  3%|###   | 3/100 [00:01<00:32, loss=0.25, lr=0.1]", "loss 0.25; lr 0.1"},
        {"\x1b[32mINFO\x1b[0m loss=\x1b[1m0.25\x1b[0m", "loss 0.25"},
        {"mAP@IoU=0.50:0.25", "mAP@IoU=0.50 0.25"},
        {"val/loss: 0.1", "val/loss 0.1"},
        {"loss: nan", "loss nan"},
        {"loss=-inf", "loss -inf"},
        {"loss=Infinity", "loss inf"},
        {"loss: NaN, acc: 0.1", "loss nan; acc 0.1"},
        {"loss=1 loss=2", "loss 2"},
        {"loss=+.5;", "loss 0.5"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_line(rows[i][0], rows[i][1]);
    }
}

static void what_is_none(void) {
    static const char *const rows[] = {
        "",
        "loss 0.5",
        "loss: 0.5%",
        "loss: 0.5s",
        "step: 3/10",
        "loss: 1-2",
        "params: 1,234",
        "12:30:45",
        "time 12:30",
        "loss:",
        "loss =",
        "=0.5",
        "3loss=0.5",
        "loss=0x10",
        "loss=--1",
        "loss=.",
        "loss=e",
        "loss=nano",
        "loss=\"0.5\"",
        "0123456789012345678901234567890123456789012345678901234567890123456789=1",
        "a123456789012345678901234567890123456789012345678901234567890123456789=1",
        "\x1b[",
        "\x1b",
        "loss=00000000000000000000000000000000000000000000000001",
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        check_line(rows[i], "");
    }
}

/* The longest line costs little, whatever is in it. */
static void has_a_bound(void) {
    struct metric found[METRIC_SCAN_MAX];
    char line[METRIC_LINE_MAX + 1] = "";
    for (size_t i = 0; i < METRIC_LINE_MAX; i++) {
        line[i] = "a="[i % 2];
    }
    CHECK_INT(metric_scan(line, found), 0);
    for (size_t i = 0; i + 6 < METRIC_LINE_MAX; i += 6) {
        snprintf(line + i, 7, "m%03d=1", (int)(i / 6 % 1000));
        line[i + 6] = ' ';
    }
    CHECK(metric_scan(line, found) <= METRIC_SCAN_MAX);
}

int main(void) {
    TEST(usual_forms);
    TEST(what_is_none);
    TEST(has_a_bound);
    return TEST_END();
}
