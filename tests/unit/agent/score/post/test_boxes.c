// SPDX-License-Identifier: Apache-2.0
/* Boxes: their forms, the best of those that overlap, and their way back to the item's picture. */
#include "agent/score/post/box_form.h"
#include "tests/unit/agent/score/post/post_tests.h"

#include <math.h>
#include <unistd.h>

#define BOXES(fields) "{\"postprocess\": {\"type\": \"Boxes\"" fields "}}"

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

static void check(const char *spec, const struct post_outputs *outputs, int64_t index,
                  const char *wanted) {
    struct opened opened = open_post(spec);
    AUTO(text_freep) char *text = record_of_list(&opened, outputs, index, &padded);
    AUTO(text_freep) char *all = x_printf("{\"file\":\"a\",\"boxes\":[%s]}", wanted);
    CHECK_STR(text, all);
    close_post(&opened);
}

static struct post_outputs of(const struct tensor *const *tensors, const char *const *names,
                              size_t count) {
    return (struct post_outputs){
        .tensors = tensors, .names = names, .count = count, .items = tensors[0]->shape.dims[0]};
}

static void test_boxes_return_to_the_picture(void) {
    float rows[2][7][6] = {0}; /* centre, size, objectness, one class */
    const float first[] = {50, 50, 20, 10, 1, 0.5f}, edge[] = {95, 24, 20, 10, 0.5f, 1};
    memcpy(rows[1][2], first, sizeof first);
    memcpy(rows[1][5], edge, sizeof edge);
    const struct tensor tensor = {TENSOR_FLOAT32, {3, {2, 7, 6}}, rows, false}, *list = &tensor;
    const char *name = "y";
    const struct post_outputs outputs = of(&list, &name, 1);
    check(BOXES(", \"form\": \"YOLOv5\""), &outputs, 1,
          "{\"box\":[80.0,40.0,120.0,60.0],\"score\":0.5,\"class\":0},"
          "{\"box\":[170.0,0.0,200.0,8.0],\"score\":0.5,\"class\":0}");
    check(BOXES(", \"form\": \"YOLOv5\", \"maxBoxes\": 1"), &outputs, 1,
          "{\"box\":[80.0,40.0,120.0,60.0],\"score\":0.5,\"class\":0}");
    check(BOXES(", \"form\": \"YOLOv5\""), &outputs, 0, "");
}

static void test_lists_are_known_by_their_names(void) {
    float places[1][2][4] = {{{0.5f, 0.25f, 0.75f, 0.5f}, {0, 0, 1, 1}}};
    float scores[1][2] = {{0.9f, 0.1f}}, classes[1][2] = {{3, 1}};
    const struct tensor boxes = {TENSOR_FLOAT32, {3, {1, 2, 4}}, places, false};
    const struct tensor score = {TENSOR_FLOAT32, {2, {1, 2}}, scores, false};
    const struct tensor class = {TENSOR_FLOAT32, {2, {1, 2}}, classes, false};
    const struct tensor *list[] = {&class, &score, &boxes};
    const char *names[] = {"detection_classes", "detection_scores:0", "detection_boxes"};
    const struct post_outputs outputs = of(list, names, 3);
    check(BOXES(""), &outputs, 0, "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.9,\"class\":3}");
    check(BOXES(", \"coordinates\": \"LTRB\""), &outputs, 0,
          "{\"box\":[100.0,0.0,150.0,50.0],\"score\":0.9,\"class\":3}");
}

/* TensorFlow's API gives the raw boxes of all anchors, and the scores of all classes, beside; other
 * whole numbers do not count as classes where an output has that name. */
static void test_lists_beside_raw_boxes(void) {
    float places[1][2][4] = {{{0.5f, 0.25f, 0.75f, 0.5f}, {0, 0, 1, 1}}}, many[1][5][4] = {0};
    float scores[1][2] = {{0.9f, 0.1f}}, classes[1][2] = {{3, 1}}, all[1][2][3] = {0};
    const struct tensor boxes = {TENSOR_FLOAT32, {3, {1, 2, 4}}, places, false};
    const struct tensor raw = {TENSOR_FLOAT32, {3, {1, 5, 4}}, many, false};
    const struct tensor every = {TENSOR_FLOAT32, {3, {1, 2, 3}}, all, false};
    const struct tensor score = {TENSOR_FLOAT32, {2, {1, 2}}, scores, false};
    const struct tensor class = {TENSOR_FLOAT32, {2, {1, 2}}, classes, false};
    const struct tensor kept = {TENSOR_INT64, {2, {1, 2}}, (int64_t[]){1, 0}, false};
    const struct tensor *list[] = {&boxes, &class, &every, &score, &raw, &kept};
    const char *names[] = {"detection_boxes",  "detection_classes",   "detection_multiclass_scores",
                           "detection_scores", "raw_detection_boxes", "keep"};
    const struct post_outputs outputs = of(list, names, ARRAY_LEN(list));
    check(BOXES(""), &outputs, 0, "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.9,\"class\":3}");
}

