/* retry_pace.h: when a write that failed before may be tried again, for all resources of a
 * controller together: on average RETRY_PACE_MS apart. So the wait between two tries grows with the
 * number of resources that fail, and a cluster in which nothing can be created is asked about as
 * often by 1,000 jobs as by ten.
 *
 * A try is one write of a resource that failed before; a turn is the permission for one try.
 *
 *     a pass finds a write that failed before -> retry_pace_ask
 *         true: the write is sent --------------> retry_pace_ended (succeeded, failed, unknown)
 *         false: the resource waits
 *     retry_pace_next_ms: when to look -> retry_pace_take: whose turn it is -> a pass of it,
 *         which asks again, and gets true -> retry_pace_passed
 *
 * - Namespaces take turns. In a namespace the resource that waits longest, and the one that failed
 * least, take turns: what failed once does not wait behind all that have failed for hours.
 * - The first try again of a resource needs no turn, but counts.
 * - What else a waiting resource asks for (queries, its status) counts, too.
 * - After a try that succeeds, the cause may be gone: one more try of its namespace, and one of any
 *   namespace, are allowed at once, before their own delays; so after a quota was raised the number
 *   of tries doubles step by step. A try that fails ends this. If it was allowed in this way, the
 *   cause is another one: the next such try comes 1 s later, doubling up to a minute. What succeeds
 *   after one failure allows no others: it was a conflict, for example.
 *
 * Pure: the caller passes the time, in ms of any monotonic clock. Used by one thread. */
#pragma once

#include "lib/base.h"

enum {
    RETRY_PACE_MS = 1250,     /* between two turns: 48 a minute; watches need the rest of 60 */
    RETRY_PACE_SAVED = 4,     /* unused turns that are kept */
    RETRY_PACE_DEBT = 20,     /* turns that first tries can use in advance */
    RETRY_PACE_DEBT_MAX = 60, /* the same, by everything that counts */
    RETRY_PACE_RAMP_MS = 20,  /* between two turns after a success */
    RETRY_PACE_RAMP_MAX = 64, /* of them that are open at a time */
};

struct retry_pace;

enum retry_end {
    RETRY_FAILED,
    RETRY_SUCCEEDED,
    RETRY_UNKNOWN, /* it was a question, for example */
};

struct retry_pace *retry_pace_new(void);
void retry_pace_free(struct retry_pace *pace); /* NULL is allowed */

/* A pause of even_ms on average, at most a quarter shorter or longer, by chance: what failed
 * together is not tried again together. */
int64_t retry_pace_spread_ms(int64_t even_ms);

/* A try of a resource that failed before. */
struct retry_wish {
    const char *key, *namespace; /* of the resource */
    int64_t due_ms;              /* its own delay: not before */
    int failures;                /* in a row, at least 1 */
};
/* True: it may be sent now; one write. False: its last try has not ended; or the resource waits,
 * and is returned by retry_pace_take when it is its turn; then this is asked again. */
bool retry_pace_ask(struct retry_pace *pace, const struct retry_wish *wish, int64_t now_ms);

/* The key of the next resource whose turn it is; NULL: none. Borrowed until the next call. */
const char *retry_pace_take(struct retry_pace *pace, int64_t now_ms);
/* When retry_pace_take will have one; INT64_MAX: not before another call. */
int64_t retry_pace_next_ms(struct retry_pace *pace, int64_t now_ms);

/* The pass has ended. An unused turn is lost, and the resource waits for what the pass asked for.
 * After two passes that did not ask, the resource is forgotten. */
void retry_pace_passed(struct retry_pace *pace, const char *key);
/* The try that was allowed has ended. After RETRY_SUCCEEDED the caller makes a pass; if that pass
 * does not ask, the resource is forgotten. */
void retry_pace_ended(struct retry_pace *pace, const char *key, enum retry_end end);
/* The resource is gone. */
void retry_pace_forget(struct retry_pace *pace, const char *key);
/* A request of the resource besides its tries: counts if it waits or tries. */
void retry_pace_charge(struct retry_pace *pace, const char *key, int64_t now_ms);
/* Something in that namespace may have changed so that a try is worth it. */
void retry_pace_wake(struct retry_pace *pace, const char *namespace);
/* Resources that wait or try. */
size_t retry_pace_count(const struct retry_pace *pace);
