// SPDX-License-Identifier: Apache-2.0
/* JPEG files decoded by the stand-in for nvJPEG (tests/fakejpeg, from the build's folder), and its
 * faults. The real nvJPEG is not run. In jobs: tests/e2e/score/test_gpu_score.sh. */
#include "agent/data/image/jpeg_hardware.h"

#include "agent/data/image/image.h"
#include "agent/data/image/nvjpeg_library.h"
#include "tests/test.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <turbojpeg.h>
#include <unistd.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#define IS(function, type) __builtin_types_compatible_p(__typeof__(&function), type)

static void test_the_driver_is_as_declared(void) {
    CHECK(sizeof(CUresult) == sizeof(int) && sizeof(CUdevice) == sizeof(int));
    CHECK_INT(sizeof(CUdeviceptr), sizeof(uint64_t));
    CHECK_INT(CUDA_SUCCESS, CUDA_DONE);
    CHECK_INT(CU_STREAM_NON_BLOCKING, CUDA_ITS_OWN_STREAM);
    CHECK(IS(cuCtxGetDevice, CUresult(*)(CUdevice *)));
    CHECK(IS(cuCtxPushCurrent_v2, CUresult(*)(CUcontext)));
    CHECK(IS(cuCtxPopCurrent_v2, CUresult(*)(CUcontext *)));
    CHECK(IS(cuStreamSynchronize, CUresult(*)(CUstream)));
    CHECK(IS(cuMemAlloc_v2, CUresult(*)(CUdeviceptr *, size_t)));
    CHECK(IS(cuMemFree_v2, CUresult(*)(CUdeviceptr)));
    CHECK(IS(cuMemcpyDtoHAsync_v2, CUresult(*)(void *, CUdeviceptr, size_t, CUstream)));
}
#else
static void test_the_driver_is_as_declared(void) {
    SKIP("cuda.h is not here");
}
#endif
#if __has_include(<nvjpeg.h>)
#include <nvjpeg.h>

static void test_nvjpeg_is_as_declared(void) {
    CHECK_INT(sizeof(nvjpegImage_t), sizeof(struct nvjpeg_image));
    CHECK_INT(offsetof(nvjpegImage_t, pitch), offsetof(struct nvjpeg_image, pitch));
    CHECK_INT(NVJPEG_STATUS_SUCCESS, NVJPEG_DONE);
    CHECK_INT(NVJPEG_STATUS_INVALID_PARAMETER, NVJPEG_INVALID);
    CHECK_INT(NVJPEG_STATUS_BAD_JPEG, NVJPEG_BAD);
    CHECK_INT(NVJPEG_STATUS_JPEG_NOT_SUPPORTED, NVJPEG_UNKNOWN);
    CHECK_INT(NVJPEG_STATUS_ALLOCATOR_FAILURE, NVJPEG_MEMORY);
    CHECK_INT(NVJPEG_STATUS_IMPLEMENTATION_NOT_SUPPORTED, NVJPEG_NOT_BUILT);
    CHECK_INT(NVJPEG_STATUS_INCOMPLETE_BITSTREAM, NVJPEG_CUT);
    CHECK_INT(NVJPEG_OUTPUT_Y, NVJPEG_GREY);
    CHECK_INT(NVJPEG_OUTPUT_RGBI, NVJPEG_RGB_TOGETHER);
    CHECK_INT(NVJPEG_CSS_UNKNOWN, NVJPEG_NO_SAMPLING);
    CHECK_INT(NVJPEG_FLAGS_BITSTREAM_STRICT, NVJPEG_STRICT);
    CHECK_INT(NVJPEG_FLAGS_UPSAMPLING_WITH_INTERPOLATION, NVJPEG_INTERPOLATE);
}
#else
static void test_nvjpeg_is_as_declared(void) {
    SKIP("nvjpeg.h is not here");
}
#endif

enum { WIDE = 203, HIGH = 119 };
struct file {
    unsigned char *bytes;
    unsigned long size;
};

/* Soft colours with edges between them, as pictures have. */
static struct file make(int sampling, int format, int flags) {
    static unsigned char pixels[WIDE * HIGH * 4];
    struct file file = {0};
    int channels = tjPixelSize[format];
    for (int y = 0; y < HIGH; y++) {
        for (int x = 0; x < WIDE; x++) {
            unsigned char *pixel = pixels + channels * (y * WIDE + x);
            int edge = (x / 50 + y / 40) % 2 * 60;
            pixel[0] = (unsigned char)(x + edge / 2);
            pixel[1] = (unsigned char)(y + edge);
            pixel[2] = (unsigned char)(200 - x / 2 - edge);
            pixel[channels - 1] = channels == 4 ? 200 : pixel[channels - 1];
        }
    }
    tjhandle handle = tjInitCompress();
    CHECK_INT(tjCompress2(handle, pixels, WIDE, 0, HIGH, format, &file.bytes, &file.size, sampling,
                          92, flags),
              0);
    tjDestroy(handle);
    return file;
}

