// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/run/stages/parcel.h"

#include <stdlib.h>
#include <string.h>

static struct parcel *make(enum parcel_kind kind) {
    struct parcel *item = x_calloc(1, sizeof *item);
    item->kind = kind;
    item->users = 1;
    return item;
}

struct parcel *parcel_of_tensor(struct tensor tensor) {
    struct parcel *item = make(PARCEL_TENSOR);
    item->tensor = tensor;
    return item;
}

struct parcel *parcel_of_items(struct parcel *const *items, size_t count) {
    struct parcel *item = make(PARCEL_SEQUENCE);
    item->count = count;
    item->items = x_calloc(count + 1, sizeof *items);
    for (size_t i = 0; i < count; i++) {
        item->items[i] = parcel_share(items[i]);
    }
    return item;
}

struct parcel *parcel_of_nothing(void) {
    return make(PARCEL_NOTHING);
}

static struct parcel *of_bytes(enum tensor_type type, const void *bytes) {
    struct tensor tensor = {.type = type, .owned = true, .data = malloc(64)};
    if (!tensor.data) {
        abort();
    }
    memcpy(tensor.data, bytes, tensor_type_size(type));
    return parcel_of_tensor(tensor);
}

struct parcel *parcel_of_integer(int64_t number) {
    return of_bytes(TENSOR_INT64, &number);
}

struct parcel *parcel_of_bool(bool value) {
    return of_bytes(TENSOR_BOOL, &value);
}

int parcel_new(enum tensor_type type, const struct shape *shape, struct parcel **ret_item,
               struct error *err) {
    struct tensor tensor;
    if (tensor_init(&tensor, type, shape, err) < 0) {
        return -1;
    }
    *ret_item = parcel_of_tensor(tensor);
    return 0;
}

struct parcel *parcel_share(struct parcel *item) {
    if (item) {
        item->users++;
    }
    return item;
}

void parcel_release(struct parcel *item) {
    if (!item || --item->users) {
        return;
    }
    for (size_t i = 0; i < item->count; i++) { /* tensors: no deep recursion */
        parcel_release(item->items[i]);
    }
    free(item->items);
    tensor_release(&item->tensor);
    free(item);
}

void parcel_freep(struct parcel **item) {
    parcel_release(*item);
    *item = NULL;
}

void parcel_release_all(struct parcel **items, size_t count) {
    for (size_t i = 0; i < count; i++) {
        parcel_freep(&items[i]);
    }
}
