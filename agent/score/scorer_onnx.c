// SPDX-License-Identifier: Apache-2.0
/* The engine of ours: small pictures of one size, or slices of arrays, go through the network
 * together, which stays loaded from lease to lease. */
#include "agent/score/scorer.h"

#include "agent/run/session.h"
#include "agent/score/postprocess.h"
#include "agent/score/preprocess.h"
#include "agent/score/slices.h"
#include "agent/store/stored_file.h"
#include "lib/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    GROUP_MAX = 256,              /* items in one run of the network ... */
    GROUP_PICTURES = 16,          /* ... of pictures */
    GROUP_PIXELS = 8 * 224 * 224, /* beyond it a run is efficient enough as it is */
    TRY_SIDE = 64,                /* pixels, where the network leaves it free */
    TRY_PIXELS = 256 * 256,       /* a larger picture is not tried */
};

struct scorer {
    const json_t *spec;
    struct session *session;
    struct preprocess preprocess;
    struct postprocess postprocess;
    struct shape input; /* as the model has it: [n, 3, h, w], -1 where it is free */
    const struct media *media;
    struct reader *reader; /* kept from lease to lease: a decoder goes on where it stands ... */
    struct input_reader *lines; /* ... or one of lines */
    bool has_slices;            /* its items are slices, not pictures */
    enum tensor_type type;      /* of the network's input */
    /* the group that is collected for one run */
    struct tensor group; /* [capacity, 3, padded_height, padded_width], or [capacity, slice] */
    struct preprocess_size sizes[GROUP_MAX];
    char *names[GROUP_MAX];
    int count;
    int most; /* items that go through the network at once, since more did not fit; 0: all */
};

/* Whether slices fit, the first one tells: onnx_try. */
static int check_slices(const struct scorer *scorer, struct error *err) {
    const struct preprocess *given = &scorer->preprocess;
    if (given->width || given->height || given->multiple_of != 1 || given->is_bgr ||
        given->range != RANGE_BYTE) {
        return error_set(
            err, ERROR_INVALID,
            "spec.scorer.onnx.preprocess: is for pictures, slices of spec.input.npy go "
            "to the network as they are; take it out");
    }
    if (scorer->postprocess.type != POSTPROCESS_CLASSES) {
        return error_set(
            err, ERROR_INVALID,
            "spec.scorer.onnx.postprocess.type: Classes is expected for spec.input.npy");
    }
    return scorer->input.rank >= 1 && scorer->input.dims[0] <= GROUP_MAX
               ? 0
               : error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.path: the network's input has no side for the items, "
                           "or one of more than %d",
                           GROUP_MAX);
}

