// SPDX-License-Identifier: Apache-2.0
#include "agent/data/decoder/decoder_child.h"

#include "agent/data/input/media.h"
#include "agent/data/video/video_read.h"
#include "lib/tree.h"

static struct video_reader *reader; /* NULL: no lease. The process has one thread. */

static int open_video(struct decoder_child *child, const char *request, size_t size,
                      int64_t source_bytes, int64_t done, struct error *err) {
    AUTO(tree_freep) json_t *lease = json_loadb(request, size, 0, NULL);
    struct video_origin origin = {
        .context = child, .size_bytes = source_bytes, .read = decoder_child_read};
    if (video_read_open(tree_text(lease, "path", ""), &origin, json_object_get(lease, "work"),
                        &reader, err) < 0) {
        return -1;
    }
    video_read_skip(reader, done);
    return READER_END;
}

static int next_frame(struct picture *ret_picture, struct error *err) {
    const char *name = NULL;
    return reader ? video_read_next(reader, ret_picture, &name, err)
                  : error_set(err, ERROR_INVALID, "no lease is open");
}

int decoder_child_media(int argc, char **argv) {
    static const struct decoder_videos videos = {.open = open_video, .next = next_frame};
    (void)argc;
    (void)argv;
    return decoder_child_run(&videos);
}
