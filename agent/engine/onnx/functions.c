// SPDX-License-Identifier: Apache-2.0
/* onnx.proto3: FunctionProto name 1, input 4, output 5, attribute 6, node 7, opset_import 9, domain
 * 10, attribute_proto 11, overload 13; NodeProto input 1, output 2, name 3, op_type 4, attribute 5,
 * domain 7, overload 8; AttributeProto name 1, ref_attr_name 21. */
#include "agent/engine/onnx/functions.h"

#include "agent/engine/graph.h"
#include "agent/engine/onnx/put.h"

#include <stdio.h>
#include <string.h>

enum { FUNCTION_NAME = 1, FUNCTION_INPUT = 4, FUNCTION_OUTPUT = 5, FUNCTION_NODE = 7 };
enum { FUNCTION_OPSET = 9, FUNCTION_DOMAIN = 10, FUNCTION_DEFAULT = 11 };
enum { FUNCTION_OVERLOAD = 13 };
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, NODE_NAME = 3, NODE_OP = 4, NODE_ATTRIBUTE = 5 };
enum {
    NODE_DOMAIN = 7,
    NODE_OVERLOAD = 8,
    ATTRIBUTE_NAME = 1,
    ATTRIBUTE_BODY = 6,
    ATTRIBUTE_REFERENCE = 21
};
enum { PREFIX_BYTES = 32 };

/* The inside of one call. */
struct call {
    const struct functions *functions;
    struct node_list *list;
    struct protobuf node;
    const struct function *function;
    char prefix[PREFIX_BYTES];
    int depth;
    size_t fields; /* of the node */
};

static bool is_same(struct protobuf a, struct protobuf b) {
    size_t size = protobuf_size(a);
    return size == protobuf_size(b) && (size == 0 || memcmp(a.at, b.at, size) == 0);
}

/* The field of a message of which there is one; empty: it has none. */
static struct protobuf one(struct protobuf message, uint32_t number) {
    struct error ignored = {0};
    struct protobuf_field field;
    struct protobuf found = {0};
    while (protobuf_next(&message, &field, &ignored) > 0) {
        if (field.number == number && field.type == PROTOBUF_BYTES) {
            found = field.bytes;
        }
    }
    return found;
}

/* The index among the fields `number` of the message; -1: none is this text. */
static int index_of(struct protobuf message, uint32_t number, struct protobuf text) {
    struct error ignored = {0};
    struct protobuf_field field;
    int index = 0;
    while (protobuf_next(&message, &field, &ignored) > 0) {
        if (field.number == number && field.type == PROTOBUF_BYTES) {
            if (is_same(field.bytes, text)) {
                return index;
            }
            index++;
        }
    }
    return -1;
}

/* The field with this index; false: there are fewer. */
static bool nth(struct protobuf message, uint32_t number, int index, struct protobuf *ret_text) {
    struct error ignored = {0};
    struct protobuf_field field;
    while (protobuf_next(&message, &field, &ignored) > 0) {
        if (field.number == number && field.type == PROTOBUF_BYTES && index-- == 0) {
            *ret_text = field.bytes;
            return true;
        }
    }
    return false;
}

/* "ai.onnx" is the long name of the domain "". */
static bool is_same_domain(struct protobuf a, struct protobuf b) {
    static const char standard[] = "ai.onnx";
    const struct protobuf name = {(const unsigned char *)standard,
                                  (const unsigned char *)standard + sizeof standard - 1};
    a = protobuf_size(a) ? a : name;
    b = protobuf_size(b) ? b : name;
    return is_same(a, b);
}

/* A function is known by these three. */
static const struct function *find(const struct functions *functions, struct protobuf name,
                                   struct protobuf domain, struct protobuf overload) {
    for (size_t i = 0; i < functions->count; i++) {
        const struct function *function = &functions->list[i];
        if (is_same(function->name, name) && is_same_domain(function->domain, domain) &&
            is_same(function->overload, overload)) {
            return function;
        }
    }
    return NULL;
}

