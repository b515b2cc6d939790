/* sweep_scale.h: the scales and axes of the charts of sweep.html. */
#pragma once

#include "lib/text/page.h"

/* Units of a chart; a page scales it to the available width. */
enum {
    SWEEP_SCALE_WIDE = 1000,
    SWEEP_SCALE_HIGH = 300,
    SWEEP_SCALE_LEFT = 70,
    SWEEP_SCALE_RIGHT = 30,
    SWEEP_SCALE_TOP = 12,
    SWEEP_SCALE_BOTTOM = 26,
    SWEEP_SCALE_EDGE = 6, /* between the outermost numbers and the frame */
    SWEEP_SCALE_TICKS_MAX = 40
};

struct sweep_scale {
    double least, most;
    bool is_logarithmic, is_known; /* is_known: there is a number */
    bool is_counted;               /* ticks only at whole numbers */
    double from, to;               /* in the chart's units */
};

/* Numbers that are not finite change nothing. */
void sweep_scale_widen(struct sweep_scale *scale, double value);
/* After the last value: a wide range becomes logarithmic. */
void sweep_scale_settle(struct sweep_scale *scale);
double sweep_scale_place(const struct sweep_scale *scale, double value);
/* Returns how many; ticks has room for SWEEP_SCALE_TICKS_MAX. */
int sweep_scale_ticks(const struct sweep_scale *scale, double *ticks);

/* wide: in units; a chart that is wider than the page scrolls. label: a literal. */
void sweep_scale_open_svg(struct page *page, const char *label, int wide);
void sweep_scale_add_axes(struct page *page, const struct sweep_scale *x,
                          const struct sweep_scale *y);