/* Folder of the stand-ins; dlopen finds those in FOLDER by their names. */
static bool load_fakes(const char *folder) {
    char path[PATH_MAX], file[PATH_MAX + 64];
    ssize_t size = readlink("/proc/self/exe", path, sizeof path - 1);
    path[MAX(size, 0)] = '\0';
    for (int up = 0; up < 5; up++) {
        char *slash = strrchr(path, '/');
        *(slash ? slash : path) = '\0';
    }
    static const char *const names[] = {"libcuda.so.1", "libnvjpeg.so.13"};
    for (int i = 0; i < 2; i++) {
        snprintf(file, sizeof file, "%s/fakejpeg%s/%s", path, folder, names[i]);
        if (!dlopen(file, RTLD_NOW | RTLD_LOCAL)) {
            printf("# %s\n", dlerror());
            return false;
        }
    }
    return true;
}

/* The results of both decoders; *ret_near: if the GPU decoded, how close the two are. */
static bool decode(struct jpeg_hardware *hardware, const struct file *file, bool is_subsampled) {
    struct picture there = {0}, here = {0};
    struct error err = {0};
    bool is_done = jpeg_hardware_decode(hardware, "x.jpg", file->bytes, file->size, &there);
    if (is_done) {
        CHECK_OK(image_decode(file->bytes, file->size, &here, &err), &err);
        CHECK(jpeg_hardware_is_near(&there, &here, is_subsampled));
    }
    CHECK(is_done == (there.pixels != NULL));
    picture_release(&there);
    picture_release(&here);
    return is_done;
}

static const int samplings[] = {TJSAMP_444, TJSAMP_422, TJSAMP_420, TJSAMP_440, TJSAMP_GRAY};

static void test_kinds_are_decoded_within_what_is_allowed(void) {
    struct jpeg_hardware *hardware = jpeg_hardware_new();
    CHECK(hardware != NULL);
    for (size_t i = 0; i < 2 * ARRAY_LEN(samplings); i++) {
        int sampling = samplings[i / 2];
        struct file file = make(sampling, TJPF_RGB, i % 2 ? TJFLAG_PROGRESSIVE : 0);
        CHECK(decode(hardware, &file, sampling != TJSAMP_444 && sampling != TJSAMP_GRAY));
        tjFree(file.bytes);
    }
    struct file inks = make(TJSAMP_444, TJPF_CMYK, 0);
    CHECK(!decode(hardware, &inks, false));
    tjFree(inks.bytes);
    struct picture none = {0};
    CHECK(!jpeg_hardware_decode(hardware, "x.png", "\x89PNG\r\n\x1a\n", 8, &none));
    jpeg_hardware_free(hardware);
}

static void test_a_picture_is_turned_upright(void) {
    static const uint8_t exif[] = {0xFF, 0xE1, 0, 34, 'E', 'x', 'i', 'f', 0, 0,  'M', 'M',
                                   0,    42,   0, 0,  0,   8,   0,   1,   1, 18, 0,   3,
                                   0,    0,    0, 1,  0,   6,   0,   0,   0, 0,  0,   0};
    struct file flat = make(TJSAMP_444, TJPF_RGB, 0);
    struct file turned = {x_malloc(flat.size + sizeof exif), flat.size + sizeof exif};
    memcpy(turned.bytes, flat.bytes, 2);
    memcpy(turned.bytes + 2, exif, sizeof exif);
    memcpy(turned.bytes + 2 + sizeof exif, flat.bytes + 2, flat.size - 2);
    struct jpeg_hardware *hardware = jpeg_hardware_new();
    struct picture seen = {0};
    CHECK(decode(hardware, &turned, false));
    CHECK(jpeg_hardware_decode(hardware, "x.jpg", turned.bytes, turned.size, &seen));
    CHECK_INT(seen.width, HIGH);
    CHECK_INT(seen.height, WIDE);
    picture_release(&seen);
    jpeg_hardware_free(hardware);
    free(turned.bytes);
    tjFree(flat.bytes);
}

/* Which of four files the GPU decodes, as letters: two kinds, one of them twice; the third, cut
 * off, never is. */
