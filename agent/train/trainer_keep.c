// SPDX-License-Identifier: Apache-2.0
/* Begins or continues from a checkpoint, and writes checkpoints. */
#include "agent/train/trainer_state.h"

#include "lib/time/clock.h"
#include "lib/tree.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the state, as a list of tensors -------------------------------------------------------- */

/* Checkpoints of agents that knew none do not have them. */
#define STATE_BAD "windlass:bad"
#define STATE_PLACES "windlass:places"
#define STATE_FIRST "windlass:first"
#define STATE_LOSSES "windlass:losses" /* only of several losses */

static size_t state_count(const struct trainer *trainer) {
    size_t variables = trainer->graph.variable_count;
    return variables * (1 + optimizer_state_count(trainer->optimizer)) +
           2 * trainer->graph.norm_count + 4 + (trainer->head_count > 1);
}

/* The i-th tensor of the state: weights, the optimizer's vectors, statistics, the epoch's sums (as
 * raw bytes), its bad samples, its places (as raw bytes), the first step's loss, the sums of
 * several losses (as raw bytes). */
static void state_tensor(struct trainer *trainer, size_t i, struct trainer_tensor *tensor) {
    const struct graph *network = trainer->network;
    size_t variables = trainer->graph.variable_count;
    size_t states = optimizer_state_count(trainer->optimizer);
    if (i < variables * (1 + states)) {
        size_t parameter = i % variables, which = i / variables;
        size_t variable = trainer->in_order[parameter];
        const struct value *value = &network->values[trainer->graph.variables[variable]];
        tensor->shape = value->shape;
        tensor->is_device_memory = true;
        tensor->data = which ? optimizer_state(trainer->optimizer, parameter, which - 1)
                             : trainer->weights[variable];
        snprintf(tensor->name, sizeof tensor->name, "%s%s%s", value->name, which ? "/" : "",
                 which ? optimizer_state_name(trainer->optimizer, which - 1) : "");
        return;
    }
    size_t statistic = i - variables * (1 + states);
    tensor->is_device_memory = false;
    if (statistic == 2 * trainer->graph.norm_count) {
        tensor->shape = (struct shape){1, {sizeof trainer->sums / sizeof(float)}};
        tensor->data = (float *)(void *)&trainer->sums;
        snprintf(tensor->name, sizeof tensor->name, "windlass:epoch");
        return;
    }
    if (statistic == 2 * trainer->graph.norm_count + 1) {
        tensor->shape = (struct shape){1, {sizeof trainer->bad_sums / sizeof(float)}};
        tensor->data = &trainer->bad_sums.train;
        snprintf(tensor->name, sizeof tensor->name, STATE_BAD);
        return;
    }
    if (statistic == 2 * trainer->graph.norm_count + 2) {
        tensor->shape = (struct shape){1, {sizeof trainer->places / sizeof(float)}};
        tensor->data = (float *)(void *)&trainer->places;
        snprintf(tensor->name, sizeof tensor->name, STATE_PLACES);
        return;
    }
    if (statistic == 2 * trainer->graph.norm_count + 3) {
        tensor->shape = (struct shape){1, {1}};
        tensor->data = &trainer->first_loss;
        snprintf(tensor->name, sizeof tensor->name, STATE_FIRST);
        return;
    }
    if (statistic == 2 * trainer->graph.norm_count + 4) {
        int64_t each = sizeof *trainer->head_sums / sizeof(float);
        tensor->shape = (struct shape){1, {HEADS_MAX * each}};
        tensor->data = (float *)(void *)trainer->head_sums;
        snprintf(tensor->name, sizeof tensor->name, STATE_LOSSES);
        return;
    }
    const struct value *value = &network->values[trainer_statistic_constant(trainer, statistic)];
    tensor->shape = value->shape;
    tensor->data = trainer->statistics[statistic];
    snprintf(tensor->name, sizeof tensor->name, "%s", value->name);
}

static void numbers_freep(float **numbers) {
    free(*numbers);
}

static size_t tensor_size(const struct trainer_tensor *tensor) {
    return (size_t)shape_count(&tensor->shape);
}

static int read_tensor(const struct trainer *trainer, const struct trainer_tensor *tensor,
                       float *to, struct error *err) {
    if (tensor->is_device_memory) {
        return trainer_device_read(trainer, to, tensor->data, tensor_size(tensor), err);
    }
    memcpy(to, tensor->data, tensor_size(tensor) * sizeof *to);
    return 0;
}

static int write_tensor(const struct trainer *trainer, const struct trainer_tensor *tensor,
                        const float *from, struct error *err) {
    if (tensor->is_device_memory) {
        return trainer_device_write(trainer, tensor->data, from, tensor_size(tensor), err);
    }
    memcpy(tensor->data, from, tensor_size(tensor) * sizeof *from);
    return 0;
}

