/* model.h: windlass-agent model check|run|test|bench: looking at, running and timing ONNX files. */
#pragma once

#include "lib/error.h"

int model_command(int argc, char **argv);

/* The four, each in a file of its own or in model.c; argv[0] is the word itself. They return the
 * exit code, or -1 with *err set. */
int model_check(int argc, char **argv, struct error *err);
int model_run(int argc, char **argv, struct error *err);
int model_test(int argc, char **argv, struct error *err);
int model_bench(int argc, char **argv, struct error *err);
