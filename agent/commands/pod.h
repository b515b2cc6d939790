/* pod.h: `windlass-agent coordinate` and `windlass-agent score`: what runs in a job's pods. */
#pragma once

int pod_coordinate(int argc, char **argv);
int pod_score(int argc, char **argv);
