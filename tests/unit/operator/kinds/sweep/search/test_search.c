// SPDX-License-Identifier: Apache-2.0
/* Bayesian is never worse than Random: ten functions, each as it is and with a region of at least
 * 40 % of the space where every trial fails; the median over seeds of the best of 60 trials (of 40
 * in the finite space), four at once. Branin, Hartmann: Dixon and Szego 1978; Ackley, Rosenbrock,
 * Levy, Rastrigin, Griewank as in Surjanovic and Bingham's library, shifted so that the least is
 * not in the middle of the cube.
 *
 * Every other function, on each day the others; in a soak, or where SEARCH_SEEDS is given, all.
 * SEARCH_SEEDS=20: seeds (default: 3, in a soak 20); SEARCH_TABLE=FILE: writes a row of each
 * (tests/bench/search.sh); SEARCH_ONLY=NAME: only that function. SEARCH_ORACLE=1: no test; it
 * answers lines "NUMBER FAILS UNITS..." of its input (the function, 0 or 1) with the value or
 * "fail" (tests/bench/peers/search_optuna.py). */
#include "operator/kinds/sweep/search/bayes.h"

#include "lib/number/philox.h"
#include "tests/seed.h"
#include "tests/test.h"
#include "tests/unit/operator/kinds/sweep/search/search_functions.h"

#include <math.h>
#include <stdlib.h>

enum {
    TRIALS = 60,
    TRIALS_FINITE = 40,
    AT_ONCE = 4,
    SEEDS = 3,
    SEEDS_SOAK = 20,
    SEEDS_MAX = 100,
    SAMPLES = 20000
};

/* ---- functions of coordinates in [0, 1], to be minimized ---- */

/* Where the least of the shifted functions is, in each dimension. */
static const double places[] = {0.37, 0.61, 0.24, 0.72, 0.45, 0.83};

static double shifted(const double *units, int i, double width) {
    return width * (units[i] - places[i]);
}

static double hartmann3(const double *units) {
    static const double scales[4][3] = {{3, 10, 30}, {0.1, 10, 35}, {3, 10, 30}, {0.1, 10, 35}};
    static const int at[4][3] = {
        {3689, 1170, 2673}, {4699, 4387, 7470}, {1091, 8732, 5547}, {381, 5743, 8828}};
    double sum = 0;
    for (int i = 0; i < 4; i++) {
        double far = 0;
        for (int k = 0; k < 3; k++) {
            far += scales[i][k] * pow(units[k] - at[i][k] * 1e-4, 2);
        }
        sum -= hartmann_heights[i] * exp(-far);
    }
    return sum;
}

static double ackley(const double *units) {
    double squares = 0, waves = 0;
    for (int i = 0; i < 5; i++) {
        double x = shifted(units, i, 40);
        squares += x * x / 5;
        waves += cos(2 * M_PI * x) / 5;
    }
    return 20 + M_E - 20 * exp(-0.2 * sqrt(squares)) - exp(waves);
}

static double rosenbrock(const double *units) {
    double sum = 0;
    for (int i = 0; i < 3; i++) {
        double x = 1 + shifted(units, i, 4), next = 1 + shifted(units, i + 1, 4);
        sum += 100 * pow(next - x * x, 2) + pow(1 - x, 2);
    }
    return sum;
}

static double levy(const double *units) {
    double first = 1 + shifted(units, 0, 20) / 4, last = 1 + shifted(units, 3, 20) / 4;
    double sum = pow(sin(M_PI * first), 2) + pow(last - 1, 2) * (1 + pow(sin(2 * M_PI * last), 2));
    for (int i = 0; i < 3; i++) {
        double w = 1 + shifted(units, i, 20) / 4;
        sum += pow(w - 1, 2) * (1 + 10 * pow(sin(M_PI * w + 1), 2));
    }
    return sum;
}