/* ---- beginning ------------------------------------------------------------------------------ */

static void on_skipped(void *context, const char *name, const char *why) {
    trainer_say(context, "skipping checkpoint %s: %s", name, why);
}

static int take_state(struct trainer *trainer, const struct checkpoint *checkpoint,
                      struct error *err) {
    for (size_t i = 0; i < state_count(trainer); i++) {
        struct trainer_tensor tensor;
        state_tensor(trainer, i, &tensor);
        const struct checkpoint_tensor *found = trainer_find_tensor(checkpoint, &tensor);
        if (!found && strcmp(tensor.name, STATE_BAD) == 0) {
            continue;
        }
        if (!found && strcmp(tensor.name, STATE_FIRST) == 0) {
            trainer->first_loss = NAN;
            continue;
        }
        if (!found && strcmp(tensor.name, STATE_PLACES) == 0) {
            trainer->places = trainer->sums.weight; /* as without weights of classes */
            continue;
        }
        if (!found) {
            return error_set(err, ERROR_BUG, "a checkpoint of these settings lacks %.100s",
                             tensor.name);
        }
        if (write_tensor(trainer, &tensor, found->data, err) < 0) {
            return -1;
        }
    }
    trainer_best_take(trainer, checkpoint);
    trainer_reports_take(trainer, checkpoint);
    trainer->step = checkpoint->step;
    return 0;
}

/* On rank 0: claims the generation and loads the newest checkpoint. */
static int load(struct trainer *trainer, struct error *err) {
    AUTO(checkpoint_release) struct checkpoint_loaded loaded = {0};
    char host[256] = "";
    bool found = false;
    gethostname(host, sizeof host - 1);
    struct checkpoint_location place = {trainer->store, trainer->prefix};
    if (trainer_own(trainer, err) < 0 || trainer_check_data(trainer, err) < 0 ||
        checkpoint_claim(&place, host, &trainer->generation, err) < 0 ||
        trainer_forget_result(trainer, err) < 0) {
        return -1;
    }
    const struct checkpoint_wanted wanted = {.generation = trainer->generation,
                                             .digest = trainer->digest,
                                             .skipped = on_skipped,
                                             .context = trainer};
    if (checkpoint_load(&place, &wanted, &found, &loaded, err) < 0 ||
        (found && take_state(trainer, &loaded.checkpoint, err) < 0) ||
        trainer_note_data(trainer, found, err) < 0) {
        return -1;
    }
    if (found) {
        trainer_reports_repeat(trainer); /* first: an old checkpoint does not count */
        atomic_store(&trainer->writer.kept_step, trainer->step);
        trainer_say(trainer, "continues from the checkpoint of step %lld",
                    (long long)trainer->step);
    }
    return metrics_log_open(trainer->store, trainer->step, &trainer->metrics, err);
}

/* Device memory is sent through host memory, by MPI's broadcast; once per start. */
static int share_tensor(struct trainer *trainer, struct comm *comm,
                        const struct trainer_tensor *tensor, struct error *err) {
    size_t bytes = tensor_size(tensor) * sizeof(float);
    if (!tensor->is_device_memory || trainer->device->is_host) {
        return comm_broadcast(comm, tensor->data, bytes, err);
    }
    AUTO(numbers_freep) float *copy = x_malloc(bytes + 1);
    if ((comm->rank == 0 && read_tensor(trainer, tensor, copy, err) < 0) ||
        comm_broadcast(comm, copy, bytes, err) < 0) {
        return -1;
    }
    return comm->rank == 0 ? 0 : write_tensor(trainer, tensor, copy, err);
}

/* Copies rank 0's state to all ranks. */
static int share(struct comm *comm, void *context, struct error *err) {
    struct trainer *trainer = context;
    char digest[65];
    buckets_digest(&trainer->buckets, digest);
    if (comm_agree(comm, "settings", trainer->digest, err) < 0 ||
        comm_agree(comm, "buckets", digest, err) < 0 ||
        comm_broadcast(comm, &trainer->step, sizeof trainer->step, err) < 0) {
        return -1;
    }
    for (size_t i = 0; i < state_count(trainer); i++) {
        struct trainer_tensor tensor;
        state_tensor(trainer, i, &tensor);
        if (share_tensor(trainer, comm, &tensor, err) < 0) {
            return -1;
        }
    }
    int result = comm_barrier(comm, err);
    trainer->zero_ns = clock_monotonic_ns();
    return result;
}

/* Called after rank 0 has checked that the output belongs to this training. */
static int begin_timeline(struct trainer *trainer, const char *path, struct error *err) {
    char host[256] = "";
    if (!trainer->store && store_open(path, /* writes= */ true, &trainer->store, err) < 0) {
        return -1;
    }
    gethostname(host, sizeof host - 1);
    struct timeline_options options = {.store = trainer->store,
                                       .host = host,
                                       .rank = trainer->comm->rank,
                                       .size = trainer->comm->size,
                                       .zero_ns = trainer->zero_ns};
    trainer->timeline = timeline_new(&options);
    return 0;
}

