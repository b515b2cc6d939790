// SPDX-License-Identifier: Apache-2.0
#include "agent/data/text/token_lengths.h"

#include "agent/data/text/setting.h"
#include "agent/data/text/text_model.h"

static const char *const direction_names[] = {"Right", "Left", NULL};
static const char *const strategy_names[] = {"LongestFirst", "OnlyFirst", "OnlySecond", NULL};

static int read_truncation(const json_t *tree, struct token_lengths *lengths, struct error *err) {
    int64_t max;
    int direction;
    if (!tree || json_is_null(tree)) {
        return 0;
    }
    if (setting_whole(tree, "max_length", TOKEN_LENGTH_MAX, &max, err) < 0 ||
        setting_choice(tree, "strategy", strategy_names, LONGEST_FIRST, &lengths->strategy, err) <
            0 ||
        setting_choice(tree, "direction", direction_names, 0, &direction, err) < 0) {
        return error_context(err, "truncation");
    }
    if (max == 0) {
        return error_set(err, ERROR_INVALID, "truncation: max_length: expected at least 1");
    }
    lengths->max = (size_t)max;
    lengths->is_cut_left = direction == 1;
    return 0;
}

/* "BatchLongest", or {"Fixed": N} */
static int read_strategy(const json_t *tree, struct token_lengths *lengths, struct error *err) {
    static const char *const names[] = {"BatchLongest", NULL};
    const json_t *strategy = json_object_get(tree, "strategy");
    int ignored;
    int64_t fixed;
    if (!json_is_object(strategy)) {
        return setting_choice(tree, "strategy", names, -1, &ignored, err);
    }
    if (setting_whole(strategy, "Fixed", TOKEN_LENGTH_MAX, &fixed, err) < 0) {
        return error_context(err, "strategy");
    }
    lengths->is_fixed = true;
    lengths->fixed = (size_t)fixed;
    return 0;
}

static int read_padding(const json_t *tree, struct token_lengths *lengths, struct error *err) {
    int64_t multiple = 0, id, type;
    int direction;
    if (!tree || json_is_null(tree)) {
        return 0;
    }
    const json_t *given = json_object_get(tree, "pad_to_multiple_of");
    if (read_strategy(tree, lengths, err) < 0 ||
        setting_choice(tree, "direction", direction_names, 0, &direction, err) < 0 ||
        (given && !json_is_null(given) &&
         setting_whole(tree, "pad_to_multiple_of", TOKEN_LENGTH_MAX, &multiple, err) < 0) ||
        setting_whole(tree, "pad_id", TEXT_ID_MAX, &id, err) < 0 ||
        setting_whole(tree, "pad_type_id", UINT8_MAX, &type, err) < 0) {
        return error_context(err, "padding");
    }
    lengths->is_padded = true;
    lengths->is_padded_left = direction == 1;
    lengths->multiple = (size_t)multiple;
    lengths->pad_id = (int32_t)id;
    lengths->pad_type = (uint8_t)type;
    return 0;
}

int token_lengths_read(const json_t *tree, struct token_lengths *ret_lengths, struct error *err) {
    struct token_lengths lengths = {0};
    if (read_truncation(json_object_get(tree, "truncation"), &lengths, err) < 0 ||
        read_padding(json_object_get(tree, "padding"), &lengths, err) < 0) {
        return -1;
    }
    *ret_lengths = lengths;
    return 0;
}

/* The longer one of two is cut first; when both are too long, each gets half, and the longer one
 * what is odd. What is longer than the whole row counts as that long. */
static void cut_longest(size_t row, size_t added, size_t counts[2]) {
    size_t first = MIN(counts[0], row), second = MIN(counts[1], row), max = row - added;
    size_t longer = first > second ? 0 : 1, small = MIN(first, second);
    if (small > max - MIN(max, small)) {
        small = max / 2;
    }
    counts[longer] = max - small;
    counts[!longer] = small;
}

int token_lengths_cut(const struct token_lengths *lengths, const struct token_limit *limit,
                      size_t counts[2], struct error *err) {
    size_t total = counts[0] + counts[1], max = limit->row - limit->added;
    if (total <= max) {
        return 0;
    }
    if (lengths->strategy == LONGEST_FIRST) {
        if (limit->is_pair) {
            cut_longest(limit->row, limit->added, counts);
        } else {
            counts[0] = max;
        }
        return 0;
    }
    bool is_second = lengths->strategy == ONLY_SECOND;
    if (counts[is_second] <= total - max) {
        return error_set(err, ERROR_INVALID,
                         "the %s text has %zu tokens, and truncation has to take away %zu of them",
                         is_second ? "second" : "first", counts[is_second], total - max);
    }
    counts[is_second] -= total - max;
    return 0;
}

size_t token_lengths_padded(const struct token_lengths *lengths, size_t count) {
    if (!lengths->is_padded) {
        return count;
    }
    size_t wanted = lengths->is_fixed ? lengths->fixed : count;
    size_t over = lengths->multiple ? wanted % lengths->multiple : 0;
    return MAX(count, over ? wanted + lengths->multiple - over : wanted);
}
