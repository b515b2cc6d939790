// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/form.h"

#include "agent/data/input/fingerprint.h"
#include "agent/score/endpoint/answer.h"
#include "agent/score/endpoint/body_template.h"
#include "agent/score/endpoint/select.h"
#include "lib/text/base64.h"
#include "lib/text/file_type.h"
#include "lib/text/jsontext.h"
#include "lib/text/utf8.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.endpoint."

enum {
    FILE_BYTES_MAX = 20 << 20,
    LARGE_BYTES = 1 << 20,       /* of a tree */
    LARGE_TEXT_BYTES = 16 << 10, /* of a row, or an answer */
};

bool endpoint_form_is_batch(const json_t *spec) {
    return tree_get(spec, "scorer.endpoint") && !tree_get(spec, FIELD "request");
}

int endpoint_form_read(const json_t *spec, struct endpoint_form *ret_form, struct error *err) {
    *ret_form = (struct endpoint_form){.template = tree_get(spec, FIELD "request.template"),
                                       .path = tree_text(spec, FIELD "request.path", ""),
                                       .select = tree_get(spec, FIELD "response.select"),
                                       .schema = tree_get(spec, FIELD "response.schema")};
    if (json_is_true(json_object_get(ret_form->template, "stream"))) {
        return error_set(err, ERROR_INVALID,
                         "spec." FIELD "request.template: stream is true: answers are read whole; "
                         "leave it out");
    }
    return ret_form->schema ? select_check_schema(ret_form->schema, err) : 0;
}

/* ---- requests ------------------------------------------------------------------------------- */

static const char *type_of(const char *data, size_t size) {
    const struct file_type *type = file_type_of_bytes(data, size);
    return type ? type->media_type : "application/octet-stream";
}

static int read_file(const json_t *template, const struct item *item, json_t **ret_values,
                     struct error *err) {
    AUTO(tree_freep) json_t *values = json_object();
    AUTO(text_freep) char *data = NULL;
    struct store_info info;
    size_t size = 0;
    json_object_set_new(values, "name", json_string(item->name));
    bool wants_text = body_template_names(template, "text"),
         wants_data = body_template_names(template, "data");
    if ((wants_text || wants_data) &&
        local_file_read(&item->file, FILE_BYTES_MAX, &data, &size, &info, err) < 0) {
        return -1;
    }
    if (data && !fingerprint_holds(&info, /* is_local= */ true, item->core)) {
        return error_set(err, ERROR_CONFLICT, FINGERPRINT_CHANGED);
    }
    if (wants_text && (utf8_valid_size(data, size) != size || memchr(data, 0, size))) {
        return error_set(err, ERROR_INVALID, "is not text in UTF-8: write {data} for its bytes");
    }
    if (wants_text) {
        json_object_set_new(values, "text", json_stringn(data, size));
    }
    if (wants_data) {
        AUTO(text_freep) char *coded = base64_encode(data, size);
        AUTO(text_freep) char *url = x_printf("data:%s;base64,%s", type_of(data, size), coded);
        json_object_set_new(values, "data", json_string(url));
    }
    *ret_values = TAKE(values);
    return 0;
}

static int read_row(const struct item *item, json_t **ret_values, struct error *err) {
    AUTO(tree_freep) json_t *values = NULL;
    if (tree_parse(item->text, item->text_size, REQUEST_BODY_MAX, &values, err) < 0) {
        return -1;
    }
    if (!json_is_object(values)) {
        return error_set(err, ERROR_INVALID, "is not an object with columns");
    }
    *ret_values = TAKE(values);
    return 0;
}

static int fill_in(const struct endpoint_form *form, const struct item *item,
                   struct endpoint_request *request, struct error *err) {
    AUTO(tree_freep) json_t *values = NULL;
    struct error why = {0};
    if ((item->type == ITEM_JSON ? read_row(item, &values, err)
                                 : read_file(form->template, item, &values, err)) < 0) {
        return -1;
    }
    buffer_clear(&request->body);
    buffer_clear(&request->id);
    if (body_template_fill(form->template, values, &request->body, &why) < 0) {
        return why.kind == ERROR_EXHAUSTED
                   ? error_set(err, ERROR_INVALID, "its body has more than %d MiB",
                               REQUEST_BODY_MAX >> 20)
                   : error_set(err, ERROR_INVALID, "%s", why.text);
    }
    snprintf(request->path, sizeof request->path, "%s", form->path);
    return endpoint_request_look(request, err);
}

