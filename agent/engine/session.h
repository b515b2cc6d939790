/* session.h: runs an ONNX model repeatedly, for inference, and measures where its time goes.
 * Implemented in run/. One thread at a time uses a session; it may use several threads inside. */
#pragma once

#include "agent/engine/device.h"

struct session;
struct string_table;

struct session_options {
    int threads; /* 0: the environment variable WINDLASS_THREADS, else the processors that this
                    process may use */
    const char *device; /* as for device_open (device.h); NULL: "cpu" */
    /* (struct pixel_conversion: tensor.h.) For models whose input 0 is images, [n, 3, height,
     * width] float32. pixels_in: the caller gives uint8 [n, height, width, 3] instead, and the
     * device converts it; ignored for other models: see session_takes_pixels. NULL: none. */
    const struct pixel_conversion *pixels_in;
    /* With pixels_in, for models whose only output is such images: the device converts it to
     * uint8 [n, height, width, 3], and the session has two outputs: see session_returns_pixels.
     * Ignored for a model with several outputs. */
    const struct pixel_conversion *pixels_out;
    bool *ret_is_device; /* set: whether session_open failed because of the device; or NULL */
    const struct model_files *files; /* as for model_open_files; NULL: model_path is opened */
};

/* Reads the model, opens the device, prepares the network for it. options NULL: all defaults. The
 * caller owns *ret_session (session_free). ERROR_INVALID: not a valid ONNX file;
 * ERROR_UNSUPPORTED: the message names all missing operators; other errors are those of
 * device_open. Messages contain the path. */
NODISCARD int session_open(const char *model_path, const struct session_options *options,
                           struct session **ret_session, struct error *err);
/* NULL is allowed. Must be called by a thread that may use the session (session_enter). */
void session_free(struct session *session);
void session_freep(struct session **session);

/* The SHA-256, in hex, of the model's file, which this session holds open: another file that takes
 * its name meanwhile is not read. ERROR_UNAVAILABLE: it cannot be read any more, or is shorter. */
NODISCARD int session_model_digest(const struct session *session, char hex[static 65],
                                   struct error *err);

/* Looks for operators that a run would refuse, without running the model: with 1 for an input's
 * first dimension if it is free (-1), 64 for others. UNSUPPORTED: there is such an operator. 0:
 * none was found, or an input's declaration is not enough for this check. */
NODISCARD int session_check(const struct session *session, struct error *err);

/* ---- inputs and outputs --------------------------------------------------------------------- */

size_t session_input_count(const struct session *session);
size_t session_output_count(const struct session *session);
/* index, in all functions: below the count of inputs or outputs (assert). Returns the name of an
 * input, borrowed from the session. Type and shape, neither NULL, are those of the model, also with
 * pixels_in: a dimension of -1 may have any size, which may differ from run to run; without a
 * declared shape the rank is 0. */
const char *session_input(const struct session *session, size_t index, enum tensor_type *ret_type,
                          struct shape *ret_shape);
/* The name of an output, borrowed. Its type and shape are in the tensors that session_run or
 * session_collect fills in, since they depend on the inputs. */
const char *session_output(const struct session *session, size_t index);

/* True if opened with pixels_in, for a model whose only input is such images (channels 3 or -1). */
bool session_takes_pixels(const struct session *session);
/* True if session_takes_pixels, the session was opened with pixels_out, and the model's only output
 * is such images, or has no declared shape. Then output 0 is uint8 [n, height, width, 3]. Output 1
 * is int32 [n, height]: for each row, the number of pixels from the first one with a NaN to the end
 * of the row, 0 if it has no NaN. The bytes of a NaN are not specified. */
bool session_returns_pixels(const struct session *session);

/* Some models (ai.onnx.ml) have inputs of strings. The engine represents a string by an int64, its
 * index in a table of the strings that the model knows; -1 is any other string. Returns that table,
 * borrowed from the session; NULL: the input is numeric. */
const struct string_table *session_input_strings(const struct session *session, size_t index);
/* The index of a string, which need not be NUL-terminated; -1: it is not in the table. */
int64_t session_string_index(const struct string_table *strings, const char *bytes, size_t size);
/* For the output of a classifier that has the scores [n, *ret_count]: the names of the classes, one
 * per column, in that order. The caller frees them with session_classes_free. NULL: output `index`
 * has no such scores, the model has no class names, or they are the numbers 0, 1, 2, ... */
