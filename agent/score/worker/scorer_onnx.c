// SPDX-License-Identifier: Apache-2.0
/* Scores with our engine: small pictures of one size, slices of arrays, or rows of a table go
 * through the network together. The network stays loaded between leases. */
#include "agent/score/worker/scorer.h"

#include "agent/score/feed/columns.h"
#include "agent/score/feed/slices.h"
#include "agent/score/worker/groups.h"
#include "agent/store/local_file.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRY_SIDE = 64, /* pixels, if the network leaves the side free */
    DEVICE_NAME = 32,
    TRY_PIXELS = 256 * 256, /* a larger picture is not tried */
    TRY_VALUES = 3 * TRY_PIXELS,
};

struct scorer {
    const json_t *spec;
    struct session *session;
    struct preprocess preprocess;
    struct post *post;
    const struct media *media;
    struct reader *reader;      /* kept between leases, so that a decoder continues at its position
                                   ... */
    struct input_reader *lines; /* ... or a reader of lines */
    bool has_slices;            /* the items are slices, not pictures, or ... */
    bool has_rows;              /* ... rows, which are converted to slices */
    struct columns *columns;    /* for has_rows */
    size_t input_count;
    struct slices_input *inputs; /* the model's, for example [n, 3, h, w]; -1: free */
    struct npy_slice *slices;    /* for has_slices: an item's slices, one per input */
    bool has_bytes;              /* a device converts bytes to the network's input */
    struct groups *groups;
};

/* Only the first slice tells whether slices fit: see onnx_try. */
static int check_slices(const struct scorer *scorer, struct error *err) {
    const struct preprocess *given = &scorer->preprocess;
    if (given->width || given->height || given->multiple_of != 1 || given->is_bgr ||
        given->range != RANGE_BYTE) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess: applies to pictures only; slices of "
                         "spec.input.npy and rows of "
                         "spec.input.table reach the network unchanged: remove this field");
    }
    if (post_wants_pictures(scorer->post)) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.postprocess.type: Classes or Values is expected for "
                         "spec.input.npy and spec.input.table");
    }
    for (size_t i = 0; i < scorer->input_count; i++) {
        const struct shape *shape = &scorer->inputs[i].shape;
        if (shape->rank < 1 || shape->dims[0] > GROUPS_MOST ||
            shape->dims[0] != scorer->inputs->shape.dims[0]) {
            return error_set(
                err, ERROR_INVALID,
                "spec.scorer.onnx.path: the network's input %.64s has no axis for the "
                "items, a fixed one above %d, or another size of it than the other inputs",
                scorer->inputs[i].name, GROUPS_MOST);
        }
    }
    return 0;
}

static void name_inputs(struct scorer *scorer) {
    size_t count = scorer->input_count = session_input_count(scorer->session);
    scorer->inputs = x_calloc(count, sizeof *scorer->inputs);
    scorer->slices = x_calloc(count, sizeof *scorer->slices);
    for (size_t i = 0; i < count; i++) {
        struct slices_input *input = &scorer->inputs[i];
        input->name = session_input(scorer->session, i, &input->type, &input->shape);
        input->strings = session_input_strings(scorer->session, i);
    }
}

