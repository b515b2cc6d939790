/* wait.h: `windlass wait`: until a job has ended, or runs. */
#pragma once

int wait_command(int argc, char **argv);
