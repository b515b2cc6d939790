/* launch.h: `launch`: a pod of a DistTrain (agent/launch/life.h). */
#pragma once

int launch_command(int argc, char **argv);
