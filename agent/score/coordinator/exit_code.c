// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/exit_code.h"

int exit_code_of(const struct error *err, bool is_listed) {
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_CANCELLED:
        return 130;
    case ERROR_GONE:        /* superseded: no verdict */
    case ERROR_UNAVAILABLE: /* the machine's fault, or its storage's: another pod may succeed */
    case ERROR_TIMEOUT:
        return 3;
    case ERROR_EXHAUSTED: /* of the output's storage, after everything else was tested */
        return is_listed ? 3 : 1;
    case ERROR_INVALID:
    case ERROR_NOT_FOUND:
    case ERROR_DENIED:
    case ERROR_CONFLICT:
    case ERROR_UNSUPPORTED:
        return is_listed ? 1 : 2;
    default:
        return 1;
    }
}
