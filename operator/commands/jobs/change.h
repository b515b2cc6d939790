/* change.h: `windlass cancel`, `suspend`, `resume`, `rerun` and `delete`: change jobs by their
 * names, on this machine and on clusters. */
#pragma once

/* Each returns the exit code (docs/errors.md). */
int change_cancel(int argc, char **argv);
int change_suspend(int argc, char **argv);
int change_resume(int argc, char **argv);
int change_rerun(int argc, char **argv);
int change_delete(int argc, char **argv);
