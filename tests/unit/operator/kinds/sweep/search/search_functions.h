/* search_functions.h: what the tests of the search minimize, of coordinates in [0, 1] (Dixon and
 * Szego, "Towards Global Optimization 2", 1978). */
#pragma once

#include "lib/base.h"

#include <math.h>

/* Least 0.397887. */
UNUSED static double branin(const double *units) {
    double x = 15 * units[0] - 5, y = 15 * units[1];
    double bend = y - 5.1 / (4 * M_PI * M_PI) * x * x + 5 / M_PI * x - 6;
    return bend * bend + 10 * (1 - 1 / (8 * M_PI)) * cos(x) + 10;
}

UNUSED static const double hartmann_heights[4] = {1, 1.2, 3, 3.2};

/* Least -3.32237. */
UNUSED static double hartmann6(const double *units) {
    static const double scales[4][6] = {{10, 3, 17, 3.5, 1.7, 8},
                                        {0.05, 10, 17, 0.1, 8, 14},
                                        {3, 3.5, 1.7, 10, 17, 8},
                                        {17, 8, 0.05, 10, 0.1, 14}};
    static const int at[4][6] = {{1312, 1696, 5569, 124, 8283, 5886},
                                 {2329, 4135, 8307, 3736, 1004, 9991},
                                 {2348, 1451, 3522, 2883, 3047, 6650},
                                 {4047, 8828, 8732, 5743, 1091, 381}};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double far = 0;
        for (int k = 0; k < 6; k++) {
            far += scales[i][k] * pow(units[k] - at[i][k] * 1e-4, 2);
        }
        sum -= hartmann_heights[i] * exp(-far);
    }
    return sum;
}
