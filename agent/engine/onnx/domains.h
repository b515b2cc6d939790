/* domains.h: the operator domains that a model uses, with the version that it declares for each.
 * Used by agent/engine/onnx. */
#pragma once

#include "agent/engine/graph/op.h"
#include "agent/engine/onnx/protobuf.h"

enum domain { DOMAIN_STANDARD, DOMAIN_ML, DOMAIN_MICROSOFT, DOMAIN_COUNT };

struct versions {
    int64_t of[DOMAIN_COUNT]; /* 0: not declared */
};

/* "" and "ai.onnx" are the standard domain, "ai.onnx.ml" is that of classical models,
 * "com.microsoft" that of ONNX Runtime's own operators. False:
 * another domain, which is not supported. */
bool domain_of(struct protobuf name, enum domain *ret_domain);
/* "ai.onnx", "ai.onnx.ml", "com.microsoft". In files the first may also be "". */
const char *domain_name(enum domain domain);
enum domain domain_of_op(const struct op *op);
/* Reads an OperatorSetIdProto; unsupported domains are skipped. ERROR_INVALID: the file declares
 * two versions of one domain. */
NODISCARD int domain_read(struct protobuf message, struct versions *versions, struct error *err);
/* Checks the version of a domain that the file uses. */
NODISCARD int domain_check(const struct versions *versions, enum domain domain, struct error *err);
/* NULL: not supported. */
const struct op *domain_find(const struct versions *versions, enum domain domain,
                             struct protobuf op);
