/* notice.h: hears that this machine will be taken away (a spot node that is preempted, a reboot, a
 * redeployment), before SIGTERM comes: asks the scheduled-events address every second, in a thread
 * of its own. For workers of a BatchScore and all pods of a DistTrain, where `spot` is true and
 * WINDLASS_EVENTS is set.
 *
 * Whose machine: all machines of a scale set receive an event, so the machine's own name is asked
 * first, of the same server: /metadata/instance/compute/name. It is "aks-spot-12345-vmss_7", as in
 * the events' Resources, where Kubernetes calls the node "aks-spot-12345-vmss000007".
 *
 * How a worker uses it: `told` sets a flag and wakes the loop (socket_wake). The loop then does
 * what it does at SIGTERM: takes no more leases; goes on with the one that runs if its expected end
 * is within 8 s; hands back all others, and leaves: all within 10 s. A preemption is announced 30 s
 * before. That time is not shortened (StartRequests), because other pods run on this machine. A
 * gang's member leaves as at SIGTERM, with so much time (member.c).
 *
 * A server that is not there, is slow (its first answer may take two minutes), answers nonsense or
 * too much is asked again, less often (up to every 30 s): `told` is not called then; SIGTERM still
 * comes. */
#pragma once

#include "agent/launch/pod/notice_read.h"

struct notice;

struct notice_options {
    const char *url; /* WINDLASS_EVENTS; AKS: NOTICE_AKS_URL */
    int every_ms;    /* 0: 1000 */
    /* Once, when the machine will be taken away; from the thread. */
    void (*told)(void *context, const struct notice_event *event);
    /* The first failure in a row, and the first answer after one (err->kind is ERROR_NONE); for the
     * log, from the thread; may be NULL. */
    void (*changed)(void *context, const struct error *err);
    void *context;
};

#define NOTICE_AKS_URL "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"

/* INVALID: not "http://IP/path" (names are not looked up). Texts are copied. */
NODISCARD int notice_start(const struct notice_options *options, struct notice **ret_notice,
                           struct error *err);
/* Ends the thread, within milliseconds; `told` is not called afterwards. NULL is fine. */
void notice_stop(struct notice *notice);
