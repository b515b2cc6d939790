// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui_detail.h"

#include "lib/number/curve.h"
#include "operator/commands/ui/ui_text.h"
#include "operator/kinds/job/pod_phase.h"
#include "operator/kinds/kinds.h"
#include "operator/object.h"

#include <math.h>
#include <string.h>

enum { PODS_MAX = 500, LIST_MAX = 200 };

/* Of the kind's figures those that the status has. */
static json_t *figures_of(const struct kind_figure *figure, const json_t *status) {
    json_t *list = json_array();
    for (; figure && figure->label; figure++) {
        const json_t *value = tree_get(status, figure->path);
        json_t *shown = json_is_string(value) ? ui_text(json_string_value(value), UI_TEXT_MESSAGE)
                        : json_is_integer(value) ? json_integer(json_integer_value(value))
                                                 : NULL;
        if (shown) {
            json_array_append_new(list, json_pack("[s, o]", figure->label, shown));
        }
    }
    return list;
}

/* NULL: not a number that JSON has. */
static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *curve_of(const json_t *job) {
    const char *text = tree_text(job, "status.objective.at", "");
    struct curve curve = curve_read(text);
    json_t *points = json_array();
    for (int i = 0; i < curve.count; i++) {
        const struct curve_point *at = &curve.at[i];
        json_array_append_new(points, json_pack("[I, o, o]", (json_int_t)at->reports,
                                                number(at->best), number(at->mean)));
    }
    bool has_points = curve.count > 0;
    curve_release(&curve);
    json_t *all =
        json_pack("{s:o, s:o}", "metric",
                  ui_text(tree_text(job, "spec.metrics.objective.name",
                                    tree_text(job, "spec.metrics.objective", "objective")),
                          UI_TEXT_NAME),
                  "points", points);
    if (!has_points) {
        json_decref(TAKE(all));
    }
    return all ? all : json_null();
}

static json_t *pods_of(const json_t *pods) {
    static const char *const names[] = {
        [POD_PHASE_WAITING] = "Waiting", [POD_PHASE_RUNNING] = "Running",
        [POD_PHASE_LEAVING] = "Leaving", [POD_PHASE_SUCCEEDED] = "Succeeded",
        [POD_PHASE_DEAD] = "Failed",
    };
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(pods) && i < PODS_MAX; i++) {
        const json_t *pod = json_array_get(pods, i);
        struct pod_phase phase = pod_phase_read(pod);
        bool is_well = phase.stage == POD_PHASE_RUNNING || phase.stage == POD_PHASE_SUCCEEDED;
        bool has_message = !is_well && *phase.message && *phase.message != '{';
        AUTO(text_freep)
        char *why =
            x_printf("%s%s%.300s", is_well ? "" : phase.reason,
                     has_message && *phase.reason ? ": " : "", has_message ? phase.message : "");
        json_array_append_new(
            list, json_pack("{s:o, s:s, s:o, s:o, s:o}", "name", ui_text(phase.name, UI_TEXT_NAME),
                            "state", names[phase.stage], "node",
                            ui_text_at(pod, "spec.nodeName", UI_TEXT_NAME), "start",
                            ui_text_at(pod, "metadata.creationTimestamp", 40), "why",
                            ui_text(why, UI_TEXT_LINE)));
    }
    return list;
}

static json_t *conditions_of(const json_t *status) {
    const json_t *conditions = json_object_get(status, "conditions");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(conditions) && i < LIST_MAX; i++) {
        const json_t *one = json_array_get(conditions, i);
        json_array_append_new(list, json_pack("{s:o, s:o, s:o, s:o, s:o}", "type",
                                              ui_text_at(one, "type", 64), "status",
                                              ui_text_at(one, "status", 64), "reason",
                                              ui_text_at(one, "reason", UI_TEXT_NAME), "message",
                                              ui_text_at(one, "message", UI_TEXT_MESSAGE), "time",
                                              ui_text_at(one, "lastTransitionTime", 40)));
    }
    return list;
}

static json_t *runs_of(const json_t *status) {
    const json_t *runs = json_object_get(status, "runs");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(runs) && i < LIST_MAX; i++) {
        const json_t *one = json_array_get(runs, i);
        json_array_append_new(list,
                              json_pack("[o, o, o, o]", ui_text_at(one, "name", UI_TEXT_NAME),
                                        ui_text_at(one, "state", 64), ui_text_at(one, "time", 40),
                                        ui_text_at(one, "message", UI_TEXT_LINE)));
    }
    return list;
}

static json_t *outputs_of(const json_t *status) {
    const json_t *outputs = json_object_get(status, "outputs");
    json_t *list = json_array();
    for (size_t i = 0; i < json_array_size(outputs) && i < LIST_MAX; i++) {
        const char *text = json_string_value(json_array_get(outputs, i));
        json_array_append_new(list, ui_text(text, UI_TEXT_MESSAGE));
    }
    return list;
}

/* What may be done to a job in its state, as windlass cancel, suspend, resume and rerun say. */
static json_t *actions_of(const json_t *status) {
    const char *tone = ui_row_tone(status);
    return strcmp(tone, "good") == 0 ? json_pack("[s]", "rerun")
           : strcmp(tone, "bad") == 0 || strcmp(tone, "stopped") == 0
               ? json_pack("[s, s]", "resume", "rerun")
               : json_pack("[s, s]", "suspend", "cancel");
}

static json_t *kept(const json_t *given) {
    return given ? json_incref((json_t *)given) : json_array();
}

json_t *ui_detail(const struct ui_detail_facts *detail) {
    const json_t *job = detail->job.job, *status = json_object_get(job, "status");
    const struct kind_row *kind = kinds_of(job);
    json_t *all = json_object();
    json_object_set_new(all, "row", ui_row(&detail->job));
    json_object_set_new(all, "unit", json_string(kind->unit ? kind->unit(job) : ""));
    json_object_set_new(all, "message",
                        ui_text_at(object_succeeded(status), "message", UI_TEXT_MESSAGE));
    json_object_set_new(all, "figures", figures_of(kind->figures, status));
    json_object_set_new(all, "curve", curve_of(job));
    json_object_set_new(all, "made",
                        detail->made ? json_incref((json_t *)detail->made) : json_null());
    json_object_set_new(all, "pods", pods_of(detail->pods));
    json_object_set_new(all, "failures", kept(detail->failures));
    json_object_set_new(all, "pictures", kept(detail->pictures));
    json_object_set_new(all, "conditions", conditions_of(status));
    json_object_set_new(all, "runs", runs_of(status));
    json_object_set_new(all, "outputs", outputs_of(status));
    json_object_set_new(all, "files", kept(detail->files));
    json_object_set_new(all, "notLive", ui_text(detail->not_live, UI_TEXT_LINE));
    json_object_set_new(all, "actions", actions_of(status));
    return all;
}
