// SPDX-License-Identifier: Apache-2.0
/* Boxes of detectors that give offsets to anchors: every way of the offsets, every shape of the
 * outputs, and the anchors that do not fit them. */
#include "agent/score/post/anchors.h"
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>

#define BOXES(fields) "{\"postprocess\": {\"type\": \"Boxes\"" fields "}}"
enum { OUTPUTS_MAX = 9, VALUES_MAX = 896 * 16 };

/* A picture of 200x100 in the middle of an input of 100x100. */
static const struct post_item padded = {.name = "a",
                                        .place = {.picture_width = 200,
                                                  .picture_height = 100,
                                                  .left = 0,
                                                  .top = 25,
                                                  .width = 100,
                                                  .height = 50,
                                                  .input_width = 100,
                                                  .input_height = 100}};

/* Outputs of zeros; of one item, unless the shape says more. */
struct made {
    struct tensor tensors[OUTPUTS_MAX];
    const struct tensor *list[OUTPUTS_MAX];
    const char *names[OUTPUTS_MAX];
    size_t count;
};

static float *add(struct made *made, const char *name, struct shape shape) {
    size_t at = made->count++;
    made->tensors[at] =
        (struct tensor){TENSOR_FLOAT32, shape, x_calloc((size_t)shape_count(&shape), 4), true};
    made->list[at] = &made->tensors[at];
    made->names[at] = name;
    return made->tensors[at].data;
}

static void release(struct made *made) {
    for (size_t i = 0; i < made->count; i++) {
        tensor_release(&made->tensors[i]);
    }
}

/* The only box that is found in item `index` of `items`. */
static void check_one(const char *spec, const struct made *made, int64_t items, int64_t index,
                      const double wanted[static 6]) {
    struct opened opened = open_post(spec);
    const struct post_outputs outputs = {made->list, made->names, made->count, items, false};
    AUTO(text_freep) char *text = record_of_list(&opened, &outputs, index, &padded);
    AUTO(tree_freep) json_t *record = json_loads(text, 0, NULL);
    CHECK_INT(json_array_size(tree_get(record, "boxes")), 1);
    const json_t *box = tree_get(record, "boxes[0].box");
    for (size_t i = 0; i < 4; i++) {
        double side = json_number_value(json_array_get(box, i));
        CHECK(fabs(side - wanted[i]) < 1e-3);
    }
    CHECK(fabs(json_number_value(tree_get(record, "boxes[0].score")) - wanted[4]) < 1e-5);
    CHECK_INT(tree_integer(record, "boxes[0].class", -1), (int64_t)wanted[5]);
    close_post(&opened);
}

static void put(float *to, const float from[static 4]) {
    memcpy(to, from, 4 * sizeof *to);
}

/* As PyTorch's SSDs: variances, probabilities, and a class for nothing. */
static void test_ssd(void) {
    struct made made = {0};
    float *boxes = add(&made, "loc", (struct shape){3, {2, 4, 4}});
    float *scores = add(&made, "conf", (struct shape){3, {2, 4, 3}});
    put(boxes + 4 * 4 + 3 * 4, (const float[]){5, -5, logf(2) / 0.2f, 0});
    scores[4 * 3 + 3 * 3 + 2] = 0.75f;
    check_one(BOXES(", \"anchors\": [{\"stride\": 50, \"widths\": [20], \"heights\": [10]}], "
                    "\"variances\": [0.1, 0.2], \"scores\": \"Raw\", \"background\": \"First\""),
              &made, 2, 1, (const double[]){130, 80, 200, 100, 0.75, 1});
    release(&made);
}

/* As RetinaNet's heads: a map of each level, channels first or last. */
static void test_maps_of_levels(void) {
    const char *spec =
        BOXES(", \"anchors\": [{\"stride\": 50, \"widths\": [10]}, {\"stride\": 100, "
              "\"widths\": [20, 40], \"heights\": [20, 10]}]");
    for (int is_last = 0; is_last < 2; is_last++) {
        struct made made = {0};
        float *low =
            add(&made, "p3_scores",
                is_last ? (struct shape){4, {1, 2, 2, 3}} : (struct shape){4, {1, 3, 2, 2}});
        float *high =
            add(&made, "p4_scores",
                is_last ? (struct shape){4, {1, 1, 1, 6}} : (struct shape){4, {1, 6, 1, 1}});
        float *low_boxes =
            add(&made, "p3_boxes",
                is_last ? (struct shape){4, {1, 2, 2, 4}} : (struct shape){4, {1, 4, 2, 2}});
        float *high_boxes =
            add(&made, "p4_boxes",
                is_last ? (struct shape){4, {1, 1, 1, 8}} : (struct shape){4, {1, 8, 1, 1}});
        for (int i = 0; i < 12; i++) {
            low[i] = -9;
        }
        for (int i = 0; i < 6; i++) {
            high[i] = -9;
        }
        low_boxes[0] = high_boxes[0] = 1; /* of others */
        high[3 + 1] = 0;                  /* the second shape, the second class */
        high_boxes[4 + 0] = 0.5f;
        check_one(spec, &made, 1, 0, (const double[]){100, 40, 180, 60, 0.5, 1});
        high[3 + 1] = -9;
        /* The cell below the first: row 1, column 0; the third class. */
        low[is_last ? 2 * 3 + 2 : 2 * 4 + 2] = 0;
        low_boxes[is_last ? 2 * 4 + 1 : 1 * 4 + 2] = -1;
        check_one(spec, &made, 1, 0, (const double[]){40, 70, 60, 90, 0.5, 2});
        release(&made);
    }
}

