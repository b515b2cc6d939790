/* contract.h: what the operator and the agent share, because one of them reads what the other
 * writes: exit codes, limits, names of variables. docs/pod-contract.md and docs/wire.md have the
 * rest. They may be of different releases, so none of these may change in a way that an older one
 * would refuse. */
#pragma once

/* Exit codes of our programs (error_exit_code), and what they mean for a pod. */
enum {
    CONTRACT_EXIT_FAILED = 1,      /* the job failed */
    CONTRACT_EXIT_INVALID = 2,     /* the manifest or the input is wrong */
    CONTRACT_EXIT_RETRY = 3,       /* this machine, a storage, or an absent hub: try again */
    CONTRACT_EXIT_UNREACHABLE = 4, /* a worker could not reach its coordinator for 15 minutes */
    CONTRACT_EXIT_SIGNAL = 130, /* a signal ended it: its machine shuts down, or a user wants it */
};

enum {
    /* Bytes of a message of coordinator and worker, or of a gang's hub and member. */
    CONTRACT_MESSAGE_MAX = 1 << 20,
    CONTRACT_TERMINATION_MESSAGE_MAX =
        4096, /* bytes that an agent writes; a kubelet keeps as many */
    /* Bytes that the operator parses; other programs and `windlass run` may leave longer ones. */
    CONTRACT_TERMINATION_READ_MAX = 1 << 20,
};

/* Variables of this machine, which `windlass run` passes on to the pods that it starts here, and an
 * agent to ranks of our trainer: where stores and authorities are, how decoders are confined. */
#define CONTRACT_MACHINE_VARIABLES                                                                 \
    "WINDLASS_STORES_FOLDER", "WINDLASS_BLOB_ENDPOINT", "WINDLASS_S3_ENDPOINT",                    \
        "WINDLASS_GS_ENDPOINT", "WINDLASS_AUTHORITIES", "WINDLASS_NAME_SERVERS",                   \
        "WINDLASS_SANDBOX"
/* All variables of their pod that ranks of our trainer have. */
#define CONTRACT_TRAINER_VARIABLES                                                                 \
    "WINDLASS_SPEC", "WINDLASS_RUN", "WINDLASS_RESTART", "WINDLASS_STORES", "WINDLASS_BUCKETS",    \
        "WINDLASS_LOG_FORMAT", CONTRACT_MACHINE_VARIABLES

/* How many counted restarts a gang may have in its whole life, however much it keeps between them:
 * a program that fails after each little step must end, too. max_restarts:
 * spec.restart.maxRestarts. */
#define CONTRACT_LIFE_RESTARTS(max_restarts) (10 * (long long)(max_restarts) + 10)

/* How the message of a job begins that has nowhere to put its results now. */
#define CONTRACT_WAITS "waits for the output's storage: "
