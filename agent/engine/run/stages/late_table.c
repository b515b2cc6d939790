// SPDX-License-Identifier: Apache-2.0
/* The table of operators that run when the shapes of their results become known. */
#include "agent/engine/ops/table.h"
#include "agent/engine/run/stages/late.h"

late_function *late_find(int op_id) {
    static const struct {
        int id;
        late_function *function;
    } rows[] = {
        {OP_COMPRESS, late_compress},
        {OP_CONCAT_FROM_SEQUENCE, late_concat_from_sequence},
        {OP_IDENTITY, late_identity},
        {OP_IF, late_if},
        {OP_LOOP, late_loop},
        {OP_NON_MAX_SUPPRESSION, late_non_max_suppression},
        {OP_NON_ZERO, late_non_zero},
        {OP_OPTIONAL, late_optional},
        {OP_OPTIONAL_GET_ELEMENT, late_optional_get},
        {OP_OPTIONAL_HAS_ELEMENT, late_optional_has},
        {OP_SCAN, late_scan},
        {OP_SEQUENCE_AT, late_sequence_at},
        {OP_SEQUENCE_CONSTRUCT, late_sequence_construct},
        {OP_SEQUENCE_EMPTY, late_sequence_empty},
        {OP_SEQUENCE_ERASE, late_sequence_erase},
        {OP_SEQUENCE_INSERT, late_sequence_insert},
        {OP_SEQUENCE_LENGTH, late_sequence_length},
        {OP_SEQUENCE_MAP, late_sequence_map},
        {OP_SPLIT_TO_SEQUENCE, late_split_to_sequence},
        {OP_UNIQUE, late_unique},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (rows[i].id == op_id) {
            return rows[i].function;
        }
    }
    return NULL;
}
