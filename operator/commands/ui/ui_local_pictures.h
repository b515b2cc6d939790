/* ui_local_pictures.h: pictures of a run of this machine before and after it: those that its
 * input's folder and its output's both have. A picture is asked for by a token of its place, and
 * only those that the list has can be: no path comes from the browser, and no link is followed. */
#pragma once

#include "operator/commands/ui/ui_source.h"
#include "operator/local/runs/run_list.h"

enum { UI_PICTURES_MAX = 12 /* pairs */ };

/* The first of them by name: ui_detail.pictures; owned; NULL: none. kept: an object, empty at
 * first, which remembers for 30 s which files a run has. */
json_t *ui_local_pictures(json_t *kept, const struct run_item *item);
/* ui_source_ops.picture. NOT_FOUND: it is not in the list, or no longer a picture. */
NODISCARD int ui_local_picture(json_t *kept, const struct run_item *item, const char *token,
                               struct ui_picture *ret_picture, struct error *err);
