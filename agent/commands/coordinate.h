/* coordinate.h: `windlass-agent coordinate`, the coordinator's pod. */
#pragma once

int coordinate_main(int argc, char **argv);
