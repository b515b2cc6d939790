/* postprocess.h: converts the network's output to an image, classes or values, as
 * spec.scorer.onnx.postprocess says. Pure except for reading the labels once. */
#pragma once

#include "agent/engine/tensor.h"
#include "agent/score/feed/preprocess.h"

enum postprocess_type { POSTPROCESS_IMAGE, POSTPROCESS_CLASSES, POSTPROCESS_VALUES };

enum { POSTPROCESS_LABELS_MAX = 1 << 20, POSTPROCESS_LABEL_BYTES_MAX = 16 << 20 };

struct postprocess {
    enum postprocess_type type;
    enum preprocess_range range; /* Image: Byte, Unit or Signed */
    bool is_bgr;
    int top;          /* Classes: the number of classes that are written */
    char *label_text; /* owned; the labels point into it; NULL: the labels are the session's */
    char **labels;    /* owned; NULL: none were given */
    size_t label_count;
    char label_digest[65]; /* SHA-256 of the labels' file, in hex; "": none were given */
};

/* INVALID names a field; other errors are those of reading the labels' file. */
NODISCARD int postprocess_read(const json_t *spec, struct postprocess *ret_postprocess,
                               struct error *err);
/* The type as the spec writes it. */
const char *postprocess_type_name(const struct postprocess *postprocess);
/* If the spec gives no labels: takes the names that the model has for the classes of this output.
 */
struct session;
void postprocess_name(struct postprocess *postprocess, const struct session *session,
                      size_t output);
void postprocess_release(struct postprocess *postprocess);

/* Whether an output of this type and shape can be used for `items` items; the second one says why
 * not. */
bool postprocess_fits(const struct postprocess *postprocess, const struct tensor *output,
                      int64_t items);
NODISCARD int postprocess_check(const struct postprocess *postprocess, const struct tensor *output,
                                int64_t items, struct error *err);

/* Item `index` of the output [n, 3, h, w], without the padding (scaled in proportion if the
 * network's output has another size than its input). The caller releases *ret_picture. */
NODISCARD int postprocess_picture(const struct postprocess *postprocess,
                                  const struct tensor *output, int64_t index,
                                  const struct preprocess_size *size, struct picture *ret_picture,
                                  struct error *err);

/* Like postprocess_picture, for an output that a device has converted to bytes: uint8 [n, h, w, 3],
 * with the factors of postprocess_to_bytes. bad: int32 [n, h], as defined by ToBytes
 * (engine/ops/bytes.h). */
NODISCARD int postprocess_bytes(const struct tensor *output, const struct tensor *bad,
                                int64_t index, const struct preprocess_size *size,
                                struct picture *ret_picture, struct error *err);
struct pixel_conversion postprocess_to_bytes(const struct postprocess *postprocess);

/* Item `index` of the output [n, c, ...1], as the network gave it. Classes: {"file": name,
 * "classes": [{"index": 281, "label": "tabby", "score": 0.87}, ...]}, the `top` highest scores.
 * Values, and an output with one column and without a class name (a regression): {"file": name,
 * "values": [12.7, ...]}, all columns in order. What is not a finite number is null. The caller
 * owns the result. */
json_t *postprocess_record(const struct postprocess *postprocess, const struct tensor *output,
                           int64_t index, const char *name);
