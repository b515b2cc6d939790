/* comm_command.h: `windlass-trainer comm check`. */
#pragma once

int comm_command(int argc, char **argv);
