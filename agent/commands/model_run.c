// SPDX-License-Identifier: Apache-2.0
/* `model run`: one run of a model; inputs and outputs are TensorProto files. */
#include "agent/commands/model.h"
#include "agent/commands/model_device.h"
#include "agent/commands/value_file.h"

#include "agent/engine/model.h"
#include "agent/engine/session.h"
#include "lib/file.h"
#include "lib/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The value in "NAME=value" if NAME is this name, else NULL. */
static const char *value_for(const char *pair, const char *name) {
    size_t length = strlen(name);
    return strncmp(pair, name, length) == 0 && pair[length] == '=' ? pair + length + 1 : NULL;
}

static int load_inputs(const struct session *session, const struct option_list *pairs,
                       struct tensor *inputs, struct error *err) {
    size_t count = session_input_count(session);
    if (pairs->count != count) {
        return error_set(err, ERROR_INVALID, "the model has %zu inputs, --input is given %zu times",
                         count, pairs->count);
    }
    for (size_t i = 0; i < count; i++) {
        enum tensor_type type;
        struct shape shape;
        const char *name = session_input(session, i, &type, &shape), *path = NULL;
        for (size_t k = 0; k < pairs->count && !path; k++) {
            path = value_for(pairs->values[k], name);
        }
        if (!path) {
            return error_set(err, ERROR_INVALID, "--input %s=FILE.pb is missing", name);
        }
        if (tensor_proto_load(path, &inputs[i], err) < 0) {
            return -1;
        }
    }
    return 0;
}

static int save_outputs(const struct session *session, const char *folder,
                        const struct tensor *outputs, struct error *err) {
    if (file_make_folders(folder, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < session_output_count(session); i++) {
        AUTO(text_freep) char *name = value_file_name(session_output(session, i));
        AUTO(text_freep) char *path = file_join(folder, name);
        char shape[128];
        if (tensor_proto_save(path, session_output(session, i), &outputs[i], err) < 0) {
            return -1;
        }
        shape_format(&outputs[i].shape, shape);
        printf("%s  %s %s\n", path, tensor_type_name(outputs[i].type), shape);
    }
    return 0;
}

int model_run_command(int argc, char **argv, struct error *err) {
    struct option_list pairs = {0}, list = {0};
    struct model_device device = MODEL_DEVICE_DEFAULT;
    const char *folder = ".";
    int64_t threads = 0;
    const struct option options[] = {
        {"input", 'i', OPTION_LIST, "NAME=FILE.pb", "A TensorProto file for an input.", &pairs},
        {"output-dir", 'o', OPTION_TEXT, "DIR",
         "The folder for NAME.pb of each output (default: here).", &folder},
        MODEL_DEVICE_OPTIONS(&device),
        {"threads", 't', OPTION_INTEGER, "N", "CPU threads (default: all)", &threads},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model run MODEL.onnx --input NAME=FILE.pb ... --output-dir DIR",
        .about = "Runs a model once. Inputs and outputs are TensorProto files.",
        .examples = "windlass-agent model run style.onnx -i input=frame.pb -o out",
        .words_min = 1,
        .words_max = 1};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    AUTO(session_freep) struct session *session = NULL;
    if (model_device_open(&device, list.values[0], threads, &session, err) < 0) {
        return -1;
    }
    size_t count = session_input_count(session);
    struct tensor *inputs = x_calloc(count + 1, sizeof *inputs);
    struct tensor *outputs = x_calloc(session_output_count(session) + 1, sizeof *outputs);
    int result = load_inputs(session, &pairs, inputs, err);
    result = result < 0 ? -1 : session_run(session, inputs, outputs, err);
    result = result < 0 ? -1 : save_outputs(session, folder, outputs, err);
    for (size_t i = 0; i < count; i++) {
        tensor_release(&inputs[i]);
    }
    free(inputs);
    free(outputs);
    return result;
}
