// SPDX-License-Identifier: Apache-2.0
#include "operator/kube/credential.h"

#include "lib/buffer.h"
#include "lib/file.h"
#include "lib/text/base64.h"
#include "lib/time/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct kube_credential {
    const struct config *config;
    struct loop *loop;
    void (*changed)(void *context);
    void *context;
    struct kube_credential_reply reply; /* from the plug-in or the token file */
    unsigned number;                    /* counts the credentials so far; 0: none yet */
    bool is_stale;                      /* it was refused */
    int64_t read_ms;                    /* of the token file */
    /* the plug-in */
    pid_t pid; /* 0: does not run */
    int pid_fd, pipe;
    struct loop_watch pid_watch, pipe_watch;
    struct loop_timer deadline;
    struct buffer output;
    int64_t renew_ms; /* wall time; 0: only when it is refused */
    struct error failure;
    int64_t failed_ms;
};

static const char *const versions[] = {"client.authentication.k8s.io/v1",
                                       "client.authentication.k8s.io/v1beta1"};

void kube_credential_reply_release(struct kube_credential_reply *reply) {
    free(reply->token);
    free(reply->certificate_pem);
    free(reply->key_pem);
    *reply = (struct kube_credential_reply){0};
}

static char *copy_text(const json_t *tree, const char *path) {
    const char *text = tree_text(tree, path, "");
    return *text ? x_strdup(text) : NULL;
}

int kube_credential_read(const json_t *exec, const char *text, size_t size,
                         struct kube_credential_reply *ret_reply, struct error *err) {
    AUTO(tree_freep) json_t *tree = NULL;
    struct error ignored = {0};
    if (tree_parse(text, size, CREDENTIAL_PLUGIN_MAX, &tree, &ignored) < 0 ||
        strcmp(tree_text(tree, "kind", ""), "ExecCredential") != 0) {
        return error_set(err, ERROR_INVALID, "did not print an ExecCredential in JSON");
    }
    const char *wanted = tree_text(exec, "apiVersion", "");
    if (strcmp(tree_text(tree, "apiVersion", ""), wanted) != 0) {
        return error_set(err, ERROR_INVALID, "printed another apiVersion than %s", wanted);
    }
    AUTO(kube_credential_reply_release)
    struct kube_credential_reply reply = {.token = copy_text(tree, "status.token"),
                                          .certificate_pem =
                                              copy_text(tree, "status.clientCertificateData"),
                                          .key_pem = copy_text(tree, "status.clientKeyData")};
    if (!reply.certificate_pem != !reply.key_pem) {
        return error_set(err, ERROR_INVALID,
                         "printed a certificate without its key, or a key without its certificate");
    }
    if (!reply.token && !reply.certificate_pem) {
        return error_set(err, ERROR_INVALID, "printed neither a token nor a certificate");
    }
    reply.expires_ms = MAX(clock_parse(tree_text(tree, "status.expirationTimestamp", "")), 0);
    *ret_reply = reply;
    reply = (struct kube_credential_reply){0};
    return 0;
}

char *kube_credential_exec_info(const struct config *config) {
    AUTO(tree_freep)
    json_t *info =
        json_pack("{s:s, s:s, s:{s:b}}", "apiVersion", tree_text(config->exec, "apiVersion", ""),
                  "kind", "ExecCredential", "spec", "interactive", 0);
    if (tree_bool(config->exec, "provideClusterInfo", false)) {
        json_t *cluster = json_pack("{s:s, s:b}", "server", config->server,
                                    "insecure-skip-tls-verify", config->is_insecure);
        if (config->authorities_pem) {
            AUTO(text_freep)
            char *data = base64_encode(config->authorities_pem, strlen(config->authorities_pem));
            json_object_set_new(cluster, "certificate-authority-data", json_string(data));
        }
        if (config->server_name) {
            json_object_set_new(cluster, "tls-server-name", json_string(config->server_name));
        }
        if (config->proxy) {
            json_object_set_new(cluster, "proxy-url", json_string(config->proxy));
        }
        json_object_set_new(json_object_get(info, "spec"), "cluster", cluster);
    }
    return tree_canonical(info);
}

