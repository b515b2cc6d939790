// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/model.h"

#include "agent/commands/model_facts.h"
#include "agent/commands/model_manifest.h"
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
    {"check", model_check_command,
     "prints a model's inputs, outputs and operators, and whether it is supported"},
    {"run", model_run_command, "runs a model once on TensorProto files"},
    {"test", model_test_command, "runs ONNX test folders and compares the outputs"},
    {"bench", model_bench_command, "times a model"},
    {"profile", model_profile_command, "shows where a model's time goes, operator by operator"},
    {"gradients", model_gradients_command,
     "computes the loss on some samples and its gradient for every weight"},
    {"new", model_new_command, "makes an untrained network"},
    {"tokenize", model_tokenize_command, "shows what a tokenizer.json makes of texts"},
};

static void print_usage(FILE *to) {
    fprintf(to, "Usage: windlass-agent model "
                "check|run|test|bench|profile|gradients|new|tokenize ...\n\n");
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
                "gradients, new or tokenize\n",
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
            printf("  %s %s", value->is_string ? "strings" : tensor_type_name(value->type),
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
        names[i] = graph_operator(graph, i);
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

static int print_facts(struct session *session) {
    AUTO(tree_freep) json_t *facts = model_facts(session);
    AUTO(text_freep) char *text = json_dumps(facts, JSON_COMPACT);
    printf("%s\n", text);
    return 0;
}

static void print_model(const struct model *model) {
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
}

int model_check_command(int argc, char **argv, struct error *err) {
    bool is_json = false;
    const struct option options[] = {
        {"json", 0, OPTION_FLAG, NULL,
         "Print what it takes and gives as a line of JSON, for programs.", &is_json},
        {0},
    };
    static const struct command_help help = {
        .usage = "windlass-agent model check MODEL.onnx [--json]",
        .about = "Prints a model's opset, inputs, outputs, operators and number of parameters,\n"
                 "and the lines of a manifest that would feed it and deliver its outputs.\n"
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
    AUTO(session_freep) struct session *session = NULL;
    if (session_open(list.values[0], NULL, &session, err) < 0) {
        return -1;
    }
    if (session_check(session, err) < 0) {
        return error_context(err, "model %s", list.values[0]);
    }
    if (is_json) {
        return print_facts(session);
    }
    print_model(model);
    model_manifest_print(session, list.values[0]);
    return 0;
}