static void check_refused(const char *spec, const struct tensor *tensor, const char *wanted) {
    const char *name = "y";
    struct error err = {0};
    struct opened opened = open_post(spec);
    const struct post_outputs outputs = of(&tensor, &name, 1);
    CHECK_INT(opened.kind->take(opened.state, &outputs, &err), -1);
    CHECK(strstr(err.text, wanted));
    close_post(&opened);
}

/* PyTorch's lists: whole numbers are classes, whatever their names are; of one item also without an
 * axis for it; a picture may have none. */
static void test_lists_of_whole_classes(void) {
    float places[1][2][4] = {{{25, 50, 50, 75}, {0, 0, 1, 1}}}, scores[1][2] = {{0.9f, 0.1f}};
    int64_t classes[1][2] = {{3, 1}}, counts[1][1] = {{2}};
    static const struct {
        struct shape boxes, scores;
        const char *wanted;
    } rows[] = {
        {{3, {1, 2, 4}},
         {2, {1, 2}},
         "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.9,\"class\":3}"},
        {{2, {2, 4}}, {1, {2}}, "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.9,\"class\":3}"},
        {{3, {1, 0, 4}}, {2, {1, 0}}, ""},
        {{2, {0, 4}}, {1, {0}}, ""}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const struct tensor boxes = {TENSOR_FLOAT32, rows[i].boxes, places, false};
        const struct tensor score = {TENSOR_FLOAT32, rows[i].scores, scores, false};
        const struct tensor class = {TENSOR_INT64, rows[i].scores, classes, false};
        const struct tensor count = {TENSOR_INT64, {2, {1, 1}}, counts, false};
        const struct tensor *list[] = {&count, &class, &score, &boxes};
        const char *names[] = {"num_dets", "det_classes", "1270", "1281"};
        const struct post_outputs outputs = {list, names, ARRAY_LEN(list), 1, false};
        check(BOXES(""), &outputs, 0, rows[i].wanted);
    }
}

/* ---- columns -------------------------------------------------------------------------------- */

#define COLUMNS(names) BOXES(", \"columns\": [" names "]")

static void check_columns(const char *spec, const struct tensor *tensor, int64_t items,
                          int64_t index, const char *wanted) {
    const char *name = "y";
    const struct post_outputs outputs = {&tensor, &name, 1, items, false};
    check(spec, &outputs, index, wanted);
}

