/* postprocess.h: the network's output -> picture or classes, as spec.scorer.onnx.postprocess says.
 * PURE but for reading the labels once. */
#pragma once

#include "agent/engine/tensor.h"
#include "agent/score/worker/preprocess.h"

enum postprocess_type { POSTPROCESS_IMAGE, POSTPROCESS_CLASSES };

enum { POSTPROCESS_LABELS_MAX = 1 << 20, POSTPROCESS_LABEL_BYTES_MAX = 16 << 20 };

struct postprocess {
    enum postprocess_type type;
    enum range range; /* Image: Byte, Unit or Signed */
    bool is_bgr;
    int top;          /* Classes: how many are written */
    char *label_text; /* owned; the labels point into it; NULL: they are the session's */
    char **labels;    /* owned; NULL: none were given */
    size_t label_count;
};

/* Fails with INVALID (a field) or with what became of the labels' file. */
NODISCARD int postprocess_read(const json_t *spec, struct postprocess *ret_postprocess,
                               struct error *err);
/* Where the spec gives no labels, the names that the model itself has for its classes. */
struct session;
void postprocess_name(struct postprocess *postprocess, const struct session *session);
void postprocess_release(struct postprocess *postprocess);

/* Whether an output of this type and shape can be used for `items` items. */
NODISCARD int postprocess_check(const struct postprocess *postprocess, const struct tensor *output,
                                int64_t items, struct error *err);

/* Item `index` of the output [n, 3, h, w] without the padding (in proportion when the network's
 * output has another size than its input). *ret_picture is the caller's to release. */
NODISCARD int postprocess_picture(const struct postprocess *postprocess,
                                  const struct tensor *output, int64_t index,
                                  const struct preprocess_size *size, struct picture *ret_picture,
                                  struct error *err);

/* The same of an output that a device has made bytes of: uint8 [n, h, w, 3], by the numbers of
 * postprocess_to_bytes. bad: int32 [n, h], as ToBytes has it (engine/ops/bytes.h). */
NODISCARD int postprocess_bytes(const struct tensor *output, const struct tensor *bad,
                                int64_t index, const struct preprocess_size *size,
                                struct picture *ret_picture, struct error *err);
struct bytes postprocess_to_bytes(const struct postprocess *postprocess);

/* {"file": name, "classes": [{"index": 281, "label": "tabby", "score": 0.87}, ...]} of item `index`
 * of the output [n, c, ...1]: the `top` highest scores, as the network gives them. Owned. */
json_t *postprocess_classes(const struct postprocess *postprocess, const struct tensor *output,
                            int64_t index, const char *name);
