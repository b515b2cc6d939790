/* rank.h: the program that wraps a rank, `rank [--log NAME [--reports]] PROGRAM ARGUMENTS...`, and
 * passes on its output unchanged.
 *
 * For ranks that MPI starts in this pod (OMPI_MCA_orte_fork_agent: the MPI daemon runs it in the
 * rank's place) it adds the variables that mpirun's environment lacks (secrets, those of this pod;
 * it gets them from the agent), keeps their output in LOGS/rank.003/stdout and stderr
 * (agent/store/spool.h), and reports their exit to the agent before MPI learns of it, unless their
 * process group received a signal to end. With --log the agent itself runs it, only to keep the
 * output. For rank 0, and with --reports for what the agent runs, it reports the metrics in the
 * output (reporter.h).
 *
 * The rank is in its process group, which daemons and agents signal; it dies with the wrapper. If
 * its own stdout is a terminal, as with Open MPI, the rank gets a terminal too, since programs
 * buffer by lines or by blocks accordingly. It exits with the rank's code or signal. */
#pragma once

int rank_main(int argc, char **argv);