static void test_what_goes_wrong_is_the_processors(void) {
    static const struct {
        const char *told, *wanted;
    } faults[] = {
        {"", "yy-y"},          {"exact", "yy-y"},    {"plain", "yy-y"},    {"nogpu", "----"},
        {"create", "----"},    {"size", "----"},     {"swap", "----"},     {"copy", "----"},
        {"full", "----"},      {"status=3", "y---"}, {"status=5", "y---"}, {"status=9", "y---"},
        {"status=10", "y---"}, {"status=6", "y---"}, {"status=8", "y---"}, {"status=77", "y---"},
    };
    struct file files[] = {make(TJSAMP_420, TJPF_RGB, 0), make(TJSAMP_444, TJPF_RGB, 0),
                           make(TJSAMP_420, TJPF_RGB, 0), make(TJSAMP_420, TJPF_RGB, 0)};
    files[2].size -= 400;
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        char seen[5] = "";
        setenv("FAKE_NVJPEG", faults[i].told, 1);
        struct jpeg_hardware *hardware = jpeg_hardware_new();
        for (size_t k = 0; k < ARRAY_LEN(files); k++) {
            seen[k] = decode(hardware, &files[k], k != 1) ? 'y' : '-';
        }
        CHECK_STR(seen, faults[i].wanted);
        jpeg_hardware_free(hardware);
    }
    unsetenv("FAKE_NVJPEG");
    for (size_t k = 0; k < ARRAY_LEN(files); k++) {
        tjFree(files[k].bytes);
    }
}

/* A picture is not accepted without the processor's result; its fault does not disable nvJPEG. */
static void test_a_broken_first_picture_proves_nothing(void) {
    struct file good = make(TJSAMP_420, TJPF_RGB, 0), bad = make(TJSAMP_420, TJPF_RGB, 0);
    memset(bad.bytes + bad.size / 2, 0x7F, bad.size / 4); /* the markers are complete */
    struct picture none = {0};
    struct error err = {0};
    CHECK_INT(image_decode(bad.bytes, bad.size, &none, &err), -1);
    struct jpeg_hardware *hardware = jpeg_hardware_new();
    CHECK(!decode(hardware, &bad, true));
    CHECK(decode(hardware, &good, true));
    jpeg_hardware_free(hardware);
    tjFree(good.bytes);
    tjFree(bad.bytes);
}

static void test_how_near_is_near(void) {
    struct picture one, other;
    picture_init(&one, 4, 2);
    picture_init(&other, 4, 2);
    memset(one.pixels, 100, 24);
    memset(other.pixels, 100, 24);
    other.pixels[5] = 104;
    CHECK(jpeg_hardware_is_near(&one, &other, false));
    other.pixels[5] = 95;
    CHECK(!jpeg_hardware_is_near(&one, &other, false));
    CHECK(jpeg_hardware_is_near(&one, &other, true));
    other.pixels[5] = 100 + 72; /* 24 bytes of 3 */
    CHECK(jpeg_hardware_is_near(&one, &other, true));
    other.pixels[6] = 99;
    CHECK(!jpeg_hardware_is_near(&one, &other, true));
    other.width = 2;
    CHECK(!jpeg_hardware_is_near(&one, &other, true));
    picture_release(&one);
    picture_release(&other);
}

static void test_workers_without_gpus_open_nothing(void) {
    unsetenv("WINDLASS_GPUS");
    CHECK(jpeg_hardware_new() == NULL);
    setenv("WINDLASS_GPUS", "0", 1);
    CHECK(jpeg_hardware_new() == NULL);
    setenv("WINDLASS_GPUS", "1", 1);
    struct picture none = {0};
    CHECK(!jpeg_hardware_decode(NULL, "x.jpg", "\xFF\xD8\xFF", 3, &none));
}

/* In a separate process, before the working libraries are loaded. */
static void test_an_older_library_is_told(void) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        struct nvjpeg_library library;
        struct error err = {0};
        bool is_told = load_fakes("/old") && nvjpeg_library_load(&library, &err) < 0 &&
                       err.kind == ERROR_UNAVAILABLE &&
                       strcmp(err.text, "libnvjpeg.so.13 has no nvjpegDecode") == 0;
        _exit(is_told ? 0 : 1);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
}

int main(void) {
    unsetenv("FAKE_NVJPEG");
    TEST(test_the_driver_is_as_declared);
    TEST(test_nvjpeg_is_as_declared);
    TEST(test_workers_without_gpus_open_nothing);
    TEST(test_how_near_is_near);
    TEST(test_an_older_library_is_told);
    if (!load_fakes("")) {
        test_failures++;
        return TEST_END();
    }
    TEST(test_kinds_are_decoded_within_what_is_allowed);
    TEST(test_a_picture_is_turned_upright);
    TEST(test_what_goes_wrong_is_the_processors);
    TEST(test_a_broken_first_picture_proves_nothing);
    return TEST_END();
}
