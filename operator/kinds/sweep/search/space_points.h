/* space_points.h: the points of a space that Random, Sobol and Grid choose, and the numbers of the
 * points where a space has a finite number of them: whole numbers, choices, ranges with a q, and
 * parameters that depend on a choice. Pure.
 *
 * Points are numbered. A parameter that is not active in a point has no value there, so points that
 * differ only in it are one. */
#pragma once

#include "operator/kinds/sweep/search/sobol.h"
#include "operator/kinds/sweep/search/space.h"

enum { SPACE_ORDER_MAX = 65536 };

/* How many values a parameter has; 0: a range, or too many. */
int64_t space_levels(const struct space_parameter *parameter);
/* All of them; 0: there is a range, or more than PHILOX_COUNT_MAX points. */
int64_t space_count(const struct space *space);
/* The units of the point of that number, the last parameter fastest. */
void space_numbered(const struct space *space, int64_t number, double *units);

/* Whether Random's points are the numbers in any order, all equally likely: choices and whole
 * numbers without conditions. */
bool space_is_even(const struct space *space);
/* The numbers of all points in random order, without repetition, the likelier ones sooner: at each
 * place what Random would draw among those that are left (Efraimidis and Spirakis, "Weighted random
 * sampling with a reservoir", 2006). count: space_count, at most SPACE_ORDER_MAX. Owned. */
int64_t *space_order(const struct space *space, int64_t count, uint64_t seed);

/* The number of points. 0, and points may repeat: a parameter is a range without a q, or
 * there are more than PHILOX_COUNT_MAX points, or more than SPACE_ORDER_MAX that are not equally
 * likely. */
int64_t space_size(const struct space *space);

enum search { SEARCH_RANDOM, SEARCH_SOBOL, SEARCH_GRID };
struct space_points {
    const struct space *space; /* borrowed */
    enum search search;
    uint64_t seed;
    int64_t size;   /* space_size */
    int64_t *order; /* owned; NULL: all points are equally likely, or the space has no size */
    struct sobol sobol;
};
/* Random: random numbers from seed, index and parameter; when the space has a size, its points in
 * random order without repetition. Sobol: sobol.h, each parameter shifted by seed (the boxes stay
 * even); in a space with a size as Random. Grid, for choices only: all combinations, the
 * last parameter varies fastest. */
void space_points_init(struct space_points *points, const struct space *space, enum search search,
                       uint64_t seed);
void space_points_release(struct space_points *points); /* also for AUTO */
/* The index-th point, from 0 on. index must be below the size where there is one; units:
 * [space->count]. */
void space_points_at(const struct space_points *points, int64_t index, double *units);