static int check_new(const struct functions *functions, const struct function *function,
                     struct error *err) {
    if (!find(functions, function->name, function->domain, function->overload)) {
        return 0;
    }
    return error_set(err, ERROR_INVALID,
                     "two functions \"%.*s\" of one domain and overload; a model has one",
                     (int)MIN(protobuf_size(function->name), 64), (const char *)function->name.at);
}

/* The head is short, so that a name can be looked for in it for each value of the function. */
int functions_add(struct functions *functions, struct protobuf message, struct arena *arena,
                  struct error *err) {
    struct function function = {message, one(message, FUNCTION_NAME), one(message, FUNCTION_DOMAIN),
                                one(message, FUNCTION_OVERLOAD), .ports = 0};
    AUTO(buffer_release) struct buffer head;
    struct protobuf rest = message;
    struct protobuf_field field;
    int more;
    buffer_init(&head, FUNCTIONS_BYTES_MAX);
    if (check_new(functions, &function, err) < 0) {
        return -1;
    }
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        bool is_port = field.type == PROTOBUF_BYTES &&
                       (field.number == FUNCTION_INPUT || field.number == FUNCTION_OUTPUT ||
                        field.number == FUNCTION_DEFAULT || field.number == FUNCTION_OPSET);
        function.ports += is_port;
        if (is_port &&
            put_bytes(&head, field.number, field.bytes.at, protobuf_size(field.bytes), err) < 0) {
            return -1;
        }
    }
    if (more < 0 || function.ports > FUNCTIONS_PORTS_MAX) {
        return more < 0 ? -1
                        : error_set(err, ERROR_INVALID,
                                    "a function with more than %d inputs, outputs, "
                                    "attributes and versions",
                                    FUNCTIONS_PORTS_MAX);
    }
    uint8_t *kept = arena_alloc(arena, head.size);
    if (head.size) {
        memcpy(kept, head.data, head.size);
    }
    function.head = (struct protobuf){kept, kept + head.size};
    functions->list[functions->count++] = function;
    return 0;
}

/* ---- limits --------------------------------------------------------------------------------- */

static size_t count_fields(struct protobuf message) {
    struct error ignored = {0};
    struct protobuf_field field;
    size_t count = 0;
    while (protobuf_next(&message, &field, &ignored) > 0) {
        count++;
    }
    return count;
}

/* Before the work: calls that expand to nothing take time, too. */
static int charge_work(const struct call *call, size_t looks, struct error *err) {
    struct node_list *list = call->list;
    if (looks > FUNCTIONS_LOOKS_MAX - list->looks) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "its calls take more than %zu bytes of functions to read: convert the "
                         "model with onnx.inliner.inline_local_functions",
                         FUNCTIONS_LOOKS_MAX);
    }
    list->looks += looks;
    return 0;
}

/* ---- names ---------------------------------------------------------------------------------- */

static int put_inner(const struct call *call, uint32_t field, struct protobuf name,
                     struct buffer *out, struct error *err) {
    AUTO(text_freep)
    char *text = x_printf("%s%.*s", call->prefix, (int)MIN(protobuf_size(name), (size_t)INT16_MAX),
                          (const char *)name.at);
    return put_text(out, field, text, err);
}

