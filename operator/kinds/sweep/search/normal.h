/* normal.h: the standard normal distribution. Pure. */
#pragma once

double normal_density(double x);
double normal_below(double x); /* the share below x */
/* Its inverse: to some 1e-15 of x. share is held within 2^-54 and 1 - 2^-53: nothing is further
 * than some 8.3 deviations. */
double normal_quantile(double share);
