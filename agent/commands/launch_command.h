/* launch_command.h: the commands that run in a pod of a DistTrain (agent/launch/gang/launch.h). */
#pragma once

#include "agent/commands/program.h"

int launch_command(int argc, char **argv);
/* For the container's livenessProbe. Exit code 0: the agent of this pod answers within 5 s; 1: it
 * does not. */
int alive_command(int argc, char **argv);
/* `metric NAME VALUE [--step N]`: reports a metric of this rank's training, for the job's
 * status (metric.h). */
int metric_command(int argc, char **argv);
/* The main function for `ssh`, `rsh` or `rank`: MPI's launchers call this program through links
 * with these names. NULL: argv0 is none of them. */
program_main *launch_command_of_link(const char *argv0);
