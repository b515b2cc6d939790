// SPDX-License-Identifier: Apache-2.0
/* A small reader of Prometheus' text format reads the output of metrics.h back; it is written after
 * the format's description and not after our writer. */
#include "lib/prometheus.h"

#include "tests/test.h"

#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { SAMPLES_MAX = 4096 };

struct sample {
    char name[128];
    char labels[512]; /* name=value; with escapes undone */
    double value;
};

struct page {
    struct sample samples[SAMPLES_MAX];
    size_t count;
    int helps, types, errors;
};

static const char *read_name(const char *at, char *name, size_t room) {
    size_t length = 0;
    while (isalnum((unsigned char)at[length]) || at[length] == '_' || at[length] == ':') {
        length++;
    }
    snprintf(name, room, "%.*s", (int)length, at);
    return length ? at + length : NULL;
}

static const char *read_labels(const char *at, char *labels, size_t room) {
    size_t used = 0;
    while (*at && *at != '}') {
        char name[64];
        at = read_name(at, name, sizeof name);
        if (!at || at[0] != '=' || at[1] != '"') {
            return NULL;
        }
        used += (size_t)snprintf(labels + used, room - used, "%s=", name);
        for (at += 2; *at && *at != '"' && *at != '\n'; at++) {
            bool is_escaped = *at == '\\';
            at += is_escaped;
            if (is_escaped && !strchr("n\\\"", *at)) {
                return NULL;
            }
            labels[used++] = is_escaped && *at == 'n' ? '\n' : *at;
        }
        labels[used++] = ';';
        labels[used] = 0;
        if (*at++ != '"') {
            return NULL;
        }
        at += *at == ',';
    }
    return *at == '}' ? at + 1 : NULL;
}

static const char *read_sample(const char *at, struct page *page) {
    struct sample *sample = &page->samples[page->count];
    *sample = (struct sample){0};
    at = read_name(at, sample->name, sizeof sample->name);
    if (at && *at == '{') {
        at = read_labels(at + 1, sample->labels, sizeof sample->labels);
    }
    if (!at || *at != ' ') {
        return NULL;
    }
    char *end;
    sample->value = strtod(at + 1, &end);
    page->count++;
    return end > at + 1 && *end == '\n' ? end : NULL;
}

static void page_read(struct page *page, const char *text) {
    *page = (struct page){0};
    while (*text && page->count < SAMPLES_MAX) {
        const char *end = strchr(text, '\n');
        if (!end) {
            page->errors++; /* the last line must end, too */
            return;
        }
        if (strncmp(text, "# HELP ", 7) == 0) {
            page->helps++;
        } else if (strncmp(text, "# TYPE ", 7) == 0) {
            page->types++;
        } else if (read_sample(text, page) != end) {
            printf("# no sample: %.*s\n", (int)(end - text), text);
            page->errors++;
        }
        text = end + 1;
    }
}

/* Returns -1 if the sample does not exist, -2 if there are several. */
static double find(const struct page *page, const char *name, const char *labels) {
    double value = -1;
    for (size_t i = 0; i < page->count; i++) {
        if (strcmp(page->samples[i].name, name) == 0 &&
            strcmp(page->samples[i].labels, labels) == 0) {
            value = value < 0 ? page->samples[i].value : -2;
        }
    }
    return value;
}

enum { JOBS, DEPTH, SECONDS };
static const struct prometheus_family families[] = {
    [JOBS] = {"jobs_total", "Jobs, by \"kind\" and reason\\cause\nof their end.",
              PROMETHEUS_COUNTER, .labels = {"kind", "reason"}},
    [DEPTH] = {"queue_depth", "Keys.", PROMETHEUS_GAUGE, {0}, {0}},
    [SECONDS] = {"wait_seconds", "Waits.", PROMETHEUS_HISTOGRAM, {"queue"}, {0.005, 0.1, 2.5}},
};

static const char *const *labels(const char *one, const char *two) {
    static const char *values[PROMETHEUS_LABELS_MAX];
    values[0] = one;
    values[1] = two;
    return values;
}

static struct page page; /* too large for the stack */

static void read_back(struct prometheus *metrics) {
    AUTO(text_freep) char *text = prometheus_text(metrics);
    page_read(&page, text);
    CHECK_INT(page.errors, 0);
    CHECK_INT(page.helps, ARRAY_LEN(families));
    CHECK_INT(page.types, ARRAY_LEN(families));
}

static void test_counters_and_gauges(void) {
    struct prometheus *metrics = prometheus_new(families, ARRAY_LEN(families));
    read_back(metrics);
    CHECK_INT(page.count, 1); /* without labels: exists from the start */
    CHECK(find(&page, "queue_depth", "") == 0);
    prometheus_add(metrics, JOBS, 1, labels("BatchScore", "Completed"));
    prometheus_add(metrics, JOBS, 2, labels("BatchScore", "Completed"));
    prometheus_add(metrics, JOBS, 1, labels("BatchScore", "OutOfMemory"));
    prometheus_set(metrics, DEPTH, 7, NULL);
    prometheus_set(metrics, DEPTH, 2.5, NULL);
    read_back(metrics);
    CHECK(find(&page, "jobs_total", "kind=BatchScore;reason=Completed;") == 3);
    CHECK(find(&page, "jobs_total", "kind=BatchScore;reason=OutOfMemory;") == 1);
    CHECK(find(&page, "queue_depth", "") == 2.5);
    CHECK_INT(page.count, 3);
    prometheus_free(metrics);
}

