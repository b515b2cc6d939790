/* after_inquiry.h: asks the API server for the ended jobs of spec.after before a job starts or
 * fails by them. What the watch has shown of them may be old: they may have been deleted and
 * applied again together with this one. One question for each that has ended, when nothing else is
 * waited for. */
#pragma once

#include "operator/control/controller.h"
#include "operator/kinds/job/after/after_pass.h"
#include "operator/kinds/job/reconcile/retry_delay.h"

/* One of them. */
struct after_inquiry_row {
    json_t *seen;  /* as the watch shows it; owned */
    json_t *there; /* as the API server has it; NULL: it has none, or is_known is false; owned */
    bool is_asked, is_known;
    struct retry_delay delay;
};

/* Of one job; zero at first. */
struct after_inquiry {
    struct after_inquiry_row *at;
    size_t count;
};

void after_inquiry_release(struct after_inquiry *inquiry);
/* In each pass, after other questions: puts what the API server has in place of what the watch
 * shows in pass->others. False: a question is under way, whose end leads to another pass. When the
 * question has failed, that job counts as not known until it is asked for again. */
bool after_inquiry_settle(struct after_inquiry *inquiry, struct reconcile *request,
                          struct after_pass *pass);
/* An answer to a question; one that another module asked is ignored. */
void after_inquiry_found(struct after_inquiry *inquiry, const struct found *found);
