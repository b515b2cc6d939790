// SPDX-License-Identifier: Apache-2.0
#include "operator/commands/ui/ui.h"

#include "lib/digest.h"
#include "operator/commands/cli_command.h"
#include "operator/commands/jobs/job_where.h"
#include "operator/commands/page_server.h"
#include "operator/commands/stop_signals.h"
#include "operator/commands/ui/ui_action.h"
#include "operator/commands/ui/ui_cluster.h"
#include "operator/commands/ui/ui_local.h"
#include "operator/commands/ui/ui_redirect.h"
#include "operator/commands/ui/ui_web.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { TOKEN_BYTES = 24, END_MS = 200 };

struct request {
    struct job_where where;
    int64_t port;
    bool opens, allows_actions;
};

struct ui {
    const struct request *request;
    struct ui_web web;
    struct ui_cluster *cluster; /* NULL: only this machine */
    struct page_server *server;
    char *token;
    char *redirect; /* NULL: none */
    int signal_fd;
};

static void ui_release(struct ui *ui) {
    ui_redirect_remove(ui->redirect);
    page_server_free(ui->server);
    ui_local_free(ui->web.sources[0]);
    ui_cluster_free(ui->cluster);
    ui_deeds_free(ui->web.deeds);
    ui_table_free(ui->web.table);
    free(ui->token);
    fd_closep(&ui->signal_fd);
}

static int open_server(struct ui *ui, struct error *err) {
    static const struct server_events events = {.page = ui_web_page};
    AUTO(text_freep) char *bind = x_printf("127.0.0.1:%lld", (long long)ui->request->port);
    const struct server_options options = {
        .bind = bind, .events = &events, .context = &ui->web, .takes_posts = true};
    ui->web.token = ui->token = digest_random(TOKEN_BYTES);
    ui->web.allows_actions = ui->request->allows_actions;
    ui->web.deeds = ui->web.allows_actions ? ui_deeds_new() : NULL;
    if (page_server_open(&options, NULL, &ui->server, err) < 0) {
        return -1;
    }
    ui->web.port = page_server_port(ui->server);
    return 0;
}

static int show(struct ui *ui, struct error *err) {
    AUTO(text_freep) char *url = x_printf("http://127.0.0.1:%d/%s/", ui->web.port, ui->token);
    printf("%s\n", url);
    if (fflush(stdout) != 0) {
        return error_set(err, ERROR_UNAVAILABLE, "cannot write the address: %m");
    }
    if (!ui->request->opens) {
        return 0;
    }
    if (ui_redirect_make(url, &ui->redirect, err) < 0) {
        return error_context(err, "--open");
    }
    const char *const argv[] = {"xdg-open", ui->redirect, NULL};
    return ui_action_start(argv, err);
}

static int open_cluster(struct ui *ui, struct error *err) {
    if (!job_where_is_remote(&ui->request->where)) {
        return 0;
    }
    if (ui_cluster_open(&ui->request->where.remote, ui->web.table, &ui->cluster, err) < 0) {
        return -1;
    }
    ui->web.sources[1] = ui_cluster_source(ui->cluster);
    return 0;
}

/* Until a signal comes. */
static int wait_for_end(const struct ui *ui, struct error *err) {
    if (ui->cluster) {
        return ui_cluster_wait(ui->cluster, ui->signal_fd, err);
    }
    struct pollfd end = {.fd = ui->signal_fd, .events = POLLIN};
    while (poll(&end, 1, -1) < 0) {
        if (errno != EINTR) {
            return error_from_errno(err, errno, "cannot wait");
        }
    }
    return 0;
}

/* The server may be waiting for a cluster, or for a command: a signal ends the program without it.
 */
static int end(struct ui *ui) {
    if (!page_server_end(ui->server, END_MS)) {
        ui_redirect_remove(ui->redirect);
        _exit(0);
    }
    return 0;
}

static int run(void *context, const struct option_list *words, int *ret_code, struct error *err) {
    const struct request *request = context;
    (void)words, (void)ret_code;
    if (request->port < 0 || request->port > 65535) {
        return error_set(err, ERROR_INVALID, "--port: expected 0 to 65535 (0: any free one)");
    }
    AUTO(ui_release) struct ui ui = {.request = request, .signal_fd = -1};
    ui.web.table = ui_table_new();
    ui.web.sources[0] = ui_local_new(ui.web.table);
    /* Blocked before the server's thread starts, which inherits that. */
    return stop_signals_open(/* hangup= */ false, &ui.signal_fd, err) < 0 ||
                   open_cluster(&ui, err) < 0 || open_server(&ui, err) < 0 || show(&ui, err) < 0 ||
                   wait_for_end(&ui, err) < 0
               ? -1
               : end(&ui);
}

int ui_command(int argc, char **argv) {
    struct request request = {0};
    static const struct command_help help = {
        .usage = "windlass ui [options]",
        .about =
            "Serves a page for the browser on 127.0.0.1 and prints its address, whose random "
            "token\n"
            "is the key to it: the runs of this machine, and with -n, -A, --context or "
            "--kubeconfig\n"
            "the jobs of a cluster, too. Ctrl-C ends it.\n\n"
            "The page shows progress, curves, workers, failed items and logs. It changes nothing,\n"
            "unless --allow-actions is given.",
        .examples = "windlass ui --open\n"
                    "windlass ui -A --allow-actions"};
    const struct option options[] = {
        {"port", 'p', OPTION_INTEGER, "N", "The port (default: any free one).", &request.port},
        {"open", 0, OPTION_FLAG, NULL, "Open the page in the browser (xdg-open).", &request.opens},
        {"allow-actions", 0, OPTION_FLAG, NULL,
         "Buttons to cancel, suspend, resume and rerun jobs.", &request.allows_actions},
        REMOTE_ROWS(&request.where.remote),
        {"all-namespaces", 'A', OPTION_FLAG, NULL, "The jobs of all namespaces of the cluster.",
         &request.where.remote.all},
        {0},
    };
    const struct cli_command command = {
        .name = "ui", .help = &help, .options = options, .run = run, .context = &request};
    return cli_command_run(&command, argc, argv);
}