/* The same box at (25, 50), 25 wide and high, as other exporters write it. */
static void test_columns_say_what_they_are(void) {
    static const struct {
        const char *columns;
        float values[9];
        int64_t count;
        const char *score, *fields;
    } rows[] = {
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\"",
         {25, 50, 50, 75, 0.5f},
         5,
         "0.5,\"class\":0",
         ""},
        {"\"Skip\", \"Class\", \"Score\", \"Left\", \"Top\", \"Width\", \"Height\"",
         {9, 3, 0.5f, 25, 50, 25, 25},
         7,
         "0.5,\"class\":3",
         ""},
        {"\"CenterY\", \"CenterX\", \"Height\", \"Width\", \"Classes\"",
         {62.5f, 37.5f, 25, 25, 0.25f, 0.5f},
         6,
         "0.5,\"class\":1",
         ", \"classes\": 2"},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Objectness\", \"Skip\", \"Score\", \"Class\"",
         {25, 50, 50, 75, 0.5f, 7, 1, 2},
         8,
         "0.5,\"class\":2",
         ""},
        {"\"Objectness\", \"Left\", \"Top\", \"Right\", \"Bottom\", \"Classes\"",
         {0.5f, 25, 50, 50, 75, 0.25f, 0, 1},
         8,
         "0.5,\"class\":2",
         ", \"classes\": 3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        float turned[1][9][20] = {0}, straight[20][9] = {0};
        AUTO(text_freep)
        char *spec = x_printf(BOXES(", \"columns\": [%s]%s"), rows[i].columns, rows[i].fields);
        AUTO(text_freep)
        char *wanted = x_printf("{\"box\":[50.0,50.0,100.0,100.0],\"score\":%s}", rows[i].score);
        for (int64_t c = 0; c < rows[i].count; c++) {
            ((float *)straight)[4 * rows[i].count + c] = rows[i].values[c];
            turned[0][c][4] = rows[i].values[c];
        }
        const struct tensor forms[] = {
            {TENSOR_FLOAT32, {3, {1, 20, rows[i].count}}, straight, false},
            {TENSOR_FLOAT32, {4, {1, 1, 20, rows[i].count}}, straight, false},
            {TENSOR_FLOAT32, {2, {20, rows[i].count}}, straight, false},
            {TENSOR_FLOAT32, {3, {1, rows[i].count, 20}}, turned, false},
        };
        for (size_t k = 0; k < ARRAY_LEN(forms); k++) {
            check_columns(spec, &forms[k], 1, 0, wanted);
        }
    }
}

#define SCORES "\"Left\", \"Top\", \"Right\", \"Bottom\", \"Classes\""

/* Both axes have room for box and scores: the number of classes says which one is that of the
 * columns, and it stays that one. */
static void test_which_axis_has_the_columns(void) {
    const char *box = "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.5,\"class\":3}";
    const char *five = BOXES(", \"columns\": [" SCORES "], \"classes\": 5");
    const char *two = BOXES(", \"columns\": [" SCORES "], \"classes\": 2");
    float straight[6][9] = {[4] = {25, 50, 50, 75, 0, 0, 0, 0.5f, 0}}, turned[9][6] = {0};
    float few[64][8] = {[4] = {25, 50, 50, 75, 0, 0.5f, 77, 78}}; /* points follow the scores */
    for (int c = 0; c < 9; c++) {
        turned[c][5] = straight[4][c];
    }
    const struct tensor last = {TENSOR_FLOAT32, {3, {1, 6, 9}}, straight, false};
    const struct tensor first = {TENSOR_FLOAT32, {3, {1, 9, 6}}, turned, false};
    const struct tensor points = {TENSOR_FLOAT32, {3, {1, 64, 8}}, few, false};
    const struct tensor square = {TENSOR_FLOAT32, {3, {1, 8, 8}}, few, false};
    check_columns(five, &last, 1, 0, box);
    check_columns(five, &first, 1, 0, box);
    check_columns(two, &points, 1, 0,
                  "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.5,\"class\":1}");
    check_refused(COLUMNS(SCORES), &last, "both axes of the network's output (y 1x6x9) may be");
    check_refused(two, &square, "both axes of the network's output (y 1x8x8) may be");
    /* A run with few rows decides for the others. */
    struct opened opened = open_post(COLUMNS(SCORES));
    const char *name = "y";
    const struct tensor less = {TENSOR_FLOAT32, {3, {1, 3, 9}}, straight, false}, *list = &less;
    const struct post_outputs outputs = of(&list, &name, 1);
    for (int i = 0; i < 2; i++) {
        AUTO(text_freep) char *text = record_of_list(&opened, &outputs, 0, &padded);
        CHECK_INT(strstr(text, box) != NULL, i);
        list = &last;
    }
    close_post(&opened);
}

