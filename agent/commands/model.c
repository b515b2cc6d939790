// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model.h"

#include "agent/engine/model.h"
#include "agent/engine/session.h"
#include "lib/file.h"
#include "lib/options.h"
#include "lib/text/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int (*main)(int argc, char **argv, struct error *err);
    const char *about;
} words[] = {
    {"check", model_check,
     "prints a model's inputs, outputs and operators, and whether it is supported"},
    {"run", model_run, "runs a model once on TensorProto files"},
    {"test", model_test, "runs ONNX test folders and compares the outputs"},
    {"bench", model_bench, "times a model"},
    {"profile", model_profile, "shows where a model's time goes, operator by operator"},
    {"gradients", model_gradients,
     "computes the loss on some samples and its gradient for every weight"},
    {"new", model_new_command, "makes an untrained network"},
};

static void print_usage(FILE *to) {
    fprintf(to, "Usage: windlass-agent model check|run|test|bench|profile|gradients|new ...\n\n");
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        fprintf(to, "  %-10s %s\n", words[i].name, words[i].about);
    }
    fprintf(to, "\n`windlass-agent model WORD --help` shows the options of each.\n");
}

int model_command(int argc, char **argv) {
    struct error err = {0};
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        print_usage(stdout);
        return 0;
    }
    for (size_t i = 0; argc > 1 && i < ARRAY_LEN(words); i++) {
        if (strcmp(argv[1], words[i].name) == 0) {
            int code = words[i].main(argc - 1, argv + 1, &err);
            if (code < 0) {
                fprintf(stderr, "windlass-agent model: %s\n", err.text);
                return error_exit_code(&err);
            }
            return code;
        }
    }
    if (argc > 1) {
        fprintf(stderr,
                "windlass-agent model: %s: unknown, expected check, run, test, bench, profile, "
                "gradients or new\n",
                argv[1]);
    } else {
        print_usage(stderr);
    }
    return 2;
}

static void print_values(const struct graph *graph, const char *what, const int *values,
                         size_t count, bool has_types) {
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &graph->values[values[i]];
        char text[128];
        AUTO(text_freep) char *name = x_strdup(value->name);
        utf8_make_line(name);
        shape_format(&value->shape, text);
        printf("%-10s %s", what, name);
        if (has_types) {
            printf("  %s %s", value->is_text ? "texts" : tensor_type_name(value->type),
                   value->has_shape ? text : "any shape");
        }
        printf("\n");
    }
}

static int by_name(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static void print_operators(const struct graph *graph) {
    const char **names = x_calloc(graph->node_count + 1, sizeof *names);
    for (size_t i = 0; i < graph->node_count; i++) {
        names[i] = graph->nodes[i].op->name;
    }
    qsort(names, graph->node_count, sizeof *names, by_name);
    printf("operators ");
    for (size_t i = 0, count = 0; i < graph->node_count; i++) {
        count++;
        if (i + 1 == graph->node_count || strcmp(names[i], names[i + 1]) != 0) {
            printf(" %s x%zu", names[i], count);
            count = 0;
        }
    }
    printf("\n");
    free(names);
}

int model_check(int argc, char **argv, struct error *err) {
    static const struct option options[] = {{.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model check MODEL.onnx",
        .about = "Prints a model's opset, inputs, outputs, operators and number of parameters.\n"
                 "Exit code 0: supported; else the line says what is missing.",
        .examples = "windlass-agent model check examples/style-transfer/data/model/starry.onnx",
        .words_min = 1,
        .words_max = 1};
    struct option_list list = {0};
    int read = options_read(argc, argv, &help, options, &list, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    AUTO(model_freep) struct model *model = NULL;
    if (model_open(list.values[0], &model, err) < 0) {
        return -1;
    }
    const struct graph *graph = &model->graph;
    printf("opset      %d", model->opset);
    if (model->ml_version) {
        printf(", ai.onnx.ml %d", model->ml_version);
    }
    printf("%s%s\n", *model->producer ? ", written by " : "", model->producer);
    print_values(graph, "input", graph->inputs, graph->input_count, true);
    print_values(graph, "output", graph->outputs, graph->output_count, false);
    if (*model->note) {
        printf("note       %s\n", model->note);
    }
    printf("nodes      %zu\n", graph->node_count);
    print_operators(graph);
    printf("parameters %lld\nsupported\n", (long long)model->parameter_count);
    return 0;
}

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

char *model_file_name(const char *name) {
    char *text = x_printf("%s.pb", name);
    for (char *at = text; *at; at++) {
        bool fine = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                    (*at >= '0' && *at <= '9') || strchr("-_.", *at);
        *at = fine && !(at == text && *at == '.') ? *at : '_';
    }
    return text;
}

static int save_outputs(const struct session *session, const char *folder,
                        const struct tensor *outputs, struct error *err) {
    if (file_make_folders(folder, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < session_output_count(session); i++) {
        AUTO(text_freep) char *name = model_file_name(session_output(session, i));
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

int model_run(int argc, char **argv, struct error *err) {
    struct option_list pairs = {0}, list = {0};
    const char *folder = ".", *device = "cpu";
    int64_t threads = 0;
    const struct option options[] = {
        {"input", 'i', OPTION_LIST, "NAME=FILE.pb", "a TensorProto file for an input", &pairs},
        {"output-dir", 'o', OPTION_TEXT, "DIR",
         "the folder for NAME.pb of each output (default: here)", &folder},
        {"device", 0, OPTION_TEXT, "NAME", "cpu (default), reference or, where built in, cuda",
         &device},
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
    const struct session_options session_options = {.threads = (int)threads, .device = device};
    if (session_open(list.values[0], &session_options, &session, err) < 0) {
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