/* A value of the function by its name outside. */
static int put_value(const struct call *call, uint32_t field, struct protobuf name,
                     struct buffer *out, struct error *err) {
    struct protobuf outer = {0};
    if (protobuf_size(name) == 0) {
        return put_text(out, field, "", err);
    }
    if (charge_work(call, 2 * call->function->ports + call->fields, err) < 0) {
        return -1;
    }
    int input = index_of(call->function->head, FUNCTION_INPUT, name);
    if (input >= 0) { /* an optional one that the call lacks has no name */
        (void)nth(call->node, NODE_INPUT, input, &outer);
        return put_bytes(out, field, outer.at, protobuf_size(outer), err);
    }
    int output = index_of(call->function->head, FUNCTION_OUTPUT, name);
    if (output >= 0 && nth(call->node, NODE_OUTPUT, output, &outer) && protobuf_size(outer)) {
        return put_bytes(out, field, outer.at, protobuf_size(outer), err);
    }
    return put_inner(call, field, name, out, err);
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* An attribute of the node, or of the function's defaults, by its name; empty: none. */
static struct protobuf find_attribute(struct protobuf message, uint32_t number,
                                      struct protobuf name) {
    struct error ignored = {0};
    struct protobuf_field field;
    while (protobuf_next(&message, &field, &ignored) > 0) {
        if (field.number == number && field.type == PROTOBUF_BYTES &&
            is_same(one(field.bytes, ATTRIBUTE_NAME), name)) {
            return field.bytes;
        }
    }
    return (struct protobuf){0};
}

/* Copies all fields but those with the number `without`. */
static int copy_fields(struct protobuf message, uint32_t without, struct buffer *out,
                       struct error *err) {
    struct protobuf_field field;
    const uint8_t *from = message.at;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number != without &&
            buffer_append(out, from, (size_t)(message.at - from), err) < 0) {
            return -1;
        }
        from = message.at;
    }
    return more;
}

/* `x = @alpha`: the call's alpha, else the function's default, else no attribute at all. */
static int put_attribute(const struct call *call, struct protobuf attribute, struct buffer *out,
                         struct error *err) {
    struct protobuf reference = one(attribute, ATTRIBUTE_REFERENCE);
    struct protobuf name = one(attribute, ATTRIBUTE_NAME);
    if (one(attribute, ATTRIBUTE_BODY).at) { /* its names would have to be renamed, too */
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"%.*s\" is a graph: convert the model with "
                         "onnx.inliner.inline_local_functions",
                         (int)MIN(protobuf_size(name), 64), (const char *)name.at);
    }
    if (protobuf_size(reference) == 0) {
        return put_bytes(out, NODE_ATTRIBUTE, attribute.at, protobuf_size(attribute), err);
    }
    if (charge_work(call, protobuf_size(call->node) + protobuf_size(call->function->head), err) <
        0) {
        return -1;
    }
    struct protobuf value = find_attribute(call->node, NODE_ATTRIBUTE, reference);
    if (!value.at) {
        value = find_attribute(call->function->head, FUNCTION_DEFAULT, reference);
    }
    if (!value.at) {
        return 0;
    }
    AUTO(buffer_release) struct buffer bytes;
    buffer_init(&bytes, FUNCTIONS_BYTES_MAX);
    return put_bytes(&bytes, ATTRIBUTE_NAME, name.at, protobuf_size(name), err) < 0 ||
                   copy_fields(value, ATTRIBUTE_NAME, &bytes, err) < 0
               ? -1
               : put_bytes(out, NODE_ATTRIBUTE, bytes.data, bytes.size, err);
}

/* ---- nodes ---------------------------------------------------------------------------------- */

static int put_field(const struct call *call, const struct protobuf_field *field,
                     struct buffer *out, struct error *err) {
    switch (field->number) {
    case NODE_INPUT:
    case NODE_OUTPUT:
        return put_value(call, field->number, field->bytes, out, err);
    case NODE_NAME:
        return put_inner(call, NODE_NAME, field->bytes, out, err);
    case NODE_ATTRIBUTE:
        return put_attribute(call, field->bytes, out, err);
    default:
        return put_bytes(out, field->number, field->bytes.at, protobuf_size(field->bytes), err);
    }
}

