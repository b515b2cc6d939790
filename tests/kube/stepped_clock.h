/* stepped_clock.h: time of a test program that passes only when the test says so. It replaces
 * clock_gettime and timerfd_settime for the whole program, libcurl included; so ten minutes of a
 * controller take as long as its work, and every run is the same. One thread. A program that is
 * linked with it begins at the machine's time. */
#pragma once

#include <stdint.h>

/* Time goes on by that much; timers that are due then can be read. */
void stepped_clock_advance(int64_t ms);
/* Until the next timer is due; -1: no timer is set. */
int64_t stepped_clock_next_ms(void);
int64_t stepped_clock_ms(void); /* since the start of the program */
