/* ledgers.h: ledgers and workers for the tests of the ledger. */
#pragma once

#include "agent/score/ledger/ledger.h"

#include "tests/test.h"

static UNUSED const struct ledger_options plain = {.cell_items = 1,
                                                   .max_tries = 3,
                                                   .timeout_ms = 60000,
                                                   .ahead_max = 1,
                                                   .errors_max = -1,
                                                   .cell_errors_max = -1,
                                                   .cell_errors_percent = -1};

static UNUSED struct ledger *new_ledger(struct ledger_options options, int64_t cells) {
    struct error err = {0};
    struct ledger *ledger = ledger_new(&options);
    int64_t items = options.cell_items ? cells * options.cell_items : -1;
    CHECK_OK(ledger_extend(ledger, cells, items, true, &err), &err);
    return ledger;
}

static UNUSED int join_with(struct ledger *ledger, const char *name, int slots) {
    struct error err = {0};
    int worker = -1;
    CHECK_OK(ledger_join(ledger, name, slots, &worker, &err), &err);
    return worker;
}

static UNUSED int join(struct ledger *ledger, const char *name) {
    return join_with(ledger, name, 1);
}

/* Grants one lease and checks its worker and range. */
static UNUSED struct ledger_lease grant(struct ledger *ledger, int64_t now_ms, int worker,
                                        int64_t cell) {
    struct ledger_lease lease = {.worker = -1};
    CHECK(ledger_next_lease(ledger, now_ms, &lease));
    CHECK_INT(lease.worker, worker);
    CHECK_INT(lease.first, cell);
    return lease;
}

static UNUSED void check_no_grant(struct ledger *ledger, int64_t now_ms) {
    struct ledger_lease lease;
    CHECK(!ledger_next_lease(ledger, now_ms, &lease));
}

static UNUSED enum ledger_decision finish(struct ledger *ledger, const struct ledger_lease *lease,
                                          int64_t items, int64_t failed, int64_t now_ms) {
    struct ledger_report report = {.worker = lease->worker,
                                   .lease = lease->lease,
                                   .items = items,
                                   .failed = failed,
                                   .took_us = -1};
    return ledger_take_report(ledger, &report, now_ms, NULL);
}

static UNUSED enum ledger_decision fail(struct ledger *ledger, const struct ledger_lease *lease,
                                        enum ledger_fault fault, const char *cause,
                                        int64_t now_ms) {
    struct ledger_report report = {
        .worker = lease->worker, .lease = lease->lease, .fault = fault, .cause = cause};
    return ledger_take_report(ledger, &report, now_ms, NULL);
}

static UNUSED void check_taken(struct ledger *ledger, int64_t now_ms,
                               const struct ledger_lease *lease, enum ledger_decision decision) {
    struct ledger_revoked taken = {0};
    CHECK(ledger_next_revoked(ledger, now_ms, &taken));
    CHECK_INT(taken.lease.lease, lease->lease);
    CHECK_INT(taken.decision, decision);
}