static int check_input(struct scorer *scorer, struct error *err) {
    static const char field[] = "spec.scorer.onnx.path";
    name_inputs(scorer);
    size_t inputs = scorer->input_count, outputs = session_output_count(scorer->session);
    if (inputs < 1 || (inputs > 1 && !scorer->has_slices) || outputs < 1) {
        return error_set(err, ERROR_INVALID,
                         "%s: the network has %zu inputs and %zu outputs, expected one input (for "
                         "a table several) and an output",
                         field, inputs, outputs);
    }
    if (scorer->has_rows &&
        columns_new(scorer->spec, scorer->inputs, inputs, &scorer->columns, err) < 0) {
        return -1;
    }
    if (scorer->has_slices) {
        return check_slices(scorer, err);
    }
    const char *name = scorer->inputs->name;
    const struct shape *shape = &scorer->inputs->shape;
    const int64_t *dims = shape->dims;
    char text[128];
    shape_format(shape, text);
    if (scorer->inputs->type != TENSOR_FLOAT32 || scorer->inputs->strings || shape->rank != 4 ||
        (dims[1] != 3 && dims[1] != -1) || dims[0] > GROUPS_MOST_PICTURES) {
        return error_set(err, ERROR_INVALID,
                         "%s: the network's input %s is %s %s, expected pictures: float32 "
                         "[n, 3, h, w]",
                         field, name, tensor_type_name(scorer->inputs->type), text);
    }
    const struct preprocess *preprocess = &scorer->preprocess;
    struct preprocess_size size = {0};
    bool is_known = preprocess->width && preprocess->height;
    if (is_known && preprocess_measure(preprocess, 1, 1, &size, err) < 0) {
        return -1;
    }
    if ((dims[2] > 0 && size.padded_height != dims[2]) ||
        (dims[3] > 0 && size.padded_width != dims[3])) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess: the network's input %s is %s, so width and "
                         "height must be given and make that size",
                         name, text);
    }
    return 0;
}

static void drop_reader(struct scorer *scorer) {
    if (scorer->reader) {
        scorer->media->reader_free(TAKE(scorer->reader));
    }
    if (scorer->lines) {
        scorer->media->lines->reader_free(TAKE(scorer->lines));
    }
}

static void onnx_free(struct scorer *scorer) {
    if (!scorer) {
        return;
    }
    groups_free(scorer->groups);
    drop_reader(scorer);
    columns_free(scorer->columns);
    post_free(scorer->post);
    session_free(scorer->session);
    free(scorer->inputs);
    free(scorer->slices);
    free(scorer);
}

static void onnx_freep(struct scorer **scorer) {
    onnx_free(*scorer);
}

/* A name of agent/engine/device/registry.h: the worker's GPUs are assigned to slots in turn. */
static void name_device(const struct scorer_options *options, char name[static DEVICE_NAME]) {
    static const char *const precisions[][2] = {
        {"TF32", ":tf32"}, {"BF16", ":bfloat16"}, {"FP16", ":float16"}, {"FP32", ""}};
    const char *precision = tree_text(options->spec, "scorer.onnx.precision", "FP32");
    if (options->gpus == 0) {
        snprintf(name, DEVICE_NAME, "cpu");
    }
    for (size_t i = 0; i < ARRAY_LEN(precisions) && options->gpus > 0; i++) {
        if (strcmp(precisions[i][0], precision) == 0) {
            snprintf(name, DEVICE_NAME, "cuda%d%s", options->slot % options->gpus,
                     precisions[i][1]);
        }
    }
}

/* A fault of the GPU is not the model's fault. */
static int open_session(const struct scorer_options *options, const char *path,
                        struct scorer *scorer, struct error *err) {
    struct pixel_conversion in = preprocess_bytes(&scorer->preprocess);
    char device[DEVICE_NAME] = "";
    name_device(options, device);
    bool is_device = false;
    struct session_options engine = {.device = device, .ret_is_device = &is_device};
    scorer->has_bytes = options->gpus > 0 && !scorer->has_slices;
    if (scorer->has_bytes) {
        engine.pixels_in = &in;
        engine.pixels_out = post_pixels(scorer->post);
    }
    if (session_open(path, &engine, &scorer->session, err) == 0) {
        if (options->gpus > 0) {
            const char *visible = getenv("CUDA_VISIBLE_DEVICES");
            log_event(LOG_INFO, "slot %d scores on device %s%s%s", options->slot, device,
                      visible ? ", CUDA_VISIBLE_DEVICES is " : "", visible ? visible : "");
        }
        return 0;
    }
    return error_context(err, is_device ? "spec.workers.gpus" : "spec.scorer.onnx.path");
}