static int check_exec(const struct config *config, struct error *err) {
    const char *version = tree_text(config->exec, "apiVersion", "");
    if (strcmp(version, versions[0]) != 0 && strcmp(version, versions[1]) != 0) {
        return error_set(err, ERROR_INVALID,
                         "%s: exec.apiVersion is '%.80s', expected %s or v1beta1", config->name,
                         version, versions[0]);
    }
    if (strcmp(tree_text(config->exec, "interactiveMode", ""), "Always") == 0) {
        return error_set(err, ERROR_INVALID,
                         "%s: exec.interactiveMode is Always: a plug-in that asks on a terminal "
                         "cannot be used here",
                         config->name);
    }
    return 0;
}

int kube_credential_new(const struct config *config, struct loop *loop,
                        void (*changed)(void *context), void *context,
                        struct kube_credential **ret_credential, struct error *err) {
    if (config->exec && check_exec(config, err) < 0) {
        return -1;
    }
    struct kube_credential *credential = x_calloc(1, sizeof *credential);
    *credential = (struct kube_credential){.config = config,
                                           .loop = loop,
                                           .changed = changed,
                                           .context = context,
                                           .pid_fd = -1,
                                           .pipe = -1};
    buffer_init(&credential->output, CREDENTIAL_PLUGIN_MAX);
    *ret_credential = credential;
    return 0;
}

/* ---- the plug-in ---- */

static void end_plugin(struct kube_credential *credential, int *ret_status) {
    *ret_status = -1;
    loop_unset(credential->loop, &credential->deadline);
    if (credential->pipe >= 0) {
        loop_remove(credential->loop, &credential->pipe_watch);
    }
    if (credential->pid_fd >= 0) {
        loop_remove(credential->loop, &credential->pid_watch);
    }
    if (credential->pid) {
        kill(-credential->pid, SIGKILL); /* ended or timed out: no process may stay */
        while (waitpid(credential->pid, ret_status, 0) < 0 && errno == EINTR) {
        }
    }
    credential->pid = 0;
    fd_closep(&credential->pipe);
    fd_closep(&credential->pid_fd);
}

void kube_credential_free(struct kube_credential *credential) {
    if (!credential) {
        return;
    }
    int status;
    end_plugin(credential, &status);
    kube_credential_reply_release(&credential->reply);
    buffer_release(&credential->output);
    free(credential);
}

void kube_credential_freep(struct kube_credential **credential) {
    kube_credential_free(*credential);
    *credential = NULL;
}

static int fail(struct kube_credential *credential, struct error *err) {
    error_context(err, "%s: exec plug-in %s", credential->config->name,
                  tree_text(credential->config->exec, "command", ""));
    credential->failure = *err;
    credential->failed_ms = clock_monotonic_ms();
    return -1;
}

static void read_output(void *context) {
    struct kube_credential *credential = context;
    char chunk[16384];
    for (;;) {
        ssize_t got = read(credential->pipe, chunk, sizeof chunk);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0 && errno == EAGAIN) {
            return;
        }
        struct error too_large = {0};
        if (got <= 0 || buffer_append(&credential->output, chunk, (size_t)got, &too_large) < 0) {
            loop_remove(credential->loop, &credential->pipe_watch);
            fd_closep(&credential->pipe);
            return;
        }
    }
}

static void take_said(struct kube_credential *credential, int status, struct error *err) {
    struct kube_credential_reply reply = {0};
    if (status != 0) {
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        error_set(err, ERROR_DENIED, "exited with code %d", code);
    } else if (kube_credential_read(credential->config->exec,
                                    credential->output.data ? credential->output.data : "",
                                    credential->output.size, &reply, err) == 0) {
        kube_credential_reply_release(&credential->reply);
        credential->reply = reply;
        credential->number++;
        credential->is_stale = false;
        int64_t now_ms = clock_wall_ms(), left_ms = reply.expires_ms - now_ms;
        credential->renew_ms =
            reply.expires_ms ? now_ms + MAX(left_ms - CREDENTIAL_EARLY_MS, MAX(left_ms / 2, 5000))
                             : 0;
    }
}

