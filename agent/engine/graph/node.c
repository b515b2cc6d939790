// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/graph/node.h"

#include <assert.h>
#include <string.h>

static const char *const kind_names[] = {"an integer", "a number", "a string",
                                         "integers",   "numbers",  "a tensor",
                                         "strings",    "a graph",  "a type"};
static_assert(ARRAY_LEN(kind_names) == ATTRIBUTE_KIND_COUNT, "one name per kind");

const struct attribute *node_attribute(const struct node *node, const char *name) {
    for (size_t i = 0; i < node->attribute_count; i++) {
        if (strcmp(node->attributes[i].name, name) == 0) {
            return &node->attributes[i];
        }
    }
    return NULL;
}

int64_t node_integer(const struct node *node, const char *name, int64_t fallback) {
    const struct attribute *attribute = node_attribute(node, name);
    return attribute ? attribute->integer : fallback;
}

float node_number(const struct node *node, const char *name, float fallback) {
    const struct attribute *attribute = node_attribute(node, name);
    return attribute ? attribute->number : fallback;
}

const char *node_text(const struct node *node, const char *name, const char *fallback) {
    const struct attribute *attribute = node_attribute(node, name);
    return attribute ? attribute->text : fallback;
}

const int64_t *node_integers(const struct node *node, const char *name, size_t *ret_count) {
    const struct attribute *attribute = node_attribute(node, name);
    *ret_count = attribute ? attribute->count : 0;
    return attribute ? attribute->integers : NULL;
}

static bool text_is_one_of(const char *text, const char *values) {
    size_t length = strlen(text);
    for (const char *at = values; at; at = strchr(at, '|')) {
        at += *at == '|';
        size_t end = strcspn(at, "|");
        if (end == length && memcmp(at, text, length) == 0) {
            return true;
        }
    }
    return false;
}

static int check_attribute(const struct node *node, const struct attribute *attribute,
                           struct error *err) {
    const struct attribute_rule *rule = node->op->attributes;
    while (rule && rule->name && strcmp(rule->name, attribute->name) != 0) {
        rule++;
    }
    if (!rule || !rule->name) {
        return error_set(err, ERROR_UNSUPPORTED, "attribute \"%.64s\" is not supported",
                         attribute->name);
    }
    if (rule->kind != attribute->kind) {
        return error_set(err, ERROR_INVALID, "attribute \"%s\" is %s, %s is expected", rule->name,
                         kind_names[attribute->kind], kind_names[rule->kind]);
    }
    if (rule->kind == ATTRIBUTE_STRING && rule->values &&
        !text_is_one_of(attribute->text, rule->values)) {
        return error_set(err, ERROR_UNSUPPORTED,
                         "attribute \"%s\" is \"%.64s\", one of %s is supported", rule->name,
                         attribute->text, rule->values);
    }
    if (rule->kind == ATTRIBUTE_INTEGER && (rule->low || rule->high) &&
        (attribute->integer < rule->low || attribute->integer > rule->high)) {
        return error_set(
            err, ERROR_UNSUPPORTED, "attribute \"%s\" is %lld, %lld to %lld is supported",
            rule->name, (long long)attribute->integer, (long long)rule->low, (long long)rule->high);
    }
    return 0;
}

static int check_arity(const struct node *node, struct error *err) {
    const struct op *op = node->op;
    if (node->input_count < op->inputs_min || node->input_count > op->inputs_max) {
        return error_set(err, ERROR_INVALID, "%d inputs, %d to %d are expected", node->input_count,
                         op->inputs_min, op->inputs_max);
    }
    if (node->output_count < 1 || node->output_count > op->outputs_max) {
        return error_set(err, ERROR_UNSUPPORTED, "%d outputs, 1 to %d are supported",
                         node->output_count, op->outputs_max);
    }
    for (int i = 0; i < op->inputs_min; i++) {
        if (node->inputs[i] < 0) {
            return error_set(err, ERROR_INVALID, "input %d is missing", i);
        }
    }
    return 0;
}

int node_check(const struct node *node, struct error *err) {
    int result = check_arity(node, err);
    for (size_t i = 0; result == 0 && i < node->attribute_count; i++) {
        result = check_attribute(node, &node->attributes[i], err);
    }
    return result < 0 ? error_context(err, "%s node \"%.64s\"", node->op->name, node->name) : 0;
}
