/* score.h: `windlass-agent score`, a worker's pod. */
#pragma once

int score_main(int argc, char **argv);
