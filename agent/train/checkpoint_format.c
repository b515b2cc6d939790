// SPDX-License-Identifier: Apache-2.0
/* Little-endian, like all machines that this runs on:
 *
 *   8  "WLCKPT1\n"      4  bytes of the JSON      4  CRC-32C of the JSON
 *   JSON {"step", "generation", "seed", "digest", "tensors": [[name, crc, [dims]], ...]}, spaces to
 *   a multiple of 64; each tensor, with zeros to a multiple of 64;
 *   8  bytes of all before      4  CRC-32C of all before      4  CRC-32C of these 12 bytes */
#include "agent/train/checkpoint.h"

#include "lib/digest.h"
#include "lib/tree.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are copied byte by byte");

#define HEAD_MAGIC "WLCKPT1\n"
enum { MAGIC_BYTES = 8, FIXED_BYTES = 16, SEED_DIGITS = 16 };

static size_t up(size_t size) {
    return (size + CHECKPOINT_ALIGNMENT - 1) / CHECKPOINT_ALIGNMENT * CHECKPOINT_ALIGNMENT;
}

static size_t tensor_bytes(const struct checkpoint_tensor *tensor) {
    return (size_t)shape_count(&tensor->shape) * sizeof(float);
}

size_t checkpoint_padding(const struct checkpoint_tensor *tensor) {
    return up(tensor_bytes(tensor)) - tensor_bytes(tensor);
}

static json_t *describe(const struct checkpoint_tensor *tensor) {
    json_t *dims = json_array();
    for (int i = 0; i < tensor->shape.rank; i++) {
        json_array_append_new(dims, json_integer(tensor->shape.dims[i]));
    }
    return json_pack("[s, I, o]", tensor->name,
                     (json_int_t)digest_crc32c(0, tensor->data, tensor_bytes(tensor)), dims);
}

static int check_bytes(size_t bytes, struct error *err) {
    return bytes <= (size_t)CHECKPOINT_BYTES_MAX
               ? 0
               : error_set(err, ERROR_INVALID, "it has %zu bytes, at most %lld are supported",
                           bytes, (long long)CHECKPOINT_BYTES_MAX);
}

/* Refuses what could be written, but not be read again, before anything of it is made; *ret_bytes:
 * of the tensors. */
static int check_maxima(const struct checkpoint *checkpoint, size_t *ret_bytes, struct error *err) {
    size_t bytes = 0;
    if (checkpoint->count > CHECKPOINT_TENSORS_MAX) {
        return error_set(err, ERROR_INVALID, "it has %zu tensors, at most %d are supported",
                         checkpoint->count, CHECKPOINT_TENSORS_MAX);
    }
    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        bytes += up(tensor_bytes(tensor));
        if (strlen(tensor->name) > CHECKPOINT_NAME_MAX) {
            return error_set(err, ERROR_INVALID,
                             "the name of tensor \"%.64s\" has %zu bytes, at most %d are supported",
                             tensor->name, strlen(tensor->name), CHECKPOINT_NAME_MAX);
        }
    }
    *ret_bytes = bytes;
    if (strlen(checkpoint->digest) > CHECKPOINT_DIGEST_MAX) {
        return error_set(err, ERROR_BUG, "its digest has %zu bytes, at most %d are supported",
                         strlen(checkpoint->digest), CHECKPOINT_DIGEST_MAX);
    }
    return check_bytes(bytes, err);
}