static int check_input(struct scorer *scorer, struct error *err) {
    static const char field[] = "spec.scorer.onnx.path";
    size_t inputs = session_input_count(scorer->session);
    if (inputs != 1 || session_output_count(scorer->session) < 1) {
        return error_set(err, ERROR_INVALID,
                         "%s: the network has %zu inputs and %zu outputs, expected one input and "
                         "an output",
                         field, inputs, session_output_count(scorer->session));
    }
    const char *name = session_input(scorer->session, 0, &scorer->type, &scorer->input);
    if (scorer->has_slices) {
        return check_slices(scorer, err);
    }
    const int64_t *dims = scorer->input.dims;
    char text[128];
    shape_format(&scorer->input, text);
    if (scorer->type != TENSOR_FLOAT32 || scorer->input.rank != 4 ||
        (dims[1] != 3 && dims[1] != -1) || dims[0] > GROUP_PICTURES) {
        return error_set(err, ERROR_INVALID,
                         "%s: the network's input %s is %s %s, expected pictures: float32 "
                         "[n, 3, h, w]",
                         field, name, tensor_type_name(scorer->type), text);
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

static void clear_group(struct scorer *scorer) {
    for (int i = 0; i < scorer->count; i++) {
        free(TAKE(scorer->names[i]));
    }
    scorer->count = 0;
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
    clear_group(scorer);
    drop_reader(scorer);
    tensor_release(&scorer->group);
    postprocess_release(&scorer->postprocess);
    session_free(scorer->session);
    free(scorer);
}

static void onnx_freep(struct scorer **scorer) {
    onnx_free(*scorer);
}

/* A name of agent/device/registry.h. */
static const char *device_of(const struct scorer_options *options) {
    static const char *const devices[][2] = {
        {"TF32", "cuda:tf32"}, {"BF16", "cuda:bfloat16"}, {"FP16", "cuda:float16"}};
    const char *precision = tree_text(options->spec, "scorer.onnx.precision", "FP32");
    if (options->gpus == 0) {
        return "cpu";
    }
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        if (strcmp(devices[i][0], precision) == 0) {
            return devices[i][1];
        }
    }
    return "cuda";
}

/* What is wrong with the GPU is not the model's fault. */
static int open_session(const struct scorer_options *options, const char *path,
                        struct session **ret_session, struct error *err) {
    struct session_options engine = {.threads = 0, .device = device_of(options)};
    if (session_open(path, &engine, ret_session, err) == 0) {
        return 0;
    }
    bool is_device = text_starts(err->text, "device ");
    return error_context(err, is_device ? "spec.workers.gpus" : "spec.scorer.onnx.path");
}

static int onnx_open(const struct scorer_options *options, struct scorer **ret_scorer,
                     struct error *err) {
    AUTO(onnx_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    AUTO(local_file_release) struct local_file model = {0}; /* a copy goes once it is loaded */
    const json_t *spec = scorer->spec = options->spec;
    scorer->media = options->media;
    scorer->has_slices = scorer->media->lines && scorer->media->lines->item(spec) == ITEM_TENSOR;
    if (preprocess_read(spec, &scorer->preprocess, err) < 0 ||
        postprocess_read(spec, &scorer->postprocess, err) < 0) {
        return -1;
    }
    const char *path = tree_text(spec, "scorer.onnx.path", "");
    if (!options->network && local_file_open(path, &model, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    if (open_session(options, options->network ? options->network : model.path, &scorer->session,
                     err) < 0) {
        return -1;
    }
    if (options->gpus > 0) {
        log_event(LOG_INFO, "slot %d scores on device %s", options->slot, device_of(options));
    }
    if (check_input(scorer, err) < 0) {
        return -1;
    }
    *ret_scorer = TAKE(scorer);
    return 0;
}

/* Loaded when it was opened. */
static int onnx_start(struct scorer *scorer UNUSED, struct error *err UNUSED) {
    return 0;
}

/* Item `index` of the group, which is `at` of those that the output is of. */
static int write_item(struct scorer *scorer, struct sink *sink, const struct tensor *output, int at,
                      int index, struct error *err) {
    const struct postprocess *postprocess = &scorer->postprocess;
    if (postprocess->type == POSTPROCESS_CLASSES) {
        AUTO(tree_freep)
        json_t *record = postprocess_classes(postprocess, output, at, scorer->names[index]);
        struct result classes = {.name = scorer->names[index], .record = record};
        return sink_add(sink, &classes, err);
    }
    struct picture picture = {0};
    if (postprocess_picture(postprocess, output, at, &scorer->sizes[index], &picture, err) < 0) {
        return -1;
    }
    struct result painted = {.name = scorer->names[index], .picture = &picture};
    int result = sink_add(sink, &painted, err);
    picture_release(&picture);
    return result;
}

/* The first output of floats: a classifier of ai.onnx.ml gives its label before its scores. */
static const struct tensor *scores(const struct scorer *scorer, const struct tensor *outputs) {
    for (size_t i = 0; i < session_output_count(scorer->session); i++) {
        if (outputs[i].type == TENSOR_FLOAT32) {
            return &outputs[i];
        }
    }
    return outputs;
}

/* Runs the network on `count` items of the group, from `first` on, and writes the results.
 * *ret_ran: the network itself had enough memory. */
static int run_items(struct scorer *scorer, struct sink *sink, int first, int count, bool *ret_ran,
                     struct error *err) {
    struct tensor input = scorer->group;
    int64_t capacity = MAX(input.shape.dims[0], 1);
    size_t item_bytes =
        (size_t)(shape_count(&input.shape) / capacity) * tensor_type_size(input.type);
    input.owned = false;
    input.data = (char *)input.data + (size_t)first * item_bytes;
    /* A network made for n items gets n; what is left over from before is computed and ignored. */
    input.shape.dims[0] = scorer->input.dims[0] > 0 ? scorer->input.dims[0] : count;
    struct tensor *output = x_calloc(session_output_count(scorer->session), sizeof *output);
    int result = session_run(scorer->session, &input, output, err);
    *ret_ran = result == 0 || err->kind != ERROR_EXHAUSTED;
    const struct tensor *score = scores(scorer, output);
    if (result == 0) {
        result = postprocess_check(&scorer->postprocess, score, input.shape.dims[0], err);
    }
    for (int i = 0; i < count && result == 0; i++) {
        result = write_item(scorer, sink, score, i, first + i, err);
    }
    free(output);
    return result;
}

/* What was collected, in as few runs as the device has memory for: half as many items are tried
 * where it has not, and no more from then on. */
static int flush(struct scorer *scorer, struct sink *sink, struct error *err) {
    int result = 0;
    for (int done = 0; done < scorer->count && result == 0;) {
        int left = scorer->count - done, count = scorer->most ? MIN(scorer->most, left) : left;
        bool ran = true;
        result = run_items(scorer, sink, done, count, &ran, err);
        if (ran || count == 1 || scorer->input.dims[0] > 0) {
            done += count;
            continue;
        }
        scorer->most = count / 2;
        log_event(LOG_WARNING, "%d items at once are too many: %s; from now on %d", count,
                  err->text, scorer->most);
        error_clear(err);
        result = 0;
    }
    clear_group(scorer);
    return result;
}

/* ---- trying --------------------------------------------------------------------------------- */

/* Runs the network once and checks that its output fits postprocess. What it does not take here it
 * may take otherwise: larger pictures, say. */
static int try_run(struct scorer *scorer, const struct tensor *input, struct error *err) {
    struct error ignored = {0};
    struct tensor *output = x_calloc(session_output_count(scorer->session), sizeof *output);
    int result = 0;
    if (session_run(scorer->session, input, output, &ignored) == 0) {
        result = postprocess_check(&scorer->postprocess, scores(scorer, output),
                                   input->shape.dims[0], err);
    }
    free(output);
    return result;
}

static int64_t try_side(const struct scorer *scorer, int64_t fixed) {
    int64_t multiple = scorer->preprocess.multiple_of;
    return fixed > 0 ? fixed : (TRY_SIDE + multiple - 1) / multiple * multiple;
}

/* A small black picture. What cannot be tried cheaply (a large fixed size) passes. */
static int try_picture(struct scorer *scorer, struct error *err) {
    const int64_t *dims = scorer->input.dims;
    struct shape shape = {
        4, {MAX(dims[0], 1), 3, try_side(scorer, dims[2]), try_side(scorer, dims[3])}};
    struct tensor input = {0};
    if (shape.dims[2] * shape.dims[3] > TRY_PIXELS) {
        return 0;
    }
    if (tensor_init(&input, TENSOR_FLOAT32, &shape, err) < 0) {
        return -1;
    }
    int result = try_run(scorer, &input, err);
    tensor_release(&input);
    return result;
}

static int try_slice(struct scorer *scorer, const struct npy_slice *slice, struct error *err) {
    struct shape shape;
    struct tensor input = {0};
    int64_t items = MAX(scorer->input.dims[0], 1);
    if (slices_check(slice, scorer->type, &scorer->input, items, &shape, err) < 0) {
        return -1;
    }
    if (items * slices_count(slice) > 3 * TRY_PIXELS) {
        return 0;
    }
    if (tensor_init(&input, scorer->type, &shape, err) < 0) {
        return -1;
    }
    slices_fill(slice, scorer->type, input.data);
    int result = try_run(scorer, &input, err);
    tensor_release(&input);
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

/* The first slice of the input. One that cannot be read is its mini-batch's business. */
static int try_first_slice(struct scorer *scorer, struct error *err) {
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
    int result = is_there ? try_slice(scorer, &item.slice, err) : 0;
    kind->reader_free(reader);
    return result;
}

static int onnx_try(struct scorer *scorer, struct error *err) {
    return scorer->has_slices ? try_first_slice(scorer, err) : try_picture(scorer, err);
}

/* ---- a lease -------------------------------------------------------------------------------- */

/* Items of so many pixels that go through the network together. */
static int64_t group_capacity(const struct scorer *scorer, int64_t pixels, int64_t most) {
    return scorer->input.dims[0] > 0 ? scorer->input.dims[0]
                                     : MAX(1, MIN(most, GROUP_PIXELS / MAX(pixels, 1)));
}

/* For an item of this shape ([capacity, ...]); runs what was collected of another. */
static int make_room(struct scorer *scorer, struct sink *sink, const struct shape *wanted,
                     struct error *err) {
    if (scorer->group.data && shape_equal(&scorer->group.shape, wanted)) {
        return 0;
    }
    if (flush(scorer, sink, err) < 0) {
        return -1;
    }
    tensor_release(&scorer->group);
    scorer->group = (struct tensor){0};
    return tensor_init(&scorer->group, scorer->type, wanted, err);
}

/* Its values lie in the group, which is run when it is full. */
static int add_item(struct scorer *scorer, struct sink *sink, const char *name, struct error *err) {
    scorer->names[scorer->count++] = x_strdup(name);
    return scorer->count == scorer->group.shape.dims[0] ? flush(scorer, sink, err) : 0;
}

static int collect_picture(struct scorer *scorer, struct sink *sink, const struct picture *picture,
                           const char *name, struct error *err) {
    struct preprocess_size size = {0};
    if (preprocess_measure(&scorer->preprocess, picture->width, picture->height, &size, err) < 0) {
        return -1;
    }
    int64_t pixels = (int64_t)size.padded_width * size.padded_height;
    struct shape wanted = {
        4,
        {group_capacity(scorer, pixels, GROUP_PICTURES), 3, size.padded_height, size.padded_width}};
    if (make_room(scorer, sink, &wanted, err) < 0) {
        return -1;
    }
    preprocess_fill(&scorer->preprocess, picture, &size,
                    (float *)scorer->group.data + scorer->count * 3 * pixels);
    scorer->sizes[scorer->count] = size;
    return add_item(scorer, sink, name, err);
}

static int collect_slice(struct scorer *scorer, struct sink *sink, const struct npy_slice *slice,
                         const char *name, struct error *err) {
    struct shape wanted;
    int64_t values = slices_count(slice);
    int64_t capacity = group_capacity(scorer, values / 3, GROUP_MAX);
    if (slices_check(slice, scorer->type, &scorer->input, capacity, &wanted, err) < 0 ||
        make_room(scorer, sink, &wanted, err) < 0) {
        return -1;
    }
    size_t slice_bytes = (size_t)values * tensor_type_size(scorer->type);
    slices_fill(slice, scorer->type,
                (char *)scorer->group.data + (size_t)scorer->count * slice_bytes);
    return add_item(scorer, sink, name, err);
}

static int open_reader(struct scorer *scorer, const struct scorer_task *task, struct error *err) {
    const struct media *media = scorer->media;
    return media->lines
               ? media->lines->reader_open(scorer->spec, task->lease.work, &scorer->lines, err)
               : media->reader_open(scorer->spec, task->lease.work, &scorer->reader, err);
}

/* 1, 0 or -1; an item that has failed has a fault and no picture. */
static int next_item(struct scorer *scorer, struct item *item, struct error *err) {
    if (scorer->lines) {
        return scorer->media->lines->reader_next(scorer->lines, item, err);
    }
    *item = (struct item){.type = ITEM_PICTURE};
    return scorer->media->reader_next(scorer->reader, &item->picture, &item->name, err);
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
            return got < 0 || flush(scorer, sink, err) < 0 ? -1 : 0;
        }
        if (item.fault) {
            if (scorer_count_failure(task, count, item.fault, err) < 0) {
                return -1;
            }
            continue;
        }
        AUTO(text_freep) char *name = x_strdup(item.name);
        int result = item.type == ITEM_TENSOR
                         ? collect_slice(scorer, sink, &item.slice, name, err)
                         : collect_picture(scorer, sink, &item.picture, name, err);
        picture_release(&item.picture);
        if (result < 0) {
            return error_context(err, "%s", name);
        }
        count->items++;
    }
}

/* Of a lease that has failed, where its lines say it. */
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
        sink_open(scorer->spec, scorer->media, task->lease.work, task->outcome, &sink, err) == 0) {
        result = score_items(scorer, task, sink, &count, err);
    }
    if (result == 0) {
        result = sink_finish(sink, err);
    }
    clear_group(scorer);
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
    .try_out = onnx_try,
    .start = onnx_start,
    .run = onnx_run,
    .free = onnx_free,
};
