/* rank.h: the program `rank`, which wraps a rank: `rank [--log NAME [--reports]] PROGRAM
 * ARGUMENTS...` runs PROGRAM and passes on its output unchanged.
 *
 * Without --log it wraps a rank that MPI starts in this pod (Open MPI's orte_fork_agent). It then
 *   - adds the variables that mpirun's environment lacks (secrets, and those that differ between
 *     pods), which it gets from the agent of the pod;
 *   - stores the output in LOGS/rank.003/stdout and stderr (agent/store/spool.h);
 *   - reports the exit to the agent before MPI learns of it, unless the process group received a
 *     signal to end.
 * With --log the agent runs it, only to store the output under that name. It reports the metrics in
 * the output (reporter.h) of rank 0, and with --reports of any program.
 *
 * The rank is in the wrapper's process group, to which daemons and agents send signals; it dies
 * with the wrapper. If the wrapper's stdout is a terminal, as under Open MPI, the rank gets a
 * terminal, too, because programs choose their buffering by that. The wrapper ends with the rank's
 * exit code or signal. */
#pragma once

int rank_main(int argc, char **argv);
