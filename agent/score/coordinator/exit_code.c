// SPDX-License-Identifier: Apache-2.0
#include "agent/score/coordinator/exit_code.h"

#include "lib/contract.h"

int exit_code_of(const struct error *err, bool is_listed) {
    switch (err->kind) {
    case ERROR_NONE:
        return 0;
    case ERROR_CANCELLED:
        return CONTRACT_EXIT_SIGNAL;
    case ERROR_GONE:        /* superseded: no verdict */
    case ERROR_UNAVAILABLE: /* the machine's fault, or its storage's: another pod may succeed */
    case ERROR_TIMEOUT:
        return CONTRACT_EXIT_RETRY;
    case ERROR_EXHAUSTED: /* of the output's storage, after everything else was tested */
        return is_listed ? CONTRACT_EXIT_RETRY : CONTRACT_EXIT_FAILED;
    case ERROR_INVALID:
    case ERROR_NOT_FOUND:
    case ERROR_DENIED:
    case ERROR_CONFLICT:
    case ERROR_UNSUPPORTED:
        return is_listed ? CONTRACT_EXIT_FAILED : CONTRACT_EXIT_INVALID;
    default:
        return CONTRACT_EXIT_FAILED;
    }
}