static void test_values_are_escaped(void) {
    struct prometheus *metrics = prometheus_new(families, ARRAY_LEN(families));
    const char *odd = "a \"quoted\" \\ back\nslash";
    prometheus_add(metrics, JOBS, 1, labels(odd, NULL));
    read_back(metrics);
    char wanted[128];
    snprintf(wanted, sizeof wanted, "kind=%s;reason=;", odd);
    CHECK(find(&page, "jobs_total", wanted) == 1);
    AUTO(text_freep) char *text = prometheus_text(metrics);
    CHECK(
        strstr(text, "# HELP jobs_total Jobs, by \"kind\" and reason\\\\cause\\nof their end.\n"));
    CHECK(strstr(text, "# TYPE wait_seconds histogram\n"));
    prometheus_free(metrics);
}

static void test_histograms_are_cumulative(void) {
    struct prometheus *metrics = prometheus_new(families, ARRAY_LEN(families));
    static const double seen[] = {0.001, 0.005, 0.0051, 0.1, 2, 3, 100};
    double sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(seen); i++) {
        prometheus_observe(metrics, SECONDS, seen[i], labels("main", NULL));
        sum += seen[i];
    }
    read_back(metrics);
    static const struct {
        const char *labels;
        double count;
    } rows[] = {{"queue=main;le=0.005;", 2},
                {"queue=main;le=0.1;", 4},
                {"queue=main;le=2.5;", 5},
                {"queue=main;le=+Inf;", 7}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK(find(&page, "wait_seconds_bucket", rows[i].labels) == rows[i].count);
    }
    CHECK(find(&page, "wait_seconds_count", "queue=main;") == 7);
    double told = find(&page, "wait_seconds_sum", "queue=main;");
    CHECK(told > sum - 1e-6 && told < sum + 1e-6);
    prometheus_free(metrics);
}

static void test_series_are_bounded(void) {
    struct prometheus *metrics = prometheus_new(families, ARRAY_LEN(families));
    for (int i = 0; i < PROMETHEUS_SERIES_MAX * 3; i++) {
        AUTO(text_freep) char *reason = x_printf("Reason%d", i);
        prometheus_add(metrics, JOBS, 1, labels("BatchScore", reason));
    }
    prometheus_add(metrics, JOBS, 1, labels("BatchScore", "Reason0"));
    read_back(metrics);
    CHECK(find(&page, "jobs_total", "kind=BatchScore;reason=Reason0;") == 2);
    CHECK(find(&page, "jobs_total", "kind=other;reason=other;") == PROMETHEUS_SERIES_MAX * 2);
    CHECK_INT(page.count, PROMETHEUS_SERIES_MAX + 1 + 1);
    prometheus_free(metrics);
}

enum { THREADS = 4, ROUNDS = 2000 };

static void *count(void *metrics) {
    for (int i = 0; i < ROUNDS; i++) {
        const char *values[PROMETHEUS_LABELS_MAX] = {"BatchScore", i % 2 ? "A" : "B"};
        prometheus_add(metrics, JOBS, 1, values);
        prometheus_observe(metrics, SECONDS, 0.01 * (i % 20), values);
        prometheus_set(metrics, DEPTH, i, NULL);
    }
    return NULL;
}

/* A page read while others count is consistent: a histogram's buckets end with its count. */
static void test_threads_lose_nothing(void) {
    struct prometheus *metrics = prometheus_new(families, ARRAY_LEN(families));
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, count, metrics);
    }
    for (int i = 0; i < 50; i++) {
        read_back(metrics);
        CHECK(find(&page, "wait_seconds_count", "queue=BatchScore;") ==
              find(&page, "wait_seconds_bucket", "queue=BatchScore;le=+Inf;"));
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    read_back(metrics);
    CHECK(find(&page, "jobs_total", "kind=BatchScore;reason=A;") == THREADS * ROUNDS / 2);
    CHECK(find(&page, "jobs_total", "kind=BatchScore;reason=B;") == THREADS * ROUNDS / 2);
    CHECK(find(&page, "wait_seconds_count", "queue=BatchScore;") == THREADS * ROUNDS);
    prometheus_free(metrics);
}

static void test_the_process_tells_of_itself(void) {
    AUTO(text_freep) char *text = prometheus_process_text();
    page_read(&page, text);
    CHECK_INT(page.errors, 0);
    CHECK(find(&page, "process_resident_memory_bytes", "") > 1 << 20);
    CHECK(find(&page, "process_cpu_seconds_total", "") >= 0);
    CHECK(find(&page, "process_open_fds", "") >= 3);
    time_t now = time(NULL);
    double start = find(&page, "process_start_time_seconds", "");
    CHECK(start > (double)now - 600 && start < (double)now + 2);
}

int main(void) {
    TEST(test_counters_and_gauges);
    TEST(test_values_are_escaped);
    TEST(test_histograms_are_cumulative);
    TEST(test_series_are_bounded);
    TEST(test_threads_lose_nothing);
    TEST(test_the_process_tells_of_itself);
    return TEST_END();
}