char **session_classes(const struct session *session, size_t index, size_t *ret_count);
void session_classes_free(char **classes, size_t count);

/* For users: which outputs the engine ignores (`note` in model.h); "": none. Borrowed. */
const char *session_note(const struct session *session);

/* ---- running -------------------------------------------------------------------------------- */

/* The thread that called session_open may use the session at once. Another thread calls this first,
 * before it runs the network or frees the session (a GPU is bound to a thread). */
NODISCARD int session_enter(struct session *session, struct error *err);

/* Runs the network and waits for the results. inputs: one tensor per input, in order; borrowed, not
 * changed. outputs: one tensor per output, filled in order; their data is owned by the session and
 * valid until the next session_run or session_submit. The first run with new input shapes is
 * slower, because it makes a plan for these shapes. INVALID: a type, shape or size does not fit the
 * model. EXHAUSTED: the device's memory is too small, even after all plans were freed; a smaller
 * batch may fit. UNSUPPORTED: an operator is not supported for these types or shapes, or the
 * network takes too many steps for them. UNAVAILABLE: the model's file, of which new shapes need
 * constants again, has changed. Else an error of the device. */
NODISCARD int session_run(struct session *session, const struct tensor *inputs,
                          struct tensor *outputs, struct error *err);

/* session_run in two parts, so that copies overlap with computation. Up to session_depth runs may
 * be submitted before the oldest is collected, in the order of submission; to submit more, or to
 * collect none, is a bug of the caller (assert). The inputs' data must not change until
 * session_collect has returned that run. Outputs are valid until the next session_submit. Errors as
 * session_run's. A session_submit that fails has no effect; EXHAUSTED: collect the submitted runs,
 * then try again. Do not call session_run while runs are submitted. A session_collect that fails
 * (the device failed) has removed its run from the queue, and its results are lost. */
int session_depth(const struct session *session);
NODISCARD int session_submit(struct session *session, const struct tensor *inputs,
                             struct error *err);
NODISCARD int session_collect(struct session *session, struct tensor *outputs, struct error *err);
/* Optional: host memory for inputs, from which session_submit copies faster (pinned, for a GPU).
 * The caller frees it with session_host_free before the session. */
NODISCARD int session_host_memory(struct session *session, size_t size, void **ret_memory,
                                  struct error *err);
void session_host_free(struct session *session, void *memory);

/* Operations of the last run's convolutions and matrix products; a multiply-add is two. */
double session_flops(const struct session *session);

/* ---- profile: how long each step takes ------------------------------------------------------ */

enum { SESSION_PROFILE_RUNS_MAX = 200 };

struct session_profile_step {
    /* A step is one kernel call: one node, or several that the device has fused. The operator and
     * name of its (first) node, and the name of its kernel; borrowed from the session. */
    const char *op, *name, *kernel;
    double flops; /* floating-point operations; only of convolutions and matrix products, else 0 */
    double bytes; /* read and written: each input, output and weight once, without padding */
    double ms;    /* the shortest time of all runs */
};

struct session_profile {
    struct device_peaks peaks; /* of the device, measured before the runs */
    bool has_peaks;            /* false: the device cannot measure them */
    size_t step_count, run_count;
    struct session_profile_step *steps; /* in the order in which they run */
    double run_ms;                      /* the shortest time of a whole run */
    /* Times of clock_monotonic_ns. Run r began at began_ns[r]; its step s ended at ended_ns[r *
     * step_count + s] and began when the step before it ended. */
    int64_t *began_ns, *ended_ns;
};

/* Runs the network twice without measuring it, then `runs` times (1..SESSION_PROFILE_RUNS_MAX),
 * waiting for the device after each step. inputs, errors: as session_run's; UNSUPPORTED: also a
 * network with shapes that only the run knows. The caller frees *ret_profile before the session. */
NODISCARD int session_profile_new(struct session *session, const struct tensor *inputs, size_t runs,
                                  struct session_profile **ret_profile, struct error *err);
void session_profile_free(struct session_profile *profile);
void session_profile_freep(struct session_profile **profile);