static void on_end(void *context) {
    struct kube_credential *credential = context;
    struct error err = {0};
    int status;
    if (credential->pipe >= 0) {
        read_output(credential);
    }
    end_plugin(credential, &status);
    take_said(credential, status, &err);
    if (err.kind) {
        fail(credential, &err);
    }
    buffer_release(&credential->output);
    credential->changed(credential->context);
}

static void on_deadline(void *context) {
    struct kube_credential *credential = context;
    struct error err = {0};
    int status;
    end_plugin(credential, &status);
    buffer_release(&credential->output);
    error_set(&err, ERROR_TIMEOUT, "did not answer within %d s", CREDENTIAL_PLUGIN_MS / 1000);
    fail(credential, &err);
    credential->changed(credential->context);
}

/* Our environment with the plug-in's variables over it: an array of borrowed and owned texts in one
 * json list, so that one release frees all. */
static char **make_environment(const struct config *config, json_t *texts) {
    AUTO(text_freep) char *info = kube_credential_exec_info(config);
    const json_t *own = json_object_get(config->exec, "env");
    json_array_append_new(texts, json_sprintf("KUBERNETES_EXEC_INFO=%s", info));
    size_t i, count = 0;
    json_t *entry;
    json_array_foreach(own, i, entry) {
        json_array_append_new(texts, json_sprintf("%s=%s", tree_text(entry, "name", "_"),
                                                  tree_text(entry, "value", "")));
    }
    while (environ[count]) {
        count++;
    }
    char **all = x_calloc(count + json_array_size(texts) + 1, sizeof *all);
    size_t used = 0;
    json_array_foreach(texts, i, entry) {
        all[used++] = (char *)(uintptr_t)json_string_value(entry);
    }
    for (size_t k = 0; k < count; k++) {
        size_t name_length = strcspn(environ[k], "=") + 1;
        bool is_replaced = false;
        json_array_foreach(texts, i, entry) {
            is_replaced |= strncmp(json_string_value(entry), environ[k], name_length) == 0;
        }
        if (!is_replaced) {
            all[used++] = environ[k];
        }
    }
    return all;
}

static char **make_words(const json_t *exec) {
    const json_t *arguments = json_object_get(exec, "args");
    char **words = x_calloc(json_array_size(arguments) + 2, sizeof *words);
    words[0] = (char *)(uintptr_t)tree_text(exec, "command", "");
    size_t i;
    json_t *argument;
    json_array_foreach(arguments, i, argument) {
        const char *text = json_string_value(argument);
        words[i + 1] = (char *)(uintptr_t)(text ? text : "");
    }
    return words;
}

/* stdout is a pipe to us; stderr is the terminal (where kubelogin shows its code), or is discarded.
 */
static int spawn(const struct config *config, int out, pid_t *ret_pid) {
    AUTO(tree_freep) json_t *texts = json_array();
    char **variables = make_environment(config, texts), **words = make_words(config->exec);
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none;
    sigemptyset(&none);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    if (!isatty(2)) {
        posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0);
    }
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setsigmask(&attributes, &none);
    int problem = posix_spawnp(ret_pid, words[0], &files, &attributes, words, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    free(words);
    free(variables);
    return problem;
}

