// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/show/sweep_scale.h"

#include <math.h>

#define LOGARITHMIC_FROM 100 /* from this ratio of the largest to the smallest metric */

void sweep_scale_widen(struct sweep_scale *scale, double value) {
    if (isfinite(value)) {
        scale->least = scale->is_known ? MIN(scale->least, value) : value;
        scale->most = scale->is_known ? MAX(scale->most, value) : value;
        scale->is_known = true;
    }
}

/* On a linear scale one diverged trial would compress all others to a single line. */
void sweep_scale_settle(struct sweep_scale *scale) {
    scale->is_logarithmic = scale->least > 0 && scale->most / scale->least >= LOGARITHMIC_FROM;
}

double sweep_scale_place(const struct sweep_scale *scale, double value) {
    double least = scale->least, most = scale->most;
    if (scale->is_logarithmic) {
        value = log(value);
        least = log(least);
        most = log(most);
    }
    double share = most > least ? (value - least) / (most - least) : 0.5;
    return scale->from + share * (scale->to - scale->from);
}

/* Three to six multiples of 1, 2 or 5 times a power of ten. */
static int ticks_linear(const struct sweep_scale *scale, double *ticks) {
    double width = scale->most - scale->least;
    if (!(width > 0)) {
        ticks[0] = scale->least;
        return 1;
    }
    double raw = width / 4, power = pow(10, floor(log10(raw))), times = raw / power;
    double step = (times < 1.5 ? 1 : times < 3 ? 2 : times < 7 ? 5 : 10) * power;
    step = scale->is_counted ? MAX(step, 1) : step;
    int count = 0;
    double first = ceil(scale->least / step - 1e-9);
    while (count < SWEEP_SCALE_TICKS_MAX) {
        double k = first + count;
        if (k * step > scale->most + 1e-9 * step) {
            break;
        }
        ticks[count++] = k == 0 ? 0 : k * step; /* avoids -0 */
    }
    return count;
}

/* Powers of ten; if they are few, also 2 and 5 times them. */
int sweep_scale_ticks(const struct sweep_scale *scale, double *ticks) {
    double decades = scale->is_logarithmic ? log10(scale->most / scale->least) : 0;
    if (decades < 1.2) {
        return ticks_linear(scale, ticks);
    }
    static const double times[] = {1, 2, 5};
    int count = 0, each = (int)ceil(decades / 8);
    for (int k = (int)floor(log10(scale->least)); k <= log10(scale->most); k += each) {
        for (size_t i = 0; i < (decades < 3 ? ARRAY_LEN(times) : 1); i++) {
            double value = times[i] * pow(10, k);
            if (value >= scale->least * (1 - 1e-9) && value <= scale->most * (1 + 1e-9) &&
                count < SWEEP_SCALE_TICKS_MAX) {
                ticks[count++] = value;
            }
        }
    }
    return count;
}

/* wide: in units; a chart that is wider than the page scrolls. */
void sweep_scale_open_svg(struct page *page, const char *label, int wide) {
    page_add(page, "<div class=\"chart\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\"",
             wide, SWEEP_SCALE_HIGH, label);
    if (wide > SWEEP_SCALE_WIDE) {
        page_add(page, " style=\"min-width:%dpx\"", wide * 9 / 10);
    }
    page_add(page, ">");
}

void sweep_scale_add_axes(struct page *page, const struct sweep_scale *x,
                          const struct sweep_scale *y) {
    double ticks[SWEEP_SCALE_TICKS_MAX];
    int count = sweep_scale_ticks(y, ticks);
    for (int i = 0; i < count; i++) {
        double at = sweep_scale_place(y, ticks[i]);
        page_add(page,
                 "<path class=\"grid\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                 "text-anchor=\"end\">%.4g</text>",
                 SWEEP_SCALE_LEFT, at, SWEEP_SCALE_WIDE - SWEEP_SCALE_RIGHT, SWEEP_SCALE_LEFT - 8,
                 at + 4, ticks[i]);
    }
    count = sweep_scale_ticks(x, ticks);
    for (int i = 0; i < count; i++) {
        page_add(page, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.6g</text>",
                 sweep_scale_place(x, ticks[i]), SWEEP_SCALE_HIGH - 6, ticks[i]);
    }
}