/* Trees of large rows are made one after the other. */
static int fill(const struct endpoint_form *form, const struct item *item,
                struct endpoint_request *request, struct error *err) {
    static pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER;
    if (item->type != ITEM_JSON || item->text_size <= LARGE_TEXT_BYTES ||
        tree_memory(item->text, item->text_size) <= LARGE_BYTES) {
        return fill_in(form, item, request, err);
    }
    pthread_mutex_lock(&large);
    int result = fill_in(form, item, request, err);
    pthread_mutex_unlock(&large);
    return result;
}

int endpoint_form_request(const struct endpoint_form *form, const struct item *item,
                          struct endpoint_request *request, struct error *err) {
    int result = form->template
                     ? fill(form, item, request, err)
                     : endpoint_request_of_line(item->text, item->text_size, request, err);
    return result < 0 ? error_context(err, "%.150s", item->name) : 0;
}

/* ---- results -------------------------------------------------------------------------------- */

static int keep_tree(const struct endpoint_form *form, const struct endpoint_request *request,
                     const struct endpoint_reply *reply, struct buffer *line, struct error *err) {
    AUTO(tree_freep) json_t *tree = json_loadb(reply->body, reply->size, JSON_DECODE_ANY, NULL);
    AUTO(tree_freep) json_t *kept = NULL;
    if (!tree) {
        return error_set(err, ERROR_INVALID, "the model server's answer is not valid JSON");
    }
    if (form->select && select_values(tree, form->select, &kept, err) < 0) {
        return -1;
    }
    const json_t *result = kept ? kept : tree;
    if (form->schema && select_fits(form->schema, result, err) < 0) {
        return error_context(err, "the answer does not fit the schema");
    }
    if (!form->template && !form->select) {
        return answer_batch_line(line, &request->id, reply->status, reply->body, reply->size, err);
    }
    if (!form->template) { /* so that it can be recognised */
        AUTO(tree_freep)
        json_t *id = json_loadb(request->id.data, request->id.size, JSON_DECODE_ANY, NULL);
        AUTO(tree_freep) json_t *named = json_pack("{s:O}", "custom_id", id);
        json_object_update(named, kept);
        json_decref(TAKE(kept));
        kept = TAKE(named);
        result = kept;
    }
    AUTO(text_freep) char *text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
    return buffer_append(line, text ? text : "null", text ? strlen(text) : 4, err);
}

/* Hundreds of slots may have an answer at the same moment: large trees are made one after the
 * other. */
static int keep(const struct endpoint_form *form, const struct endpoint_request *request,
                const struct endpoint_reply *reply, struct buffer *line, struct error *err) {
    static pthread_mutex_t large = PTHREAD_MUTEX_INITIALIZER;
    size_t bytes = tree_memory(reply->body, reply->size);
    /* A text in it may be JSON, too (select.h). */
    if (bytes <= LARGE_BYTES && reply->size <= LARGE_TEXT_BYTES) {
        return keep_tree(form, request, reply, line, err);
    }
    if (tree_check_memory(reply->body, reply->size, SELECT_MEMORY_MAX, err) < 0) {
        return error_context(err, "the model server's answer");
    }
    pthread_mutex_lock(&large);
    int result = keep_tree(form, request, reply, line, err);
    pthread_mutex_unlock(&large);
    return result;
}

int endpoint_form_result(const struct endpoint_form *form, const struct endpoint_request *request,
                         const struct endpoint_reply *reply, struct buffer *line,
                         struct error *err) {
    buffer_clear(line);
    if (!jsontext_is_value(reply->body, reply->size)) {
        return error_set(err, ERROR_INVALID, "the answer is not JSON: %.100s", reply->body);
    }
    if (form->select || form->schema) {
        return keep(form, request, reply, line, err);
    }
    return form->template ? jsontext_compact(line, reply->body, reply->size, err)
                          : answer_batch_line(line, &request->id, reply->status, reply->body,
                                              reply->size, err);
}
