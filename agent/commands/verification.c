// SPDX-License-Identifier: Apache-2.0
#include "agent/commands/verification.h"

#include "agent/job.h"
#include "agent/result/envelope.h"
#include "agent/result/verify.h"
#include "agent/store/local_file.h"
#include "lib/contract.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/options.h"
#include "lib/text/shown.h"
#include "lib/time/clock.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OWNER_BYTES_MAX = 16 << 10, TELL_MS = 1000 };

struct checking {
    const char *given, *key_path, *format; /* arguments; NULL: not given */
    bool allows_extra;
    struct store *output, *scratch;
    char *scratch_folder;
    struct buffer text; /* of result.json */
    json_t *result;
    const char *signature;      /* "valid", "invalid", "absent", "unchecked" */
    struct error signature_why; /* of invalid */
    struct verify_report report;
    int64_t told_ms;
    bool is_terminal, has_told;
};

/* ---- opening -------------------------------------------------------------------------------- */

/* A folder of this machine becomes a volume of that name for the store (path.h). */
static int open_place(const char *volume, const char *given, bool writes, struct store **ret_store,
                      struct error *err) {
    AUTO(text_freep) char *folder = store_is_local(given) ? realpath(given, NULL) : NULL;
    if (!store_is_local(given)) {
        return store_open(given, writes, ret_store, err);
    }
    if (!folder) {
        return error_from_errno(err, errno, "%s", given);
    }
    setenv(volume, folder, 1);
    return store_open(volume, writes, ret_store, err);
}

/* Why result.json is missing. */
static int explain_missing_result(const struct checking *checking, struct error *err) {
    AUTO(buffer_release) struct buffer text;
    AUTO(tree_freep) json_t *owner = NULL;
    struct error ignored = {0};
    buffer_init(&text, OWNER_BYTES_MAX);
    if (store_get(checking->output, ".windlass/owner", &text, NULL, &ignored) < 0 ||
        tree_parse(text.data ? text.data : "", text.size, OWNER_BYTES_MAX, &owner, &ignored) < 0) {
        return error_set(err, ERROR_INVALID,
                         "%s has no result.json: it is not the output of a job that has succeeded, "
                         "or a release without result.json made it",
                         checking->given);
    }
    return error_set(
        err, ERROR_INVALID,
        "%s has no result.json: job %s is still running there or has not succeeded (see "
        ".windlass/%s), or a release without result.json made it",
        checking->given, tree_text(owner, "job", "?"), tree_text(owner, "run", "?"));
}

/* 1: read; 0: there is one, but it is not a result: noted in *why. */
static int read_result(struct checking *checking, struct error *why, struct error *err) {
    struct error cause = {0};
    buffer_init(&checking->text, RESULT_BYTES_MAX);
    if (store_get(checking->output, RESULT_NAME, &checking->text, NULL, &cause) < 0) {
        if (cause.kind == ERROR_NOT_FOUND) {
            return explain_missing_result(checking, err);
        }
        *err = cause;
        return -1;
    }
    const char *text = checking->text.data ? checking->text.data : "";
    if (result_file_parse(text, checking->text.size, &checking->result, why) < 0) {
        (void)error_context(why, "%s/%s", checking->given, RESULT_NAME);
        return 0;
    }
    return 1;
}

/* ---- the signature -------------------------------------------------------------------------- */

static int read_key(const char *path, struct signature_key **ret_key, struct error *err) {
    AUTO(text_freep) char *pem = NULL;
    size_t size = 0;
    if (file_read(path, SIGNATURE_PEM_MAX, &pem, &size, err) < 0) {
        err->kind = ERROR_INVALID;
        return error_context(err, "--key");
    }
    return signature_key_read_public(pem, ret_key, err) < 0 ? error_context(err, "--key %s", path)
                                                            : 0;
}

static int check_signature(struct checking *checking, const struct signature_key *key,
                           struct error *err) {
    AUTO(buffer_release) struct buffer text;
    struct error why = {0};
    char hex[65];
    buffer_init(&text, ENVELOPE_BYTES_MAX);
    checking->signature = "absent";
    if (store_get(checking->output, RESULT_ENVELOPE_NAME, &text, NULL, &why) < 0) {
        if (why.kind == ERROR_NOT_FOUND) {
            return 0;
        }
        *err = why;
        return -1;
    }
    checking->signature = "unchecked";
    if (key) {
        digest_sha256(checking->text.data, checking->text.size, hex);
        checking->signature = envelope_check(text.data ? text.data : "", text.size, key, hex,
                                             &checking->signature_why) == 0
                                  ? "valid"
                                  : "invalid";
    }
    return 0;
}

static bool is_signature_wrong(const struct checking *checking) {
    return checking->key_path && strcmp(checking->signature, "valid") != 0;
}