int checkpoint_head(const struct checkpoint *checkpoint, char **ret_head, size_t *ret_size,
                    struct error *err) {
    char seed[SEED_DIGITS + 1];
    size_t rest = 0; /* of the tensors */
    if (check_maxima(checkpoint, &rest, err) < 0) {
        return -1;
    }
    snprintf(seed, sizeof seed, "%016" PRIx64, checkpoint->seed);
    json_t *tensors = json_array();
    for (size_t i = 0; i < checkpoint->count; i++) {
        json_array_append_new(tensors, describe(&checkpoint->tensors[i]));
    }
    json_t *head =
        json_pack("{s:I, s:I, s:s, s:s, s:o}", "generation", (json_int_t)checkpoint->generation,
                  "step", (json_int_t)checkpoint->step, "seed", seed, "digest", checkpoint->digest,
                  "tensors", tensors);
    AUTO(text_freep) char *text = head ? json_dumps(head, JSON_COMPACT) : NULL;
    json_decref(head);
    size_t size = text ? strlen(text) : 0;
    if (!text || size > CHECKPOINT_HEAD_MAX) {
        return error_set(err, ERROR_INVALID, "its names are not UTF-8, or too long");
    }
    uint32_t words[2] = {(uint32_t)size, digest_crc32c(0, text, size)};
    size_t all = up(FIXED_BYTES + size);
    if (check_bytes(all + rest + CHECKPOINT_TAIL_BYTES, err) < 0) {
        return -1;
    }
    char *bytes = x_malloc(all);
    memset(bytes, ' ', all);
    memcpy(bytes, HEAD_MAGIC, MAGIC_BYTES);
    memcpy(bytes + MAGIC_BYTES, words, sizeof words);
    memcpy(bytes + FIXED_BYTES, text, size);
    *ret_head = bytes;
    *ret_size = all;
    return 0;
}

/* The tail: the number of bytes before it, their checksum, and the checksum of these 12 bytes. */
void checkpoint_tail(uint32_t crc, int64_t size, char tail[static CHECKPOINT_TAIL_BYTES]) {
    memcpy(tail, &size, sizeof size);
    memcpy(tail + 8, &crc, sizeof crc);
    uint32_t own = digest_crc32c(0, tail, 12);
    memcpy(tail + 12, &own, sizeof own);
}

/* ---- reading -------------------------------------------------------------------------------- */

void checkpoint_release(struct checkpoint_loaded *loaded) {
    free(loaded->bytes);
    free(loaded->tensors);
    free(loaded->text);
    *loaded = (struct checkpoint_loaded){0};
}

static int refuse(struct error *err, const char *what) {
    return error_set(err, ERROR_INVALID, "%s", what);
}

struct reading {
    char *bytes;
    size_t size; /* without the tail */
    size_t at;   /* of the next tensor */
    char *text;  /* room for all names and the digest */
    size_t text_used;
};

static const char *copy_text(struct reading *reading, const char *text) {
    char *copy = reading->text + reading->text_used;
    size_t size = strlen(text) + 1;
    memcpy(copy, text, size);
    reading->text_used += size;
    return copy;
}

static int read_tensor(struct reading *reading, const json_t *item,
                       struct checkpoint_tensor *tensor, struct error *err) {
    const char *name = json_string_value(json_array_get(item, 0));
    const json_t *crc = json_array_get(item, 1), *dims = json_array_get(item, 2);
    if (!name || !json_is_integer(crc) || !json_is_array(dims) ||
        json_array_size(dims) > TENSOR_RANK_MAX || strlen(name) > CHECKPOINT_NAME_MAX) {
        return refuse(err, "its header has an invalid tensor");
    }
    *tensor = (struct checkpoint_tensor){.name = copy_text(reading, name)};
    for (size_t i = 0; i < json_array_size(dims); i++) {
        json_int_t dim = json_integer_value(json_array_get(dims, i));
        if (dim < 0) {
            return refuse(err, "its header has a dimension below 0");
        }
        tensor->shape.dims[tensor->shape.rank++] = dim;
    }
    int64_t count = shape_count(&tensor->shape);
    if (count < 0 || (size_t)count > (reading->size - reading->at) / sizeof(float) ||
        up((size_t)count * sizeof(float)) > reading->size - reading->at) {
        return refuse(err, "it is shorter than its tensors");
    }
    const char *data = reading->bytes + reading->at;
    if (digest_crc32c(0, data, (size_t)count * sizeof(float)) != json_integer_value(crc)) {
        return error_set(err, ERROR_INVALID, "the checksum of tensor \"%.64s\" is wrong", name);
    }
    tensor->data = (const float *)(const void *)data;
    reading->at += up((size_t)count * sizeof(float));
    return 0;
}

