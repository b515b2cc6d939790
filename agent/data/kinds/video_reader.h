/* video_reader.h: reads the frames of a lease (media.h) in a separate process (decoder.h), to which
 * this process gives the bytes of the file. A worker with a GPU, whose decoder needs the driver,
 * and programs that have no such process (decoder_is_separate) decode here (video_read.h).
 *
 * A frame on which the process ends is a failed item; the next one gets a new process. */
#pragma once

#include "agent/data/input/media.h"

NODISCARD int video_reader_open(const char *spec_path, const json_t *work, struct reader **reader,
                                struct error *err);
NODISCARD int video_reader_next(struct reader *reader, struct picture *picture,
                                const char **ret_name, struct error *err);
void video_reader_free(struct reader *reader);
