/* model.h: windlass-agent model check|run|test|bench|profile|gradients|new: looking at, running,
 * timing and making ONNX files. */
#pragma once

#include "lib/error.h"

int model_command(int argc, char **argv);

/* Each in a file of its own or in model.c; argv[0] is the word itself. They return the
 * exit code, or -1 with *err set. */
int model_check(int argc, char **argv, struct error *err);
int model_run(int argc, char **argv, struct error *err);
int model_test(int argc, char **argv, struct error *err);
int model_bench(int argc, char **argv, struct error *err);
int model_profile(int argc, char **argv, struct error *err);
int model_gradients(int argc, char **argv, struct error *err);
int model_new_command(int argc, char **argv, struct error *err);

/* A value's name as a file's, with .pb: letters, digits and -_. stay, the rest become _. */
char *model_file_name(const char *name);
