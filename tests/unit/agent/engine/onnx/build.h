/* build.h: ONNX models put together byte by byte, for tests. A message has a fixed capacity. */
#pragma once

#include <assert.h>
#include <stdint.h>
#include <string.h>

struct message {
    size_t size;
    unsigned char bytes[4096];
};

static inline void add_varint(struct message *to, uint64_t value) {
    do {
        assert(to->size < sizeof to->bytes);
        to->bytes[to->size++] = (unsigned char)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        value >>= 7;
    } while (value);
}

static inline void add_integer(struct message *to, unsigned field, int64_t value) {
    add_varint(to, field << 3);
    add_varint(to, (uint64_t)value);
}

static inline void add_bytes(struct message *to, unsigned field, const void *bytes, size_t size) {
    add_varint(to, field << 3 | 2);
    add_varint(to, size);
    assert(size <= sizeof to->bytes - to->size);
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
}

static inline void add_text(struct message *to, unsigned field, const char *text) {
    add_bytes(to, field, text, strlen(text));
}

static inline void add_message(struct message *to, unsigned field, const struct message *part) {
    add_bytes(to, field, part->bytes, part->size);
}

/* One output; the second input may be NULL. */
static inline struct message make_node(const char *op, const char *domain, const char *input,
                                       const char *second, const char *output) {
    struct message node = {0};
    add_text(&node, 1, input);
    if (second) {
        add_text(&node, 1, second);
    }
    add_text(&node, 2, output);
    add_text(&node, 4, op);
    add_text(&node, 7, domain);
    return node;
}

/* A node with one output. NULL: no second input, the standard domain, no attribute. */
struct node_fields {
    const char *op, *domain, *input, *second, *output;
    const struct message *attribute;
};

static inline void add_node(struct message *graph, struct node_fields fields) {
    const char *domain = fields.domain ? fields.domain : "";
    struct message node = make_node(fields.op, domain, fields.input, fields.second, fields.output);
    if (fields.attribute) {
        add_message(&node, 5, fields.attribute);
    }
    add_message(graph, 1, &node);
}

/* A graph's input (field 11) or output (12); dims of -1 mean any size; NULL: no shape. */
static inline void add_value(struct message *graph, unsigned field, const char *name, int type,
                             const int64_t *dims, int rank) {
    struct message tensor = {0}, kind = {0}, value = {0}, shape = {0};
    add_integer(&tensor, 1, type);
    for (int i = 0; i < rank; i++) {
        struct message dim = {0};
        if (dims[i] >= 0) {
            add_integer(&dim, 1, dims[i]);
        } else {
            add_text(&dim, 2, "n");
        }
        add_message(&shape, 1, &dim);
    }
    if (dims) {
        add_message(&tensor, 2, &shape);
    }
    add_message(&kind, 1, &tensor);
    add_text(&value, 1, name);
    add_message(&value, 2, &kind);
    add_message(graph, field, &value);
}

/* type: ONNX's number. */
struct tensor_fields {
    const char *name;
    int type, rank;
    const int64_t *dims;
    const void *data;
    size_t size;
};

static inline void add_tensor(struct message *to, unsigned field, struct tensor_fields fields) {
    struct message tensor = {0};
    for (int i = 0; i < fields.rank; i++) {
        add_integer(&tensor, 1, fields.dims[i]);
    }
    add_integer(&tensor, 2, fields.type);
    add_text(&tensor, 8, fields.name);
    add_bytes(&tensor, 9, fields.data, fields.size);
    add_message(to, field, &tensor);
}

static inline struct message make_model(struct message graph, int opset) {
    struct message model = {0}, version = {0};
    add_integer(&model, 1, 7);
    add_message(&model, 7, &graph);
    add_integer(&version, 2, opset);
    add_message(&model, 8, &version);
    return model;
}

/* The model's version of a domain's operators. */
static inline void add_domain(struct message *model, const char *domain, int64_t version) {
    struct message opset = {0};
    add_text(&opset, 1, domain);
    add_integer(&opset, 2, version);
    add_message(model, 8, &opset);
}
