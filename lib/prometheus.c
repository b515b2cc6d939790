// SPDX-License-Identifier: Apache-2.0
#include "lib/prometheus.h"

#include "lib/buffer.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* More than all series of all families can need, so appending cannot fail. */
enum { TEXT_MAX = 16 << 20, LABEL_MAX = 128 };

struct series {
    char *values[PROMETHEUS_LABELS_MAX]; /* NULL where the family has no such label */
    double value;                        /* of a histogram: the sum */
    uint64_t count;                      /* of a histogram */
    uint64_t *buckets;                   /* of a histogram: one for each bound, not cumulative */
};

struct family {
    const struct prometheus_family *told;
    size_t label_count, bound_count;
    struct series *series;
    size_t series_count;
};

struct prometheus {
    pthread_mutex_t lock;
    struct family *families;
    size_t count;
};

static const char *const kind_names[] = {"counter", "gauge", "histogram"};
static_assert(ARRAY_LEN(kind_names) == PROMETHEUS_KIND_COUNT, "one name per kind");

static struct series *add_series(struct family *family, const char *const *values) {
    family->series =
        x_realloc_array(family->series, family->series_count + 1, sizeof *family->series);
    struct series *series = &family->series[family->series_count++];
    *series = (struct series){0};
    for (size_t i = 0; i < family->label_count; i++) {
        const char *value = values[i] ? values[i] : "";
        series->values[i] = x_strndup(value, MIN(strlen(value), LABEL_MAX));
    }
    if (family->bound_count) {
        series->buckets = x_calloc(family->bound_count, sizeof *series->buckets);
    }
    return series;
}

static struct series *find_series(struct family *family, const char *const *values) {
    for (size_t i = 0; i < family->series_count; i++) {
        size_t same = 0;
        while (same < family->label_count &&
               strncmp(family->series[i].values[same], values[same] ? values[same] : "",
                       LABEL_MAX) == 0) {
            same++;
        }
        if (same == family->label_count) {
            return &family->series[i];
        }
    }
    return NULL;
}

static struct series *take_series(struct family *family, const char *const *values) {
    static const char *const others[PROMETHEUS_LABELS_MAX] = {"other", "other", "other"};
    struct series *series = find_series(family, values);
    if (!series && family->series_count >= PROMETHEUS_SERIES_MAX) {
        values = others;
        series = find_series(family, values);
    }
    return series ? series : add_series(family, values);
}

struct prometheus *prometheus_new(const struct prometheus_family *families, size_t count) {
    struct prometheus *metrics = x_calloc(1, sizeof *metrics);
    pthread_mutex_init(&metrics->lock, NULL);
    metrics->families = x_calloc(count, sizeof *metrics->families);
    metrics->count = count;
    for (size_t i = 0; i < count; i++) {
        struct family *family = &metrics->families[i];
        family->told = &families[i];
        while (family->label_count < PROMETHEUS_LABELS_MAX &&
               families[i].labels[family->label_count]) {
            family->label_count++;
        }
        while (family->bound_count < PROMETHEUS_BOUNDS_MAX &&
               families[i].bounds[family->bound_count] > 0) {
            family->bound_count++;
        }
        if (family->label_count == 0) {
            add_series(family, NULL);
        }
    }
    return metrics;
}

void prometheus_free(struct prometheus *metrics) {
    if (!metrics) {
        return;
    }
    for (size_t i = 0; i < metrics->count; i++) {
        struct family *family = &metrics->families[i];
        for (size_t j = 0; j < family->series_count; j++) {
            for (size_t k = 0; k < family->label_count; k++) {
                free(family->series[j].values[k]);
            }
            free(family->series[j].buckets);
        }
        free(family->series);
    }
    free(metrics->families);
    pthread_mutex_destroy(&metrics->lock);
    free(metrics);
}

