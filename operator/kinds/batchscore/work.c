// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/batchscore/work.h"

#include "operator/kinds/batchscore/code.h"
#include "operator/object.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* appendRowFileName by output.format. */
static const struct {
    const char *format, *name;
} rows_names[] = {{"", "rows.txt"},    {"JSONLines", "rows.jsonl"},
                  {"CSV", "rows.csv"}, {"Parquet", "rows.parquet"},
                  {"Npy", "rows.npy"}, {"COCO", "rows.json"}};
/* Requests to a model server are committed one by one: each may have been paid for. */
enum { MINI_BATCH_ITEMS = 10, MINI_BATCH_BYTES = 1 << 20, ONE_ROW = 0 };

const char *const batchscore_output_modes[] = {"PerFile", "AppendRow", "SummaryOnly"};
static_assert(ARRAY_LEN(batchscore_output_modes) == OUTPUT_MODE_COUNT, "one name per mode");

/* "10MB" -> 10485760; the schema limits the digits. */
static int64_t bytes_of(const char *text) {
    static const char units[] = "KMG";
    char *end;
    int64_t number = strtol(text, &end, 10);
    const char *unit = *end ? strchr(units, *end) : NULL;
    return unit ? number << (10 * (unit - units + 1)) : number;
}

static void put_size(json_t *work, const json_t *spec) {
    const json_t *size = json_object_get(spec, "miniBatchSize");
    const char *text = json_string_value(size);
    bool is_alone = tree_get(spec, "scorer.endpoint");
    if (tree_get(spec, "input.table.partitionKeys")) {
        return;
    }
    /* How long a text takes differs a thousandfold from network to network. */
    bool is_text =
        !size && tree_get(spec, "scorer.onnx.tokenizer") && tree_get(spec, "input.table");
    if (is_text || (text && strcmp(text, "auto") == 0)) {
        json_object_set_new(work, "miniBatchSize", json_string("auto"));
    } else if (tree_get(spec, "input.table")) {
        json_object_set_new(work, "miniBatchBytes",
                            json_integer(text       ? bytes_of(text)
                                         : is_alone ? ONE_ROW
                                                    : MINI_BATCH_BYTES));
    } else { /* "8" and 8 are equal */
        int64_t items = text       ? strtol(text, NULL, 10)
                        : size     ? json_integer_value(size)
                        : is_alone ? 1
                                   : MINI_BATCH_ITEMS;
        json_object_set_new(work, "miniBatchSize", json_integer(MAX(MIN(items, 100000), 1)));
    }
}

/* Lines of OpenAI's output file, as the agent makes them (agent/score/endpoint/form.h). */
static bool has_batch_lines(const json_t *spec) {
    return tree_get(spec, "scorer.endpoint") && !tree_get(spec, "scorer.endpoint.request") &&
           !tree_get(spec, "scorer.endpoint.response.select") && !tree_get(spec, "output.format");
}

static const char *rows_name(const json_t *output) {
    const char *format = tree_text(output, "format", "");
    for (size_t i = 0; i < ARRAY_LEN(rows_names); i++) {
        if (strcmp(rows_names[i].format, format) == 0) {
            return rows_names[i].name;
        }
    }
    return rows_names[0].name;
}

static json_t *output_of(const json_t *spec) {
    json_t *output = json_deep_copy(json_object_get(spec, "output"));
    enum output_mode mode = batchscore_mode(spec);
    json_object_set_new(output, "mode", json_string(batchscore_output_modes[mode]));
    if (mode == OUTPUT_APPEND_ROW && !json_object_get(output, "appendRowFileName")) {
        json_object_set_new(
            output, "appendRowFileName",
            json_string(has_batch_lines(spec) ? "output.jsonl" : rows_name(output)));
    }
    return output;
}

json_t *batchscore_work(const json_t *spec) {
    static const char *const copied[] = {
        "input", "scorer",  "retry", "errorThreshold", "miniBatchErrorThreshold",
        "logs",  "trigger", NULL};
    json_t *work = json_object();
    object_copy(work, spec, copied);
    json_object_set_new(work, "output", output_of(spec));
    put_size(work, spec);
    json_t *code = batchscore_code(spec);
    if (code) {
        json_object_set_new(work, "code", code);
    }
    return work;
}

/* ---- RUN ---- */

/* Whether the volume has inputs or outputs of the results. */
static bool is_named(const struct batchscore_spec *spec, const struct volume *volume) {
    static const char *const parts[] = {"input.", "scorer.", "output."};
    for (const char *const *field = batchscore_path_fields; *field; field++) {
        const char *path = tree_text(spec->job.json, *field, NULL);
        for (size_t i = 0; path && i < ARRAY_LEN(parts); i++) {
            const json_t *place =
                text_starts(*field, parts[i]) ? job_place(spec->job.json, path) : NULL;
            if (place && strcmp(tree_text(place, "name", ""), volume->name) == 0) {
                return true;
            }
        }
    }
    AUTO(text_freep) char *reference = x_printf("$(%s)", volume->name);
    return tree_mentions(spec->command, reference) ||
           tree_mentions(tree_get(spec->job.json, "scorer.endpoint.server"), reference);
}

/* Fields that came after jobs of 0.1.0 had begun, and change no result. */
static void drop_newer_fields(json_t *endpoint) {
    json_t *cost = json_object_get(endpoint, "cost");
    json_object_del(endpoint, "clientCertificate");
    if (json_object_del(cost, "perGpuHour") == 0 && json_object_size(cost) == 0) {
        json_object_del(endpoint, "cost");
    }
}

void batchscore_work_run(const struct batchscore_spec *spec, const json_t *folders,
                         char ret_run[static 17]) {
    static const char *const copied[] = {"input", "output", NULL};
    AUTO(tree_freep) json_t *scorer = json_deep_copy(json_object_get(spec->work, "scorer"));
    json_t *command = json_object_get(scorer, "command");
    json_object_del(command, "processesPerWorker");
    json_object_del(command, "initTimeoutSeconds");
    json_t *server = tree_get(scorer, "endpoint.server");
    json_object_del(server, "port");
    json_object_del(server, "readyPath");
    json_object_del(server, "resources");
    drop_newer_fields(json_object_get(scorer, "endpoint"));
    if (strcmp(tree_text(scorer, "onnx.precision", ""), "FP32") == 0) {
        json_object_del(json_object_get(scorer, "onnx"), "precision"); /* FP32 is the default */
    }
    AUTO(tree_freep) json_t *what = json_pack("{s:O?, s:{}}", "scorer", scorer, "volumes");
    object_copy(what, spec->work, copied);
    for (size_t i = 0; i < spec->job.volume_count; i++) {
        const struct volume *volume = &spec->job.volumes[i];
        if (is_named(spec, volume)) {
            json_object_set_new(json_object_get(what, "volumes"), volume->name,
                                job_volume_identity(&spec->job, volume, folders));
        }
    }
    job_add_endpoints(spec->job.buckets, what);
    job_run(what, ret_run);
}
