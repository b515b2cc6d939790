/* domains.h: whose operators a model uses, and the version of each that it says. Used by
 * agent/engine/onnx. */
#pragma once

#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/protobuf.h"

enum domain { DOMAIN_STANDARD, DOMAIN_ML, DOMAIN_COUNT };

struct versions {
    int64_t of[DOMAIN_COUNT]; /* 0: the file does not say */
};

/* "" and "ai.onnx" are the standard one, "ai.onnx.ml" the classical models'. False: none of ours.
 */
bool domain_of(struct wire name, enum domain *ret_domain);
/* An OperatorSetIdProto; domains that are none of ours are passed over. ERROR_INVALID: the file
 * names two versions of one. */
NODISCARD int domain_read(struct wire message, struct versions *versions, struct error *err);
/* Of a domain that the file uses. */
NODISCARD int domain_check(const struct versions *versions, enum domain domain, struct error *err);
/* NULL: not supported. */
const struct op *domain_find(const struct versions *versions, enum domain domain, struct wire op);