static int read_head(struct reading *reading, const json_t *head, struct checkpoint_loaded *loaded,
                     struct error *err) {
    struct checkpoint *checkpoint = &loaded->checkpoint;
    const char *seed = json_string_value(json_object_get(head, "seed"));
    const char *digest = json_string_value(json_object_get(head, "digest"));
    const json_t *tensors = json_object_get(head, "tensors");
    const json_t *step = json_object_get(head, "step");
    const json_t *generation = json_object_get(head, "generation");
    if (!seed || strlen(seed) != SEED_DIGITS || !digest || strlen(digest) > CHECKPOINT_DIGEST_MAX ||
        !json_is_integer(step) || !json_is_integer(generation) || !json_is_array(tensors) ||
        json_array_size(tensors) > CHECKPOINT_TENSORS_MAX) {
        return refuse(err, "its header is invalid");
    }
    checkpoint->step = json_integer_value(step);
    checkpoint->generation = json_integer_value(generation);
    char *end;
    checkpoint->seed = strtoull(seed, &end, 16);
    if (*end || checkpoint->step < 0 || checkpoint->generation < 0) {
        return refuse(err, "its header is invalid");
    }
    checkpoint->digest = copy_text(reading, digest);
    size_t count = json_array_size(tensors);
    loaded->tensors = x_calloc(count + 1, sizeof *loaded->tensors);
    for (size_t i = 0; i < count; i++) {
        if (read_tensor(reading, json_array_get(tensors, i), &loaded->tensors[i], err) < 0) {
            return -1;
        }
    }
    checkpoint->count = count;
    checkpoint->tensors = loaded->tensors;
    return reading->at == reading->size ? 0 : refuse(err, "it is longer than its tensors");
}

/* Checks the checksums, so that all bytes are as they were written. */
static int check_sums(const char *bytes, size_t size, struct error *err) {
    int64_t told_size;
    uint32_t crc, own;
    if (size < FIXED_BYTES + CHECKPOINT_TAIL_BYTES || memcmp(bytes, HEAD_MAGIC, MAGIC_BYTES) != 0) {
        return refuse(err, "is not a checkpoint");
    }
    const char *tail = bytes + size - CHECKPOINT_TAIL_BYTES;
    memcpy(&told_size, tail, sizeof told_size);
    memcpy(&crc, tail + 8, sizeof crc);
    memcpy(&own, tail + 12, sizeof own);
    if (own != digest_crc32c(0, tail, 12) || told_size != (int64_t)size - CHECKPOINT_TAIL_BYTES) {
        return refuse(err, "it is truncated");
    }
    return crc == digest_crc32c(0, bytes, size - CHECKPOINT_TAIL_BYTES)
               ? 0
               : refuse(err, "its checksum is wrong");
}

int checkpoint_parse(char *bytes, size_t size, struct checkpoint_loaded *ret_loaded,
                     struct error *err) {
    uint32_t words[2];
    struct reading reading = {.bytes = bytes, .size = size - CHECKPOINT_TAIL_BYTES};
    if (check_sums(bytes, size, err) < 0) {
        return -1;
    }
    memcpy(words, bytes + MAGIC_BYTES, sizeof words);
    if (words[0] > CHECKPOINT_HEAD_MAX || up(FIXED_BYTES + (size_t)words[0]) > reading.size ||
        digest_crc32c(0, bytes + FIXED_BYTES, words[0]) != words[1]) {
        return refuse(err, "its header is invalid");
    }
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    json_error_t ignored;
    if (tree_check_memory(bytes + FIXED_BYTES, words[0], TREE_MEMORY_MAX, err) < 0) {
        return error_context(err, "its header");
    }
    json_t *head = json_loadb(bytes + FIXED_BYTES, words[0], 0, &ignored);
    loaded.text = reading.text = x_malloc((size_t)words[0] + 2 * CHECKPOINT_DIGEST_MAX);
    reading.at = up(FIXED_BYTES + (size_t)words[0]);
    int result = read_head(&reading, head, &loaded, err);
    json_decref(head);
    if (result < 0) {
        return -1;
    }
    loaded.bytes = bytes;
    *ret_loaded = loaded;
    loaded = (struct checkpoint_loaded){0};
    return 0;
}
