/* complaint.h: what a model server says is wrong, from an answer that is an error. Pure. */
#pragma once

#include "lib/base.h"

enum { COMPLAINT_MAX = 256 };

/* secret: is masked where the answer repeats it; NULL: none. One line: "404 Not Found: the model
 * `x` does not exist". Of JSON the message of its error (OpenAI, vLLM, llama.cpp: error.message;
 * TEI: error; vLLM: message; FastAPI: detail), else the first line of the text. */
void complaint_read(int status, const char *body, size_t size, const char *secret,
                    char text[static COMPLAINT_MAX]);
/* Whether the body says that the model is not known: by code or type, with "model" in it. */
bool complaint_is_of_model(const char *body, size_t size);
