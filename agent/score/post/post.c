// SPDX-License-Identifier: Apache-2.0
#include "agent/score/post/post.h"

#include "agent/score/post/output_choice.h"
#include "agent/score/post/output_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELD "scorer.onnx.postprocess."

struct post {
    const json_t *spec;
    const struct post_kind *kind;
    struct post_state *state;
    bool takes_list; /* several outputs; else one */
    struct output_list list;
    struct output_choice choice;
    const struct tensor *taken[2]; /* of the last run */
    const char *name;
    struct post_outputs outputs;
};

void post_result_release(struct post_result *result) {
    picture_release(&result->picture);
    tree_freep(&result->record);
    text_freep(&result->json);
}

static int refuse_type(const char *name, struct error *err) {
    char list[128] = "";
    for (const struct post_kind *const *kind = post_kinds; *kind; kind++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s%s",
                 used == 0 ? ""
                 : kind[1] ? ", "
                           : " or ",
                 (*kind)->name);
    }
    return error_set(err, ERROR_INVALID, "spec." FIELD "type is '%.40s', expected %s", name, list);
}

int post_open(const json_t *spec, struct post **ret_post, struct error *err) {
    const char *name = tree_text(spec, FIELD "type", "");
    const struct post_kind *kind = post_kind_find(name);
    struct post_state *state = NULL;
    if (!kind) {
        return refuse_type(name, err);
    }
    if (tree_get(spec, "scorer.onnx.outputs") && !kind->take) {
        return error_set(err, ERROR_INVALID,
                         "spec.scorer.onnx.outputs: postprocess type %s takes one output: name it "
                         "in spec.scorer.onnx.output",
                         name);
    }
    if (kind->open(spec, &state, err) < 0) {
        return -1;
    }
    struct post *post = x_calloc(1, sizeof *post);
    *post = (struct post){.spec = spec, .kind = kind, .state = state};
    *ret_post = post;
    return 0;
}

void post_free(struct post *post) {
    if (post) {
        post->kind->free(post->state);
        output_list_release(&post->list);
        free(post);
    }
}

bool post_wants_pictures(const struct post *post) {
    return post->kind->wants_pictures;
}

bool post_draws(const struct post *post) {
    return post->kind->draws && post->kind->draws(post->state);
}

const struct pixel_conversion *post_pixels(const struct post *post) {
    return post->kind->pixels ? post->kind->pixels(post->state) : NULL;
}

void post_files(const struct post *post, json_t *files) {
    if (post->kind->files) {
        post->kind->files(post->state, files);
    }
}

void post_bind(struct post *post, const struct session *session) {
    post->takes_list = post->kind->takes_all || tree_get(post->spec, "scorer.onnx.outputs") != NULL;
    if (post->takes_list) {
        output_list_init(&post->list, post->spec, session);
    } else {
        output_choice_init(&post->choice, post->spec, session, post->kind, post->state);
        post->outputs.has_pixels = session_returns_pixels(session);
    }
}

bool post_is_open(const struct post *post) {
    return post->takes_list || post->choice.index < 0;
}

int post_check(const struct post *post, struct error *err) {
    return post->takes_list ? output_list_check(&post->list, err)
                            : output_choice_check(&post->choice, err);
}

static int take_list(struct post *post, const struct tensor *outputs, int64_t items,
                     struct error *err) {
    if (output_list_check(&post->list, err) < 0) {
        return -1;
    }
    output_list_take(&post->list, outputs, items, &post->outputs);
    return post->kind->take(post->state, &post->outputs, err);
}

/* Bytes are checked like the floats that they were made from. */
static int take_pixels(struct post *post, const struct tensor *outputs, int64_t items,
                       struct error *err) {
    const int64_t *dims = outputs[0].shape.dims;
    const struct tensor *ignored,
        floats = {.type = TENSOR_FLOAT32, .shape = {4, {dims[0], 3, dims[1], dims[2]}}};
    post->taken[0] = &outputs[0];
    post->taken[1] = &outputs[1];
    return output_choice_take(&post->choice, &floats, items, &ignored, err);
}

static int take_one(struct post *post, const struct tensor *outputs, int64_t items,
                    struct error *err) {
    int result = post->outputs.has_pixels
                     ? take_pixels(post, outputs, items, err)
                     : output_choice_take(&post->choice, outputs, items, &post->taken[0], err);
    post->name = result == 0 ? output_choice_name(&post->choice) : "";
    post->outputs.tensors = post->taken;
    post->outputs.names = &post->name;
    post->outputs.count = 1;
    post->outputs.items = items;
    return result;
}

int post_take(struct post *post, const struct tensor *outputs, int64_t items, struct error *err) {
    return post->takes_list ? take_list(post, outputs, items, err)
                            : take_one(post, outputs, items, err);
}

int post_make(const struct post *post, int64_t index, const struct post_item *item,
              struct post_result *ret_result, struct error *err) {
    struct post_result result = {.result.name = item->name};
    if (post->kind->result(post->state, &post->outputs, index, item, &result, err) < 0) {
        post_result_release(&result);
        return -1;
    }
    *ret_result = result;
    ret_result->result.record = ret_result->record;
    ret_result->result.json = ret_result->json;
    ret_result->result.json_size = ret_result->json_size;
    ret_result->result.picture = ret_result->picture.pixels ? &ret_result->picture : NULL;
    return 0;
}
