/* rank.h: the program that stands before a rank, `rank [--log NAME [--reports]] PROGRAM
 * ARGUMENTS...`, and passes on all that it says, unchanged and once.
 *
 * Of ranks that MPI starts on this pod (OMPI_MCA_orte_fork_agent: its own daemon runs it in the
 * rank's place): gives them what mpirun's environment has not (secrets, what is of this pod; the
 * agent tells it), keeps their output in LOGS/rank.003/stdout and stderr (agent/store/spool.h),
 * and tells the agent how they ended, before MPI hears of it, unless their group was told to. With
 * --log the agent itself runs it, and the output is all that it is for. Of rank 0, and with
 * --reports of what the agent runs, it tells the metrics that it says (reporter.h).
 *
 * The rank is in its process group, which is what daemons and agents signal; it dies with it. Where
 * its own stdout is a terminal, as Open MPI's ranks have one, the rank has one, too: programs
 * buffer by lines or by blocks accordingly. Its exit code is the rank's, and so is the signal. */
#pragma once

int rank_main(int argc, char **argv);