/* The rows of all items follow each other, as behind a suppression of duplicates in the network. */
static void test_rows_name_their_items(void) {
    float values[3][7] = {
        {1, 25, 50, 50, 75, 4, 0.5f}, {0, 0, 0, 50, 75, 1, 0.25f}, {1, 0, 25, 50, 75, 2, 0.75f}};
    const struct tensor tensor = {TENSOR_FLOAT32, {2, {3, 7}}, values, false};
    const char *spec =
        COLUMNS("\"Item\", \"Left\", \"Top\", \"Right\", \"Bottom\", \"Class\", \"Score\"");
    check_columns(spec, &tensor, 2, 0,
                  "{\"box\":[0.0,0.0,100.0,100.0],\"score\":0.25,\"class\":1}");
    check_columns(spec, &tensor, 2, 1,
                  "{\"box\":[0.0,0.0,100.0,100.0],\"score\":0.75,\"class\":2},"
                  "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.5,\"class\":4}");
    const char *all = COLUMNS("\"Item\", " SCORES);
    float few[6][9] = {[4] = {1, 25, 50, 50, 75, 0, 0, 0.5f, 0}}; /* fewer rows than columns */
    const struct tensor wide = {TENSOR_FLOAT32, {2, {6, 9}}, few, false};
    check_columns(all, &wide, 2, 1, "{\"box\":[50.0,50.0,100.0,100.0],\"score\":0.5,\"class\":2}");
    const struct tensor none = {TENSOR_FLOAT32, {2, {0, 7}}, NULL, false};
    check_columns(spec, &none, 2, 1, "");
}

static void test_columns_that_are_no_boxes(void) {
    static const struct {
        const char *columns, *wanted, *fields;
    } rows[] = {
        {"\"Left\", \"Top\", \"Right\", \"Height\", \"Score\"", NULL, ", \"scores\": \"Sigmoid\""},
        {"\"Left\", \"Top\", \"Right\", \"Height\", \"Score\"",
         "postprocess.scores: Softmax is about the scores of all classes, and no column is Classes",
         ", \"scores\": \"Softmax\""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\", \"Class\"",
         "postprocess.background is about the scores of all classes",
         ", \"background\": \"First\""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\", \"Class\"",
         "postprocess.classes is about the scores of all classes", ", \"classes\": 3"},
        {"\"Left\", \"Top\", \"Right\", \"Score\", \"Skip\"", "a box is expected: Left and Right",
         ""},
        {"\"CenterX\", \"Top\", \"Right\", \"Bottom\", \"Score\"", "a box is expected", ""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Class\"", "either Score, or Classes", ""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Class\", \"Classes\"",
         "take one of the two out", ""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Classes\", \"Skip\"",
         "Classes is all columns to the end", ""},
        {"\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\", \"Left\"", "Left is there twice",
         ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep)
        char *spec = x_printf(BOXES(", \"columns\": [%s]%s"), rows[i].columns, rows[i].fields);
        AUTO(tree_freep)
        json_t *tree = json_pack("{s:{s:o}}", "scorer", "onnx", json_loads(spec, 0, NULL));
        struct post_state *state = NULL;
        struct error err = {0};
        int result = post_boxes.open(tree, &state, &err);
        CHECK_INT(result, rows[i].wanted ? -1 : 0);
        CHECK(!rows[i].wanted || strstr(err.text, rows[i].wanted));
        post_boxes.free(state);
    }
    const struct tensor other = {TENSOR_FLOAT32, {3, {1, 9, 7}}, NULL, false};
    check_refused(COLUMNS("\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\""), &other,
                  "columns: none of the network's outputs (y 1x9x7) has 5 columns");
    check_refused(BOXES(", \"columns\": [" SCORES "], \"classes\": 9"), &other,
                  "none of the network's outputs (y 1x9x7) has at least 13 columns");
    const struct tensor all = {TENSOR_FLOAT32, {4, {1, 1, 200, 5}}, NULL, false}, *list = &all;
    const char *name = "y";
    const struct post_outputs outputs = {&list, &name, 1, 2, false};
    struct error err = {0};
    struct opened opened =
        open_post(COLUMNS("\"Left\", \"Top\", \"Right\", \"Bottom\", \"Score\""));
    CHECK_INT(opened.kind->take(opened.state, &outputs, &err), -1);
    CHECK(strstr(err.text, "has 5 columns and an axis for the items: if the rows of all items are "
                           "one list, name the column with the item's number (Item)"));
    close_post(&opened);
}

