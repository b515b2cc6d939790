/* value_file.h: the names of the files that `model run` and `model gradients` write, one per value
 * of a network. */
#pragma once

/* The name of a value's file, which the caller frees: its letters, digits and -_. and ".pb"; other
 * characters become _. */
char *value_file_name(const char *name);
