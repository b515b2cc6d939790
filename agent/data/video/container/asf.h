/* asf.h: the header of an ASF file (WMV), as far as it describes its packets. */
#pragma once

#include "agent/data/video/video_source.h"

struct asf {
    int64_t packets_at;   /* the first of them */
    uint64_t end;         /* behind the last one, as declared */
    int64_t packet_bytes; /* of each; 0: they differ, or it is not said */
    bool is_live;         /* the number of its packets was not known: `end` means nothing */
};

/* False: it is not as expected, and nothing is known. */
bool asf_read(struct video_source *source, struct asf *ret_asf);

uint64_t asf_number(const uint8_t *bytes, int count); /* the lowest byte comes first */

/* Whether an index of the film begins here and is complete. */
bool asf_is_index(struct video_source *source, int64_t at);
