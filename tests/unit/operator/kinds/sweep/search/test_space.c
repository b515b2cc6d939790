// SPDX-License-Identifier: Apache-2.0
/* Every expression draws by its law (Kolmogorov and Smirnov, against distributions written here);
 * points are as specified; the parameters of a point lead back to it. */
#include "operator/kinds/sweep/search/space_points.h"

#include "lib/number/philox.h"
#include "lib/time/clock.h"
#include "operator/kinds/sweep/search/normal.h"
#include "operator/kinds/sweep/search/sobol.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

/* A space from JSON; the tree is kept in *ret_json. */
static struct space space_of(const char *json, json_t **ret_json) {
    struct space space = {0};
    struct error err = {0};
    CHECK_OK(tree_parse(json, strlen(json), 65536, ret_json, &err), &err);
    CHECK_OK(space_read(*ret_json, &space, &err), &err);
    return space;
}

/* ---- laws ---- */

static double choice_law(double x) {
    return x < 3 ? 0 : x < 5 ? 1.0 / 4 : x < 7 ? 2.0 / 4 : x < 11 ? 3.0 / 4 : 1;
}
static double randint_law(double x) {
    return (floor(x) + 1) / 7;
}
static double uniform_law(double x) {
    return (x + 2) / 5;
}
static double loguniform_law(double x) {
    return x <= 0 ? 0 : (log10(x) + 4) / 3;
}
static double qloguniform_law(double x) {
    return x <= 0 ? 0 : log(x) / log(100);
}
static double normal_law(double x) {
    return 0.5 * (1 + erf((x - 10) / (2 * sqrt(2))));
}
static double lognormal_law(double x) {
    return x <= 0 ? 0 : 0.5 * (1 + erf((log(x) - 1) / (0.5 * sqrt(2))));
}

static const struct {
    const char *json;
    double (*law)(double x); /* before rounding to multiples of q, if q is not 0 */
    double q, least, most;
} laws[] = {
    {"{\"choice\": [3, 5, 7, 11]}", choice_law, 0, 3, 11},
    {"{\"randint\": {\"upper\": 7}}", randint_law, 0, 0, 6},
    {"{\"uniform\": {\"min\": \"-2\", \"max\": \"3\"}}", uniform_law, 0, -2, 3},
    {"{\"quniform\": {\"min\": \"-2\", \"max\": \"3\", \"q\": \"0.3\"}}", uniform_law, 0.3, -2.1,
     3},
    {"{\"loguniform\": {\"min\": \"1e-4\", \"max\": \"1e-1\"}}", loguniform_law, 0, 1e-4, 0.1},
    {"{\"qloguniform\": {\"min\": \"1\", \"max\": \"100\", \"q\": \"4\"}}", qloguniform_law, 4, 0,
     100},
    {"{\"normal\": {\"mu\": \"10\", \"sigma\": \"2\"}}", normal_law, 0, -7, 27},
    {"{\"qnormal\": {\"mu\": \"10\", \"sigma\": \"2\", \"q\": \"1\"}}", normal_law, 1, -7, 27},
    {"{\"lognormal\": {\"mu\": \"1\", \"sigma\": \"0.5\"}}", lognormal_law, 0, 0.04, 180},
    {"{\"qlognormal\": {\"mu\": \"1\", \"sigma\": \"0.5\", \"q\": \"0.5\"}}", lognormal_law, 0.5, 0,
     180},
};