static double rastrigin(const double *units) {
    double sum = 30;
    for (int i = 0; i < 3; i++) {
        double x = shifted(units, i, 10.24);
        sum += x * x - 10 * cos(2 * M_PI * x);
    }
    return sum;
}

static double griewank(const double *units) {
    double sum = 0, product = 1;
    for (int i = 0; i < 5; i++) {
        double x = shifted(units, i, 200);
        sum += x * x / 4000;
        product *= cos(x / sqrt(i + 1));
    }
    return 1 + sum - product;
}

/* A training, as it were: an optimizer, a learning rate by its logarithm, layers, dropout. */
static double mixed(const double *units) {
    static const double optimizers[] = {0.3, 0, 0.15};
    int which = (int)(units[0] * 3), layers = (int)(units[2] * 8);
    double rate = units[1] - 0.55 - 0.1 * (which == 0), drop = units[3] - 0.3;
    return optimizers[which > 2 ? 2 : which] + 8 * rate * rate +
           0.02 * (layers - 4) * (layers - 4) + drop * drop;
}

/* 5 x 8 x 3 = 120 points. */
static double few(const double *units) {
    int a = (int)(units[0] * 5), b = (int)(units[1] * 8), c = (int)(units[2] * 3);
    return (a - 3) * (a - 3) + 0.5 * (b - 2) * (b - 2) + (c == 1 ? 0 : 2) + 0.1 * a * c;
}

#define CUBE "{\"name\": \"X%d\", \"uniform\": {\"min\": \"0\", \"max\": \"1\"}}"
#define MIXED                                                                                      \
    "[{\"name\": \"O\", \"choice\": [\"SGD\", \"Adam\", \"LAMB\"]},"                               \
    " {\"name\": \"R\", \"loguniform\": {\"min\": \"1e-5\", \"max\": \"1\"}},"                     \
    " {\"name\": \"L\", \"randint\": {\"upper\": 8}},"                                             \
    " {\"name\": \"D\", \"quniform\": {\"min\": \"0\", \"max\": \"0.6\", \"q\": \"0.05\"}}]"
#define FINITE                                                                                     \
    "[{\"name\": \"A\", \"choice\": [1, 2, 3, 4, 5]}, {\"name\": \"B\", \"randint\": {\"upper\": " \
    "8}}, {\"name\": \"C\", \"choice\": [\"x\", \"y\", \"z\"]}]"

struct problem {
    const char *name;
    double (*function)(const double *units);
    int dimensions;
    const char *space; /* NULL: a cube */
    double least, best[6];
};

static const struct problem problems[] = {
    {"Branin", branin, 2, NULL, 0.397887, {0.5428, 0.1517}},
    {"Hartmann-3", hartmann3, 3, NULL, -3.86278, {0.1146, 0.5556, 0.8525}},
    {"Hartmann-6", hartmann6, 6, NULL, -3.32237, {0.2017, 0.1500, 0.4769, 0.2753, 0.3117, 0.6573}},
    {"Ackley-5", ackley, 5, NULL, 0, {0.37, 0.61, 0.24, 0.72, 0.45}},
    {"Rosenbrock-4", rosenbrock, 4, NULL, 0, {0.37, 0.61, 0.24, 0.72}},
    {"Levy-4", levy, 4, NULL, 0, {0.37, 0.61, 0.24, 0.72}},
    {"Rastrigin-3", rastrigin, 3, NULL, 0, {0.37, 0.61, 0.24}},
    {"Griewank-5", griewank, 5, NULL, 0, {0.37, 0.61, 0.24, 0.72, 0.45}},
    {"mixed", mixed, 4, MIXED, 0, {0.5, 0.55, 0.5625, 0.3}},
    {"finite", few, 3, FINITE, 0.3, {0.7, 0.3125, 0.5}},
};

