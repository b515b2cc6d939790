/* decoder_call.h: what the kinds of calls of decoder.h share: a process that runs, and one call
 * with all that it reads and writes. Private to this folder. */
#pragma once

#include "agent/data/decoder/decoder.h"
#include "agent/data/decoder/decoder_message.h"
#include "agent/data/decoder/decoder_process.h"

enum { DECODER_KEPT_BYTES = 32 << 20 /* of the window, between calls */ };

struct decoder {
    struct decoder_process process;
    uint64_t number; /* of the last call */
    const char *use; /* DECODER_USE_VIDEO, or NULL: pictures */
    bool is_lost, is_slow, is_interrupted;
    bool has_given; /* the call gave its caller a part, which another try would repeat */
    struct decoder_limits limits;
};

/* What a call gives to the child, and takes from it. */
struct decoder_service {
    const struct decoder_source *source; /* of a lease; or NULL */
    const struct decoder_files *files;   /* of a film; or NULL */
    int64_t reads, writes;               /* bytes that the call may still read and write */
};

/* Starts the process if there is none. UNAVAILABLE: it cannot be started or confined. */
NODISCARD int decoder_begin(struct decoder *decoder, struct error *err);
/* *message is the request, then the answer. */
NODISCARD int decoder_call(struct decoder *decoder, struct decoder_service service,
                           struct decoder_message *message, struct error *err);
/* One try of a call; context: the call's own. */
typedef int decoder_try(struct decoder *decoder, void *context, struct error *err);
/* Tries it, and once more if the machine interrupted the first try before it gave a part. */
NODISCARD int decoder_twice(struct decoder *decoder, decoder_try *once, void *context,
                            struct error *err);
/* From then on this process ends with a decoder that is killed where memory runs out. Before
 * threads. */
void decoder_share_fate(void);
