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
/* `begin [-- COMMAND...]`: spec.prepare of a trial that continues from another one: in the pod of
 * index 0 each output ID begins as a copy of input PARENT_ID (copy_folder.h). Then the command runs
 * in its place. */
int begin_command(int argc, char **argv);
/* The main function for `ssh`, `rsh` or `rank`: MPI's launchers call this program through links
 * with these names. NULL: argv0 is none of them. */
program_main *launch_command_of_link(const char *argv0);