static struct family *lock_family(struct prometheus *metrics, size_t index,
                                  enum prometheus_kind kind) {
    assert(index < metrics->count && metrics->families[index].told->kind == kind);
    (void)kind;
    pthread_mutex_lock(&metrics->lock);
    return &metrics->families[index];
}

void prometheus_add(struct prometheus *metrics, size_t family, double amount,
                    const char *const *values) {
    assert(amount >= 0);
    take_series(lock_family(metrics, family, PROMETHEUS_COUNTER), values)->value += amount;
    pthread_mutex_unlock(&metrics->lock);
}

void prometheus_set(struct prometheus *metrics, size_t family, double value,
                    const char *const *values) {
    take_series(lock_family(metrics, family, PROMETHEUS_GAUGE), values)->value = value;
    pthread_mutex_unlock(&metrics->lock);
}

void prometheus_observe(struct prometheus *metrics, size_t family, double value,
                        const char *const *values) {
    struct family *of = lock_family(metrics, family, PROMETHEUS_HISTOGRAM);
    struct series *series = take_series(of, values);
    series->value += value;
    series->count++;
    for (size_t i = 0; i < of->bound_count; i++) {
        if (value <= of->told->bounds[i]) {
            series->buckets[i]++;
            break;
        }
    }
    pthread_mutex_unlock(&metrics->lock);
}

/* Cannot fail: TEXT_MAX is never reached. */
static void put(struct buffer *text, const char *format, ...) PRINTF_LIKE(2, 3);
static void put(struct buffer *text, const char *format, ...) {
    char line[512];
    struct error ignored = {0};
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    int put = buffer_append(text, line, MIN((size_t)MAX(length, 0), sizeof line - 1), &ignored);
    assert(put == 0);
    (void)put;
}

/* Escapes \ and line ends, and in a label's value also ". */
static void put_escaped(struct buffer *text, const char *value, bool is_label) {
    for (const char *at = value; *at; at++) {
        if (*at == '\n') {
            put(text, "\\n");
        } else if (*at == '\\' || (*at == '"' && is_label)) {
            put(text, "\\%c", *at);
        } else {
            put(text, "%c", *at);
        }
    }
}

static void put_number(struct buffer *text, double value) {
    if (isnan(value) || isinf(value)) {
        put(text, "%s\n", isnan(value) ? "NaN" : value > 0 ? "+Inf" : "-Inf");
    } else if (value > -1e15 && value < 1e15 && value == (double)(int64_t)value) {
        put(text, "%lld\n", (long long)value);
    } else {
        put(text, "%.9g\n", value);
    }
}

/* Writes NAME_SUFFIX{label="value",le="bound"}; the number follows. */
static void put_series(struct buffer *text, const struct family *family,
                       const struct series *series, const char *suffix, const char *bound) {
    put(text, "%s%s", family->told->name, suffix);
    const char *separator = "{";
    for (size_t i = 0; i < family->label_count; i++) {
        put(text, "%s%s=\"", separator, family->told->labels[i]);
        put_escaped(text, series->values[i], /* is_label= */ true);
        put(text, "\"");
        separator = ",";
    }
    if (bound) {
        put(text, "%sle=\"%s\"", separator, bound);
        separator = ",";
    }
    put(text, "%s ", *separator == ',' ? "}" : "");
}

static void put_histogram(struct buffer *text, const struct family *family,
                          const struct series *series) {
    uint64_t below = 0;
    for (size_t i = 0; i < family->bound_count; i++) {
        char bound[32];
        snprintf(bound, sizeof bound, "%.9g", family->told->bounds[i]);
        below += series->buckets[i];
        put_series(text, family, series, "_bucket", bound);
        put_number(text, (double)below);
    }
    put_series(text, family, series, "_bucket", "+Inf");
    put_number(text, (double)series->count);
    put_series(text, family, series, "_sum", NULL);
    put_number(text, series->value);
    put_series(text, family, series, "_count", NULL);
    put_number(text, (double)series->count);
}