/* One candidate in each cell of 8, 16 and 32 pixels, or three. */
static void test_rows_of_a_grid_are_two_forms(void) {
    const struct tensor one = {TENSOR_FLOAT32, {3, {1, 8400, 85}}, NULL, false};
    const struct tensor wide = {TENSOR_FLOAT32, {3, {1, 5460, 85}}, NULL, false}; /* 640x416 */
    static const int64_t threes[] = {25200, 18900}; /* of 640x640, and of 640x480: 21 * 30 * 30 */
    const char *name = "y";
    check_refused(BOXES(""), &one, "name one: YOLOv5 ([n, k, 5 + classes]), YOLOX (");
    check_refused(BOXES(""), &wide, "name one: YOLOv5 ([n, k, 5 + classes]), YOLOX (");
    for (size_t i = 0; i < ARRAY_LEN(threes); i++) {
        const struct tensor three = {TENSOR_FLOAT32, {3, {1, threes[i], 85}}, NULL, false};
        const struct tensor *list = &three;
        const struct post_outputs outputs = of(&list, &name, 1);
        struct error err = {0};
        struct opened opened = open_post(BOXES(""));
        CHECK_OK(opened.kind->take(opened.state, &outputs, &err), &err);
        close_post(&opened);
    }
}

static void test_no_form_is_guessed(void) {
    const struct tensor square = {TENSOR_FLOAT32, {3, {1, 9, 9}}, NULL, false};
    const struct tensor six = {TENSOR_FLOAT32, {3, {1, 300, 6}}, NULL, false};
    const struct tensor flat = {TENSOR_FLOAT32, {2, {1, 300}}, NULL, false};
    check_refused(BOXES(""), &square,
                  "(y 1x9x9) are not of the form of any detector that is known");
    check_refused(BOXES(""), &six, "name one: YOLOv5 ([n, k, 5 + classes]), YOLOv10 ([n, k, 6])");
    check_refused(BOXES(", \"form\": \"YOLOv8\""), &flat,
                  "are not of the form YOLOv8; forms are: ");
}

/* Shapes of outputs, for one item: RetinaNet's maps, SCRFD's levels, boxes with points; others. */
static void test_anchors_are_named(void) {
    static const struct {
        struct shape shapes[2];
        bool wants_anchors;
    } rows[] = {{{{4, {1, 720, 8, 8}}, {4, {1, 36, 8, 8}}}, true},
                {{{2, {128, 4}}, {2, {32, 4}}}, true},
                {{{3, {1, 128, 4}}, {3, {1, 32, 4}}}, true},
                {{{3, {1, 1024, 16}}, {3, {1, 1024, 1}}}, true},
                {{{4, {1, 3, 8, 8}}, {4, {1, 3, 8, 8}}}, false},
                {{{3, {1, 9, 9}}, {2, {1, 9}}}, false}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *names[] = {"a", "b"};
        const struct tensor a = {TENSOR_FLOAT32, rows[i].shapes[0], NULL, false};
        const struct tensor b = {TENSOR_FLOAT32, rows[i].shapes[1], NULL, false};
        const struct tensor *list[] = {&a, &b};
        const struct post_outputs outputs = {list, names, 2, 1, false};
        struct error err = {0};
        struct opened opened = open_post(BOXES(""));
        CHECK_INT(opened.kind->take(opened.state, &outputs, &err), -1);
        CHECK_INT(strstr(err.text, "are offsets to anchors") != NULL, rows[i].wants_anchors);
        error_clear(&err);
        close_post(&opened);
    }
}

static void test_labels_tell_another_form(void) {
    char path[] = "/tmp/windlass-labels-XXXXXX";
    int fd = mkstemp(path);
    CHECK_INT(write(fd, "cat\ndog\n", 8), 8);
    close(fd);
    setenv("labels", "/tmp", 1);
    float values[7 * 9] = {0};
    const struct tensor tensor = {TENSOR_FLOAT32, {3, {1, 7, 9}}, values, false}, *list = &tensor;
    const char *name = "y";
    const struct post_outputs outputs = of(&list, &name, 1);
    AUTO(text_freep)
    char *three = x_printf(BOXES(", \"labels\": \"labels/%s\""), path + strlen("/tmp/"));
    AUTO(text_freep)
    char *two =
        x_printf(BOXES(", \"classes\": 2, \"labels\": \"labels/%s\""), path + strlen("/tmp/"));
    check_refused(three, &tensor,
                  "labels: the file names 2 classes, in form YOLOv8 the network has 3");
    check(two, &outputs, 0, "");
    AUTO(text_freep)
    char *named = x_printf(BOXES(", \"columns\": [" SCORES "], \"labels\": \"labels/%s\""),
                           path + strlen("/tmp/"));
    const struct tensor wide = {TENSOR_FLOAT32, {3, {1, 4, 7}}, values, false};
    check_refused(named, &wide, "labels: the file names 2 classes, in form of columns the network");
    unlink(path);
}

