/* notice.h: notices that this machine will be taken away (preemption of a spot node, reboot,
 * redeployment), which come before SIGTERM. A thread asks the cloud's metadata service every
 * second: Azure's, Amazon's or Google's (notice_cloud.h), whichever answers at that address. For
 * workers of a BatchScore and all pods of a DistTrain with `spot: true`, where WINDLASS_EVENTS is
 * set.
 *
 * On Azure all machines of a scale set receive an event, so the thread first asks the same server
 * for this machine's name, at /metadata/instance/compute/name. It is "aks-spot-12345-vmss_7", as in
 * the events' Resources; Kubernetes calls that node "aks-spot-12345-vmss000007".
 *
 * A worker reacts as to SIGTERM (worker.h): it takes no more leases, finishes the running one only
 * if that takes at most 8 s, returns the others, and exits within 10 s; a preemption is announced
 * 30 s before, or more. A member of a gang leaves within the announced time (member.h). The time is
 * not shortened by a StartRequests, because other pods run on this machine.
 *
 * If the server is missing, slow (its first answer may take two minutes) or answers nonsense, it is
 * asked less often, up to every 30 s, and `announced` is not called; SIGTERM still comes. */
#pragma once

#include "agent/launch/pod/notice_read.h"

struct notice;

struct notice_options {
    const char *url; /* WINDLASS_EVENTS: http://169.254.169.254/metadata/scheduledevents */
    int every_ms;    /* between two requests; 0: 1000 */
    /* Called once, when the machine will be taken away; from the thread. */
    void (*announced)(void *context, const struct notice_event *event);
    /* Called for the first failure in a row, and for the first answer after one (err->kind is
     * ERROR_NONE); from the thread; may be NULL. */
    void (*changed)(void *context, const struct error *err);
    void *context;
};

/* INVALID: not "http://IP/path" (names are not resolved). The URL is copied. */
NODISCARD int notice_start(const struct notice_options *options, struct notice **ret_notice,
                           struct error *err);
/* Ends the thread within milliseconds; no callback comes afterwards. Accepts NULL. */
void notice_stop(struct notice *notice);
