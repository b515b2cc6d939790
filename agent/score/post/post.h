/* post.h: converts the outputs of a run of the network to results, one for each item, as
 * spec.scorer.onnx.postprocess says. A type (Image, Classes, ...) is one file and one row of
 * post_kinds (post_kind.h). Which outputs hold the results is never guessed: output_choice.h for a
 * type that takes one, output_list.h for several. */
#pragma once

#include "agent/data/input/media.h"
#include "agent/engine/session.h"

/* How a picture became the network's input. */
struct post_place {
    int picture_width, picture_height; /* the item's own */
    int left, top, width, height;      /* where it is in the input, resized */
    int input_width, input_height;     /* the network's input, with padding */
};

struct post_item {
    const char *name;
    struct post_place place;       /* of a picture; all zeros: the item is not a picture */
    const struct picture *picture; /* the item's own; NULL unless post_draws */
    int64_t tokens;                /* of a text, without padding; 0: the item is not a text */
    bool tokens_are_last;          /* padding is before them */
};

/* Owns what `result` refers to, except for its name. */
struct post_result {
    struct result result;
    struct picture picture;
    json_t *record;
    char *json; /* a record as text */
    size_t json_size;
};
void post_result_release(struct post_result *result); /* for AUTO, too */

struct post;

/* Reads the fields and the files that they name. spec must outlive the post. INVALID names a field;
 * other errors are those of reading files. */
NODISCARD int post_open(const json_t *spec, struct post **ret_post, struct error *err);
void post_free(struct post *post); /* accepts NULL */
/* Whether the type is for items that are pictures. */
bool post_wants_pictures(const struct post *post);
/* Whether post_make draws on the item's own picture. */
bool post_draws(const struct post *post);
/* For session_options.pixels_out; NULL: its results are not pictures. */
const struct pixel_conversion *post_pixels(const struct post *post);
/* Adds the files that the results depend on (scorer.h). */
void post_files(const struct post *post, json_t *files);

/* The network that the results come from; it must outlive the post, or at least its last use. Call
 * this once, before the functions below. */
void post_bind(struct post *post, const struct session *session);
/* Whether only a run of the network shows which outputs to take, or that none has the name. */
bool post_is_open(const struct post *post);
/* Without a run. INVALID: the network has no output of a name that the spec gives. */
NODISCARD int post_check(const struct post *post, struct error *err);
/* Takes the outputs of a run (session_collect) for `items` items; they are borrowed until the next
 * call. INVALID: they do not fit the type, or several do, with their names. */
NODISCARD int post_take(struct post *post, const struct tensor *outputs, int64_t items,
                        struct error *err);
/* The result of item `index` of the run. The caller releases it. FAILED: the network's values
 * cannot be a result. */
NODISCARD int post_make(const struct post *post, int64_t index, const struct post_item *item,
                        struct post_result *ret_result, struct error *err);
