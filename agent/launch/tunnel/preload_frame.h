/* preload_frame.h: what the library in MPI's launchers (preload.c) says to the agent of its pod: on
 * 127.0.0.1, when the launcher connects to another pod, KEY HOST PORT, and the agent's answer, one
 * byte. Then the connection is the launcher's. And in a file how a proxy's first rank ended that
 * has not ended with 0. Freestanding: includes nothing. */
#pragma once

#define PRELOAD_VARIABLE "WINDLASS_TUNNEL" /* PORT:KEY in hexadecimal digits */
/* A file that the proxy makes if a rank of it ends with another code than 0: the code, or 128 + its
 * signal, and a newline. Ranks do not get the variable. */
#define PRELOAD_ENDS "WINDLASS_RANK_ENDS"

/* They start the ranks of a pod: of MPICH and Intel MPI. */
#define PRELOAD_PROXIES                                                                            \
    { "hydra_pmi_proxy", PRELOAD_BOOTSTRAP, "pmi_proxy" }
#define PRELOAD_BOOTSTRAP "hydra_bstrap_proxy" /* of Intel MPI: it starts a hydra_pmi_proxy */

/* Programs that listen for commands without asking for a secret, by the name of their file: Open
 * MPI 4 and 5; MPICH and Intel MPI. */
#define PRELOAD_LAUNCHERS                                                                          \
    {                                                                                              \
        "orterun", "mpirun", "mpiexec", "oshrun", "orted", "orte-server", "prterun", "prte",       \
            "prted", "mpiexec.hydra", "hydra_pmi_proxy", "hydra_nameserver", "hydra_persist",      \
            "hydra_bstrap_proxy", "pmi_proxy", "mpiexec.openmpi", "mpirun.openmpi",                \
            "mpiexec.mpich", "mpirun.mpich"                                                        \
    }

enum {
    PRELOAD_KEY_SIZE = 32,
    PRELOAD_HOST_SIZE = 16, /* IPv6, or IPv4 as ::ffff:A.B.C.D */
    PRELOAD_FRAME_SIZE = PRELOAD_KEY_SIZE + PRELOAD_HOST_SIZE + 2, /* the port's high byte first */
    PRELOAD_OPEN = 'o', /* the other pod's launcher has accepted; anything else, or the end: no */
};
