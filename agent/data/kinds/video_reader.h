/* video_reader.h: reads the frames of a lease (media.h) in a separate process (decoder.h), to which
 * this process gives the bytes of the file. A worker with a GPU, whose decoder needs the driver,
 * and programs that have no such process (decoder_is_separate) decode here (video_read.h).
 *
 * A frame on which the process ends is a failed item; the next one gets a new process. */
#pragma once

#include "agent/data/input/media.h"

/* reader_open, reader_next and reader_free of struct media, for the frames of one video: contracts
 * are there. *reader is in and out: NULL, or a reader that this call consumes. next returns
 * READER_ITEM, READER_FAULT, READER_END or -1. */
NODISCARD int video_reader_open(const char *spec_path, const json_t *work, struct reader **reader,
                                struct error *err);
NODISCARD int video_reader_next(struct reader *reader, struct picture *ret_picture,
                                const char **ret_name, struct error *err);
void video_reader_free(struct reader *reader); /* accepts NULL */
