// SPDX-License-Identifier: Apache-2.0
#include "operator/kinds/sweep/search/normal.h"

#include <math.h>

double normal_density(double x) {
    return exp(-x * x / 2) / sqrt(2 * M_PI);
}

double normal_below(double x) {
    return erfc(-x * M_SQRT1_2) / 2; /* erf would lose the digits of the lower tail */
}

/* A first approximation (Abramowitz and Stegun, 26.2.23: to 4.5e-4) and Halley's steps, each of
 * which triples the number of digits. Computed in the lower half, where shares are exact. */
static double quantile_below(double share) {
    double t = sqrt(-2 * log(share));
    double x = (2.515517 + t * (0.802853 + t * 0.010328)) /
                   (1 + t * (1.432788 + t * (0.189269 + t * 0.001308))) -
               t;
    for (int step = 0; step < 3; step++) {
        double off = (normal_below(x) - share) / normal_density(x);
        x -= off / (1 + x * off / 2);
    }
    return x;
}

double normal_quantile(double share) {
    share = fmin(fmax(share, 0x1p-54), 1 - 0x1p-53);
    return share <= 0.5 ? quantile_below(share) : -quantile_below(1 - share);
}
