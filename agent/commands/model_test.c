// SPDX-License-Identifier: Apache-2.0
/* `model test`: runs the cases of a folder as ONNX publishes them, and compares outputs. */
#include "agent/commands/model.h"
#include "agent/commands/model_device.h"
#include "agent/engine/model.h"
#include "agent/engine/session.h"
#include "lib/file.h"
#include "lib/options.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEPTH_MAX = 8, FILES_MAX = 1024 };
static const double relative_tolerance = 1e-3, absolute_tolerance = 1e-5;
/* With another precision than FP32: factors of 8 bits are off by 2^-8 of their size, sums of such
 * products by that of the largest ones. */
static const double rounded_tolerance = 0x1p-6;

struct counts {
    const char *device;
    double share; /* of an output's largest number, which its numbers may differ by besides */
    bool lists;
    bool is_misfit; /* the input of the present case does not match what its model declares */
    int passed, failed, unsupported, misfits;
};

/* A bfloat16 may differ by one step: ONNX's files truncate them, later versions of the
 * specification round. */
static bool is_close(enum tensor_type type, double seen, double wanted, double more) {
    double relative = type == TENSOR_BFLOAT16 ? 0x1p-7 : relative_tolerance;
    return seen == wanted || (isnan(seen) && isnan(wanted)) ||
           fabs(seen - wanted) <= absolute_tolerance + relative * fabs(wanted) + more;
}

/* The largest finite number of reals; 0: there is none. */
static double largest(const struct tensor *tensor) {
    double most = 0;
    int64_t count = tensor_type_is_real(tensor->type) ? shape_count(&tensor->shape) : 0;
    for (int64_t i = 0; i < count; i++) {
        double size = fabs(tensor_number(tensor, i));
        most = isfinite(size) ? MAX(most, size) : most;
    }
    return most;
}

/* Integers and bool: equal bits. more: a difference of reals that is allowed besides. */
static bool is_same(const struct tensor *seen, const struct tensor *wanted, int64_t index,
                    double more) {
    size_t size = tensor_type_size(seen->type), at = (size_t)index * size;
    return memcmp((const char *)seen->data + at, (const char *)wanted->data + at, size) == 0 ||
           (tensor_type_is_real(seen->type) &&
            is_close(seen->type, tensor_number(seen, index), tensor_number(wanted, index), more));
}

static int compare(const char *name, const struct tensor *seen, const struct tensor *wanted,
                   double share, struct error *err) {
    char seen_shape[128], wanted_shape[128];
    shape_format(&seen->shape, seen_shape);
    shape_format(&wanted->shape, wanted_shape);
    /* ONNX's files store bfloat16 as uint16, because numpy has no such type. */
    struct tensor meant = *wanted;
    bool is_bfloat = seen->type == TENSOR_BFLOAT16 && wanted->type == TENSOR_UINT16;
    meant.type = is_bfloat ? TENSOR_BFLOAT16 : wanted->type;
    wanted = &meant;
    if (seen->type != wanted->type || !shape_equal(&seen->shape, &wanted->shape)) {
        return error_set(err, ERROR_FAILED, "output %s is %s %s, expected %s %s", name,
                         tensor_type_name(seen->type), seen_shape, tensor_type_name(wanted->type),
                         wanted_shape);
    }
    int64_t count = shape_count(&seen->shape);
    double more = share > 0 ? share * largest(wanted) : 0;
    for (int64_t i = 0; i < count; i++) {
        if (!is_same(seen, wanted, i, more)) {
            return error_set(err, ERROR_FAILED, "output %s: element %lld is %g, expected %g", name,
                             (long long)i, tensor_number(seen, i), tensor_number(wanted, i));
        }
    }
    return 0;
}