static int start_plugin(struct kube_credential *credential, struct error *err) {
    const json_t *exec = credential->config->exec;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) {
        error_from_errno(err, errno, "cannot make a pipe");
        return fail(credential, err);
    }
    int problem = spawn(credential->config, ends[1], &credential->pid);
    close(ends[1]);
    credential->pipe = ends[0];
    fcntl(credential->pipe, F_SETFL, O_NONBLOCK);
    if (problem) {
        credential->pid = 0;
        fd_closep(&credential->pipe);
        const char *hint = tree_text(exec, "installHint", "");
        error_set(err, ERROR_INVALID, "%s%s%.300s",
                  problem == ENOENT ? "not found in PATH" : strerror(problem), *hint ? ". " : "",
                  hint);
        return fail(credential, err);
    }
    credential->pid_fd = (int)syscall(SYS_pidfd_open, credential->pid, 0);
    credential->pid_watch = (struct loop_watch){credential->pid_fd, on_end, credential};
    credential->pipe_watch = (struct loop_watch){credential->pipe, read_output, credential};
    if (credential->pid_fd < 0 || loop_add(credential->loop, &credential->pid_watch, err) < 0 ||
        loop_add(credential->loop, &credential->pipe_watch, err) < 0) {
        error_set(err, ERROR_UNAVAILABLE, "cannot be watched");
        int status;
        end_plugin(credential, &status);
        return fail(credential, err);
    }
    credential->deadline.fire = on_deadline;
    credential->deadline.context = credential;
    loop_set(credential->loop, &credential->deadline, CREDENTIAL_PLUGIN_MS);
    return 0;
}

static enum kube_credential_state get_from_plugin(struct kube_credential *credential,
                                                  struct error *err) {
    bool is_old = credential->renew_ms && clock_wall_ms() >= credential->renew_ms;
    if (credential->number && !credential->is_stale && !is_old) {
        return CREDENTIAL_READY;
    }
    if (credential->pid) {
        return CREDENTIAL_PENDING;
    }
    if (credential->failure.kind &&
        clock_monotonic_ms() < credential->failed_ms + CREDENTIAL_FAILED_PAUSE_MS) {
        *err = credential->failure;
        return CREDENTIAL_FAILED;
    }
    error_clear(&credential->failure);
    return start_plugin(credential, err) < 0 ? CREDENTIAL_FAILED : CREDENTIAL_PENDING;
}

/* ---- token files ---- */

static enum kube_credential_state get_from_file(struct kube_credential *credential,
                                                struct error *err) {
    int64_t now_ms = clock_monotonic_ms();
    bool is_old = now_ms >= credential->read_ms + CREDENTIAL_FILE_AGE_MS;
    if (credential->number && !credential->is_stale && !is_old) {
        return CREDENTIAL_READY;
    }
    char *text = NULL;
    size_t size = 0;
    struct error read_err = {0};
    if (file_read(credential->config->token_file, CONFIG_FILE_MAX, &text, &size, &read_err) < 0) {
        if (credential->number || credential->config->token) {
            return CREDENTIAL_READY; /* the last token may still be valid */
        }
        *err = read_err;
        error_context(err, "%s: token", credential->config->name);
        return CREDENTIAL_FAILED;
    }
    text[strcspn(text, " \t\r\n")] = 0;
    free(credential->reply.token);
    credential->reply.token = text;
    credential->read_ms = now_ms;
    credential->is_stale = false;
    credential->number++;
    return CREDENTIAL_READY;
}

enum kube_credential_state kube_credential_get(struct kube_credential *credential,
                                               struct kube_credential_view *ret_view,
                                               struct error *err) {
    const struct config *config = credential->config;
    enum kube_credential_state state = CREDENTIAL_READY;
    if (config->exec) {
        state = get_from_plugin(credential, err);
    } else if (config->token_file) {
        state = get_from_file(credential, err);
    }
    if (state == CREDENTIAL_READY) {
        const struct kube_credential_reply *reply = &credential->reply;
        bool is_own = reply->certificate_pem != NULL;
        *ret_view = (struct kube_credential_view){
            .token = reply->token ? reply->token : config->token,
            .certificate_pem = is_own ? reply->certificate_pem : config->client_certificate_pem,
            .key_pem = is_own ? reply->key_pem : config->client_key_pem,
            .number = credential->number};
    }
    return state;
}

bool kube_credential_refused(struct kube_credential *credential, unsigned number) {
    if (!credential->config->exec && !credential->config->token_file) {
        return false;
    }
    credential->is_stale |= number == credential->number;
    return true;
}