static int onnx_open(const struct scorer_options *options, struct scorer **ret_scorer,
                     struct error *err) {
    AUTO(onnx_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    AUTO(local_file_release)
    struct local_file model = {0}; /* a copy is removed once the model is
                                      loaded */
    const json_t *spec = scorer->spec = options->spec;
    scorer->media = options->media;
    enum item_type item = scorer->media->lines ? scorer->media->lines->item(spec) : ITEM_PICTURE;
    scorer->has_rows = item == ITEM_JSON;
    scorer->has_slices = item == ITEM_TENSOR || scorer->has_rows;
    if (preprocess_read(spec, &scorer->preprocess, err) < 0 ||
        post_open(spec, &scorer->post, err) < 0) {
        return -1;
    }
    const char *path = tree_text(spec, "scorer.onnx.path", "");
    if (!options->network && local_file_open(path, &model, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    if (open_session(options, options->network ? options->network : model.path, scorer, err) < 0) {
        return -1;
    }
    if (check_input(scorer, err) < 0) {
        return -1;
    }
    post_bind(scorer->post, scorer->session);
    const struct groups_options groups = {.session = scorer->session,
                                          .preprocess = &scorer->preprocess,
                                          .post = scorer->post,
                                          .inputs = scorer->inputs,
                                          .has_bytes = scorer->has_bytes};
    scorer->groups = groups_new(&groups);
    *ret_scorer = TAKE(scorer);
    return 0;
}

static int onnx_files(struct scorer *scorer, const struct scorer *first UNUSED, json_t *files,
                      struct error *err) {
    char hex[65];
    if (session_model_digest(scorer->session, hex, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    json_object_set_new(files, "scorer.onnx.path", json_string(hex));
    post_files(scorer->post, files);
    return 0;
}

/* onnx_open has loaded the network. */
static int onnx_start(struct scorer *scorer, struct error *err) {
    return post_check(scorer->post, err) < 0 ? -1 : session_enter(scorer->session, err);
}

/* ---- trying --------------------------------------------------------------------------------- */

/* Runs the network once and checks that its output fits postprocess. An input that the network
 * refuses here may work with another size, for example larger pictures. */
static int try_run(struct scorer *scorer, const struct tensor *inputs, struct error *err) {
    struct error ignored = {0};
    if (scorer->has_bytes) { /* only workers set this, and workers do not try */
        return 0;
    }
    struct tensor *output = x_calloc(session_output_count(scorer->session), sizeof *output);
    int result = session_run(scorer->session, inputs, output, &ignored) == 0
                     ? post_take(scorer->post, output, inputs->shape.dims[0], err)
                     : post_check(scorer->post, err);
    free(output);
    return result;
}

/* Whether inputs of this many values are tried: small ones, and any if the output can only be
 * chosen by a run. */
static bool is_tried(const struct scorer *scorer, int64_t values) {
    return values <= TRY_VALUES || post_is_open(scorer->post);
}

static int64_t try_side(const struct scorer *scorer, int64_t fixed) {
    int64_t multiple = scorer->preprocess.multiple_of;
    return fixed > 0 ? fixed : (TRY_SIDE + multiple - 1) / multiple * multiple;
}

/* A small black picture. Inputs that are expensive to try (a large fixed size) are accepted
 * untested, unless the output must be chosen. */
static int try_picture(struct scorer *scorer, struct error *err) {
    const int64_t *dims = scorer->inputs->shape.dims;
    struct shape shape = {
        4, {MAX(dims[0], 1), 3, try_side(scorer, dims[2]), try_side(scorer, dims[3])}};
    struct tensor input = {0};
    if (!is_tried(scorer, 3 * shape.dims[2] * shape.dims[3])) {
        return 0;
    }
    if (tensor_init(&input, TENSOR_FLOAT32, &shape, err) < 0) {
        return -1;
    }
    int result = try_run(scorer, &input, err);
    tensor_release(&input);
    return result;
}

/* Tries one item of all inputs; it is the first of the run, the others are zeros. */
static int try_slices(struct scorer *scorer, const struct npy_slice *slices, struct error *err) {
    int64_t items = MAX(scorer->inputs->shape.dims[0], 1), values = 0;
    struct tensor *inputs = x_calloc(scorer->input_count, sizeof *inputs);
    int result = 0;
    for (size_t i = 0; i < scorer->input_count && result == 0; i++) {
        struct shape shape;
        const struct slices_input *input = &scorer->inputs[i];
        result = slices_check(&slices[i], input, items, &shape, err);
        values += result == 0 ? items * slices_count(&slices[i]) : 0;
        if (result == 0 && is_tried(scorer, values)) {
            result = tensor_init(&inputs[i], input->type, &shape, err);
        }
        if (result == 0 && is_tried(scorer, values)) {
            slices_fill(&slices[i], input->type, inputs[i].data);
        }
    }
    if (result == 0 && is_tried(scorer, values)) {
        result = try_run(scorer, inputs, err);
    }
    for (size_t i = 0; i < scorer->input_count; i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
    return result;
}

static int take_line(void *context, const char *line, size_t size, const char *mark UNUSED,
                     struct error *err) {
    struct buffer *lines = context;
    return buffer_append(lines, "[", 1, err) < 0 || buffer_append(lines, line, size, err) < 0 ||
                   buffer_append(lines, "]", 1, err) < 0
               ? -1
               : error_set(err, ERROR_CANCELLED, "one is enough");
}

/* A slice for each input, borrowed until the next item. */
static int read_slices(struct scorer *scorer, const struct item *item,
                       const struct npy_slice **ret_slices, struct error *err) {
    if (scorer->has_rows) {
        return columns_read(scorer->columns, item->text, item->text_size, ret_slices, err);
    }
    *ret_slices = scorer->slices;
    return slices_part(&item->slice, scorer->inputs, scorer->input_count, scorer->slices, err);
}

/* A missing column, or a text in a numeric one, is reported before any worker starts, since all
 * rows are alike. */
static int try_item(struct scorer *scorer, const struct item *item, struct error *err) {
    const struct npy_slice *slices;
    if (read_slices(scorer, item, &slices, err) < 0) {
        return scorer->has_rows ? error_context(err, "spec.input.table.path: %.300s", item->name)
                                : -1;
    }
    return try_slices(scorer, slices, err);
}

/* The first item of the input. If it cannot be read, its mini-batch reports that later. */
static int try_first(struct scorer *scorer, struct error *err) {
    const struct input_kind *kind = scorer->media->lines;
    struct input_listing listing = {.spec = scorer->spec};
    struct input_reader *reader = NULL;
    struct item item = {0};
    struct error ignored = {0};
    AUTO(tree_freep) json_t *lines = NULL;
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, INPUT_LINE_MAX + 2);
    (void)!kind->list(&listing, take_line, &text, &ignored);
    error_clear(&ignored);
    if (tree_parse(text.data ? text.data : "", text.size, text.size, &lines, &ignored) < 0 ||
        kind->reader_open(scorer->spec, lines, &reader, &ignored) < 0) {
        return 0;
    }
    bool is_there = kind->reader_next(reader, &item, &ignored) > 0 && !item.fault;
    int result = is_there ? try_item(scorer, &item, err) : 0;
    kind->reader_free(reader);
    return result;
}

/* Only the coordinator calls this, so its log lines appear once per job. */
static int onnx_try(struct scorer *scorer, struct error *err) {
    const char *note = session_note(scorer->session);
    if (*note) {
        log_event(LOG_INFO, "%s: %s", tree_text(scorer->spec, "scorer.onnx.path", ""), note);
    }
    return scorer->has_slices ? try_first(scorer, err) : try_picture(scorer, err);
}

/* ---- a lease -------------------------------------------------------------------------------- */

static int open_reader(struct scorer *scorer, const struct scorer_task *task, struct error *err) {
    const struct media *media = scorer->media;
    return media->lines
               ? media->lines->reader_open(scorer->spec, task->lease.work, &scorer->lines, err)
               : media->reader_open(scorer->spec, task->lease.work, &scorer->reader, err);
}

/* 1, 0 or -1 as input_kind.reader_next; a failed item has a fault and no picture. */
static int next_item(struct scorer *scorer, struct item *item, struct error *err) {
    if (scorer->lines) {
        return scorer->media->lines->reader_next(scorer->lines, item, err);
    }
    *item = (struct item){.type = ITEM_PICTURE};
    int got = scorer->media->reader_next(scorer->reader, &item->picture, &item->name, err);
    item->fault = got == READER_FAULT ? item->name : NULL;
    item->is_final = got == READER_FAULT;
    return MIN(got, READER_ITEM);
}

/* Adds an item; a row with unexpected columns and an item that could not be read have failed. */
static int add_item(struct scorer *scorer, const struct scorer_task *task, struct sink *sink,
                    struct item *item, struct scorer_count *count, struct error *err) {
    struct error why = {0};
    const struct npy_slice *slices = NULL;
    if (!item->fault && item->type != ITEM_PICTURE &&
        read_slices(scorer, item, &slices, &why) < 0) {
        if (item->type == ITEM_TENSOR) { /* all slices are alike */
            *err = why;
            return error_context(err, "%s", item->name);
        }
        (void)!error_context(&why, "%.200s", item->name);
        item->fault = why.text;
        item->is_final = true;
    }
    if (item->fault) {
        sink_skip(sink);
        count->final += item->is_final;
        return scorer_count_failure(task, count, item->fault, err);
    }
    AUTO(text_freep) char *name = x_strdup(item->name);
    int result = slices ? groups_add_slices(scorer->groups, sink, slices, name, err)
                        : groups_add_picture(scorer->groups, sink, &item->picture, name, err);
    picture_release(&item->picture);
    if (result < 0) {
        return error_context(err, "%s", name);
    }
    count->items++;
    return 0;
}

static int score_items(struct scorer *scorer, const struct scorer_task *task, struct sink *sink,
                       struct scorer_count *count, struct error *err) {
    for (;;) {
        struct item item = {0};
        if (atomic_load(task->dropped)) {
            return error_set(err, ERROR_CANCELLED, "cancelled");
        }
        int got = next_item(scorer, &item, err);
        if (got <= 0) {
            return got < 0 || groups_finish(scorer->groups, sink, err) < 0 ? -1 : 0;
        }
        if (add_item(scorer, task, sink, &item, count, err) < 0) {
            return -1;
        }
    }
}

/* The number of a failed lease's items, if its lines have it. */
static int64_t count_items(const struct scorer *scorer, const json_t *lines) {
    const struct input_kind *kind = scorer->media->lines;
    int64_t items = 0;
    for (size_t i = 0; kind && kind->line_items && i < json_array_size(lines); i++) {
        items += kind->line_items(json_array_get(lines, i));
    }
    return items;
}

static int onnx_run(struct scorer *scorer, const struct scorer_task *task,
                    struct scorer_count *ret_count, struct error *err) {
    struct sink *sink = NULL;
    struct scorer_count count = {0};
    int result = -1;
    if (open_reader(scorer, task, err) == 0 &&
        sink_open(scorer->spec, scorer->media, task->lease.work, task->staged, &sink, err) == 0) {
        result = score_items(scorer, task, sink, &count, err);
    }
    if (result == 0) {
        result = sink_finish(sink, err);
    }
    groups_drop(scorer->groups);
    sink_free(sink);
    if (result < 0) {
        ret_count->items = count_items(scorer, task->lease.work);
        drop_reader(scorer);
        return -1;
    }
    *ret_count = count;
    return 0;
}

const struct scorer_kind scorer_onnx = {
    .name = "onnx",
    .open = onnx_open,
    .files = onnx_files,
    .try_out = onnx_try,
    .start = onnx_start,
    .run = onnx_run,
    .free = onnx_free,
};
