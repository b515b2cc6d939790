/* contract.h: numbers that the operator and the agent share, because one of them reads what the
 * other writes: exit codes, limits. docs/pod-contract.md and docs/wire.md have the rest. They may
 * be of different releases, so none of these may change in a way that an older one would refuse. */
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

/* How many counted restarts a gang may have in its whole life, however much it keeps between them:
 * a program that fails after each little step must end, too. max_restarts:
 * spec.restart.maxRestarts. */
#define CONTRACT_LIFE_RESTARTS(max_restarts) (10 * (long long)(max_restarts) + 10)

/* How the message of a job begins that has nowhere to put its results now. */
#define CONTRACT_WAITS "waits for the output's storage: "