static void check_fault(float score, float side, const char *wanted) {
    float values[1][5][6] = {{{0.5f, side, 9, 9, score, 1}}};
    const struct tensor tensor = {TENSOR_FLOAT32, {3, {1, 5, 6}}, values, false}, *list = &tensor;
    const char *name = "y";
    const struct post_outputs outputs = of(&list, &name, 1);
    struct opened opened = open_post(BOXES(", \"form\": \"YOLOv10\""));
    struct error err = {0};
    struct post_result result;
    CHECK_OK(opened.kind->take(opened.state, &outputs, &err), &err);
    CHECK_INT(result_why(&opened, &outputs, 0, &padded, &result, &err), -1);
    CHECK(strstr(err.text, wanted));
    post_result_release(&result);
    close_post(&opened);
}

static void test_numbers_of_no_use_are_named(void) {
    check_fault(NAN, 1, "score nan of box 0 is not one of 0 to 1");
    check_fault(7, 1, "score 7 of box 0 is not one of 0 to 1");
    check_fault(1, INFINITY, "box 0 has values that are not finite numbers");
}

static void test_corners_in_another_order_are_named(void) {
    float places[1][2][4] = {{{0.5f, 0.2f, 0.1f, 0.4f}, {0, 0, 1, 1}}};
    float scores[1][2][2] = {{{0.1f, 0.9f}, {0.2f, 0.8f}}};
    const struct tensor boxes = {TENSOR_FLOAT32, {3, {1, 2, 4}}, places, false};
    const struct tensor score = {TENSOR_FLOAT32, {3, {1, 2, 2}}, scores, false};
    const struct tensor *list[] = {&boxes, &score};
    const char *names[] = {"boxes", "scores"};
    const struct post_outputs outputs = of(list, names, 2);
    struct post_result result;
    struct error err = {0};
    struct opened opened = open_post(BOXES(", \"form\": \"SSD\""));
    CHECK_OK(opened.kind->take(opened.state, &outputs, &err), &err);
    CHECK_INT(result_why(&opened, &outputs, 0, &padded, &result, &err), -1);
    CHECK(strstr(err.text, "box 0 ends before it begins"));
    post_result_release(&result);
    error_clear(&err);
    close_post(&opened);
}

static void test_the_best_of_those_that_overlap(void) {
    struct box boxes[] = {{0, 0, 10, 10, 0.5f, 1},  {0, 0, 10, 9, 0.9f, 1}, {0, 0, 10, 10, 0.4f, 2},
                          {20, 0, 30, 10, 0.8f, 1}, {5, 5, 5, 5, 0.3f, 1},  {0, 0, 10, 5, 0.7f, 1}};
    CHECK(box_overlap(&boxes[0], &boxes[1]) == 0.9f);
    CHECK(box_overlap(&boxes[4], &boxes[4]) == 0);
    CHECK_INT(box_suppress(boxes, ARRAY_LEN(boxes), 0.6f, 10), 5);
    const float scores[] = {0.9f, 0.8f, 0.7f, 0.4f, 0.3f};
    for (size_t i = 0; i < ARRAY_LEN(scores); i++) {
        CHECK(boxes[i].score == scores[i]);
    }
    CHECK_INT(box_suppress(boxes, 5, 0.5f, 10), 4);
    CHECK_INT(box_suppress(boxes, 4, 1, 2), 2);
    CHECK_INT(box_suppress(boxes, 0, 0.5f, 10), 0);
}

int main(void) {
    TEST(test_boxes_return_to_the_picture);
    TEST(test_lists_are_known_by_their_names);
    TEST(test_lists_beside_raw_boxes);
    TEST(test_lists_of_whole_classes);
    TEST(test_columns_say_what_they_are);
    TEST(test_which_axis_has_the_columns);
    TEST(test_rows_name_their_items);
    TEST(test_columns_that_are_no_boxes);
    TEST(test_rows_of_a_grid_are_two_forms);
    TEST(test_no_form_is_guessed);
    TEST(test_anchors_are_named);
    TEST(test_labels_tell_another_form);
    TEST(test_numbers_of_no_use_are_named);
    TEST(test_corners_in_another_order_are_named);
    TEST(test_the_best_of_those_that_overlap);
    return TEST_END();
}