static void put_head(struct buffer *text, const char *name, const char *help,
                     enum prometheus_kind kind) {
    put(text, "# HELP %s ", name);
    put_escaped(text, help, /* is_label= */ false);
    put(text, "\n# TYPE %s %s\n", name, kind_names[kind]);
}

char *prometheus_text(struct prometheus *metrics) {
    struct buffer text;
    buffer_init(&text, TEXT_MAX);
    pthread_mutex_lock(&metrics->lock);
    for (size_t i = 0; i < metrics->count; i++) {
        const struct family *family = &metrics->families[i];
        put_head(&text, family->told->name, family->told->help, family->told->kind);
        for (size_t j = 0; j < family->series_count; j++) {
            if (family->told->kind == PROMETHEUS_HISTOGRAM) {
                put_histogram(&text, family, &family->series[j]);
            } else {
                put_series(&text, family, &family->series[j], "", NULL);
                put_number(&text, family->series[j].value);
            }
        }
    }
    pthread_mutex_unlock(&metrics->lock);
    size_t size = 0;
    return buffer_take(&text, &size);
}

static void put_gauge(struct buffer *text, const char *name, const char *help,
                      enum prometheus_kind kind, double value) {
    put_head(text, name, help, kind);
    put(text, "%s ", name);
    put_number(text, value);
}

static int count_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    if (!folder) {
        return 0;
    }
    int count = -1; /* not the one that reads the folder */
    for (const struct dirent *entry; (entry = readdir(folder));) {
        count += entry->d_name[0] != '.';
    }
    closedir(folder);
    return count;
}

/* Reads /proc/self/stat from the third field on, after the name in brackets, which may hold
 * anything. */
static bool read_stat(double *ret_cpu_s, double *ret_start_s, double *ret_resident) {
    char line[1024] = "";
    FILE *file = fopen("/proc/self/stat", "re");
    char *got = file ? fgets(line, sizeof line, file) : NULL;
    if (file) {
        fclose(file);
    }
    const char *at = got ? strrchr(line, ')') : NULL;
    if (!at) {
        return false;
    }
    unsigned long user = 0, kernel = 0;
    unsigned long long start = 0;
    long pages = 0;
    int read = sscanf(at + 1,
                      " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %*d %*d %*d %*d %*d "
                      "%*d %llu %*u %ld",
                      &user, &kernel, &start, &pages);
    double ticks = (double)sysconf(_SC_CLK_TCK);
    *ret_cpu_s = (double)(user + kernel) / ticks;
    *ret_start_s = (double)start / ticks;
    *ret_resident = (double)pages * (double)sysconf(_SC_PAGESIZE);
    return read == 4;
}

static double boot_time_s(void) {
    struct timespec since_boot = {0};
    clock_gettime(CLOCK_BOOTTIME, &since_boot);
    return (double)clock_wall_ms() / 1000 - (double)since_boot.tv_sec -
           (double)since_boot.tv_nsec / 1e9;
}

char *prometheus_process_text(void) {
    struct buffer text;
    buffer_init(&text, TEXT_MAX);
    double cpu_s = 0, start_s = 0, resident = 0;
    if (read_stat(&cpu_s, &start_s, &resident)) {
        put_gauge(&text, "process_resident_memory_bytes", "Resident memory size in bytes.",
                  PROMETHEUS_GAUGE, resident);
        put_gauge(&text, "process_cpu_seconds_total",
                  "Total user and system CPU time spent in seconds.", PROMETHEUS_COUNTER, cpu_s);
        put_gauge(&text, "process_start_time_seconds",
                  "Start time of the process since the unix epoch in seconds.", PROMETHEUS_GAUGE,
                  (double)(int64_t)(boot_time_s() + start_s));
    }
    put_gauge(&text, "process_open_fds", "Number of open file descriptors.", PROMETHEUS_GAUGE,
              count_files());
    size_t size = 0;
    return buffer_take(&text, &size);
}
