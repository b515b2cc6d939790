// SPDX-License-Identifier: Apache-2.0
#include "agent/launch/life.h"

#include "agent/launch/hub.h"
#include "agent/launch/member.h"
#include "lib/log.h"

#include <stdlib.h>

static volatile sig_atomic_t interrupted;

static void on_signal(int number) {
    (void)number;
    interrupted = 1;
}

/* As PID 1 what has no handler is ignored. */
static void catch_signals(void) {
    static const int numbers[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

int life_run(const struct launch_job *job, char **ret_words) {
    struct error err = {0};
    struct hub *hub = NULL;
    int code = 3;
    struct hub_options options = {.bind = job->bind,
                                  .certificate_pem = job->certificate_pem,
                                  .key_pem = job->key_pem,
                                  .token = job->token,
                                  .gang = job->gang};
    *ret_words = NULL;
    catch_signals();
    if ((job->index == 0 && hub_start(&options, &hub, &err) < 0) ||
        member_run(job, hub, &interrupted, &code, &err) < 0) {
        log_event(LOG_ERROR, "%s", err.text);
        code = error_exit_code(&err);
    }
    if (hub) {
        *ret_words = hub_progress(hub);
        hub_free(hub);
    }
    return code;
}
