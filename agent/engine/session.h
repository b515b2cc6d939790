/* session.h: a loaded network, ready to run again and again: the engine's face to scorers.
 * One session is used by one thread at a time; it may use several threads inside. */
#pragma once

#include "agent/engine/tensor.h"

struct session;

struct session_options {
    int threads;        /* 0: WINDLASS_THREADS, else as many as this process may run on */
    const char *device; /* "cpu" (NULL too), "cuda", "cuda:bfloat16": engine/device.h */
    /* Not NULL: input 0 is pictures of bytes (struct bytes). bytes_out: session_gives_bytes.
     */
    const struct bytes *bytes_in, *bytes_out;
    bool *ret_is_device; /* not NULL: set where session_open fails for the device, not the model */
};

/* Reads and checks the model, folds and fuses, prepares kernels. Fails with ERROR_INVALID (not a
 * sound ONNX file) or ERROR_UNSUPPORTED naming every operator that is missing. The model's path is
 * in the message. */
NODISCARD int session_open(const char *model_path, const struct session_options *options,
                           struct session **ret_session, struct error *err);
void session_free(struct session *session);
void session_freep(struct session **session);

size_t session_input_count(const struct session *session);
size_t session_output_count(const struct session *session);
/* As the model has them, also where input 0 is bytes. Borrowed names; dims of -1 may have any size
 * and may differ from run to run. */
const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape);
const char *session_output(const struct session *session, size_t index);
/* What the numbers (int64) of an input of texts mean; NULL: it takes numbers as they are. */
struct texts;
const struct texts *session_input_texts(const struct session *session, size_t index);
/* The number of a text; -1: the model does not know it. */
int64_t session_text_number(const struct texts *texts, const char *bytes, size_t size);
/* The names of the classes that an output's columns are the scores of, of the first output that has
 * some: *ret_count, heap, for session_classes_free. NULL: the model has none, or 0, 1, 2, ... */
char **session_classes(const struct session *session, size_t *ret_count);
void session_classes_free(char **classes, size_t count);

/* What the model's file has and is left out (model.h), for people; "" nothing. */
const char *session_note(const struct session *session);

/* Output 0 is bytes, and the last output says where they are bad: of a network of one output
 * that was opened with bytes_out. */
bool session_gives_bytes(const struct session *session);

/* Of another thread than session_open's, before anything but the questions above is called there.
 */
NODISCARD int session_enter(struct session *session, struct error *err);

/* Runs the network. inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled
 * with tensors whose data belongs to the session and stays valid until its next run or its end. A
 * new combination of input shapes plans memory anew (slower once). EXHAUSTED: the device's memory
 * does not hold it, without what earlier runs have left there, either, and but for weights nothing
 * of this session is there any more: a run of fewer items may fit. */
NODISCARD int session_run(struct session *session, const struct tensor *inputs,
                          struct tensor *outputs, struct error *err);

/* The same in two parts, so that copies go beside the steps, and the caller does something else
 * meanwhile: up to session_depth runs are submitted before the oldest is collected. Inputs must
 * stay as they are until then; of session_host_memory they are copied faster. outputs stay valid
 * until the next submit. A failed submit has begun
 * nothing; EXHAUSTED: as for session_run, but what other runs need is still there, so collect these
 * and try again. Not to be mixed with session_run while something is submitted. */
int session_depth(const struct session *session);
NODISCARD int session_submit(struct session *session, const struct tensor *inputs,
                             struct error *err);
NODISCARD int session_collect(struct session *session, struct tensor *outputs, struct error *err);
NODISCARD int session_host_memory(struct session *session, size_t size, void **ret_memory,
                                  struct error *err);
void session_host_free(struct session *session, void *memory);

/* The convolutions' and matrix products' floating-point operations of the last run's shapes. */
double session_flops(const struct session *session);
