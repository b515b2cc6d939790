/* normal.h: the standard normal distribution. Pure. */
#pragma once

double normal_density(double x);
double normal_below(double x); /* the share below x */
/* The inverse, with an error of about 1e-15 of x. share is clamped to 2^-54 .. 1 - 2^-53, so the
 * result is within about 8.3 deviations. */
double normal_quantile(double share);
