// SPDX-License-Identifier: Apache-2.0
/* GroupQueryAttention of com.microsoft: a decoder's attention with its cache of keys and values. An
 * image's new keys follow those that it has, which may be fewer than the cache has places; those
 * behind are hidden. */
#include "agent/engine/ops/rewrite/attend.h"

#include <math.h>

enum { QUERY, KEY, VALUE, PAST_KEY, PAST_VALUE, LAST, TOTAL, COS, SIN, PLACES, SCORE_BIAS };

enum { TURNED_MAX = 1 << 15 }; /* half the numbers of a head that rotate */

struct group_query {
    struct attention a; /* k and v: at first the new ones, then those of the cache */
    int begins;         /* [images, 1]: the place of the first new key */
    int places;         /* [images, length]: of the new ones */
};

static int check(const struct node *node, struct error *err) {
    static const struct {
        int input;
        const char *name;
    } missing[] = {{11, "head_sink"}, {12, "k_scale"}, {13, "v_scale"}};
    for (size_t i = 0; i < ARRAY_LEN(missing); i++) {
        if (expand_input(node, missing[i].input) >= 0) {
            return error_set(err, ERROR_UNSUPPORTED, "input %s is not supported", missing[i].name);
        }
    }
    if (node_number(node, "softcap", 0) != 0 && expand_input(node, SCORE_BIAS) >= 0) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "softcap together with attention_bias is not supported");
    }
    bool has_key = expand_input(node, KEY) >= 0, has_past = expand_input(node, PAST_KEY) >= 0;
    bool turns = node_integer(node, "do_rotary", 0);
    if (has_key != (expand_input(node, VALUE) >= 0) ||
        has_past != (expand_input(node, PAST_VALUE) >= 0) ||
        (turns && (expand_input(node, COS) < 0 || expand_input(node, SIN) < 0)) ||
        expand_input(node, LAST) < 0 || expand_input(node, TOTAL) < 0 ||
        node_integer(node, "num_heads", 0) < 1 || node_integer(node, "kv_num_heads", 0) < 1) {
        return error_set(err, ERROR_INVALID,
                         "num_heads and kv_num_heads, the inputs query, seqlens_k and "
                         "total_sequence_length, key and value both or neither, past_key and "
                         "past_value both or neither, and with do_rotary cos_cache and sin_cache "
                         "are expected");
    }
    return 0;
}

/* Of one input [images, length, (heads + 2 kv heads) * size], or of three. */
static void take_parts(struct expansion *expansion, const struct node *node, struct attention *a) {
    static const int64_t order[] = {0, 2, 1, 3};
    int64_t heads = node_integer(node, "num_heads", 0);
    int64_t kv_heads = node_integer(node, "kv_num_heads", 0);
    if (expand_input(node, KEY) >= 0) {
        a->q = attend_divide(expansion, node->inputs[QUERY], heads);
        a->k = attend_divide(expansion, node->inputs[KEY], kv_heads);
        a->v = attend_divide(expansion, node->inputs[VALUE], kv_heads);
        return;
    }
    const int64_t sizes[] = {heads, kv_heads, kv_heads}, shape[] = {0, 0, heads + 2 * kv_heads, -1};
    const struct attribute along[] = {{.name = "axis", .kind = ATTRIBUTE_INTEGER, .integer = 2},
                                      {.name = NULL}};
    int x = attend_of_rank(expansion, node->inputs[QUERY], 3);
    x = expand_binary(expansion, OP_RESHAPE, x, builder_integers(&expansion->builder, shape, 4));
    int list = builder_integers(&expansion->builder, sizes, 3);
    int parts = expand_value(expansion, OP_SPLIT, INPUTS(x, list), 3, along);
    a->q = attend_turn(expansion, parts, order, 4);
    a->k = attend_turn(expansion, parts + 1, order, 4);
    a->v = attend_turn(expansion, parts + 2, order, 4);
}

static int range(struct expansion *expansion, int size) {
    return expand_value(expansion, OP_RANGE,
                        INPUTS(expand_typed(expansion, 0, TENSOR_INT64), size,
                               expand_typed(expansion, 1, TENSOR_INT64)),
                        1, NULL);
}

/* seqlens_k is the place of each image's last key. In a first run it may be less than the length:
 * an image is filled up behind. */
static void find_places(struct expansion *expansion, const struct node *node,
                        struct group_query *g) {
    int images =
        attend_along(expansion, attend_dim(expansion, g->a.q, 0), expand_integer(expansion, 1), 0);
    int last = expand_cast(expansion, node->inputs[LAST], TENSOR_INT64);
    last = expand_binary(expansion, OP_RESHAPE, last, images);
    int length = attend_size(expansion, g->a.q, 2);
    int end = expand_binary(expansion, OP_ADD, last, expand_typed(expansion, 1, TENSOR_INT64));
    g->begins = expand_binary(expansion, OP_MAX, expand_binary(expansion, OP_SUB, end, length),
                              expand_typed(expansion, 0, TENSOR_INT64));
    g->places = expand_binary(expansion, OP_ADD, g->begins, range(expansion, length));
}

static int rotated(struct expansion *expansion, const struct node *node, int x, int cos, int sin) {
    const struct value *table = &expansion->builder.graph.values[node->inputs[COS]];
    bool is_known = (table->is_input || table->is_constant) && table->has_shape &&
                    table->shape.rank == 2 && table->shape.dims[1] > 0 &&
                    table->shape.dims[1] <= TURNED_MAX;
    struct rotary r = {.x = x,
                       .cos = cos,
                       .sin = sin,
                       .turned = is_known ? 2 * table->shape.dims[1] : 0,
                       .is_interleaved = node_integer(node, "rotary_interleaved", 0)};
    return rotary_turn(expansion, &r);
}

