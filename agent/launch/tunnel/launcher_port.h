/* launcher_port.h: finds out, from /proc, what MPI's launchers of this pod listen on. */
#pragma once

#include "lib/base.h"

enum launcher_port {
    LAUNCHER_PORT_NONE, /* no launcher listens there on loopback */
    LAUNCHER_PORT_FOUR, /* on 127.0.0.1, or an IPv6 socket that also takes that */
    LAUNCHER_PORT_SIX   /* on ::1 */
};

/* Whether a launcher (preload_frame.h) whose descriptors can be read listens on that port of
 * loopback. */
enum launcher_port launcher_port_find(int port);
