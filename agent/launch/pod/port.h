/* port.h: finds free ports of this machine for the user's programs, and those that are open. */
#pragma once

#include "lib/error.h"

/* A port from 20000 to 32767 that is free at the address now: below the ephemeral range, so that no
 * outgoing connection takes it meanwhile. seed: decides which port is tried first. 0: none is
 * free. */
int port_find_free(const char *address, int64_t seed);
/* Whether a program of this pod listens on that port at more than loopback, so that other pods
 * reach it. False where /proc cannot be read. */
bool port_is_open(int port);
/* The address part of "IP:PORT". INVALID. */
NODISCARD int port_host(const char *text, char ret_address[static 46], struct error *err);
