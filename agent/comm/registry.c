// SPDX-License-Identifier: Apache-2.0
/* The kinds of a program that is not linked with MPI (agent/trainer/registry.c:
 * windlass-trainer's).
 */
#include "agent/comm/comm.h"

#include <stddef.h>

const struct comm_kind *const comm_kinds[] = {&comm_single, NULL};
