// SPDX-License-Identifier: Apache-2.0
#include "agent/score/worker/groups.h"

#include "agent/score/worker/sequence.h"
#include "lib/log.h"

#include <stdlib.h>
#include <string.h>

enum {
    PIXELS = 8 * 224 * 224, /* larger runs are efficient enough */
    COUNT = 2,              /* one is being collected, one is in the network */
};

/* The items that are collected for an input. */
struct port {
    struct tensor items; /* [capacity, ...]; its data is in memory */
    bool is_shared;      /* without an axis for items: the same values for all of them */
    void *memory;        /* of the session */
    size_t room;         /* size of the memory, bytes */
};

struct group {
    struct port *ports;                         /* of each input */
    struct post_place places[FEEDS_MOST_FIXED]; /* of pictures */
    struct feed_span tokens[FEEDS_MOST_FIXED];
    char *names[FEEDS_MOST_FIXED], *heads[FEEDS_MOST_FIXED];
    /* Copies, if the results are drawn on them; else empty. */
    struct picture pictures[FEEDS_MOST_FIXED];
    int count, capacity;
};

/* Items [first, first + count) of a group, which are one run of the network. */
struct run {
    struct group *group;
    int first, count;
};

struct groups {
    struct groups_options options;
    struct group all[COUNT];
    int filling; /* index */
    struct run runs[COUNT];
    int run_count;
    int most;                        /* limit of items per run, since more did not fit; 0: none */
    struct tensor *inputs, *outputs; /* for session_submit and session_collect */
    struct port *wanted;             /* of the added item, for each input; without memory */
    struct sequence *sequence;       /* of items that are sequences; NULL: they are not */
};

static size_t input_count(const struct groups *groups) {
    return session_input_count(groups->options.session);
}

/* The network's fixed number of items; -1: any number. */
static int64_t fixed_items(const struct groups *groups) {
    return feeds_fixed(groups->options.feeds);
}

struct groups *groups_new(const struct groups_options *options) {
    struct groups *groups = x_calloc(1, sizeof *groups);
    groups->options = *options;
    groups->outputs = x_calloc(session_output_count(options->session), sizeof *groups->outputs);
    groups->inputs = x_calloc(input_count(groups), sizeof *groups->inputs);
    groups->wanted = x_calloc(input_count(groups), sizeof *groups->wanted);
    for (int i = 0; i < COUNT; i++) {
        groups->all[i].ports = x_calloc(input_count(groups), sizeof *groups->all[i].ports);
    }
    groups->sequence =
        feeds_have_states(options->feeds) ? sequence_new(options->session, options->feeds) : NULL;
    return groups;
}

static void clear(struct group *group) {
    for (int i = 0; i < group->count; i++) {
        free(TAKE(group->names[i]));
        picture_release(&group->pictures[i]);
        free(TAKE(group->heads[i]));
    }
    group->count = 0;
}

void groups_drop(struct groups *groups) {
    for (; groups->run_count > 0; groups->run_count--) {
        struct error ignored = {0};
        (void)!session_collect(groups->options.session, groups->outputs, &ignored);
    }
    for (int i = 0; i < COUNT; i++) {
        clear(&groups->all[i]);
    }
}

void groups_free(struct groups *groups) {
    if (groups) {
        groups_drop(groups);
        for (int i = 0; i < COUNT; i++) {
            for (size_t k = 0; k < input_count(groups); k++) {
                session_host_free(groups->options.session, groups->all[i].ports[k].memory);
            }
            free(groups->all[i].ports);
        }
        free(groups->inputs);
        free(groups->wanted);
        free(groups->outputs);
        sequence_free(groups->sequence);
        free(groups);
    }
}

/* ---- results -------------------------------------------------------------------------------- */

/* Writes item `at` of the run. */
static int write_item(const struct groups *groups, const struct run *run, int at,
                      const struct groups_target *target, struct error *err) {
    const struct group *group = run->group;
    int index = run->first + at;
    const struct post_item item = {.name = group->names[index],
                                   .place = group->places[index],
                                   .picture = &group->pictures[index],
                                   .tokens = group->tokens[index].count,
                                   .tokens_are_last = group->tokens[index].is_last};
    AUTO(post_result_release) struct post_result result = {0};
    if (post_make(groups->options.post, at, &item, &result, err) < 0) {
        return error_context(err, "%s", item.name);
    }
    result.result.head = group->heads[index];
    result.result.has_name = true;
    return target->add(target->context, &result, err);
}

/* A network with a fixed number n of items gets n; left-over items are computed and ignored. */
static int64_t items_of(const struct groups *groups, int count) {
    return fixed_items(groups) > 0 ? fixed_items(groups) : count;
}

