/* launch.h: what runs in a pod of a DistTrain (agent/launch/life.h). */
#pragma once

int launch_command(int argc, char **argv);
/* For the container's livenessProbe: 0: the agent of this pod answers within 5 s; 1: it does not.
 */
int alive_command(int argc, char **argv);
/* `metric NAME VALUE [--step N]`: a figure of this rank's training, for the job's status
 * (metric.h). */
int metric_command(int argc, char **argv);
/* What launchers of MPI call by the links `ssh`, `rsh` and `rank` to this program: its main; NULL:
 * it was called by its own name. */
typedef int launch_main(int argc, char **argv);
launch_main *launch_link(const char *argv0);