/* Reads FOLDER/input_0.pb, input_1.pb, ... and stops at the first one that is missing. */
static int load(const char *folder, const char *prefix, size_t count, struct tensor *tensors,
                struct error *err) {
    for (size_t i = 0; i < count; i++) {
        AUTO(text_freep) char *path = x_printf("%s/%s_%zu.pb", folder, prefix, i);
        if (tensor_proto_load(path, &tensors[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ONNX's files store bfloat16 as uint16. Some inputs do not match their model. */
static int fit(struct session *session, size_t count, struct tensor *inputs, struct counts *counts,
               struct error *err) {
    for (size_t i = 0; i < count; i++) {
        struct shape shape;
        enum tensor_type type;
        const char *name = session_input(session, i, &type, &shape);
        bool fits = shape.rank == inputs[i].shape.rank;
        if (type == TENSOR_BFLOAT16 && inputs[i].type == TENSOR_UINT16) {
            inputs[i].type = type;
        }
        for (int k = 0; fits && k < shape.rank; k++) {
            fits = shape.dims[k] < 0 || shape.dims[k] == inputs[i].shape.dims[k];
        }
        if (!fits && shape.rank >= 0) {
            counts->is_misfit = true;
            return error_set(err, ERROR_UNSUPPORTED,
                             "the case's input %s has another shape than its model declares", name);
        }
    }
    return 0;
}

static int run_set(struct session *session, const char *folder, struct counts *counts,
                   struct error *err) {
    size_t input_count = session_input_count(session), output_count = session_output_count(session);
    struct tensor *inputs = x_calloc(input_count + 1, sizeof *inputs);
    struct tensor *outputs = x_calloc(output_count + 1, sizeof *outputs);
    struct tensor *wanted = x_calloc(output_count + 1, sizeof *wanted);
    int result = load(folder, "input", input_count, inputs, err);
    result = result < 0 ? -1 : fit(session, input_count, inputs, counts, err);
    result = result < 0 ? -1 : load(folder, "output", output_count, wanted, err);
    result = result < 0 ? -1 : session_run(session, inputs, outputs, err);
    for (size_t i = 0; result == 0 && i < output_count; i++) {
        result = compare(session_output(session, i), &outputs[i], &wanted[i], counts->share, err);
    }
    for (size_t i = 0; i < input_count; i++) {
        tensor_release(&inputs[i]);
    }
    for (size_t i = 0; i < output_count; i++) {
        tensor_release(&wanted[i]);
    }
    free(inputs);
    free(outputs);
    free(wanted);
    return result;
}

static int run_folder(const char *folder, struct counts *counts, struct error *err) {
    AUTO(text_freep) char *model = file_join(folder, "model.onnx");
    AUTO(session_freep) struct session *session = NULL;
    const struct session_options options = {.device = counts->device};
    if (session_open(model, &options, &session, err) < 0) {
        return -1;
    }
    for (int i = 0; i < FILES_MAX; i++) {
        AUTO(text_freep) char *set = x_printf("%s/test_data_set_%d", folder, i);
        if (access(set, F_OK) != 0) {
            return i ? 0 : error_set(err, ERROR_INVALID, "%s is missing", set);
        }
        if (run_set(session, set, counts, err) < 0) {
            return -1;
        }
    }
    return 0;
}

static void count_folder(const char *folder, struct counts *counts) {
    struct error err = {0};
    const char *word = "passed";
    counts->is_misfit = false;
    if (run_folder(folder, counts, &err) == 0) {
        counts->passed++;
    } else if (counts->is_misfit) {
        counts->misfits++;
        word = "misfit";
    } else if (err.kind == ERROR_UNSUPPORTED) {
        counts->unsupported++;
        word = "unsupported";
    } else {
        counts->failed++;
        word = "failed";
    }
    if (counts->lists || strcmp(word, "failed") == 0) {
        printf("%-12s %s%s%s\n", word, folder, err.text[0] ? ": " : "", err.text);
    }
}

static int by_name(const struct dirent **left, const struct dirent **right) {
    return strcmp((*left)->d_name, (*right)->d_name);
}

static int walk(const char *folder, int depth, struct counts *counts, struct error *err) {
    AUTO(text_freep) char *model = file_join(folder, "model.onnx");
    struct dirent **entries;
    if (access(model, F_OK) == 0) {
        count_folder(folder, counts);
        return 0;
    }
    int count = scandir(folder, &entries, NULL, by_name), result = 0;
    if (count < 0) {
        return error_from_errno(err, errno, "%s", folder);
    }
    for (int i = 0; i < count; i++) {
        bool is_folder = entries[i]->d_type == DT_DIR && entries[i]->d_name[0] != '.';
        AUTO(text_freep) char *path = file_join(folder, entries[i]->d_name);
        if (result == 0 && is_folder && depth < DEPTH_MAX) {
            result = walk(path, depth + 1, counts, err);
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

int model_test_command(int argc, char **argv, struct error *err) {
    struct model_device device = MODEL_DEVICE_DEFAULT;
    struct counts counts = {.passed = 0};
    struct option_list list = {0};
    const struct option options[] = {MODEL_DEVICE_OPTIONS(&device),
                                     {"list", 'l', OPTION_FLAG, NULL,
                                      "Print a line for every test, not only failed ones.",
                                      &counts.lists},
                                     {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model test DIR ... [--list]",
        .about =
            "Runs an ONNX test folder (model.onnx, test_data_set_N/input_N.pb, output_N.pb) or\n"
            "a tree of them. The last line counts passed, failed and unsupported; exit code 1\n"
            "if any failed. Debian's package libonnx-testdata has such a tree.",
        .examples = "windlass-agent model test /usr/share/libonnx-testdata/data/node",
        .words_min = 1,
        .words_max = SIZE_MAX};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    AUTO(text_freep) char *name = model_device_name(&device, err);
    if (!name) {
        return -1;
    }
    counts.device = name;
    counts.share = strcmp(device.precision, "FP32") == 0 ? 0 : rounded_tolerance;
    for (size_t i = 0; i < list.count; i++) {
        if (walk(list.values[i], 0, &counts, err) < 0) {
            return -1;
        }
    }
    printf("%d passed, %d failed, %d unsupported", counts.passed, counts.failed,
           counts.unsupported);
    if (counts.misfits) {
        printf(", %d are not valid cases (their input does not fit their own model)",
               counts.misfits);
    }
    printf("\n");
    return counts.failed ? 1 : 0;
}
