/* report_requests.h: the section of report.html about requests to model servers. For
 * report_html.c. */
#pragma once

#include "lib/text/page.h"
#include "lib/tree.h"

/* requests: as in summary.json; NULL: the run had none, and nothing is added. */
void report_requests_add(struct page *page, const json_t *requests);
