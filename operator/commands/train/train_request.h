/* train_request.h: the options of `windlass train`, and the manifest that they and the files make.
 */
#pragma once

#include "lib/options.h"
#include "operator/kinds/kinds.h"

/* A number that was not given. */

struct train_request {
    const char *output, *label, *columns, *shape, *name, *save, *state, *optimizer, *rate;
    int64_t classes, epochs, batch, workers;
    struct option_list test, sets;
    bool restarts;
};

/* Before the options are read. */
void train_request_init(struct train_request *request);
/* After it: a number that was not given is 0 then. INVALID: one that is below 1. */
NODISCARD int train_request_check(struct train_request *request, struct error *err);
/* The options that name a training where a manifest does. INVALID: there is one of them. */
NODISCARD int train_request_without(const struct train_request *request, const char *manifest,
                                    struct error *err);

/* Rows for an option table. */
#define TRAIN_ROWS(to)                                                                             \
    {"output", 'o', OPTION_TEXT, "DIR", "The folder of model.onnx.", &(to)->output},               \
        {"test",                                                                                   \
         0,                                                                                        \
         OPTION_LIST,                                                                              \
         "DATA",                                                                                   \
         "Test data in the form of DATA; twice for samples and labels. Default: what DATA has "    \
         "beside it.",                                                                             \
         &(to)->test},                                                                             \
        {"label", 0, OPTION_TEXT, "COLUMN", "Tables: the column of the class.", &(to)->label},     \
        {"columns",                                                                                \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "A,B,...",                                                                                \
         "Tables: the columns of a sample (default: all others).",                                 \
         &(to)->columns},                                                                          \
        {"classes",     0, OPTION_INTEGER, "N", "A new network: the number of classes.",           \
         &(to)->classes},                                                                          \
        {"shape",                                                                                  \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "C,H,W",                                                                                  \
         "A new network: channels, height, width of a sample.",                                    \
         &(to)->shape},                                                                            \
        {"epochs", 'e', OPTION_INTEGER, "N", "Passes over the data (default: 5).", &(to)->epochs}, \
        {"batch", 'b', OPTION_INTEGER, "N", "Samples of a step (default: 64).", &(to)->batch},     \
        {"optimizer",                                                                              \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "KIND",                                                                                   \
         "SGD, Adam, AdamW, LAMB, LARS, RMSprop or Adagrad (default: AdamW).",                     \
         &(to)->optimizer},                                                                        \
        {"rate",                                                                                   \
         0,                                                                                        \
         OPTION_TEXT,                                                                              \
         "NUMBER",                                                                                 \
         "The learning rate (default: 0.001; of a model's file 0.0001).",                          \
         &(to)->rate},                                                                             \
        {"set",                                                                                    \
         0,                                                                                        \
         OPTION_LIST,                                                                              \
         "FIELD=VALUE",                                                                            \
         "Any field of the spec, such as trainer.precision=BF16; may be repeated.",                \
         &(to)->sets},                                                                             \
        {"save",     0, OPTION_TEXT, "FILE", "Write the manifest (- prints it), and run nothing.", \
         &(to)->save},                                                                             \
        {"name", 0, OPTION_TEXT, "NAME", "The job's name (default: the output's).", &(to)->name},  \
        {"workers", 'w', OPTION_INTEGER, "N", "Worker processes (default: 1).", &(to)->workers},   \
        {"state", 0, OPTION_TEXT, "DIR", "As in windlass run.", &(to)->state}, {                   \
        "restart", 0, OPTION_FLAG, NULL, "As in windlass run.", &(to)->restarts                    \
    }

/* After the check. words: NETWORK DATA [LABELS]. ret_made: to be released. INVALID: what lacks, and
 * the option that gives it. */
NODISCARD int train_request_make(const struct train_request *request,
                                 const struct option_list *words, struct kind_scored *ret_made,
                                 struct error *err);
/* The text of what was made, after the checks of a manifest; owned. */
NODISCARD int train_request_text(const struct kind_scored *made, char **ret_text,
                                 struct error *err);
