// SPDX-License-Identifier: Apache-2.0
/* `model new`: writes a network with random weights. */
#include "agent/commands/model.h"

#include "agent/engine/model.h"
#include "lib/file.h"
#include "lib/options.h"

#include <stdio.h>
#include <stdlib.h>

/* "3x224x224" */
static int parse_sample(const char *text, int64_t shape[3], struct error *err) {
    const char *at = text;
    for (int i = 0; i < 3; i++) {
        char *end;
        shape[i] = strtoll(at, &end, 10);
        if (end == at || *end != (i < 2 ? 'x' : 0)) {
            return error_set(err, ERROR_INVALID, "--shape \"%s\": expected a shape such as 1x28x28",
                             text);
        }
        at = end + 1;
    }
    return 0;
}

static int write_graph(const struct graph *graph, const char *path, struct error *err) {
    AUTO(buffer_release) struct buffer bytes;
    struct write_options options = {.opset = NETWORKS_OPSET};
    buffer_init(&bytes, WRITE_BYTES_MAX);
    if (model_write(graph, &options, &bytes, err) < 0 ||
        file_write(path, bytes.data, bytes.size, err) < 0) {
        return -1;
    }
    int64_t parameters = 0;
    for (size_t i = 0; i < graph->value_count; i++) {
        const struct value *value = &graph->values[i];
        parameters += value->is_constant ? shape_count(&value->shape) : 0;
    }
    printf("%s  %lld numbers, %zu bytes\n", path, (long long)parameters, bytes.size);
    return 0;
}

int model_new_command(int argc, char **argv, struct error *err) {
    struct option_list words = {0};
    const char *shape = NULL, *path = NULL;
    int64_t seed = 0;
    struct network_options made = {.classes = 10};
    const struct option options[] = {
        {"output", 'o', OPTION_TEXT, "FILE.onnx", "The file to write (default: KIND.onnx).", &path},
        {"classes", 'c', OPTION_INTEGER, "N", "Number of classes (default: 10).", &made.classes},
        {"shape", 's', OPTION_TEXT, "CxHxW",
         "Shape of a sample (default: 1x28x28; for a ResNet 3x224x224).", &shape},
        {"seed", 0, OPTION_INTEGER, "N", "Seed of the random weights (default: 0).", &seed},
        {"smooth", 0, OPTION_FLAG, NULL, "For cnn and mlp: tanh, averages, no norms.",
         &made.is_smooth},
        {.name = NULL}};
    static const struct command_help help = {
        .usage = "windlass-agent model new cnn|mlp|resnet18|resnet50 [options]",
        .about = "Writes a network with random weights, opset 13: input [n, c, h, w], logits [n, "
                 "classes].",
        .examples = "windlass-agent model new resnet50 --classes 1000 -o resnet50.onnx",
        .words_min = 1,
        .words_max = 1};
    int read = options_read(argc, argv, &help, options, &words, err);
    if (read != 0) {
        return MIN(read, 0);
    }
    int kind = network_kind_find(words.values[0]);
    if (kind < 0) {
        return error_set(err, ERROR_INVALID, "%s: one of cnn, mlp, resnet18, resnet50 is expected",
                         words.values[0]);
    }
    bool is_resnet = kind == NETWORK_RESNET18 || kind == NETWORK_RESNET50;
    if (parse_sample(shape ? shape : is_resnet ? "3x224x224" : "1x28x28", made.shape, err) < 0) {
        return -1;
    }
    made.seed = (uint64_t)seed;
    AUTO(text_freep) char *usual = x_printf("%s.onnx", words.values[0]);
    struct graph graph;
    if (network_new((enum network_kind)kind, &made, &graph, err) < 0) {
        return -1;
    }
    int result = write_graph(&graph, path ? path : usual, err);
    graph_release(&graph);
    return result;
}