static int by_value(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* The largest distance between the share of values up to x and the law there, times sqrt(n): of a
 * true law above 2.23 once in 10,000 times (Kolmogorov's limit: 2 exp(-2 t^2)). Of rounded values
 * shares are those up to the end of x's part. */
static double distance(size_t row, double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    double most = 0;
    for (size_t i = 0; i < count; i++) {
        if (i + 1 < count && values[i + 1] - values[i] <= laws[row].q / 1e6) {
            continue; /* the same value */
        }
        double law = laws[row].law(values[i] + laws[row].q / 2);
        most = fmax(most, fabs((double)(i + 1) / (double)count - fmin(law, 1)));
    }
    return most * sqrt((double)count);
}

static void test_each_expression_has_its_law(void) {
    enum { DRAWS = 20000 };
    static_assert(ARRAY_LEN(laws) == EXPRESSION_COUNT, "a law for each expression");
    double *values = x_calloc(DRAWS, sizeof *values);
    for (size_t row = 0; row < EXPRESSION_COUNT; row++) {
        AUTO(tree_freep) json_t *json = NULL;
        AUTO(text_freep)
        char *text = x_printf("[{\"name\": \"A\", %s]", laws[row].json + 1);
        struct space space = space_of(text, &json);
        CHECK_INT(space.at[0].expression, row);
        for (int i = 0; i < DRAWS; i++) {
            /* Random bits as Random draws them for a space without a size. */
            double unit = philox_unit(philox_bits(test_seed(3), 0, i, 0));
            AUTO(tree_freep) json_t *drawn = space_values(&space, &unit);
            values[i] = strtod(tree_text(drawn, "A", "nan"), NULL);
            CHECK(values[i] >= laws[row].least && values[i] <= laws[row].most);
        }
        double seen = distance(row, values, DRAWS);
        if (!(seen < 2.23)) {
            printf("# %s: %g\n", laws[row].json, seen);
            test_failures++;
        }
    }
    free(values);
}

static void test_the_normal_distribution(void) {
    /* From tables: Phi(1), Phi(2), and quantiles of 0.975, 0.99, 1e-10. */
    CHECK(fabs(normal_below(1) - 0.841344746068543) < 1e-15);
    CHECK(fabs(normal_below(-2) - 0.022750131948179) < 1e-15);
    CHECK(fabs(normal_quantile(0.975) - 1.959963984540054) < 1e-14);
    CHECK(fabs(normal_quantile(0.01) + 2.326347874040841) < 1e-14);
    CHECK(fabs(normal_quantile(1e-10) + 6.361340902404056) < 1e-13);
    CHECK(fabs(normal_quantile(0.5)) < 1e-15 && fabs(normal_quantile(0)) < 8.4 &&
          normal_quantile(1) < 8.4);
    for (double share = 1e-15; share < 1; share += 0.00137) {
        CHECK(fabs(normal_below(normal_quantile(share)) / share - 1) < 1e-12);
    }
}

/* ---- points ---- */

static const char mixed[] =
    "[{\"name\": \"RATE\", \"loguniform\": {\"min\": \"1e-4\", \"max\": \"1e-1\"}},"
    " {\"name\": \"KIND\", \"choice\": [\"SGD\", \"Adam\", \"16,32,64\"]},"
    " {\"name\": \"LAYERS\", \"randint\": {\"upper\": 5}},"
    " {\"name\": \"DROP\", \"quniform\": {\"min\": \"0\", \"max\": \"0.5\", \"q\": \"0.1\"}},"
    " {\"name\": \"SCALE\", \"normal\": {\"mu\": \"0\", \"sigma\": \"1\"}}]";
static const char choices[] = "[{\"name\": \"A\", \"choice\": [\"x\", \"y\"]},"
                              " {\"name\": \"B\", \"choice\": [1, 20, 300]},"
                              " {\"name\": \"C\", \"choice\": [\"7\", \"a=b@c\"]}]";
static const char numbers[] = "[{\"name\": \"A\", \"choice\": [2, 3]},"
                              " {\"name\": \"B\", \"randint\": {\"upper\": 50}}]";

/* The last of 15 digits may differ with another libm. */
static void check_same(const char *seen, const char *wanted) {
    AUTO(tree_freep) json_t *a = json_loads(seen, 0, NULL);
    AUTO(tree_freep) json_t *b = json_loads(wanted, 0, NULL);
    int same = 0;
    const char *name;
    json_t *value;
    json_object_foreach(b, name, value) {
        const char *text = json_string_value(value), *other = tree_text(a, name, "");
        double x = strtod(text, NULL), y = strtod(other, NULL);
        same += strcmp(text, other) == 0 || (x != 0 && fabs(x - y) < 1e-12 * fabs(x));
    }
    if ((size_t)same != json_object_size(a) || !json_object_size(a)) {
        printf("# %s, wanted %s\n", seen, wanted);
        test_failures++;
    }
}

static char *point_text(const struct space *space, enum search search, uint64_t seed,
                        int64_t index) {
    double units[SPACE_PARAMETERS_MAX];
    AUTO(space_points_release) struct space_points points;
    space_points_init(&points, space, search, seed);
    space_points_at(&points, index, units);
    AUTO(tree_freep) json_t *values = space_values(space, units);
    return json_dumps(values, JSON_COMPACT);
}

/* Points that continued sweeps rely on. */
static void test_points_are_what_was_promised(void) {
    static const struct {
        const char *space;
        enum search search;
        uint64_t seed;
        int64_t index;
        const char *values;
    } rows[] = {
        {mixed, SEARCH_RANDOM, 7, 0,
         "{\"RATE\":\"0.0789072946497413\",\"KIND\":\"SGD\",\"LAYERS\":\"4\",\"DROP\":\"0.4\","
         "\"SCALE\":\"-0.561433282060026\"}"},
        {mixed, SEARCH_RANDOM, 7, 999,
         "{\"RATE\":\"0.0042066301671028\",\"KIND\":\"SGD\",\"LAYERS\":\"1\",\"DROP\":\"0.1\","
         "\"SCALE\":\"0.406846457690481\"}"},
        {mixed, SEARCH_RANDOM, 8, 0,
         "{\"RATE\":\"0.00297362663672751\",\"KIND\":\"SGD\",\"LAYERS\":\"2\",\"DROP\":\"0\","
         "\"SCALE\":\"-1.20153785490509\"}"},
        {mixed, SEARCH_SOBOL, 7, 0,
         "{\"RATE\":\"0.000133845421952818\",\"KIND\":\"Adam\",\"LAYERS\":\"1\",\"DROP\":\"0.2\","
         "\"SCALE\":\"1.87043115808671\"}"},
        {mixed, SEARCH_SOBOL, 7, 39,
         "{\"RATE\":\"0.000284923664405898\",\"KIND\":\"Adam\",\"LAYERS\":\"4\",\"DROP\":\"0.5\","
         "\"SCALE\":\"2.16779918975597\"}"},
        {choices, SEARCH_GRID, 7, 0, "{\"A\":\"x\",\"B\":\"1\",\"C\":\"7\"}"},
        {choices, SEARCH_GRID, 7, 1, "{\"A\":\"x\",\"B\":\"1\",\"C\":\"a=b@c\"}"},
        {choices, SEARCH_GRID, 7, 2, "{\"A\":\"x\",\"B\":\"20\",\"C\":\"7\"}"},
        {choices, SEARCH_GRID, 7, 11, "{\"A\":\"y\",\"B\":\"300\",\"C\":\"a=b@c\"}"},
        {numbers, SEARCH_RANDOM, 7, 0, "{\"A\":\"2\",\"B\":\"38\"}"},
        {numbers, SEARCH_RANDOM, 7, 99, "{\"A\":\"3\",\"B\":\"38\"}"},
        {numbers, SEARCH_SOBOL, 7, 0, "{\"A\":\"2\",\"B\":\"38\"}"}, /* as Random */
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *json = NULL;
        struct space space = space_of(rows[i].space, &json);
        AUTO(text_freep)
        char *text = point_text(&space, rows[i].search, rows[i].seed, rows[i].index);
        check_same(text, rows[i].values);
    }
}

static void test_a_finite_space_is_used_up_once(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(numbers, &json);
    CHECK_INT(space_size(&space), 100);
    AUTO(tree_freep) json_t *seen = json_object();
    for (int64_t i = 0; i < 100; i++) {
        AUTO(text_freep) char *text = point_text(&space, SEARCH_RANDOM, 7, i);
        CHECK(!json_object_get(seen, text));
        json_object_set_new(seen, text, json_true());
    }
    CHECK_INT(json_object_size(seen), 100);
    AUTO(tree_freep) json_t *other = NULL;
    struct space range = space_of(mixed, &other);
    CHECK_INT(space_size(&range), 0);
}

/* ---- finite spaces with a q and with conditions ---- */

static const char tree[] =
    "[{\"name\": \"O\", \"choice\": [\"SGD\", \"Adam\", \"LAMB\"]},"
    " {\"name\": \"M\", \"quniform\": {\"min\": \"0\", \"max\": \"1\", \"q\": \"0.25\"},"
    "  \"when\": {\"parameter\": \"O\", \"values\": [\"SGD\"]}},"
    " {\"name\": \"N\", \"choice\": [1, 2], \"when\": {\"parameter\": \"O\", \"values\":"
    "  [\"SGD\", \"LAMB\"]}},"
    " {\"name\": \"P\", \"randint\": {\"upper\": 3}, \"when\": {\"parameter\": \"N\", \"values\":"
    "  [2]}}]";

/* SGD: 5 values of M times (1 + 3); Adam: one; LAMB: 1 + 3. */
static void test_conditions(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(tree, &json);
    CHECK_INT(space_size(&space), 5 * 4 + 1 + 4);
    static const enum search searches[] = {SEARCH_RANDOM, SEARCH_SOBOL, SEARCH_GRID};
    for (size_t k = 0; k < ARRAY_LEN(searches); k++) {
        AUTO(tree_freep) json_t *seen = json_object();
        for (int64_t i = 0; i < 25; i++) {
            AUTO(text_freep) char *text = point_text(&space, searches[k], 7, i);
            AUTO(tree_freep) json_t *values = json_loads(text, 0, NULL);
            bool is_sgd = strcmp(tree_text(values, "O", ""), "SGD") == 0;
            bool has_n = strcmp(tree_text(values, "O", ""), "Adam") != 0;
            CHECK_INT(json_object_get(values, "M") != NULL, is_sgd);
            CHECK_INT(json_object_get(values, "N") != NULL, has_n);
            CHECK_INT(json_object_get(values, "P") != NULL,
                      strcmp(tree_text(values, "N", ""), "2") == 0);
            json_object_set_new(seen, text, json_true());
            double units[SPACE_PARAMETERS_MAX], again[SPACE_PARAMETERS_MAX];
            CHECK(space_units(&space, values, units));
            memcpy(again, units, sizeof again);
            space_snap(&space, again);
            CHECK(memcmp(units, again, (size_t)space.count * sizeof *units) == 0);
        }
        CHECK_INT(json_object_size(seen), 25);
    }
}

/* The likelier points come sooner: of round(x / 10) for log-uniform x from 1 to 100, 0 has half of
 * the probability's place (1 to 5), 10 has 5 to 15, and so on. */
static void test_likely_points_come_first(void) {
    static const char text[] =
        "[{\"name\": \"X\", \"qloguniform\": {\"min\": \"1\", \"max\": \"100\","
        " \"q\": \"10\"}}]";
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(text, &json);
    CHECK_INT(space_size(&space), 11);
    int first[11] = {0};
    for (uint64_t seed = 0; seed < 4000; seed++) {
        AUTO(text_freep) char *point = point_text(&space, SEARCH_RANDOM, seed, 0);
        AUTO(tree_freep) json_t *values = json_loads(point, 0, NULL);
        first[strtol(tree_text(values, "X", "0"), NULL, 10) / 10]++;
    }
    CHECK(fabs(first[0] / 4000.0 - log(5) / log(100)) < 0.03);
    CHECK(fabs(first[1] / 4000.0 - log(3) / log(100)) < 0.03);
    CHECK(fabs(first[10] / 4000.0 - log(100.0 / 95) / log(100)) < 0.01);
}

static void test_sizes(void) {
    static const struct {
        const char *space;
        int64_t size;
    } rows[] = {
        {"[{\"name\": \"X\", \"quniform\": {\"min\": \"0\", \"max\": \"1\", \"q\": \"0.25\"}}]", 5},
        {"[{\"name\": \"X\", \"quniform\": {\"min\": \"0\", \"max\": \"1\", \"q\": \"1e-5\"}}]", 0},
        {"[{\"name\": \"X\", \"quniform\": {\"min\": \"0\", \"max\": \"1e15\", \"q\": \"1e-9\"}}]",
         0},
        {"[{\"name\": \"X\", \"qnormal\": {\"mu\": \"0\", \"sigma\": \"1\", \"q\": \"1\"}}]", 0},
        {"[{\"name\": \"X\", \"randint\": {\"upper\": 1000000000}}]", 1000000000},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *json = NULL;
        struct space space = space_of(rows[i].space, &json);
        CHECK_INT(space_size(&space), rows[i].size);
    }
}

static void test_points_lead_back(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(mixed, &json);
    struct space_points random, sobol;
    space_points_init(&random, &space, SEARCH_RANDOM, 11);
    space_points_init(&sobol, &space, SEARCH_SOBOL, 11);
    for (int64_t i = 0; i < 500; i++) {
        double units[SPACE_PARAMETERS_MAX], back[SPACE_PARAMETERS_MAX], again[SPACE_PARAMETERS_MAX];
        space_points_at(i % 2 ? &sobol : &random, i, units);
        AUTO(tree_freep) json_t *values = space_values(&space, units);
        CHECK(space_units(&space, values, back));
        CHECK(fabs(back[0] - units[0]) < 1e-12 && fabs(back[4] - units[4]) < 1e-12);
        CHECK(fabs(back[3] - units[3]) <= 0.1 + 1e-12); /* half a q of the range */
        AUTO(tree_freep) json_t *same = space_values(&space, back);
        CHECK(strcmp(tree_text(same, "KIND", ""), tree_text(values, "KIND", "?")) == 0);
        CHECK(strcmp(tree_text(same, "LAYERS", ""), tree_text(values, "LAYERS", "?")) == 0);
        CHECK(strcmp(tree_text(same, "DROP", ""), tree_text(values, "DROP", "?")) == 0);
        CHECK(space_units(&space, same, again) && fabs(again[3] - back[3]) < 1e-15);
        space_snap(&space, units);
        for (int k = 0; k < space.count; k++) {
            CHECK(fabs(units[k] - back[k]) < 1e-12);
        }
    }
}

static void test_values_of_another_space(void) {
    AUTO(tree_freep) json_t *json = NULL;
    struct space space = space_of(numbers, &json);
    static const struct {
        const char *values;
        bool fits;
    } rows[] = {
        {"{\"A\": \"2\", \"B\": \"49\"}", true},
        {"{\"A\": \"4\", \"B\": \"49\"}", false},
        {"{\"A\": \"2\", \"B\": \"50\"}", false},
        {"{\"A\": \"2\", \"B\": \"-1\"}", false},
        {"{\"A\": \"2\", \"B\": \"1.5\"}", false},
        {"{\"A\": \"2\", \"B\": \"x\"}", false},
        {"{\"A\": \"2\", \"B\": \"\"}", false},
        {"{\"A\": \"2\"}", false},
        {"{\"A\": 2, \"B\": \"1\"}", false},
        {"{\"A\": \"3\", \"B\": \"0\", \"C\": \"\"}", true},
        {"{\"A\": \"2\", \"B\": \"1e999\"}", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *values = json_loads(rows[i].values, 0, NULL);
        double units[SPACE_PARAMETERS_MAX];
        if (space_units(&space, values, units) != rows[i].fits) {
            printf("# row %zu\n", i);
            test_failures++;
        }
    }
}

static void test_numbers_as_text(void) {
    static const struct {
        double value;
        const char *text;
    } rows[] = {
        {0.1 + 0.2, "0.3"},
        {3 * 0.1, "0.3"},
        {1e6, "1000000"},
        {123456789012345678.0, "123456789012345680"},
        {999999999999999.9, "1000000000000000"},
        {99999999999999.9, "99999999999999.9"},
        {1e15, "1000000000000000"},
        {-0.0, "0"},
        {-2.5, "-2.5"},
        {1e-5, "1e-05"},
        {1.5e-10, "1.5e-10"},
        {0.001, "0.001"},
        {1.0 / 3, "0.333333333333333"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char text[SPACE_NUMBER_MAX];
        space_number(rows[i].value, text);
        CHECK_STR(text, rows[i].text);
    }
}

/* The maximum number; the duplicate is the last of all. */
static void test_the_largest_space(void) {
    AUTO(tree_freep) json_t *parameters = json_array();
    json_t *list = NULL;
    for (int i = 0; i < SPACE_PARAMETERS_MAX; i++) {
        list = json_array();
        for (int k = 0; k < SPACE_CHOICES_MAX; k++) { /* 37 and 256 are coprime */
            int64_t number = k * 37 % SPACE_CHOICES_MAX;
            json_array_append_new(list, k % 2 ? json_integer(number)
                                              : json_sprintf("%lld", (long long)number));
        }
        json_array_append_new(
            parameters, json_pack("{s:o, s:o}", "name", json_sprintf("P%d", i), "choice", list));
    }
    struct space space;
    struct error err = {0};
    int64_t start_ns = clock_monotonic_ns();
    CHECK_OK(space_read(parameters, &space, &err), &err);
    printf("# the largest space is read in %lld us\n",
           (long long)(clock_monotonic_ns() - start_ns) / 1000);
    json_array_set_new(list, SPACE_CHOICES_MAX - 1, json_string("0"));
    CHECK(space_read(parameters, &space, &err) < 0);
    CHECK_STR(err.text, "spec.parameters[31].choice: has the same twice; take one out");
}

static void test_what_is_no_space(void) {
    static const struct {
        const char *json, *why;
    } rows[] = {
        {"[]", "spec.parameters: is empty; there is nothing to search"},
        {"[{\"name\": \"A\"}]",
         "spec.parameters[0]: exactly one of choice, randint, uniform, quniform, loguniform, "
         "qloguniform, normal, qnormal, lognormal and qlognormal must be given"},
        {"[{\"name\": \"A\", \"choice\": [1], \"randint\": {\"upper\": 2}}]",
         "spec.parameters[0]: exactly one of choice, randint, uniform, quniform, loguniform, "
         "qloguniform, normal, qnormal, lognormal and qlognormal must be given"},
        {"[{\"name\": \"A\", \"choice\": []}]",
         "spec.parameters[0].choice: is empty; there is nothing to choose from"},
        {"[{\"name\": \"A\", \"choice\": [7, \"x\", \"7\"]}]",
         "spec.parameters[0].choice: has the same twice; take one out"},
        {"[{\"name\": \"A\", \"choice\": [null, 1]}]",
         "spec.parameters[0].choice: has a value that is neither text nor a number"},
        {"[{\"name\": \"A\", \"choice\": [0, 1]}, {\"name\": \"B\", \"choice\": [1], \"when\": "
         "{\"parameter\": \"A\", \"values\": [null]}}]",
         "spec.parameters[1].when.values: has a value that is neither text nor a number"},
        {"[{\"name\": \"A\", \"choice\": [0.5, 0.25, \"0.5\"]}]",
         "spec.parameters[0].choice: has the same twice; take one out"},
        {"[{\"name\": \"Z\", \"choice\": [1]}, "
         "{\"name\": \"A\", \"uniform\": {\"min\": \"2\", \"max\": \"1\"}}]",
         "spec.parameters[1].uniform: min must be below max"},
        {"[{\"name\": \"A\", \"uniform\": {\"min\": \"1\", \"max\": \"1\"}}]",
         "spec.parameters[0].uniform: min must be below max"},
        {"[{\"name\": \"A\", \"uniform\": {\"min\": \"0\", \"max\": \"1e16\"}}]",
         "spec.parameters[0].uniform: min and max must be from -1e15 to 1e15"},
        {"[{\"name\": \"A\", \"quniform\": {\"min\": \"0\", \"max\": \"1\", \"q\": \"0\"}}]",
         "spec.parameters[0].quniform: q must be above 0, and at most 1e15"},
        {"[{\"name\": \"A\", \"loguniform\": {\"min\": \"-6\", \"max\": \"-1\"}}]",
         "spec.parameters[0].loguniform: min must be above 0: both are values, not their "
         "logarithms "
         "(HyperDrive's loguniform(-6, -1) is min: \"0.00248\", max: \"0.368\")"},
        {"[{\"name\": \"A\", \"normal\": {\"mu\": \"1\", \"sigma\": \"0\"}}]",
         "spec.parameters[0].normal: sigma must be above 0"},
        {"[{\"name\": \"A\", \"normal\": {\"mu\": \"1e15\", \"sigma\": \"1\"}}]",
         "spec.parameters[0].normal: mu + 9 sigma is beyond 1e15"},
        {"[{\"name\": \"A\", \"qlognormal\": {\"mu\": \"20\", \"sigma\": \"2\", \"q\": \"1\"}}]",
         "spec.parameters[0].qlognormal: mu and sigma are the logarithm's, and mu + 9 sigma is "
         "beyond 34"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(tree_freep) json_t *json = json_loads(rows[i].json, 0, NULL);
        struct space space;
        struct error err = {0};
        CHECK(space_read(json, &space, &err) < 0);
        CHECK_STR(err.text, rows[i].why);
    }
}

/* ---- Sobol ---- */

/* 2^k consecutive points, starting at a multiple, have one in each of 2^k intervals, in every
 * dimension, also when each is shifted by the bits of a seed. */
static void test_sobol_is_even_in_each_dimension(void) {
    enum { COUNT = 256 };
    struct sobol sobol;
    sobol_init(&sobol);
    for (int dimension = 0; dimension < SOBOL_DIMENSIONS_MAX; dimension++) {
        for (uint32_t first = 0; first < 4 * COUNT; first += COUNT) {
            int seen[COUNT] = {0}, once = 0;
            for (uint32_t i = 0; i < COUNT; i++) {
                uint32_t bits = sobol_bits(&sobol, dimension, first + i) ^ 0xA5C3F00Fu;
                once += seen[bits >> 24]++ == 0;
            }
            CHECK_INT(once, COUNT);
        }
    }
}

/* scipy.stats.qmc.Sobol(32, scramble=False).random(N)[i][dimension] * 2^32, whose numbers are the
 * same table's. */
static void test_sobol_is_scipys(void) {
    static const struct {
        uint32_t index;
        int dimension;
        uint32_t bits;
    } rows[] = {
        {1, 0, 2147483648u},     {1, 31, 2147483648u},    {2, 1, 1073741824u},
        {3, 2, 3221225472u},     {5, 3, 1610612736u},     {7, 4, 536870912u},
        {11, 5, 268435456u},     {13, 6, 2415919104u},    {100, 7, 2046820352u},
        {101, 8, 570425344u},    {123, 9, 704643072u},    {200, 10, 4278190080u},
        {255, 11, 721420288u},   {256, 12, 1015021568u},  {500, 13, 3246391296u},
        {777, 14, 2445279232u},  {1000, 15, 1589641216u}, {1023, 16, 1346371584u},
        {1024, 17, 849346560u},  {1025, 18, 165675008u},  {1100, 19, 3667918848u},
        {1200, 20, 2975858688u}, {1300, 21, 1860173824u}, {1400, 22, 903872512u},
        {1500, 23, 1365245952u}, {1600, 24, 3063939072u}, {1700, 25, 543162368u},
        {1800, 26, 1306525696u}, {1900, 27, 991952896u},  {2000, 28, 4091543552u},
        {2040, 29, 73400320u},   {2046, 30, 2472542208u}, {2047, 31, 1780482048u},
    };
    struct sobol sobol;
    sobol_init(&sobol);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(sobol_bits(&sobol, rows[i].dimension, rows[i].index), rows[i].bits);
    }
}

int main(void) {
    TEST(test_each_expression_has_its_law);
    TEST(test_the_normal_distribution);
    TEST(test_points_are_what_was_promised);
    TEST(test_a_finite_space_is_used_up_once);
    TEST(test_conditions);
    TEST(test_likely_points_come_first);
    TEST(test_sizes);
    TEST(test_points_lead_back);
    TEST(test_values_of_another_space);
    TEST(test_numbers_as_text);
    TEST(test_the_largest_space);
    TEST(test_what_is_no_space);
    TEST(test_sobol_is_even_in_each_dimension);
    TEST(test_sobol_is_scipys);
    return TEST_END();
}