static int put_node(const struct call *call, struct protobuf node, struct buffer *out,
                    struct error *err) {
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&node, &field, err)) > 0) {
        if (field.type == PROTOBUF_BYTES && put_field(call, &field, out, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int append(struct node_list *list, struct protobuf node, struct error *err) {
    if (list->count == GRAPH_NODES_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "more than %d nodes", GRAPH_NODES_MAX);
    }
    if (list->count == list->room) {
        list->room = MAX(2 * list->room, (size_t)64);
        struct protobuf *more = arena_array(list->arena, list->room, sizeof *more);
        if (list->count) {
            memcpy(more, list->nodes, list->count * sizeof *more);
        }
        list->nodes = more;
    }
    list->nodes[list->count++] = node;
    return 0;
}

static int add(const struct functions *functions, struct protobuf node, int depth,
               struct node_list *list, struct error *err);

static int add_inner(const struct call *call, struct protobuf node, struct error *err) {
    struct node_list *list = call->list;
    AUTO(buffer_release) struct buffer out;
    buffer_init(&out, FUNCTIONS_BYTES_MAX - list->used_bytes);
    if (put_node(call, node, &out, err) < 0) {
        return -1;
    }
    list->used_bytes += out.size;
    uint8_t *kept = arena_alloc(list->arena, out.size);
    if (out.size) {
        memcpy(kept, out.data, out.size);
    }
    return add(call->functions, (struct protobuf){kept, kept + out.size}, call->depth + 1, list,
               err);
}

static int check_versions(const struct call *call, struct error *err) {
    struct versions own = {0};
    struct protobuf rest = call->function->head;
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        if (field.number == FUNCTION_OPSET && field.type == PROTOBUF_BYTES &&
            domain_read(field.bytes, &own, err) < 0) {
            return -1;
        }
    }
    for (int i = 0; more == 0 && i < DOMAIN_COUNT; i++) {
        int64_t model = call->functions->versions->of[i];
        if (own.of[i] && model && own.of[i] != model) {
            return error_set(err, ERROR_UNSUPPORTED,
                             "it is of version %lld of the operators, and the model of %lld: "
                             "convert the model with onnx.inliner.inline_local_functions",
                             (long long)own.of[i], (long long)model);
        }
    }
    return more;
}

static int expand(const struct call *call, struct error *err) {
    struct protobuf rest = call->function->message;
    struct protobuf_field field;
    int more;
    if (call->depth > FUNCTIONS_DEPTH_MAX) {
        return error_set(err, ERROR_INVALID, "calls are nested more than %d deep",
                         FUNCTIONS_DEPTH_MAX);
    }
    if (call->list->calls > GRAPH_NODES_MAX) {
        return error_set(err, ERROR_UNSUPPORTED, "more than %d calls of functions",
                         GRAPH_NODES_MAX);
    }
    if (charge_work(call, protobuf_size(call->function->message), err) < 0 ||
        check_versions(call, err) < 0) {
        return -1;
    }
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        if (field.number == FUNCTION_NODE && field.type == PROTOBUF_BYTES &&
            add_inner(call, field.bytes, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int add(const struct functions *functions, struct protobuf node, int depth,
               struct node_list *list, struct error *err) {
    struct protobuf op = one(node, NODE_OP), overload = one(node, NODE_OVERLOAD);
    const struct function *function = find(functions, op, one(node, NODE_DOMAIN), overload);
    if (!function && protobuf_size(overload)) {
        return error_set(err, ERROR_UNSUPPORTED, "overload \"%.*s\" of %.*s: no function has it",
                         (int)MIN(protobuf_size(overload), 64), (const char *)overload.at,
                         (int)MIN(protobuf_size(op), 64), (const char *)op.at);
    }
    if (!function) {
        return append(list, node, err);
    }
    struct call call = {functions, list, node, function, "", depth, count_fields(node)};
    snprintf(call.prefix, sizeof call.prefix, "f%zu/", ++list->calls);
    if (expand(&call, err) < 0) {
        struct protobuf name = function->name;
        return depth ? -1
                     : error_context(err, "function \"%.*s\"", (int)MIN(protobuf_size(name), 64),
                                     (const char *)name.at);
    }
    return 0;
}

int functions_add_node(const struct functions *functions, struct protobuf node,
                       struct node_list *list, struct error *err) {
    return add(functions, node, 0, list, err);
}
