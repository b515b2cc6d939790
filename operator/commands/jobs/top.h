/* top.h: `windlass top`: processor time and memory of the pods of jobs. */
#pragma once

int top_command(int argc, char **argv);
