// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/row_order.h"

#include "agent/data/text/setting.h"

#include <string.h>

struct reading {
    struct row_orders *into;
    bool has_tokens; /* a part of the sequence has added some */
};

static int add_part(struct row_order *order, struct row_part part, struct error *err) {
    if (order->count == ROW_PARTS_MAX) {
        return error_set(err, ERROR_INVALID, "more than %d parts", ROW_PARTS_MAX);
    }
    order->parts[order->count++] = part;
    order->added += part.what == ROW_TOKEN;
    return 0;
}

static void fill(struct row_order *order, const struct row_part *parts, size_t count) {
    *order = (struct row_order){.count = count, .is_whole = true};
    for (size_t i = 0; i < count; i++) {
        order->parts[i] = parts[i];
        order->added += parts[i].what == ROW_TOKEN;
    }
}

/* "sep": ["[SEP]", 102] */
static int read_token(const json_t *tree, const char *name, int32_t *ret_id, struct error *err) {
    const json_t *pair = json_object_get(tree, name), *id = json_array_get(pair, 1);
    if (json_array_size(pair) != 2 || !json_is_string(json_array_get(pair, 0)) ||
        !json_is_integer(id) || json_integer_value(id) < 0 ||
        json_integer_value(id) > TEXT_ID_MAX) {
        return error_set(err, ERROR_INVALID, "%s: expected [TOKEN, ID]", name);
    }
    *ret_id = (int32_t)json_integer_value(id);
    return 0;
}

/* The two classical orders: BERT's counts the second text and its end as another type; RoBERTa's
 * ends the first text twice, and has one type. */
static int read_classical(struct reading *reading, const json_t *tree, bool is_roberta,
                          struct error *err) {
    int32_t start, end;
    if (read_token(tree, "cls", &start, err) < 0 || read_token(tree, "sep", &end, err) < 0) {
        return -1;
    }
    uint8_t other = !is_roberta;
    const struct row_part first = {ROW_TOKEN, start, 0}, text = {ROW_FIRST, 0, 0},
                          last = {ROW_TOKEN, end, 0}, second = {ROW_SECOND, 0, other},
                          last_other = {ROW_TOKEN, end, other};
    struct row_orders *into = reading->into;
    fill(&into->orders[0], (const struct row_part[]){first, text, last}, 3);
    if (is_roberta) {
        fill(&into->orders[1], (const struct row_part[]){first, text, last, last, second, last}, 6);
    } else {
        fill(&into->orders[1], (const struct row_part[]){first, text, last, second, last_other}, 5);
    }
    return 0;
}

static int read_bert(struct reading *reading, const json_t *tree, struct error *err) {
    return read_classical(reading, tree, false, err);
}

static int read_roberta(struct reading *reading, const json_t *tree, struct error *err) {
    return read_classical(reading, tree, true, err);
}

/* ---- a template of its own --------------------------------------------------------------------
 */

/* The tokens that a name stands for. */
static int add_tokens(const json_t *tree, const char *name, uint8_t type, struct row_order *order,
                      struct error *err) {
    const json_t *ids =
        json_object_get(json_object_get(json_object_get(tree, "special_tokens"), name), "ids");
    if (!json_is_array(ids)) {
        return error_set(err, ERROR_INVALID, "its token is not in special_tokens, with ids");
    }
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > TEXT_ID_MAX) {
            return error_set(err, ERROR_INVALID,
                             "the ids of its token: expected whole numbers of 0 to %d",
                             TEXT_ID_MAX);
        }
        if (add_part(order, (struct row_part){ROW_TOKEN, (int32_t)json_integer_value(id), type},
                     err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* {"SpecialToken": {"id": "[CLS]", "type_id": 0}} or {"Sequence": {"id": "A", "type_id": 0}} */
static int read_part(const json_t *tree, const json_t *part, struct row_order *order,
                     struct error *err) {
    const json_t *token = json_object_get(part, "SpecialToken");
    const json_t *text = json_object_get(part, "Sequence");
    const json_t *item = token ? token : text;
    const char *id = json_string_value(json_object_get(item, "id"));
    int64_t type;
    if (!item || !id) {
        return error_set(err, ERROR_INVALID, "expected SpecialToken or Sequence, with an id");
    }
    if (setting_whole(item, "type_id", UINT8_MAX, &type, err) < 0) {
        return -1;
    }
    if (token) {
        return add_tokens(tree, id, (uint8_t)type, order, err);
    }
    if (strcmp(id, "A") != 0 && strcmp(id, "B") != 0) {
        return error_set(err, ERROR_INVALID, "id: expected A or B");
    }
    return add_part(order, (struct row_part){*id == 'A' ? ROW_FIRST : ROW_SECOND, 0, (uint8_t)type},
                    err);
}

static int read_order(const json_t *tree, const char *name, int texts, struct row_order *order,
                      struct error *err) {
    const json_t *list = json_object_get(tree, name);
    size_t seen[2] = {0};
    *order = (struct row_order){.is_whole = true};
    if (!json_is_array(list)) {
        return error_set(err, ERROR_INVALID, "%s: expected a list", name);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        if (read_part(tree, json_array_get(list, i), order, err) < 0) {
            return error_context(err, "%s[%zu]", name, i);
        }
    }
    for (size_t i = 0; i < order->count; i++) {
        seen[0] += order->parts[i].what == ROW_FIRST;
        seen[1] += order->parts[i].what == ROW_SECOND;
    }
    order->is_whole = seen[0] == 1 && seen[1] == (size_t)(texts - 1);
    return 0;
}

static int read_template(struct reading *reading, const json_t *tree, struct error *err) {
    struct row_order *orders = reading->into->orders;
    if (read_order(tree, "single", 1, &orders[0], err) < 0 ||
        read_order(tree, "pair", 2, &orders[1], err) < 0) {
        return -1;
    }
    return orders[0].is_whole
               ? 0
               : error_set(err, ERROR_INVALID, "single: expected the sequence A, once");
}

/* ---- which type ----------------------------------------------------------------------------- */

static const struct {
    const char *type;
    int (*read)(struct reading *reading, const json_t *tree, struct error *err);
} kinds[] = {
    {"BertProcessing", read_bert},
    {"RobertaProcessing", read_roberta},
    {"TemplateProcessing", read_template},
    {"ByteLevel", NULL}, /* changes only where in the text a token is */
};

static int read_one(void *context, const json_t *tree, struct error *err) {
    struct reading *reading = context;
    const struct setting_types types = {kinds, ARRAY_LEN(kinds), sizeof kinds[0]};
    int i = setting_find(tree, &types, err);
    if (i < 0) {
        return -1;
    }
    if (kinds[i].read && reading->has_tokens) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "two components that add tokens, at most one is supported");
    }
    reading->has_tokens = reading->has_tokens || kinds[i].read;
    return kinds[i].read ? kinds[i].read(reading, tree, err) : 0;
}

int row_order_read(const json_t *tree, struct row_orders *ret_orders, struct error *err) {
    static const struct row_part first = {ROW_FIRST, 0, 0};
    static const struct row_part second = {ROW_SECOND, 0, 1};
    struct row_orders made;
    struct reading reading = {.into = &made};
    const struct setting_sequence sequence = {"processors", read_one, &reading};
    fill(&made.orders[0], &first, 1);
    fill(&made.orders[1], (const struct row_part[]){first, second}, 2);
    if (tree && !json_is_null(tree) && setting_each(tree, &sequence, err) < 0) {
        return error_context(err, "post_processor");
    }
    *ret_orders = made;
    return 0;
}