static struct space space_of(const struct problem *problem, json_t **ret_json) {
    char text[1024] = "[";
    size_t used = 1;
    for (int i = 0; i < problem->dimensions && !problem->space; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s" CUBE, i ? "," : "", i);
    }
    snprintf(text + used, sizeof text - used, "]");
    struct space space;
    struct error err = {0};
    *ret_json = json_loads(problem->space ? problem->space : text, 0, NULL);
    CHECK_OK(space_read(*ret_json, &space, &err), &err);
    return space;
}

/* ---- where trials fail ---- */

/* The larger, the worse: alternately the distance beyond a plane through the least, and waves
 * around it. */
static double field(const struct problem *problem, const double *units) {
    double sum = 0;
    bool is_wall = (problem - problems) % 2 == 0;
    for (int i = 0; i < problem->dimensions; i++) {
        double far = units[i] - problem->best[i];
        sum += is_wall ? far * (problem->best[i] < 0.5 ? 1 : -1) : -cos(4 * M_PI * far);
    }
    return sum;
}

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Trials fail where the field is above: about half of the space, by points drawn at random. */
static double border_of(const struct problem *problem, const struct space *space,
                        double *ret_share) {
    double fields[SAMPLES], units[SPACE_PARAMETERS_MAX];
    for (int i = 0; i < SAMPLES; i++) {
        for (int k = 0; k < space->count; k++) {
            units[k] = philox_unit(philox_bits(1, 0, i, (uint32_t)k));
        }
        space_snap(space, units);
        fields[i] = field(problem, units);
    }
    qsort(fields, SAMPLES, sizeof *fields, by_value);
    double border = fmax(fields[SAMPLES / 2], field(problem, problem->best) + 0.02);
    int above = 0;
    while (above < SAMPLES && fields[SAMPLES - 1 - above] > border) {
        above++;
    }
    *ret_share = (double)above / SAMPLES;
    return border;
}

/* ---- searches ---- */

struct outcome {
    double best;
    int failed, distinct;
};

static bool is_same(const struct space *space, const double *a, const double *b) {
    for (int i = 0; i < space->count; i++) {
        if (fabs(a[i] - b[i]) > 1e-9) {
            return false;
        }
    }
    return true;
}

/* AT_ONCE trials run while the next one is chosen. */
static struct outcome search(const struct problem *problem, double border, uint64_t seed,
                             bool is_bayes) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(problem, &json);
    struct bayes_trial trials[TRIALS] = {{.is_running = true}};
    AUTO(space_points_release) struct space_points random;
    struct outcome outcome = {.best = INFINITY};
    space_points_init(&random, &space, SEARCH_RANDOM, seed);
    int count = space_size(&space) > 0 ? TRIALS_FINITE : TRIALS;
    for (int i = 0; i < count; i++) {
        if (is_bayes) {
            bayes_point(&space, seed, i, trials, (size_t)i, trials[i].units);
        } else {
            space_points_at(&random, i, trials[i].units);
        }
        space_snap(&space, trials[i].units);
        bool is_new = true;
        for (int k = 0; k < i; k++) {
            is_new = is_new && !is_same(&space, trials[k].units, trials[i].units);
        }
        trials[i].is_running = true;
        bool failed = field(problem, trials[i].units) > border;
        double value = problem->function(trials[i].units);
        trials[i].has_failed = failed;
        trials[i].score = failed ? NAN : -value;
        if (i >= AT_ONCE - 1) {
            trials[i - AT_ONCE + 1].is_running = false;
        }
        outcome.best = failed ? outcome.best : fmin(outcome.best, value);
        outcome.failed += failed;
        outcome.distinct += is_new;
    }
    CHECK_INT(outcome.distinct, count);
    return outcome;
}

struct summary {
    double best, failed; /* medians */
};

static struct summary median(const struct problem *problem, double border, bool is_bayes,
                             int seeds) {
    double bests[SEEDS_MAX], failed[SEEDS_MAX];
    for (int i = 0; i < seeds; i++) {
        struct outcome outcome = search(problem, border, test_seed(1) + (uint64_t)i, is_bayes);
        bests[i] = outcome.best;
        failed[i] = outcome.failed;
    }
    qsort(bests, (size_t)seeds, sizeof *bests, by_value);
    qsort(failed, (size_t)seeds, sizeof *failed, by_value);
    return (struct summary){(bests[(seeds - 1) / 2] + bests[seeds / 2]) / 2,
                            (failed[(seeds - 1) / 2] + failed[seeds / 2]) / 2};
}