/* ---- what was found ------------------------------------------------------------------------- */

static bool on_progress(void *context, const struct verify_report *report, int64_t files,
                        int64_t bytes) {
    struct checking *checking = context;
    int64_t now_ms = clock_monotonic_ms();
    if (checking->is_terminal && now_ms - checking->told_ms >= TELL_MS) {
        fprintf(stderr, "\r%lld of %lld files, %lld of %lld MiB", (long long)report->files,
                (long long)files, (long long)report->bytes >> 20, (long long)bytes >> 20);
        checking->told_ms = now_ms;
        checking->has_told = true;
    }
    return !job_is_interrupted();
}

enum verdict { HOLDS, DOES_NOT_HOLD, UNKNOWN };

/* A file that may not be read may be as it was made. */
static enum verdict judge(const struct checking *checking) {
    const int64_t *counts = checking->report.counts;
    bool is_wrong = !checking->result || is_signature_wrong(checking) || counts[VERIFY_MISSING] ||
                    counts[VERIFY_CHANGED] || counts[VERIFY_REPEATED] || counts[VERIFY_NEWER] ||
                    (counts[VERIFY_EXTRA] && !checking->allows_extra);
    return is_wrong ? DOES_NOT_HOLD : counts[VERIFY_DENIED] ? UNKNOWN : HOLDS;
}