int trainer_begin(struct trainer *trainer, struct error *err) {
    const json_t *output = json_object_get(trainer->job->trainer, "output");
    const char *path = json_string_value(json_object_get(output, "path"));
    if (!path) {
        return error_set(err, ERROR_INVALID, "output.path: a string is expected");
    }
    if (trainer->comm->rank == 0 &&
        (store_open(path, /* writes= */ true, &trainer->store, err) < 0 ||
         load(trainer, err) < 0)) {
        return -1;
    }
    if (reducer_call(trainer->reducer, share, trainer, err) < 0) {
        return -1;
    }
    return trainer->has_timeline ? begin_timeline(trainer, path, err) : 0;
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

static void *write_checkpoint(void *context) {
    struct writer *writer = context;
    int64_t generation = writer->checkpoint.generation;
    if (checkpoint_write(&writer->place, &writer->checkpoint, NULL, &writer->error) == 0) {
        atomic_store(&writer->kept_step, writer->checkpoint.step);
        struct error ignored = {0};
        if (checkpoint_tidy(&writer->place, generation, writer->keep, &ignored) < 0) {
            error_clear(&ignored); /* the next save tries again */
        }
    }
    atomic_store(&writer->is_done, true);
    return NULL;
}

/* The content of a checkpoint: the state, and with an objective the network of the best epoch and
 * the reports. */
static size_t kept_count(struct trainer *trainer) {
    struct trainer_tensor ignored;
    return state_count(trainer) + trainer_best_tensor_count(trainer) +
           trainer_reports_tensor(trainer, &ignored);
}

static void kept_tensor(struct trainer *trainer, size_t i, struct trainer_tensor *tensor) {
    size_t states = state_count(trainer), best = trainer_best_tensor_count(trainer);
    if (i < states) {
        state_tensor(trainer, i, tensor);
    } else if (i < states + best) {
        trainer_best_tensor(trainer, i - states, tensor);
    } else {
        trainer_reports_tensor(trainer, tensor);
    }
}

static void release_copy(struct writer *writer) {
    for (size_t i = 0; i < writer->checkpoint.count; i++) {
        free((char *)(uintptr_t)writer->tensors[i].name);
    }
    free(TAKE(writer->tensors));
    free(TAKE(writer->copy));
}

int trainer_save_wait(struct trainer *trainer, struct error *err) {
    struct writer *writer = &trainer->writer;
    if (!writer->is_running) {
        return 0;
    }
    pthread_join(writer->thread, NULL);
    writer->is_running = false;
    release_copy(writer);
    if (writer->error.kind == ERROR_NONE) {
        return 0;
    }
    *err = writer->error;
    return error_context(err, "checkpoint of step %lld", (long long)writer->checkpoint.step);
}

int trainer_save_start(struct trainer *trainer, struct error *err) {
    struct writer *writer = &trainer->writer;
    struct error cause = {0};
    if (trainer_save_wait(trainer, &cause) < 0) {
        trainer_say(trainer, "%s", cause.text);
    }
    size_t count = kept_count(trainer), numbers = 0, at = 0;
    struct trainer_tensor tensor;
    for (size_t i = 0; i < count; i++) {
        kept_tensor(trainer, i, &tensor);
        numbers += tensor_size(&tensor);
    }
    writer->copy = x_calloc(numbers + 1, sizeof *writer->copy);
    writer->tensors = x_calloc(count + 1, sizeof *writer->tensors);
    writer->place = (struct checkpoint_location){trainer->store, trainer->prefix};
    writer->checkpoint = (struct checkpoint){.generation = trainer->generation,
                                             .step = trainer->step,
                                             .seed = trainer->seed,
                                             .digest = trainer->digest,
                                             .count = count,
                                             .tensors = writer->tensors};
    for (size_t i = 0; i < count; i++) {
        kept_tensor(trainer, i, &tensor);
        writer->tensors[i] =
            (struct checkpoint_tensor){x_strdup(tensor.name), tensor.shape, writer->copy + at};
        if (read_tensor(trainer, &tensor, writer->copy + at, err) < 0) {
            writer->checkpoint.count = i + 1;
            release_copy(writer);
            return -1;
        }
        at += tensor_size(&tensor);
    }
    writer->error = (struct error){0};
    atomic_store(&writer->is_done, false);
    writer->is_running = true;
    if (pthread_create(&writer->thread, NULL, write_checkpoint, writer) != 0) {
        abort(); /* no thread available; treated like lack of memory */
    }
    return 0;
}
