/* answer.h: what becomes of an answer: a row of the output, and the cost that it states. Pure. */
#pragma once

#include "lib/buffer.h"

struct answer_usage {
    int64_t in, cached, out; /* tokens */
    bool is_cut;             /* it ends at a limit of tokens, not where the model would end it */
};

/* Tokens: of OpenAI's (prompt_tokens, completion_tokens, prompt_tokens_details.cached_tokens; of
 * responses input_tokens, output_tokens, input_tokens_details.cached_tokens) and of llama.cpp's own
 * API (tokens_evaluated, tokens_predicted, tokens_cached). is_cut: of OpenAI's (finish_reason
 * "length"; of responses status "incomplete"), Anthropic's, Ollama's and llama.cpp's. body: valid
 * JSON. Zeros: it says nothing. */
struct answer_usage answer_usage_of(const char *body, size_t size);

/* Appends a line of OpenAI's output file, without newline: {"id":"batch_req_...","custom_id":...,
 * "response":{"status_code":200,"request_id":"","body":...},"error":null}. id: custom_id as JSON;
 * body: valid JSON. EXHAUSTED: line has no room. */
NODISCARD int answer_batch_line(struct buffer *line, const struct buffer *id, int status,
                                const char *body, size_t size, struct error *err);
/* Appends a line of OpenAI's error file, with newline. cause: one line; its first word is the code
 * if that is an HTTP status. */
NODISCARD int answer_error_line(struct buffer *line, const struct buffer *id, const char *cause,
                                size_t size, struct error *err);