/* Trials that failed where some do, of all functions together. */
struct failures {
    double bayes, random;
};

static void check_problem(const struct problem *problem, int seeds, FILE *table,
                          struct failures *failures) {
    CHECK(fabs(problem->function(problem->best) - problem->least) < 1e-3);
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(problem, &json);
    for (int has_failures = 0; has_failures < 2; has_failures++) {
        double part = 0, border = INFINITY;
        border = has_failures ? border_of(problem, &space, &part) : border;
        struct summary bayes = median(problem, border, true, seeds),
                       random = median(problem, border, false, seeds);
        printf("# %s, least %.4g, %.0f %% fail: Bayesian %.4g (%.0f failed), Random %.4g (%.0f)\n",
               problem->name, problem->least, 100 * part, bayes.best, bayes.failed, random.best,
               random.failed);
        CHECK(!has_failures || part >= 0.4);
        CHECK(bayes.best <= random.best);
        failures->bayes += bayes.failed;
        failures->random += random.failed;
        if (table) {
            fprintf(table, "| %s | %.0f %% | %.4g | %.4g | %.4g | %.0f | %.0f |\n", problem->name,
                    100 * part, problem->least, random.best, bayes.best, random.failed,
                    bayes.failed);
            fflush(table);
        }
    }
}

static void test_ten_functions(void) {
    const char *wanted = getenv("SEARCH_ONLY"), *path = getenv("SEARCH_TABLE");
    const char *given = getenv("SEARCH_SEEDS");
    int seeds = given ? (int)strtol(given, NULL, 10) : getenv("SOAK_ROUNDS") ? SEEDS_SOAK : SEEDS;
    struct failures failures = {0};
    FILE *table = path ? fopen(path, "a") : NULL;
    CHECK(seeds >= 1 && seeds <= SEEDS_MAX);
    for (size_t i = 0; i < ARRAY_LEN(problems); i++) {
        bool is_drawn = given || test_samples(i, ARRAY_LEN(problems), 2, test_day());
        if (wanted ? strcmp(wanted, problems[i].name) == 0 : is_drawn) {
            check_problem(&problems[i], seeds, table, &failures);
        }
    }
    printf("# failed: Bayesian %.0f, Random %.0f\n", failures.bayes, failures.random);
    CHECK(wanted || test_divisor() > 1 || failures.bayes < 0.85 * failures.random);
    if (table) {
        fclose(table);
    }
}

static void answer(void) {
    double borders[ARRAY_LEN(problems)] = {0};
    char line[1024];
    while (fgets(line, sizeof line, stdin)) {
        char *at = line;
        size_t which = strtoul(at, &at, 10);
        bool has_failures = strtoul(at, &at, 10) == 1;
        if (which >= ARRAY_LEN(problems)) {
            return;
        }
        const struct problem *problem = &problems[which];
        AUTO(tree_freep) json_t *json = NULL;
        struct space space = space_of(problem, &json);
        double units[SPACE_PARAMETERS_MAX] = {0}, part;
        for (int i = 0; i < problem->dimensions; i++) {
            units[i] = strtod(at, &at);
        }
        space_snap(&space, units);
        if (borders[which] == 0) {
            borders[which] = border_of(problem, &space, &part);
        }
        if (has_failures && field(problem, units) > borders[which]) {
            puts("fail");
        } else {
            printf("%.17g\n", problem->function(units));
        }
        fflush(stdout);
    }
}

int main(void) {
    if (getenv("SEARCH_ORACLE")) {
        answer();
        return 0;
    }
    TEST(test_ten_functions);
    return TEST_END();
}