/* As YOLOX: rows of offsets to a grid of 13x13, 7x7 and 4x4 cells. */
static void test_grid(void) {
    enum { CELLS = 13 * 13 + 7 * 7 + 4 * 4, COLUMNS = 7 };
    struct made made = {0};
    float *rows = add(&made, "output", (struct shape){3, {2, CELLS, COLUMNS}});
    float *row = rows + CELLS * COLUMNS + (13 * 13 + 2 * 7 + 3) * COLUMNS; /* 16 * (3, 2) */
    const float values[COLUMNS] = {0.125f, 1.125f, logf(0.625f), logf(1.25f), 0.8f, 0.1f, 0.5f};
    memcpy(row, values, sizeof values);
    const double wanted[] = {90, 30, 110, 70, 0.4, 1};
    check_one(BOXES(", \"form\": \"YOLOX\""), &made, 2, 1, wanted);

    /* Without a name it would be YOLOv5, which has three times as many. */
    struct opened opened = open_post(BOXES(""));
    const struct post_outputs outputs = {made.list, made.names, made.count, 2, false};
    struct post_result result;
    struct error err = {0};
    CHECK_OK(opened.kind->take(opened.state, &outputs, &err), &err);
    CHECK_INT(result_why(&opened, &outputs, 1, &padded, &result, &err), -1);
    CHECK(strstr(err.text, "the network has 234 boxes for an input of 100x100, one in each cell"));
    error_clear(&err);
    close_post(&opened);
    release(&made);
}

/* Outputs of each level by name: a score is the root of the class's and the objectness. */
static void test_yunet(void) {
    static const struct {
        const char *name;
        int64_t cells, columns;
    } outputs[] = {{"cls_8", 169, 1}, {"obj_8", 169, 1}, {"bbox_8", 169, 4},
                   {"cls_16", 49, 1}, {"obj_16", 49, 1}, {"bbox_16", 49, 4},
                   {"cls_32", 16, 1}, {"obj_32", 16, 1}, {"bbox_32", 16, 4}};
    struct made made = {0};
    float *values[ARRAY_LEN(outputs)];
    for (size_t i = 0; i < ARRAY_LEN(outputs); i++) {
        values[i] = add(&made, outputs[i].name,
                        (struct shape){3, {2, outputs[i].cells, outputs[i].columns}});
    }
    int at = 49 + 2 * 7 + 3; /* of the second item */
    values[3][at] = 0.9f;
    values[4][at] = 0.4f;
    put(values[5] + at * 4, (const float[]){0.125f, 1.125f, logf(0.625f), logf(1.25f)});
    check_one(BOXES(""), &made, 2, 1, (const double[]){90, 30, 110, 70, 0.6, 0});
    values[3][at] = NAN; /* not a box less */
    struct opened opened = open_post(BOXES(""));
    const struct post_outputs all = {made.list, made.names, made.count, 2, false};
    struct post_result result;
    struct error err = {0};
    CHECK_OK(opened.kind->take(opened.state, &all, &err), &err);
    CHECK_INT(result_why(&opened, &all, 1, &padded, &result, &err), -1);
    CHECK(strstr(err.text, "score nan of box"));
    error_clear(&err);
    close_post(&opened);
    release(&made);
}

/* As SCRFD's: outputs of one item without an axis for it, with points beside. */
static void test_distances(void) {
    struct made made = {0};
    float *scores = add(&made, "score_25", (struct shape){2, {32, 1}});
    float *boxes = add(&made, "bbox_25", (struct shape){2, {32, 4}});
    (void)add(&made, "kps_25", (struct shape){2, {32, 10}});
    scores[13] = 0.8f; /* cell 6, row 1, column 2; the second of two */
    put(boxes + 13 * 4, (const float[]){1, 0.4f, 0.2f, 2});
    check_one(BOXES(", \"anchors\": [{\"stride\": 25, \"widths\": [25, 25], \"center\": 0}], "
                    "\"offsets\": \"Distances\", \"scores\": \"Raw\""),
              &made, 1, 0, (const double[]){50, 0, 110, 100, 0.8, 0});
    release(&made);
}

