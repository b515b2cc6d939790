/* text_list.h: texts in an array that ends with NULL, such as the words of a command. */
#pragma once

#include "lib/base.h"

/* A copy, which the caller frees; of NULL an empty one. */
char **text_list_copy(char *const *texts);
void text_list_free(char **texts); /* accepts NULL */
/* Compares whole texts, with case. */
bool text_list_has(const char *const *texts, const char *text);
