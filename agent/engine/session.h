/* session.h: a loaded network that can be run repeatedly: the interface of the engine for scorers.
 * One session is used by one thread at a time; it may use several threads inside. */
#pragma once

#include "agent/engine/tensor.h"

struct session;

struct session_options {
    int threads;        /* 0: WINDLASS_THREADS, else as many as this process may run on */
    const char *device; /* "cpu" (NULL too), "cuda", "cuda:bfloat16": engine/device.h */
    /* Not NULL: input 0 is pictures as bytes (struct bytes). bytes_out: see session_gives_bytes. */
    const struct bytes *bytes_in, *bytes_out;
    bool *ret_is_device; /* may be NULL; set to true if session_open fails because of the device,
                            not of the model */
};

/* Reads and checks the model, folds and fuses, prepares kernels. Fails with ERROR_INVALID (not a
 * sound ONNX file) or ERROR_UNSUPPORTED, which names every missing operator. The model's path is in
 * the message. */
NODISCARD int session_open(const char *model_path, const struct session_options *options,
                           struct session **ret_session, struct error *err);
void session_free(struct session *session);
void session_freep(struct session **session);

size_t session_input_count(const struct session *session);
size_t session_output_count(const struct session *session);
/* Inputs as the model declares them, also if input 0 is bytes. Names are borrowed; dims of -1 may
 * have any size and may differ from run to run. */
const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape);
const char *session_output(const struct session *session, size_t index);
/* The texts that the int64 elements of a text input stand for; NULL: the input takes numbers. */
struct texts;
const struct texts *session_input_texts(const struct session *session, size_t index);
/* The number of a text; -1: the model does not have it. */
int64_t session_text_number(const struct texts *texts, const char *bytes, size_t size);
/* The class names of the columns of scores, from the first output that has such names: *ret_count
 * of them, to be freed with session_classes_free. NULL: the model has none, or they are 0, 1, 2,
 * ... */
char **session_classes(const struct session *session, size_t *ret_count);
void session_classes_free(char **classes, size_t count);

/* What the model's file contains but the engine leaves out (model.h), for people; "": nothing. */
const char *session_note(const struct session *session);

/* Whether output 0 is bytes and the last output says where they are invalid: true for a network
 * with one output that was opened with bytes_out. */
bool session_gives_bytes(const struct session *session);

/* A thread other than session_open's must call this before any function except those above. */
NODISCARD int session_enter(struct session *session, struct error *err);

/* Runs the network. inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled
 * with tensors whose data belongs to the session and stays valid until its next run or its end. A
 * new combination of input shapes needs a new plan (slower once). EXHAUSTED: the device's memory is
 * too small, even after everything that earlier runs left there was freed. Then only the session's
 * weights are still on the device; a run with fewer items may fit. */
NODISCARD int session_run(struct session *session, const struct tensor *inputs,
                          struct tensor *outputs, struct error *err);

/* session_run in two parts, so that copies overlap with the steps and the caller can do other work.
 * Up to session_depth runs are submitted before the oldest is collected. Inputs must not change
 * until then; those in session_host_memory are copied faster. Outputs stay valid until the next
 * submit. A failed submit has no effect. EXHAUSTED: as for session_run, but the memory of other
 * submitted runs is kept, so collect these and try again. Do not call session_run while runs are
 * submitted. */
int session_depth(const struct session *session);
NODISCARD int session_submit(struct session *session, const struct tensor *inputs,
                             struct error *err);
NODISCARD int session_collect(struct session *session, struct tensor *outputs, struct error *err);
NODISCARD int session_host_memory(struct session *session, size_t size, void **ret_memory,
                                  struct error *err);
void session_host_free(struct session *session, void *memory);

/* Floating-point operations of the convolutions and matrix products, for the shapes of the last
 * run. */
double session_flops(const struct session *session);
