/* model.h: windlass-agent model check|run|test|bench|profile|gradients|new|tokenize: inspects,
 * runs, times and makes ONNX files, and shows what a tokenizer makes of texts. */
#pragma once

#include "lib/error.h"

int model_command(int argc, char **argv);

/* Each function is in a separate file or in model.c; argv[0] is the name of the command. They
 * return the exit code, or -1 with *err set. */
int model_check_command(int argc, char **argv, struct error *err);
int model_run_command(int argc, char **argv, struct error *err);
int model_test_command(int argc, char **argv, struct error *err);
int model_bench_command(int argc, char **argv, struct error *err);
int model_profile_command(int argc, char **argv, struct error *err);
int model_gradients_command(int argc, char **argv, struct error *err);
int model_new_command(int argc, char **argv, struct error *err);
int model_tokenize_command(int argc, char **argv, struct error *err);
