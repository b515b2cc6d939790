// SPDX-License-Identifier: Apache-2.0
#include "agent/engine/onnx/domains.h"

#include "agent/engine/model.h"
#include "agent/engine/ops/microsoft/microsoft.h"
#include "agent/engine/ops/ml/ml.h"
#include "agent/engine/ops/table.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *called; /* called: the name in messages */
    int first, last;
} domains[DOMAIN_COUNT] = {
    [DOMAIN_STANDARD] = {"ai.onnx", "opset", MODEL_OPSET_MIN, MODEL_OPSET_MAX},
    [DOMAIN_ML] = {"ai.onnx.ml", "ai.onnx.ml", 1, ML_VERSION_MAX},
    [DOMAIN_MICROSOFT] = {"com.microsoft", "com.microsoft", 1, MICROSOFT_VERSION_MAX},
};

bool domain_of(struct protobuf name, enum domain *ret_domain) {
    size_t size = protobuf_size(name);
    for (int i = 0; i < DOMAIN_COUNT; i++) {
        if ((size == 0 && i == DOMAIN_STANDARD) ||
            (size == strlen(domains[i].name) && memcmp(name.at, domains[i].name, size) == 0)) {
            *ret_domain = (enum domain)i;
            return true;
        }
    }
    return false;
}

const char *domain_name(enum domain domain) {
    return domains[domain].name;
}

enum domain domain_of_op(const struct op *op) {
    return op->flags & OP_ML          ? DOMAIN_ML
           : op->flags & OP_MICROSOFT ? DOMAIN_MICROSOFT
                                      : DOMAIN_STANDARD;
}

int domain_read(struct protobuf message, struct versions *versions, struct error *err) {
    struct protobuf name = {0};
    int64_t version = 0;
    struct protobuf_field field;
    enum domain domain;
    int more;
    while ((more = protobuf_next(&message, &field, err)) > 0) {
        if (field.number == 1 && field.type == PROTOBUF_BYTES) {
            name = field.bytes;
        } else if (field.number == 2) {
            version = (int64_t)field.integer;
        }
    }
    if (more < 0 || !domain_of(name, &domain)) {
        return more;
    }
    if (versions->of[domain] != 0 && versions->of[domain] != version) {
        return error_set(err, ERROR_INVALID, "it names two versions of %s, %lld and %lld",
                         domains[domain].name, (long long)versions->of[domain], (long long)version);
    }
    versions->of[domain] = version;
    return 0;
}

int domain_check(const struct versions *versions, enum domain domain, struct error *err) {
    int64_t version = versions->of[domain];
    if (version >= domains[domain].first && version <= domains[domain].last) {
        return 0;
    }
    return error_set(err, ERROR_UNSUPPORTED, "%s %lld; %ss %d to %d are supported",
                     domains[domain].called, (long long)version,
                     domain == DOMAIN_STANDARD ? "opset" : "version", domains[domain].first,
                     domains[domain].last);
}

const struct op *domain_find(const struct versions *versions, enum domain domain,
                             struct protobuf op) {
    char name[64];
    size_t size = protobuf_size(op);
    if (size >= sizeof name) {
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)size, (const char *)op.at);
    int version = (int)versions->of[domain];
    return domain == DOMAIN_ML          ? ml_table_find(name, version)
           : domain == DOMAIN_MICROSOFT ? microsoft_find(name, version)
                                        : op_find(name, version);
}
