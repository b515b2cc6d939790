// SPDX-License-Identifier: Apache-2.0
/* Scores with our engine: small pictures of one size, slices of arrays, rows of a table, or texts
 * go through the network together. The network stays loaded between leases. */
#include "agent/score/scorer/scorer.h"

#include "agent/data/input/fingerprint.h"
#include "agent/engine/model.h"
#include "agent/score/feed/feeds.h"
#include "agent/score/worker/groups.h"
#include "agent/score/worker/length_sort.h"
#include "agent/score/worker/sequence.h"
#include "agent/store/local_file.h"
#include "lib/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRY_SIDE = 64, /* pixels, if the network leaves the side free */
    TRY_ROWS = 4,  /* at most, until one fits */
    DEVICE_NAME = 32,
    TRY_PIXELS = 256 * 256, /* a larger picture is not tried */
    TRY_VALUES = 3 * TRY_PIXELS,
};

struct scorer {
    const json_t *spec;
    json_t *reading; /* of a Parquet table: the spec with the columns that the network takes */
    struct session *session;
    struct preprocess preprocess;
    struct post *post;
    const struct media *media;
    struct reader *reader;      /* kept between leases, so that a decoder continues at its position
                                   ... */
    struct input_reader *lines; /* ... or a reader of lines */
    enum item_type item;        /* of the items */
    bool has_bytes;             /* a device converts bytes to the network's input */
    struct feeds *feeds;
    struct groups *groups;
    struct length_sort *reach; /* of rows with texts; NULL: they have none */
    struct row_heads *heads;   /* NULL: rows have none */
};

/* Fields for pictures beside other items. */
static int check_fields(const struct scorer *scorer, struct error *err) {
    const struct preprocess *given = &scorer->preprocess;
    bool is_given = given->width || given->height || given->multiple_of != 1 || given->is_bgr ||
                    given->range != RANGE_BYTE || given->fit != FIT_STRETCH || given->has_mean;
    if (scorer->item == ITEM_PICTURE) {
        return 0;
    }
    if (is_given) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.preprocess: applies to pictures only; texts, slices of "
                         "spec.input.npy and rows of spec.input.table reach the network without "
                         "it: remove this field");
    }
    return post_wants_pictures(scorer->post)
               ? error_set(err, ERROR_INVALID,
                           "spec.scorer.onnx.postprocess.type: this one is for pictures, which "
                           "spec.input.npy, spec.input.table and texts are not")
               : 0;
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
    length_sort_free(scorer->reach);
    groups_free(scorer->groups);
    row_heads_free(scorer->heads);
    drop_reader(scorer);
    feeds_free(scorer->feeds);
    post_free(scorer->post);
    session_free(scorer->session);
    json_decref(scorer->reading);
    free(scorer);
}

static void onnx_freep(struct scorer **scorer) {
    onnx_free(*scorer);
}

/* A name of agent/engine/device.h: the worker's GPUs are assigned to slots in turn. The coordinator
 * tries in float32: its processor may be another. */
static void name_device(const struct scorer_options *options, char name[static DEVICE_NAME]) {
    const char *suffix = device_suffix(tree_text(options->spec, "scorer.onnx.precision", "FP32"));
    if (options->gpus > 0) {
        snprintf(name, DEVICE_NAME, "cuda%d%s", options->slot % options->gpus, suffix);
    } else {
        snprintf(name, DEVICE_NAME, "cpu%s", options->worker ? suffix : "");
    }
}

