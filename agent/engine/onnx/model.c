// SPDX-License-Identifier: Apache-2.0
/* Opens and closes a model: ONNX bytes or file -> graph, with its opset checked. */
#include "agent/engine/model.h"

#include "agent/engine/graph/resident.h"
#include "agent/engine/onnx/foreign.h"
#include "agent/engine/onnx/graph_proto.h"
#include "lib/text/utf8.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum model_field {
    FIELD_IR_VERSION = 1,
    FIELD_PRODUCER = 2,
    FIELD_GRAPH = 7,
    FIELD_OPSET = 8,
    FIELD_FUNCTION = 25
};

static const size_t file_bytes_max = (size_t)1 << 31; /* the limit of protocol buffers */

/* All fields of this kind, in the arena of the graph. */
static int list_functions(struct model *model, struct protobuf bytes, struct functions *functions,
                          struct error *err) {
    struct protobuf rest = bytes;
    struct protobuf_field field;
    size_t room = 0;
    int more;
    while ((more = protobuf_next(&rest, &field, err)) > 0) {
        room += field.number == FIELD_FUNCTION && field.type == PROTOBUF_BYTES;
    }
    if (more < 0 || room > FUNCTIONS_MAX) {
        return more < 0 ? -1
                        : error_set(err, ERROR_UNSUPPORTED, "%zu functions; at most %d are read",
                                    room, FUNCTIONS_MAX);
    }
    functions->list = arena_array(&model->graph.arena, room, sizeof *functions->list);
    while ((more = protobuf_next(&bytes, &field, err)) > 0) {
        if (field.number == FIELD_FUNCTION && field.type == PROTOBUF_BYTES &&
            functions_add(functions, field.bytes, &model->graph.arena, err) < 0) {
            return -1;
        }
    }
    return more;
}

static int read_fields(struct model *model, struct protobuf bytes, struct protobuf *ret_graph,
                       struct versions *ret_versions, struct error *err) {
    struct versions versions = {0};
    struct protobuf graph = {0};
    struct protobuf_field field;
    int more;
    while ((more = protobuf_next(&bytes, &field, err)) > 0) {
        if (field.type != PROTOBUF_BYTES) {
            continue;
        }
        if (field.number == FIELD_PRODUCER) {
            char *producer = arena_text(&model->graph.arena, (const char *)field.bytes.at,
                                        MIN(protobuf_size(field.bytes), 100));
            utf8_make_line(producer);
            model->producer = producer;
        } else if (field.number == FIELD_GRAPH) {
            graph = field.bytes;
        } else if (field.number == FIELD_OPSET && domain_read(field.bytes, &versions, err) < 0) {
            return -1;
        }
    }
    if (more < 0) {
        return -1;
    }
    if (!graph.at) {
        return error_set(err, ERROR_INVALID, "it holds no graph: not an ONNX model");
    }
    *ret_versions = versions;
    *ret_graph = graph;
    return 0;
}

static int read_model(struct model *model, struct protobuf bytes, struct error *err) {
    struct protobuf graph;
    struct versions versions;
    struct left_out left_out;
    struct functions functions = {.versions = &versions};
    const struct graph_context context = {&versions, &functions, model->external};
    if (bytes.at == bytes.end) {
        return error_set(err, ERROR_INVALID, "the file is empty: an ONNX model is expected");
    }
    if (read_fields(model, bytes, &graph, &versions, err) < 0 ||
        list_functions(model, bytes, &functions, err) < 0 ||
        graph_proto_read(graph, &context, &model->graph, &left_out, err) < 0) {
        return -1;
    }
    model->opset = (int)versions.of[DOMAIN_STANDARD];
    model->ml_version = (int)versions.of[DOMAIN_ML];
    model->note = arena_text(&model->graph.arena, left_out.note, strlen(left_out.note));
    for (size_t i = 0; i < model->graph.value_count; i++) {
        const struct value *value = &model->graph.values[i];
        model->parameter_count += value->is_constant ? shape_count(&value->shape) : 0;
    }
    return 0;
}

/* Another program's file is called by its name, where it is not a model. */
static int parse(struct model *model, struct protobuf bytes, struct error *err) {
    if (read_model(model, bytes, err) == 0) {
        return 0;
    }
    const char *foreign = foreign_name(bytes);
    if (foreign) {
        error_clear(err);
        return error_set(err, ERROR_INVALID, "%s", foreign);
    }
    return -1;
}

static struct model *model_make(void) {
    struct model *model = x_calloc(1, sizeof *model);
    model->producer = model->note = "";
    model->external = x_calloc(1, sizeof *model->external);
    model->external->folder_fd = -1;
    return model;
}

int model_from_bytes(const void *bytes, size_t size, struct model **ret_model, struct error *err) {
    AUTO(model_freep) struct model *model = model_make();
    const uint8_t *at = bytes;
    if (parse(model, (struct protobuf){at, at + size}, err) < 0) {
        return -1;
    }
    *ret_model = TAKE(model);
    return 0;
}

int model_open_files(const char *path, const struct model_files *files, struct model **ret_model,
                     struct error *err) {
    AUTO(model_freep) struct model *model = model_make();
    if (resident_file_open(path, files->fd, file_bytes_max, &model->file, err) < 0) {
        return error_context(err, "model %s", path);
    }
    model->external->folder_fd = files->folder_fd;
    model->external->model = model->file;
    model->graph.is_of_file = true;
    const uint8_t *at = model->file->bytes;
    struct protobuf bytes = {at, at ? at + model->file->size : at};
    int result = parse(model, bytes, err);
    model->external->folder_fd = -1;
    if (result < 0) {
        return error_context(err, "model %s", path);
    }
    *ret_model = TAKE(model);
    return 0;
}

int model_open(const char *path, struct model **ret_model, struct error *err) {
    AUTO(text_freep) char *folder = x_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash) {
        slash[slash == folder] = 0; /* "/" stays */
    }
    /* A pipe is refused, not waited for. */
    AUTO(fd_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return error_from_errno(err, errno, "model %s: cannot open", path);
    }
    AUTO(fd_closep) int folder_fd = open(slash ? folder : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
    return model_open_files(path, &(struct model_files){fd, folder_fd}, ret_model, err);
}

void model_free(struct model *model) {
    if (!model) {
        return;
    }
    graph_release(&model->graph);
    resident_file_free(model->file);
    external_data_free(model->external);
    free(model);
}

void model_freep(struct model **model) {
    model_free(*model);
    *model = NULL;
}
