// SPDX-License-Identifier: Apache-2.0
#include "agent/data/video/container/container.h"

#include "lib/file.h"
#include "tests/test.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define FTYP                                                                                       \
    "\0\0\0\x10"                                                                                   \
    "ftypisom\0\0\0\0"
#define MKV                                                                                        \
    "\x1A\x45\xDF\xA3\x84"                                                                         \
    "abcd"                                                                                         \
    "\x18\x53\x80\x67"

static const struct {
    const char *about, *head;
    size_t head_size;
    int64_t size;
    enum container_state state;
    int64_t missing;
} rows[] = {
    {"a hole", "", 0, 1, CONTAINER_UNKNOWN, 0},
    {"text", "Once upon a time.", 17, 17, CONTAINER_UNKNOWN, 0},
    {"mp4",
     FTYP "\0\0\0\x20"
          "mdat",
     24, 48, CONTAINER_COMPLETE, 0},
    {"cut mp4",
     FTYP "\0\0\0\x20"
          "mdat",
     24, 47, CONTAINER_CUT, 1},
    {"mp4, 64-bit size",
     FTYP "\0\0\0\1"
          "mdat\0\0\0\1\0\0\0\0",
     32, 40, CONTAINER_CUT, (1LL << 32) + 16 - 40},
    {"mp4, absurd size",
     FTYP "\0\0\0\1"
          "mdat\xff\0\0\0\0\0\0\0",
     32, 40, CONTAINER_COMPLETE, 0},
    {"mp4 up to its end",
     FTYP "\0\0\0\0"
          "mdat",
     24, 99, CONTAINER_UNKNOWN, 0},
    {"mp4, notes cut",
     FTYP "\0\0\x20\0"
          "note",
     24, 48, CONTAINER_COMPLETE, 0},
    {"mkv", MKV "\x88", 14, 22, CONTAINER_COMPLETE, 0},
    {"cut mkv", MKV "\x88", 14, 21, CONTAINER_CUT, 1},
    {"cut mkv, long size", MKV "\x01\0\0\0\0\1\0\0", 21, 100, CONTAINER_CUT, 21 + 65536 - 100},
    {"mkv without size", MKV "\x01\xff\xff\xff\xff\xff\xff\xff", 21, 100, CONTAINER_UNKNOWN, 0},
    {"avi",
     "RIFF\x20\0\0\0"
     "AVI ",
     12, 40, CONTAINER_COMPLETE, 0},
    {"cut avi",
     "RIFF\x20\0\0\0"
     "AVI ",
     12, 30, CONTAINER_CUT, 10},
    {"avi without size",
     "RIFF\0\0\0\0"
     "AVI ",
     12, 30, CONTAINER_UNKNOWN, 0},
};

static void states(void) {
    struct error err = {0};
    char folder[] = "/tmp/windlass-test-XXXXXX";
    CHECK(mkdtemp(folder));
    setenv("media", folder, 1);
    AUTO(text_freep) char *path = file_join(folder, "container");
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct video_source *source = NULL;
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        CHECK_INT(write(fd, rows[i].head, rows[i].head_size), rows[i].head_size);
        CHECK_INT(ftruncate(fd, rows[i].size), 0);
        int64_t missing = 0;
        CHECK_OK(video_source_open("media/container", NULL, &source, &err), &err);
        enum container_state state = container_check(source, &missing);
        if (state != rows[i].state || missing != rows[i].missing) {
            printf("# %s: state %d, %lld bytes missing\n", rows[i].about, state,
                   (long long)missing);
            test_failures++;
        }
        video_source_free(source);
        close(fd);
    }
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

int main(void) {
    TEST(states);
    return TEST_END();
}
