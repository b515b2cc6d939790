/* session.h: a loaded network, ready to run again and again: the engine's face to scorers.
 * One session is used by one thread at a time; it may use several threads inside. */
#pragma once

#include "agent/graph/tensor.h"

struct session;

struct session_options {
    int threads;        /* 0: WINDLASS_THREADS, else as many as this process may run on */
    const char *device; /* "cpu" (NULL too), "cuda", "cuda:bfloat16": device/registry.h */
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
/* Borrowed names; dims of -1 may have any size and may differ from run to run. */
const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape);
const char *session_output(const struct session *session, size_t index);

/* Runs the network. inputs[i] belongs to input i (borrowed, not changed). outputs[i] are filled
 * with tensors whose data belongs to the session and stays valid until its next run or its end. A
 * new combination of input shapes plans memory anew (slower once). EXHAUSTED: the device's memory
 * does not hold it, and but for weights nothing of this session is left there: a run of fewer items
 * may fit. */
NODISCARD int session_run(struct session *session, const struct tensor *inputs,
                          struct tensor *outputs, struct error *err);

/* The convolutions' and matrix products' floating-point operations of the last run's shapes. */
double session_flops(const struct session *session);

/* For who measures (run/profile.h): session_run with a hook behind each step, and the plan of the
 * last run, with its schedule and kernels, until the next one. NULL before the first. */
struct plan;
struct plan_hook;
NODISCARD int session_run_hooked(struct session *session, const struct tensor *inputs,
                                 struct tensor *outputs, const struct plan_hook *hook,
                                 struct error *err);
const struct plan *session_plan(const struct session *session);