static void print_json(const struct checking *checking, const struct error *why) {
    const struct verify_report *report = &checking->report;
    enum verdict verdict = judge(checking);
    AUTO(tree_freep)
    json_t *tree =
        json_pack("{s:s, s:o, s:I, s:I}", "output", checking->given, "holds",
                  verdict == UNKNOWN ? json_null() : json_boolean(verdict == HOLDS), "files",
                  (json_int_t)report->files, "bytes", (json_int_t)report->bytes);
    static const char *const copied[] = {"kind", "name", "namespace", "uid", "run", "completed"};
    for (size_t i = 0; i < ARRAY_LEN(copied); i++) {
        json_object_set(tree, copied[i], json_object_get(checking->result, copied[i]));
    }
    for (int i = 0; i < VERIFY_FAULT_COUNT && report->names[i]; i++) {
        json_object_set_new(tree, verify_fault_names[i],
                            json_pack("{s:I, s:O}", "count", (json_int_t)report->counts[i], "names",
                                      report->names[i]));
    }
    if (report->lacks_claims) {
        json_object_set_new(tree, "newerStarts", json_string("unchecked"));
    }
    if (report->lacks_list) {
        json_object_set_new(tree, "listedFiles", json_string("unchecked"));
    }
    if (checking->signature) {
        json_object_set_new(tree, "signature", json_string(checking->signature));
    }
    const char *text = why->kind ? why->text : checking->signature_why.text;
    if (*text) {
        json_object_set_new(tree, "why", json_string(text));
    }
    json_dumpf(tree, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
    printf("\n");
}

/* Who made the output named its files: a name must not write over what is said about them. */
static char *make_shown(const char *text) {
    return shown_text(text, strlen(text));
}

static void print_names(const struct verify_report *report) {
    static const char *const words[] = {
        "missing",      "changed", "permission denied", "named twice", "not made by this run",
        "a newer start"};
    static_assert(ARRAY_LEN(words) == VERIFY_FAULT_COUNT, "one text per fault");
    for (int i = 0; i < VERIFY_FAULT_COUNT; i++) {
        for (size_t n = 0; n < json_array_size(report->names[i]); n++) {
            AUTO(text_freep)
            char *name = make_shown(json_string_value(json_array_get(report->names[i], n)));
            printf("%-22s%s\n", words[i], name);
        }
        int64_t more = report->counts[i] - (int64_t)json_array_size(report->names[i]);
        if (more > 0) {
            printf("%-22sand %lld more\n", words[i], (long long)more);
        }
    }
}

/* What this output alone does not show. */
static void print_unchecked(const struct checking *checking) {
    int64_t left_out = tree_integer(checking->result, "sweep.trialsLeftOut", 0);
    if (checking->report.lacks_claims) {
        printf(
            "%-22swhether this training has been started again since: a copy without .windlass\n",
            "not checked");
    }
    if (checking->report.lacks_list) {
        printf("%-22sthe files that " OUTPUT_LINES_NAME " names: it may not be read\n",
               "not checked");
    }
    if (left_out > 0) {
        printf("%-22s%lld of the trials, which result.json has no room for\n", "not named",
               (long long)left_out);
    }
}

static void print_text(const struct checking *checking, const struct error *why) {
    const struct verify_report *report = &checking->report;
    if (why->kind) {
        printf("%s\n", why->text);
        return;
    }
    print_names(report);
    if (is_signature_wrong(checking)) {
        printf("%-22s%s\n", "signature",
               *checking->signature_why.text ? checking->signature_why.text
                                             : RESULT_ENVELOPE_NAME " is missing");
    }
    print_unchecked(checking);
    const char *note = strcmp(checking->signature, "valid") == 0 ? ", and is signed with this key"
                       : strcmp(checking->signature, "unchecked") == 0
                           ? "; its signature was not checked (--key FILE does)"
                           : "";
    AUTO(text_freep) char *kind = make_shown(tree_text(checking->result, "kind", ""));
    AUTO(text_freep) char *name = make_shown(tree_text(checking->result, "name", ""));
    AUTO(text_freep) char *completed = make_shown(tree_text(checking->result, "completed", ""));
    static const char *const words[] = {[HOLDS] = "holds what its result.json says",
                                        [DOES_NOT_HOLD] = "does not hold what its result.json says",
                                        [UNKNOWN] = "cannot be checked, files may not be read"};
    enum verdict verdict = judge(checking);
    printf("%s %s: %s %s, completed %s; %lld files, %lld bytes%s\n", checking->given,
           words[verdict], kind, name, completed, (long long)report->files,
           (long long)report->bytes, verdict == HOLDS ? note : "");
}

/* ---- the command ---------------------------------------------------------------------------- */

static int check(struct checking *checking, struct error *err) {
    AUTO(signature_key_freep) struct signature_key *key = NULL;
    struct error why = {0};
    if ((checking->key_path && read_key(checking->key_path, &key, err) < 0) ||
        open_place("output", checking->given, false, &checking->output, err) < 0) {
        return -1;
    }
    int found = read_result(checking, &why, err);
    if (found < 0) {
        return -1;
    }
    if (found > 0) {
        struct verify_options options = {.output = checking->output,
                                         .result = checking->result,
                                         .progress = on_progress,
                                         .context = checking};
        if (check_signature(checking, key, err) < 0 ||
            local_file_make_folder(&checking->scratch_folder, err) < 0 ||
            open_place("scratch", checking->scratch_folder, true, &checking->scratch, err) < 0) {
            return -1;
        }
        options.scratch = checking->scratch;
        int result = verify_output(&options, &checking->report, err);
        fprintf(stderr, "%s", checking->has_told ? "\r\033[K" : "");
        if (result < 0) {
            return -1;
        }
    }
    (checking->format ? print_json : print_text)(checking, &why);
    if (fflush(stdout) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot write to standard output: %m");
    }
    return !ferror(stdout) /* of an earlier write, whose errno is gone */
               ? 0
               : error_set(err, ERROR_UNAVAILABLE, "cannot write to standard output");
}

static void release(struct checking *checking) {
    struct error ignored = {0};
    verify_report_release(&checking->report);
    tree_freep(&checking->result);
    buffer_release(&checking->text);
    store_free(checking->output);
    store_free(checking->scratch);
    if (checking->scratch_folder) {
        (void)!file_remove_tree(checking->scratch_folder, &ignored);
    }
    free(checking->scratch_folder);
}

int verification_command(int argc, char **argv) {
    struct checking checking = {.is_terminal = isatty(STDERR_FILENO)};
    static const struct command_help help = {
        .usage = "windlass-agent verify OUTPUT [options]",
        .about = "Reads every file of an output again and compares it with its result.json.\n"
                 "Started by windlass verify, which explains it.",
        .words_min = 1,
        .words_max = 1,
    };
    const struct option options[] = {
        {"key", 0, OPTION_TEXT, "FILE", "The public key of the signature, PEM.",
         &checking.key_path},
        {"allow-extra", 0, OPTION_FLAG, NULL, "Files that this run has not made may be there.",
         &checking.allows_extra},
        {"output", 'o', OPTION_TEXT, "FORMAT", "json: the verdict as JSON.", &checking.format},
        {0},
    };
    struct option_list words = {0};
    struct error err = {0};
    int code = options_read(argc, argv, &help, options, &words, &err);
    if (code > 0) {
        return 0;
    }
    if (code == 0 && checking.format && strcmp(checking.format, "json") != 0) {
        code = error_set(&err, ERROR_INVALID, "-o %s: expected json", checking.format);
    }
    if (code == 0) {
        job_catch_signals();
        checking.given = words.values[0];
        code = check(&checking, &err);
    }
    static const int codes[] = {
        [HOLDS] = 0, [DOES_NOT_HOLD] = CONTRACT_EXIT_FAILED, [UNKNOWN] = CONTRACT_EXIT_RETRY};
    int exit_code = codes[judge(&checking)];
    release(&checking);
    if (code < 0) {
        fprintf(stderr, "windlass verify: %s\n", err.text);
        return err.kind == ERROR_NOT_FOUND ? 2 : error_exit_code(&err);
    }
    return exit_code;
}
