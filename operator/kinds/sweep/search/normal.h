/* normal.h: the standard normal distribution, of mean 0 and deviation 1. Pure. NaN gives NaN,
 * unless noted. */
#pragma once

double normal_density(double x);
double normal_below(double x); /* the share below x */
/* The inverse of normal_below, with an absolute error below 2e-15. share is clamped to
 * 2^-54 .. 1 - 2^-53 (NaN to the lower bound), so the result is within about 8.3 of 0. */
double normal_quantile(double share);
