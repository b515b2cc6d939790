/* ui_web.h: the pages of `windlass ui`. All are below /TOKEN/, and for one address of this machine
 * alone: with another Host (a name that an attacker's DNS leads here) nothing is answered.
 *
 *     GET  /TOKEN/                     the page, with ui.js and ui.css beside it
 *     GET  /TOKEN/api/jobs/VERSION     what has changed since (ui_table.h)
 *     GET  /TOKEN/api/job/KEY          one job (ui_detail.h)
 *     GET  /TOKEN/api/logs/KEY         the last lines of its pods' logs
 *     GET  /TOKEN/page/report/KEY      its report.html; page/children/KEY: its sweep.html
 *     GET  /TOKEN/picture/PICTURE/KEY  a picture of its input or output, by a token of its own
 *     POST /TOKEN/api/cancel/KEY       also suspend, resume, rerun; where actions are allowed */
#pragma once

#include "lib/net/server.h"
#include "operator/commands/ui/ui_source.h"
#include "operator/commands/ui/ui_table.h"

enum { UI_WEB_SOURCES_MAX = 2 };

struct ui_web {
    struct ui_table *table;
    struct ui_source *sources[UI_WEB_SOURCES_MAX]; /* NULL: none */
    const char *token;
    int port; /* of the Host; set before the first request */
    bool allows_actions;
    struct ui_deeds *deeds; /* NULL without actions */
};

/* For struct server_events; context: a struct ui_web. */
struct server_page ui_web_page(void *context, const struct server_request *request);