/* A fault of the GPU is not the model's fault. */
static int open_session(const struct scorer_options *options, const struct local_file *model,
                        struct scorer *scorer, struct error *err) {
    struct pixel_conversion in = preprocess_bytes(&scorer->preprocess);
    char device[DEVICE_NAME] = "";
    name_device(options, device);
    bool is_device = false;
    AUTO(fd_closep) int fd = -1;
    AUTO(fd_closep) int folder_fd = -1;
    if (local_file_descriptors(model, &fd, &folder_fd, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    const struct model_files files = {fd, folder_fd};
    struct session_options engine = {
        .device = device, .ret_is_device = &is_device, .files = &files};
    scorer->has_bytes = options->gpus > 0 && scorer->item == ITEM_PICTURE &&
                        scorer->preprocess.layout != LAYOUT_NHWC;
    if (scorer->has_bytes) {
        engine.pixels_in = &in;
        engine.pixels_out = post_pixels(scorer->post);
    }
    if (session_open(model->path, &engine, &scorer->session, err) == 0) {
        scorer->has_bytes = scorer->has_bytes && session_takes_pixels(scorer->session);
        if (strcmp(device, "cpu") != 0) {
            const char *visible = getenv("CUDA_VISIBLE_DEVICES");
            log_event(LOG_INFO, "slot %d scores on device %s%s%s", options->slot, device,
                      visible ? ", CUDA_VISIBLE_DEVICES is " : "", visible ? visible : "");
        }
        return 0;
    }
    return error_context(err, !is_device          ? "spec.scorer.onnx.path"
                              : options->gpus > 0 ? "spec.workers.gpus"
                                                  : "spec.scorer.onnx.precision");
}

static void add_names(json_t *names, const json_t *more) {
    size_t i, k;
    json_t *name, *known;
    json_array_foreach(more, i, name) {
        bool is_new = true;
        json_array_foreach(names, k, known) {
            is_new = is_new && !json_equal(name, known);
        }
        if (is_new) {
            json_array_append(names, name);
        }
    }
}

/* The spec for the reader: of Parquet only those columns are read that the network takes, or that
 * the output carries along. */
static const json_t *spec_of_reader(struct scorer *scorer) {
    if (strcmp(tree_text(scorer->spec, "input.table.format", ""), "Parquet") != 0) {
        return scorer->spec;
    }
    if (!scorer->reading) {
        scorer->reading = json_deep_copy(scorer->spec);
        json_t *columns = feeds_columns(scorer->feeds);
        add_names(columns, tree_get(scorer->spec, "output.key"));
        add_names(columns, tree_get(scorer->spec, "output.columns"));
        add_names(columns, tree_get(scorer->spec, "input.table.partitionKeys"));
        json_object_set_new(tree_get(scorer->reading, "input.table"), "columns", columns);
    }
    return scorer->reading;
}

static int onnx_open(const struct scorer_options *options, struct scorer **ret_scorer,
                     struct error *err) {
    AUTO(onnx_freep) struct scorer *scorer = x_calloc(1, sizeof *scorer);
    AUTO(local_file_release)
    struct local_file model = {0}; /* a copy is removed once the model is
                                      loaded */
    const json_t *spec = scorer->spec = options->spec;
    scorer->media = options->media;
    scorer->item = scorer->media->lines ? scorer->media->lines->item(spec) : ITEM_PICTURE;
    if (preprocess_read(spec, &scorer->preprocess, err) < 0 ||
        post_open(spec, &scorer->post, err) < 0) {
        return -1;
    }
    const char *path = tree_text(spec, "scorer.onnx.path", "");
    if (!options->network && local_file_open(path, &model, err) < 0) {
        return error_context(err, "spec.scorer.onnx.path");
    }
    if (open_session(options, options->network ? options->network : &model, scorer, err) < 0) {
        return -1;
    }
    const struct feeds_options feeds = {.spec = spec,
                                        .session = scorer->session,
                                        .item = scorer->item,
                                        .has_bytes = scorer->has_bytes};
    if (check_fields(scorer, err) < 0 || feeds_new(&feeds, &scorer->feeds, err) < 0) {
        return -1;
    }
    post_bind(scorer->post, scorer->session);
    const struct groups_options groups = {
        .session = scorer->session, .feeds = scorer->feeds, .post = scorer->post};
    scorer->groups = groups_new(&groups);
    scorer->reach = scorer->item == ITEM_JSON && tree_get(spec, "scorer.onnx.tokenizer")
                        ? length_sort_new(scorer->groups, scorer->feeds)
                        : NULL;
    scorer->heads = row_heads_new(spec);
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
    feeds_files(scorer->feeds, files);
    post_files(scorer->post, files);
    return 0;
}

/* onnx_open has loaded the network. */
static int onnx_start(struct scorer *scorer, struct error *err) {
    return post_check(scorer->post, err) < 0 ? -1 : session_enter(scorer->session, err);
}

/* ---- trying --------------------------------------------------------------------------------- */

enum { TRY_DONE = 0, TRY_NOT_RUN = 1 };

/* Runs the network once and checks that its output fits postprocess. TRY_NOT_RUN: the network
 * refuses an input that may work with another size, for example larger pictures. */
static int try_run(struct scorer *scorer, struct tensor *inputs, int64_t items, struct error *err) {
    struct error ignored = {0};
    if (scorer->has_bytes) { /* only workers set this, and workers do not try */
        return TRY_DONE;
    }
    struct tensor *output = x_calloc(session_output_count(scorer->session), sizeof *output);
    int result = TRY_NOT_RUN;
    feeds_strip(scorer->feeds, inputs);
    if (session_run(scorer->session, inputs, output, &ignored) == 0) {
        feeds_restore(scorer->feeds, output);
        result = post_take(scorer->post, output, items, err) < 0 ? -1 : TRY_DONE;
    }
    free(output);
    return result;
}

/* Whether inputs of this many values are tried: small ones, and any if the output can only be
 * chosen by a run. */
static bool is_tried(const struct scorer *scorer, int64_t values) {
    return values <= TRY_VALUES || post_is_open(scorer->post);
}

/* Copies the first of the items to the others: of zeros a network of texts may make fewer rows. */
static void repeat_first(const struct tensor *input, int64_t items) {
    size_t all = (size_t)shape_count(&input->shape) * tensor_type_size(input->type);
    size_t each = all / (size_t)items;
    for (size_t at = each; each > 0 && at + each <= all; at += each) {
        memcpy((char *)input->data + at, input->data, each);
    }
}

/* Fills the inputs with the taken item, as many times. */
static int fill_inputs(struct scorer *scorer, int64_t items, struct tensor *inputs,
                       struct error *err) {
    for (size_t i = 0; i < feeds_count(scorer->feeds); i++) {
        struct tensor wanted = {0};
        bool is_shared = false;
        if (feeds_measure(scorer->feeds, i, &wanted, &is_shared, err) < 0) {
            return -1;
        }
        wanted.shape.dims[0] = is_shared ? wanted.shape.dims[0] : items;
        if (tensor_init(&inputs[i], wanted.type, &wanted.shape, err) < 0) {
            return -1;
        }
        feeds_fill(scorer->feeds, i, &wanted.shape, inputs[i].data);
        if (!is_shared && inputs[i].data) {
            repeat_first(&inputs[i], items);
        }
    }
    return 0;
}

/* Two steps of a sequence, so that its states are carried once. */
static int try_steps(struct scorer *scorer, struct error *err) {
    struct tensor *outputs = x_calloc(session_output_count(scorer->session), sizeof *outputs);
    struct sequence *sequence = sequence_new(scorer->session, scorer->feeds);
    int result =
        sequence_run(sequence, 2, outputs, err) < 0 ? -1 : post_take(scorer->post, outputs, 1, err);
    sequence_free(sequence);
    free(outputs);
    return result;
}

static int try_items(struct scorer *scorer, int64_t items, struct error *err) {
    size_t count = feeds_count(scorer->feeds);
    struct tensor *inputs = x_calloc(count, sizeof *inputs);
    int result = fill_inputs(scorer, items, inputs, err);
    result = result < 0 ? -1 : try_run(scorer, inputs, items, err);
    for (size_t i = 0; i < count; i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
    return result;
}

/* The number of values that the inputs have for the taken item. */
static int count_values(struct scorer *scorer, int64_t *ret_values, struct error *err) {
    int64_t items = MAX(feeds_fixed(scorer->feeds), 1), values = 0;
    for (size_t i = 0; i < feeds_count(scorer->feeds); i++) {
        struct tensor wanted = {0};
        bool is_shared = false;
        if (feeds_measure(scorer->feeds, i, &wanted, &is_shared, err) < 0) {
            return -1;
        }
        values += shape_count(&wanted.shape) * (is_shared ? 1 : items);
    }
    *ret_values = values;
    return 0;
}

/* Tries one item. Where the network leaves their number free it is tried with two, so that an
 * output is found that does not have them on its first axis. */
static int try_item(struct scorer *scorer, const struct item *item, struct error *err) {
    int64_t fixed = feeds_fixed(scorer->feeds), values = 0;
    bool is_alone = tree_integer(scorer->spec, "miniBatchSize", 0) == 1;
    int64_t items = fixed > 0 ? fixed : is_alone ? 1 : 2;
    if (feeds_take(scorer->feeds, item, err) < 0) {
        return -1;
    }
    if (feeds_have_states(scorer->feeds)) {
        return try_steps(scorer, err);
    }
    if (count_values(scorer, &values, err) < 0) {
        return -1;
    }
    if (!is_tried(scorer, values)) {
        return post_check(scorer->post, err);
    }
    int result = try_items(scorer, items, err);
    if (result == TRY_NOT_RUN && fixed <= 0 && items > 1) {
        result = try_items(scorer, 1, err);
    }
    return result == TRY_NOT_RUN ? post_check(scorer->post, err) : result;
}

/* A small black picture. Inputs that are expensive to try (a large fixed size) are accepted
 * untested, unless the output must be chosen. */
static int try_picture(struct scorer *scorer, struct error *err) {
    int multiple = scorer->preprocess.multiple_of;
    int side = (TRY_SIDE + multiple - 1) / multiple * multiple;
    struct item item = {.type = ITEM_PICTURE, .name = "a black picture"};
    picture_init(&item.picture, side, side);
    memset(item.picture.pixels, 0, 3 * (size_t)side * (size_t)side);
    int result = try_item(scorer, &item, err);
    picture_release(&item.picture);
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

/* A missing column, or a text in a numeric one, is reported before any worker starts, since all
 * rows are alike. Files of text are not: one that cannot be read is a failed item later. */
static int try_row(struct scorer *scorer, const struct item *item, struct error *err) {
    struct error why = {0};
    if (item->type == ITEM_TENSOR || feeds_take(scorer->feeds, item, &why) == 0) {
        return try_item(scorer, item, err);
    }
    if (item->type == ITEM_PATH) {
        error_clear(&why);
        return 0;
    }
    *err = why;
    return error_context(err, "spec.input.table.path: %.300s", item->name);
}

/* The first rows: one that does not fit is a failed item later, and the next one is tried. The
 * error is the first one's, if none fits. */
static int try_rows(struct scorer *scorer, struct input_reader *reader, struct error *err) {
    const struct input_kind *kind = scorer->media->lines;
    int result = 0, got = 1;
    for (int i = scorer->item == ITEM_JSON ? TRY_ROWS : 1; i > 0 && got > 0; i--) {
        struct item item = {0};
        struct error unread = {0}, why = {0};
        got = kind->reader_next(reader, &item, &unread);
        int tried = got > 0 && !item.fault ? try_row(scorer, &item, &why) : 0;
        local_file_release(&item.file);
        if (got > 0 && tried == 0 && !item.fault) {
            error_clear(err);
            return 0;
        }
        bool lacks_column = got < 0 && unread.kind == ERROR_INVALID && scorer->item == ITEM_JSON;
        if (result == 0 && (tried < 0 || lacks_column)) {
            *err = lacks_column ? unread : why;
            result = -1;
        }
    }
    return result;
}

/* The first items of the input. If they cannot be read, their mini-batch reports that later, unless
 * a table is not what the network takes. */
static int try_first(struct scorer *scorer, struct error *err) {
    const struct input_kind *kind = scorer->media->lines;
    struct input_listing listing = {.spec = scorer->spec};
    struct input_reader *reader = NULL;
    struct error ignored = {0};
    AUTO(tree_freep) json_t *lines = NULL;
    AUTO(buffer_release) struct buffer text;
    buffer_init(&text, INPUT_LINE_MAX + 2);
    (void)!kind->list(&listing, take_line, &text, &ignored);
    error_clear(&ignored);
    if (tree_parse(text.data ? text.data : "", text.size, text.size, &lines, &ignored) < 0 ||
        kind->reader_open(spec_of_reader(scorer), lines, &reader, &ignored) < 0) {
        return 0;
    }
    int result = try_rows(scorer, reader, err);
    kind->reader_free(reader);
    return result;
}

/* Only the coordinator calls this, so its log lines appear once per job. */
static int onnx_try(struct scorer *scorer, struct error *err) {
    const char *note = session_note(scorer->session);
    if (*note) {
        log_event(LOG_INFO, "%s: %s", tree_text(scorer->spec, "scorer.onnx.path", ""), note);
    }
    return scorer->item == ITEM_PICTURE ? try_picture(scorer, err) : try_first(scorer, err);
}

/* ---- a lease -------------------------------------------------------------------------------- */

static int open_reader(struct scorer *scorer, const struct scorer_task *task, struct error *err) {
    const struct media *media = scorer->media;
    return media->lines ? media->lines->reader_open(spec_of_reader(scorer), task->lease.work,
                                                    &scorer->lines, err)
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

/* Takes an item. Rows and texts that do not fit have failed, and slices with a value that does not;
 * all slices have one type and shape, and so have pictures. */
static int take_item(struct scorer *scorer, struct item *item, char **ret_head, struct error *why,
                     struct error *err) {
    int result = sink_row_prefix(scorer->heads, item, ret_head, why) < 0
                     ? -1
                     : feeds_take(scorer->feeds, item, why);
    bool is_changed = item->type == ITEM_PATH && !fingerprint_holds_file(&item->file, item->core);
    local_file_release(&item->file);
    if (is_changed) {
        error_clear(why);
        result = error_set(why, ERROR_CONFLICT, FINGERPRINT_CHANGED);
    }
    bool fits = result == 0;
    if (fits && feeds_check(scorer->feeds, why) == 0) {
        return 0;
    }
    bool is_text = item->type == ITEM_PATH && !store_error_is_machine(why);
    if (!fits && item->type != ITEM_JSON && !is_text) {
        *err = *why;
        return error_context(err, "%s", item->name);
    }
    (void)!error_context(why, "%.200s", item->name);
    item->fault = why->text;
    item->is_final = true;
    return 0;
}

static int write_result(void *context, struct post_result *made, struct error *err) {
    return sink_add(context, &made->result, err);
}

static int finish(struct scorer *scorer, struct sink *sink, struct error *err) {
    const struct groups_target target = {.add = write_result, .context = sink};
    return scorer->reach ? length_sort_finish(scorer->reach, sink, err)
                         : groups_finish(scorer->groups, &target, err);
}

/* Adds an item; a row with unexpected columns and an item that could not be read have failed. */
static int add_item(struct scorer *scorer, const struct scorer_task *task, struct sink *sink,
                    struct item *item, struct scorer_count *count, struct error *err) {
    struct error why = {0};
    AUTO(text_freep) char *head = NULL;
    sink_count_item(scorer->heads, item);
    if (!item->fault && take_item(scorer, item, &head, &why, err) < 0) {
        picture_release(&item->picture);
        return -1;
    }
    if (item->fault) {
        sink_skip(sink);
        count->final += item->is_final;
        return scorer_count_failure(task, count, item->fault, err);
    }
    const struct groups_target target = {.add = write_result, .context = sink};
    int result = scorer->reach ? length_sort_add(scorer->reach, sink, item, head, err)
                               : groups_add(scorer->groups, &target, item, head, err);
    picture_release(&item->picture);
    count->items += result == 0;
    return result;
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
            return got < 0 || finish(scorer, sink, err) < 0 ? -1 : 0;
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
    if (scorer->heads) {
        row_heads_start(scorer->heads);
    }
    if (open_reader(scorer, task, err) == 0 &&
        sink_open(scorer->spec, scorer->media, task->lease.work, task->staged, &sink, err) == 0) {
        result = score_items(scorer, task, sink, &count, err);
    }
    if (result == 0) {
        result = sink_end_rows(sink, scorer->heads, err) < 0 ? -1 : sink_finish(sink, err);
    }
    groups_drop(scorer->groups);
    if (scorer->reach) {
        length_sort_drop(scorer->reach);
    }
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
