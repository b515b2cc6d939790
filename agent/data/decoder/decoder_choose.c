// SPDX-License-Identifier: Apache-2.0
/* Whether this process decodes itself, and who unpacks the pages of Parquet files then. */
#include "agent/data/decoder/decoder_call.h"

#include <stdlib.h>
#include <string.h>

int decoder_choose(const char *program, struct error *err) {
    const char *policy = getenv(DECODER_POLICY);
    if (!policy || !*policy || strcmp(policy, "auto") == 0 || strcmp(policy, "required") == 0) {
        setenv(DECODER_PROGRAM, program, 1);
        parquet_unpack_by(decoder_pool_unpack);
        decoder_share_fate();
    } else if (strcmp(policy, "off") == 0) {
        unsetenv(DECODER_PROGRAM);
        parquet_unpack_by(NULL);
    } else {
        return error_set(err, ERROR_INVALID,
                         DECODER_POLICY "=%.40s: expected auto, required or off", policy);
    }
    return 0;
}
