/* message.h: what coordinator and worker say to each other (docs/architecture.md has the table):
 * one JSON object per WebSocket message. Both directions are parsed here, bounded and checked;
 * fields that are not known are ignored, so that a newer peer may say more. */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

enum {
    MESSAGE_BYTES_MAX = 1 << 20,
    MESSAGE_NAME_MAX = 253, /* of a worker: a pod's name */
};

enum message_type {
    MESSAGE_HELLO,   /* worker: name */
    MESSAGE_RESULT,  /* worker: lease, and items + seconds or error */
    MESSAGE_LEASE,   /* coordinator: lease, batch, try, parts, work */
    MESSAGE_CANCEL,  /* coordinator: lease; drop it, but still report it (as an error) */
    MESSAGE_DONE,    /* coordinator: no work is left, exit 0 */
    MESSAGE_REFUSED, /* coordinator: text says why; exit 1 */
    MESSAGE_TYPE_COUNT
};

struct message {
    enum message_type type;
    char name[MESSAGE_NAME_MAX + 1];
    int64_t lease, batch, items; /* >= 0 */
    int try;                     /* >= 1 */
    int64_t parts;               /* >= 0: results in the making lie in .windlass/RUN/PARTS */
    double seconds;              /* >= 0: what the worker spent on it */
    bool is_error;               /* of a result: text says why it failed */
    char text[512];              /* one line, cut when longer */
    json_t *work;                /* owned: message_release */
};

/* Fails with INVALID and a sentence that names the field. *ret_message is untouched then. */
NODISCARD int message_parse(const char *text, size_t size, struct message *ret_message,
                            struct error *err);
/* The caller frees. Never NULL; may be longer than MESSAGE_BYTES_MAX if the work is. */
char *message_format(const struct message *message);
void message_release(struct message *message);
