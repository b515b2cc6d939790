// SPDX-License-Identifier: Apache-2.0
/* The parts of a spec path: its scheme, its container or bucket, and `latest`. */
#include "agent/store/stored_file.h"

#include "tests/test.h"

static void parts(void) {
    static const struct {
        const char *path, *behind_scheme, *below, *latest;
    } rows[] = {
        {"media/in/a.jpg", "media/in/a.jpg", "none", "none"},
        {"media", "media", "none", "none"},
        {"models/n/latest/m.onnx", "models/n/latest/m.onnx", "none", "/latest/m.onnx"},
        {"az://films/data/in/a.jpg", "films/data/in/a.jpg", "/in/a.jpg", "none"},
        {"az://films/data", "films/data", "", "none"},
        {"az://films", "films", "", "none"},
        {"az://films/latest/m/x", "films/latest/m/x", "/m/x", "none"},
        {"az://films/data/latest/x", "films/data/latest/x", "/latest/x", "/latest/x"},
        {"s3://films/in/a.jpg", "films/in/a.jpg", "/in/a.jpg", "none"},
        {"s3://films", "films", "", "none"},
        {"s3://latest/m/latest/x", "latest/m/latest/x", "/m/latest/x", "/latest/x"},
        {"gs://films/a/b", "films/a/b", "/a/b", "none"},
        {"gcs://films/a/b", "gcs://films/a/b", "none", "none"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_STR(stored_file_skip_scheme(rows[i].path), rows[i].behind_scheme);
        CHECK_STR(stored_file_below_container(rows[i].path) ?: "none", rows[i].below);
        CHECK_STR(stored_file_find_latest(rows[i].path) ?: "none", rows[i].latest);
    }
}

int main(void) {
    TEST(parts);
    return TEST_END();
}