/* Waits for the oldest run, and writes its results. */
static int collect(struct groups *groups, const struct groups_target *target, struct error *err) {
    struct session *session = groups->options.session;
    const struct run run = groups->runs[0];
    memmove(groups->runs, groups->runs + 1, (size_t)--groups->run_count * sizeof run);
    if (session_collect(session, groups->outputs, err) < 0) {
        return -1;
    }
    feeds_restore(groups->options.feeds, groups->outputs);
    int result = post_take(groups->options.post, groups->outputs, items_of(groups, run.count), err);
    for (int i = 0; i < run.count && result == 0; i++) {
        result = write_item(groups, &run, i, target, err);
    }
    return result;
}

static int collect_all(struct groups *groups, const struct groups_target *target,
                       struct error *err) {
    while (groups->run_count > 0) {
        if (collect(groups, target, err) < 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- runs ----------------------------------------------------------------------------------- */

static int submit(struct groups *groups, struct group *group, int first, int count,
                  struct error *err) {
    for (size_t i = 0; i < input_count(groups); i++) {
        struct tensor *input = &groups->inputs[i];
        *input = group->ports[i].items;
        if (group->ports[i].is_shared) {
            continue;
        }
        int64_t capacity = MAX(input->shape.dims[0], 1);
        size_t item_bytes =
            (size_t)(shape_count(&input->shape) / capacity) * tensor_type_size(input->type);
        input->data = (char *)input->data + (size_t)first * item_bytes;
        input->shape.dims[0] = items_of(groups, count);
    }
    feeds_strip(groups->options.feeds, groups->inputs);
    if (session_submit(groups->options.session, groups->inputs, err) < 0) {
        return -1;
    }
    groups->runs[groups->run_count++] = (struct run){group, first, count};
    return 0;
}

/* Called if the device had too little memory for a run of `count` items: completes the run in
 * flight, then limits runs to half as many items. -1: not even one item fits. */
static int give_way(struct groups *groups, const struct groups_target *target, int count,
                    struct error *err) {
    struct error cause = *err;
    error_clear(err);
    if (groups->run_count > 0) {
        return collect_all(groups, target, err);
    }
    if (count == 1 || fixed_items(groups) > 0) {
        *err = cause;
        return -1;
    }
    groups->most = count / 2;
    log_event(LOG_WARNING, "a batch of %d items is too large: %s; using at most %d from now on",
              count, cause.text, groups->most);
    return 0;
}

/* Adds to an error the names of the items of a run. */
static int name_run(const struct group *group, int first, int count, struct error *err) {
    return count == 1 ? error_context(err, "%s", group->names[first])
                      : error_context(err, "%s to %s", group->names[first],
                                      group->names[first + count - 1]);
}

/* Submits the collected items in as few runs as fit; then the other group is collected. */
static int flush(struct groups *groups, const struct groups_target *target, struct error *err) {
    struct group *group = &groups->all[groups->filling];
    if (group->count == 0) {
        return 0; /* the other group may be in flight */
    }
    for (int done = 0; done < group->count;) {
        int left = group->count - done, count = groups->most ? MIN(groups->most, left) : left;
        if (submit(groups, group, done, count, err) == 0) {
            done += count;
        } else if (err->kind != ERROR_EXHAUSTED || give_way(groups, target, count, err) < 0) {
            return name_run(group, done, count, err);
        }
        while (groups->run_count >= session_depth(groups->options.session)) {
            if (collect(groups, target, err) < 0) {
                return -1;
            }
        }
    }
    groups->filling = (groups->filling + 1) % COUNT;
    clear(&groups->all[groups->filling]);
    return 0;
}

int groups_finish(struct groups *groups, const struct groups_target *target, struct error *err) {
    if (flush(groups, target, err) < 0 || collect_all(groups, target, err) < 0) {
        return -1;
    }
    groups_drop(groups);
    return 0;
}

/* ---- items ---------------------------------------------------------------------------------- */

/* The number of items like the taken one, of this many values, that go through the network
 * together. */
static int64_t capacity_of(const struct groups *groups, int64_t values) {
    int64_t fixed = fixed_items(groups), most = feeds_most(groups->options.feeds);
    return fixed > 0 ? fixed : MAX(1, MIN(most, PIXELS / MAX(values / 3, 1)));
}

static int grow(struct groups *groups, struct port *port, const struct port *wanted,
                struct error *err) {
    const struct tensor *items = &wanted->items;
    size_t size = (size_t)shape_count(&items->shape) * tensor_type_size(items->type);
    if (port->room < size) {
        session_host_free(groups->options.session, TAKE(port->memory));
        port->room = 0;
        if (session_host_memory(groups->options.session, size, &port->memory, err) < 0) {
            return -1;
        }
        port->room = size;
        memset(port->memory, 0, size);
    }
    port->items = *items;
    port->items.data = port->memory;
    port->is_shared = wanted->is_shared;
    return 0;
}

/* Whether the wanted values have a place in the group: its axes but the first, which is the number
 * of items, are as long, or values can be filled up. */
static bool fits(const struct groups *groups, const struct group *group) {
    for (size_t i = 0; i < input_count(groups); i++) {
        struct shape has = group->ports[i].items.shape, wanted = groups->wanted[i].items.shape;
        bool pads = feeds_pads(groups->options.feeds, i);
        if (has.rank > 0 && has.rank == wanted.rank && !groups->wanted[i].is_shared) {
            has.dims[0] = wanted.dims[0];
        }
        if (pads && has.rank > 1 && wanted.rank == has.rank && wanted.dims[1] < has.dims[1]) {
            wanted.dims[1] = has.dims[1];
        }
        if (!shape_equal(&has, &wanted)) {
            return false;
        }
    }
    return true;
}

/* The group for an item with groups->wanted; submits collected items that it does not fit. */
static struct group *make_room(struct groups *groups, int64_t capacity,
                               const struct groups_target *target, struct error *err) {
    struct group *group = &groups->all[groups->filling];
    if (group->count > 0 && fits(groups, group)) {
        return group;
    }
    if (group->count > 0) {
        if (flush(groups, target, err) < 0) {
            return NULL;
        }
        group = &groups->all[groups->filling];
    }
    for (size_t i = 0; i < input_count(groups); i++) {
        if (grow(groups, &group->ports[i], &groups->wanted[i], err) < 0) {
            return NULL;
        }
    }
    group->capacity = (int)capacity;
    return group;
}

/* Type and shape of each input for the taken item, with the group's capacity; -1: it does not
 * fit. */
static int measure(struct groups *groups, int64_t *ret_capacity, struct error *err) {
    int64_t values = 0;
    for (size_t i = 0; i < input_count(groups); i++) {
        struct port *wanted = &groups->wanted[i];
        wanted->items = (struct tensor){0};
        if (feeds_measure(groups->options.feeds, i, &wanted->items, &wanted->is_shared, err) < 0) {
            return -1;
        }
        values += wanted->is_shared ? 0 : shape_count(&wanted->items.shape);
    }
    *ret_capacity = capacity_of(groups, values);
    for (size_t i = 0; i < input_count(groups); i++) {
        if (!groups->wanted[i].is_shared) {
            groups->wanted[i].items.shape.dims[0] = *ret_capacity;
        }
    }
    return 0;
}

static void fill(const struct groups *groups, const struct group *group) {
    for (size_t i = 0; i < input_count(groups); i++) {
        const struct port *port = &group->ports[i];
        size_t all = (size_t)shape_count(&port->items.shape) * tensor_type_size(port->items.type);
        size_t at = port->is_shared ? 0 : all / (size_t)group->capacity * (size_t)group->count;
        if (!port->is_shared || group->count == 0) {
            feeds_fill(groups->options.feeds, i, &port->items.shape, (char *)port->memory + at);
        }
    }
}

static struct post_place place_of(const struct groups *groups, const struct item *item) {
    const struct preprocess_size size = feeds_size(groups->options.feeds);
    return (struct post_place){.picture_width = item->picture.width,
                               .picture_height = item->picture.height,
                               .left = size.left,
                               .top = size.top,
                               .width = size.width,
                               .height = size.height,
                               .input_width = size.padded_width,
                               .input_height = size.padded_height};
}

/* An item with a state is alone, and goes through the network at once. */
static int add_steps(struct groups *groups, const struct groups_target *target,
                     const struct item *item, const char *head, struct error *err) {
    AUTO(post_result_release) struct post_result result = {0};
    const struct post_item own = {.name = item->name};
    if (sequence_run(groups->sequence, INT64_MAX, groups->outputs, err) < 0 ||
        post_take(groups->options.post, groups->outputs, 1, err) < 0 ||
        post_make(groups->options.post, 0, &own, &result, err) < 0) {
        return error_context(err, "%s", item->name);
    }
    result.result.head = head;
    result.result.has_name = true;
    return target->add(target->context, &result, err);
}

int groups_add(struct groups *groups, const struct groups_target *target, const struct item *item,
               const char *head, struct error *err) {
    int64_t capacity = 1;
    if (groups->sequence) {
        return add_steps(groups, target, item, head, err);
    }
    if (measure(groups, &capacity, err) < 0) {
        return error_context(err, "%s", item->name);
    }
    struct group *group = make_room(groups, capacity, target, err);
    if (!group) {
        return -1;
    }
    fill(groups, group);
    group->places[group->count] = place_of(groups, item);
    group->tokens[group->count] = feeds_span(groups->options.feeds);
    if (post_draws(groups->options.post)) {
        picture_copy(&item->picture, &group->pictures[group->count]);
    }
    group->heads[group->count] = x_strdup(head);
    group->names[group->count++] = x_strdup(item->name);
    return group->count == group->capacity ? flush(groups, target, err) : 0;
}
