// SPDX-License-Identifier: Apache-2.0
/* spec.startDeadlineSeconds: two jobs that each hold some of their nodes would wait for each
 * other's nodes for ever. So a gang that holds some nodes and is incomplete at the deadline
 * releases all of them, and tries again after a pause that differs from the other gangs'. The
 * status records each step before the step is carried out, so that no pods are created meanwhile,
 * whichever write is lost. */
#include "operator/kinds/disttrain/plan_gang.h"

#include "lib/digest.h"
#include "lib/time/clock.h"

#include <stdlib.h>
#include <string.h>

enum { PAUSE_LEAST_S = 60, PAUSE_MOST_S = 600 };

static int64_t time_of(const struct disttrain_plan *gang, const char *path) {
    const char *text = tree_text(gang->job.observed->object, path, NULL);
    return text ? MAX(clock_parse(text), 0) : 0;
}

void disttrain_read_wait(struct disttrain_plan *gang) {
    gang->wait.since_ms = time_of(gang, "status.gathering.since");
    gang->wait.again_ms = time_of(gang, "status.gathering.againTime");
}

static bool is_there(const struct pod_phase *newest) {
    return newest->attempt > 0 &&
           (newest->stage == POD_PHASE_RUNNING || newest->stage == POD_PHASE_SUCCEEDED);
}

/* As many pods as may start, with NAME-0 among them. */
static bool is_whole(const struct disttrain_plan *gang, const struct gang_place *places) {
    int there = 0;
    if (gang->hub && disttrain_finishes(gang->hub) > 0) {
        return true; /* it needs no others */
    }
    for (int i = 0; i < gang->spec.workers; i++) {
        there += is_there(&places[i].newest);
    }
    return is_there(&places[0].newest) && there >= gang->spec.min_workers;
}

/* A pod that waits in a queue, or for its first node, does not take a node from others. */
static bool holds_nodes(const struct disttrain_plan *gang, const struct gang_place *places) {
    for (int i = 0; i < gang->spec.workers; i++) {
        const struct pod_phase *newest = &places[i].newest;
        if (newest->attempt > 0 && pod_phase_is_alive(newest) &&
            (newest->stage == POD_PHASE_RUNNING || newest->placed_ms > 0)) {
            return true;
        }
    }
    return false;
}

/* Varies between jobs, but is the same at each call: a plan uses no randomness. */
static int64_t pause_ms(const struct disttrain_plan *gang) {
    char hex[65], head[9] = "";
    AUTO(text_freep)
    char *text = x_printf("%s %lld", tree_text(gang->job.observed->object, "metadata.uid", ""),
                          (long long)gang->wait.since_ms);
    digest_sha256(text, strlen(text), hex);
    memcpy(head, hex, sizeof head - 1);
    return 1000 * (PAUSE_LEAST_S +
                   (int64_t)(strtoul(head, NULL, 16) % (PAUSE_MOST_S - PAUSE_LEAST_S + 1)));
}

static void decide(struct disttrain_plan *gang, const struct gang_place *places) {
    struct job_plan *job = &gang->job;
    const json_t *before = conditions_before(job->observed->object);
    char again[21];
    disttrain_set_conditions(gang, places);
    AUTO(text_freep) char *missing = x_strdup(job->conditions.message);
    gang->wait.again_ms = (job->now_ms + pause_ms(gang)) / 1000 * 1000;
    gang->wait.since_ms = 0;
    clock_format(gang->wait.again_ms, again);
    conditions_set(
        &job->conditions, CONDITIONS_UNDER_WAY, "GangIncomplete",
        "not all workers were there within spec.startDeadlineSeconds (%lld s), so all pods "
        "go, and come again at %s: %.400s",
        (long long)gang->spec.start_deadline_seconds, again, missing);
    if (strcmp(tree_text(before, "reason", ""), "GangIncomplete") == 0) {
        job_plan_report(job, "Warning", "GangIncomplete", "%s", job->conditions.message);
    }
    job_plan_wake(job, job->now_ms + 1);
}

static void rest(struct disttrain_plan *gang) {
    struct job_plan *job = &gang->job;
    const json_t *before = conditions_before(job->observed->object);
    bool is_told = strcmp(tree_text(before, "reason", ""), "GangIncomplete") == 0;
    disttrain_clean_up(gang, false, false);
    conditions_set(&job->conditions, CONDITIONS_UNDER_WAY, "GangIncomplete", "%.600s",
                   is_told ? tree_text(before, "message", "")
                           : "not all workers were there within spec.startDeadlineSeconds");
    job_plan_wake(job, gang->wait.again_ms);
}

bool disttrain_give_up_nodes(struct disttrain_plan *gang, const struct gang_place *places) {
    int64_t limit_ms = 1000 * gang->spec.start_deadline_seconds, now_ms = gang->job.now_ms;
    struct gang_wait was = gang->wait;
    gang->wait = (struct gang_wait){0};
    if (limit_ms <= 0) {
        return false;
    }
    if (was.again_ms > now_ms && was.again_ms <= now_ms + 1000 * PAUSE_MOST_S) {
        gang->wait.again_ms = was.again_ms;
        rest(gang);
        return true;
    }
    if (is_whole(gang, places) || !holds_nodes(gang, places)) {
        return false;
    }
    gang->wait.since_ms = was.since_ms ? was.since_ms : now_ms / 1000 * 1000;
    int64_t set_ms = was.since_ms ? gang->job.observed->gathering_set_ms : 0;
    int64_t over_ms = gang->wait.since_ms + set_ms + limit_ms;
    job_plan_wake(&gang->job, over_ms);
    if (now_ms < over_ms) {
        return false;
    }
    decide(gang, places);
    return true;
}