static void rotate(struct expansion *expansion, const struct node *node, struct group_query *g) {
    int places = expand_input(node, PLACES) >= 0 ? node->inputs[PLACES] : g->places;
    int cos = rotary_angles(expansion, node->inputs[COS], places, 1);
    int sin = rotary_angles(expansion, node->inputs[SIN], places, 1);
    g->a.q = rotated(expansion, node, g->a.q, cos, sin);
    g->a.k = rotated(expansion, node, g->a.k, cos, sin);
}

/* The places of the new cache. */
struct cache {
    int from;    /* [images, places, 1]: where each is in [old cache, new keys] */
    int is_used; /* [images, 1, places, 1] */
};

static struct cache plan_cache(struct expansion *expansion, const struct node *node,
                               const struct group_query *g) {
    const int64_t axes[] = {1, 3};
    static const int64_t nothing[1] = {0};
    int none = builder_integers(&expansion->builder, nothing, 0);
    int room = attend_size(expansion, node->inputs[PAST_KEY], 2);
    int length = attend_size(expansion, g->a.q, 2);
    int total = expand_cast(expansion, node->inputs[TOTAL], TENSOR_INT64);
    total = expand_binary(expansion, OP_RESHAPE, total, none);
    int at = range(expansion, expand_binary(expansion, OP_MAX, total, room));
    int end = expand_binary(expansion, OP_ADD, g->begins, length);
    int is_old = expand_binary(expansion, OP_LESS, at, g->begins);
    int is_used = expand_binary(expansion, OP_LESS, at, end);
    int fresh =
        expand_binary(expansion, OP_ADD, expand_binary(expansion, OP_SUB, at, g->begins), room);
    int from = expand_value(expansion, OP_WHERE, INPUTS(is_old, at, fresh), 1, NULL);
    int limit = expand_binary(expansion, OP_SUB, expand_binary(expansion, OP_ADD, room, length),
                              expand_typed(expansion, 1, TENSOR_INT64));
    from = expand_binary(expansion, OP_MIN, from, limit);
    return (struct cache){
        .from = expand_binary(expansion, OP_UNSQUEEZE, from, expand_integer(expansion, 2)),
        .is_used = expand_binary(expansion, OP_UNSQUEEZE, is_used,
                                 builder_integers(&expansion->builder, axes, 2))};
}

/* Puts new keys behind the old ones of their image. Places that are not used are 0: what was there
 * need not be numbers. */
static int with_past(struct expansion *expansion, int past, int x, const struct cache *cache) {
    static const int64_t order[] = {0, 2, 1, 3};
    static const struct attribute by_image = {
        .name = "batch_dims", .kind = ATTRIBUTE_INTEGER, .integer = 1};
    int all = attend_turn(expansion, attend_along(expansion, past, x, 2), order, 4);
    all = expand_newer(expansion, "GatherND", 13, INPUTS(all, cache->from), &by_image);
    all = attend_turn(expansion, all, order, 4);
    int zero = expand_typed(expansion, 0, expand_type(expansion, x));
    return expand_value(expansion, OP_WHERE, INPUTS(cache->is_used, all, zero), 1, NULL);
}

/* Those behind the query, and those further before it than the window. */
static void hide(struct expansion *expansion, const struct node *node, struct group_query *g) {
    const int64_t axes[] = {1, 3};
    int64_t window = node_integer(node, "local_window_size", -1);
    int rows = expand_binary(expansion, OP_UNSQUEEZE, g->places,
                             builder_integers(&expansion->builder, axes, 2));
    int keys = range(expansion, attend_size(expansion, g->a.k, 2));
    int hides = expand_binary(expansion, OP_LESS, rows, keys);
    if (window >= 0) {
        int seen = expand_binary(expansion, OP_ADD, keys,
                                 expand_typed(expansion, (double)window, TENSOR_INT64));
        int sees = expand_binary(expansion, OP_LESS, rows, seen);
        hides = expand_binary(expansion, OP_OR, hides,
                              expand_value(expansion, OP_NOT, INPUTS(sees), 1, NULL));
    }
    attend_add(expansion, &g->a,
               attend_hide(expansion, hides, -INFINITY, attend_type(expansion, &g->a)));
}

int expand_group_query(struct expansion *expansion, const struct node *node, bool *ret_done,
                       struct error *err) {
    if (check(node, err) < 0) {
        return -1;
    }
    struct group_query g = {.a = {.bias = expand_input(node, SCORE_BIAS),
                                  .scale = node_number(node, "scale", 0),
                                  .softcap = node_number(node, "softcap", 0),
                                  .caps_first = true,
                                  .is_grouped = node_integer(node, "num_heads", 0) !=
                                                node_integer(node, "kv_num_heads", 0)}};
    take_parts(expansion, node, &g.a);
    find_places(expansion, node, &g);
    if (node_integer(node, "do_rotary", 0)) {
        rotate(expansion, node, &g);
    }
    if (expand_input(node, PAST_KEY) >= 0) {
        struct cache cache = plan_cache(expansion, node, &g);
        g.a.k = with_past(expansion, node->inputs[PAST_KEY], g.a.k, &cache);
        g.a.v = with_past(expansion, node->inputs[PAST_VALUE], g.a.v, &cache);
    }
    hide(expansion, node, &g);
    struct attend_values values;
    attend_compute(expansion, &g.a, &values);
    expand_give(expansion, 0, attend_join(expansion, values.y));
    expand_give(expansion, 1, g.a.k);
    expand_give(expansion, 2, g.a.v);
    *ret_done = true;
    return 0;
}
