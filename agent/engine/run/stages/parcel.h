/* parcel.h: a value while a network is run in stages: a tensor, a sequence of tensors, or an
 * optional that has nothing. Items do not change once they are made, so they are shared and
 * counted. */
#pragma once

#include "agent/engine/tensor.h"

enum parcel_kind { PARCEL_TENSOR, PARCEL_SEQUENCE, PARCEL_NOTHING, PARCEL_KIND_COUNT };

struct parcel {
    enum parcel_kind kind;
    size_t users;
    struct tensor tensor;  /* of PARCEL_TENSOR */
    size_t count;          /* of PARCEL_SEQUENCE */
    struct parcel **items; /* all of PARCEL_TENSOR */
};

/* Each has one user: who called it. */
struct parcel *
parcel_of_tensor(struct tensor tensor); /* frees its data in the end if it is owned */
struct parcel *parcel_of_items(struct parcel *const *items,
                               size_t count); /* a further user of each */
struct parcel *parcel_of_nothing(void);
struct parcel *parcel_of_integer(int64_t number); /* int64, of rank 0 */
struct parcel *parcel_of_bool(bool value);        /* bool, of rank 0 */
/* A tensor of zeros. Errors are those of tensor_init. */
NODISCARD int parcel_new(enum tensor_type type, const struct shape *shape, struct parcel **ret_item,
                         struct error *err);

/* A further user; NULL is allowed. */
struct parcel *parcel_share(struct parcel *item);
/* One user less; the last one frees it. NULL is allowed. */
void parcel_release(struct parcel *item);
void parcel_freep(struct parcel **item);
void parcel_release_all(struct parcel **items, size_t count); /* and sets them to NULL */
