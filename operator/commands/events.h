/* events.h: `windlass events`: what happened to a job and its pods, oldest first. */
#pragma once

/* argv[0] is the command's name. Returns the exit code. */
int events_command(int argc, char **argv);
