#!/usr/bin/env bash
# Waits and durations go by the monotonic clock: only lib/time/ calls the C library's clocks and timed waits, and the
# wall clock (clock_wall_ms) is read only in the files of clocks.txt, each with its reason.
cd "$(dirname "$0")/../.." || exit 1
sources() { git ls-files -co --exclude-standard 'agent/*.[ch]' 'lib/*.[ch]' 'operator/*.[ch]' 'agent/*.cpp' 'agent/*.cu' 'agent/*.cuh'; }
bad=0
calls='CLOCK_REALTIME|CLOCK_TAI|\bgettimeofday|timespec_get|[^_a-z]time\((NULL|0|&)|pthread_(cond_timedwait|cond_clockwait|timedjoin_np|clockjoin_np|mutex_timedlock|mutex_clocklock|rwlock_timed)|sem_(timed|clock)wait|mq_timed|\bclock_nanosleep|PTHREAD_COND_INITIALIZER|std::chrono'
while IFS= read -r found; do
    echo "not ok $found: use lib/time/clock.h or lib/time/timed_wait.h"
    bad=1
done < <(sources | grep -vE '^lib/time/(clock|timed_wait)\.[ch]$' | xargs grep -nE "$calls")
readers() { sources | grep -v '^lib/time/clock\.[ch]$' | xargs grep -lE '\bclock_wall_ms\b' | sort; }
listed() { sed -nE 's/^([^#:]+): [^ ].*/\1/p' tests/lint/exceptions/clocks.txt | sort; }
if [ "${1:-}" = --update ]; then
    left=$(awk -F: 'NR == FNR {reads[$1] = 1; next} /^#/ || ($1 in reads)' <(readers) tests/lint/exceptions/clocks.txt)
    echo "$left" >tests/lint/exceptions/clocks.txt
fi
difference=$(diff <(readers) <(listed)) || {
    echo "$difference" | sed -n 's/^< /not ok clocks: reads the wall clock; measure with clock_monotonic_ms, or give the reason in clocks.txt: /p
s/^> /not ok clocks.txt: reads no wall clock any more: /p'
    bad=1
}
[ $bad -eq 0 ] && echo "ok clocks"
exit $bad