static void test_faces_are_known_by_their_shapes(void) {
    struct made made = {0};
    float *low = add(&made, "a", (struct shape){3, {1, 512, 1}});
    float *high = add(&made, "b", (struct shape){3, {1, 384, 1}});
    (void)add(&made, "c", (struct shape){3, {1, 512, 16}});
    float *boxes = add(&made, "d", (struct shape){3, {1, 384, 16}});
    for (int i = 0; i < 512; i++) {
        low[i] = -100;
        high[i < 384 ? i : 0] = -100;
    }
    high[9 * 6 + 5] = 2; /* row 1, column 1 of 8 */
    put(boxes + (9 * 6 + 5) * 16, (const float[]){10, 20, 30, 40});
    check_one(BOXES(""), &made, 1, 0, (const double[]){27.5, 0, 87.5, 67.5, 0.880797, 0});
    release(&made);
    struct made joined = {0}; /* also of the shape of YOLOv5 with 11 classes */
    float *all = add(&joined, "a", (struct shape){3, {1, 896, 16}});
    float *scores = add(&joined, "b", (struct shape){3, {1, 896, 1}});
    for (int i = 0; i < 896; i++) {
        scores[i] = -100;
    }
    scores[512 + 9 * 6 + 5] = 2;
    put(all + (512 + 9 * 6 + 5) * 16, (const float[]){10, 20, 30, 40});
    check_one(BOXES(""), &joined, 1, 0, (const double[]){27.5, 0, 87.5, 67.5, 0.880797, 0});
    release(&joined);
}

static void check_fault(const char *spec, const struct made *made, const char *wanted) {
    struct opened opened = open_post(spec);
    const struct post_outputs outputs = {made->list, made->names, made->count, 1, false};
    struct error err = {0};
    struct post_result result;
    CHECK_OK(opened.kind->take(opened.state, &outputs, &err), &err);
    CHECK_INT(result_why(&opened, &outputs, 0, &padded, &result, &err), -1);
    CHECK(strstr(err.text, wanted));
    post_result_release(&result);
    error_clear(&err);
    close_post(&opened);
}

static void test_anchors_that_do_not_fit(void) {
    struct made made = {0};
    (void)add(&made, "boxes", (struct shape){3, {1, 16, 4}});
    (void)add(&made, "scores", (struct shape){3, {1, 16, 2}});
    check_fault(BOXES(", \"anchors\": [{\"stride\": 50, \"widths\": [20]}]"), &made,
                "the anchors are 4 for an input of 100x100, but not one output of boxes and one of "
                "scores has as many");
    struct made wide = {0};
    (void)add(&wide, "p3_scores", (struct shape){4, {1, 1, 1, 1 << 20}});
    (void)add(&wide, "p3_boxes", (struct shape){4, {1, 1, 1, 4}});
    check_fault(BOXES(", \"anchors\": [{\"stride\": 100, \"widths\": [20]}, {\"stride\": 1, "
                      "\"widths\": [20]}]"),
                &wide, "the anchors are 10001 for an input of 100x100");
    release(&wide);
    (void)add(&made, "others", (struct shape){3, {1, 16, 7}});
    made.names[1] = "x";
    check_fault(BOXES(", \"anchors\": [{\"stride\": 25, \"widths\": [20]}]"), &made,
                "scorer.onnx.outputs, which names the outputs that count");
    release(&made);
}

static void test_lists_of_unequal_lengths(void) {
    AUTO(tree_freep)
    json_t *spec =
        json_loads("{\"scorer\": {\"onnx\": {\"postprocess\": {\"anchors\": [{\"stride\": "
                   "8, \"widths\": [1, 2], \"heights\": [3]}]}}}}",
                   0, NULL);
    struct anchors anchors;
    struct error err = {0};
    CHECK_INT(anchors_read(spec, &anchors, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
    CHECK(strstr(err.text, "anchors[0].heights: 1 heights for 2 widths"));
    error_clear(&err);
}

int main(void) {
    TEST(test_ssd);
    TEST(test_maps_of_levels);
    TEST(test_grid);
    TEST(test_yunet);
    TEST(test_distances);
    TEST(test_faces_are_known_by_their_shapes);
    TEST(test_anchors_that_do_not_fit);
    TEST(test_lists_of_unequal_lengths);
    return TEST_END();
}
