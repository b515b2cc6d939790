// SPDX-License-Identifier: Apache-2.0
/* The messages where the driver, the library or the GPU is missing. */
#include "agent/engine/device/kernel.h"
#include "tests/cuda/emulated.h"
#include "tests/test.h"

#include <cuda_runtime_api.h>
#include <stdlib.h>
#include <string.h>

static void refuses(const char *says) {
    struct device *device = NULL;
    struct error err = {0};
    CHECK_INT(device_open("cuda", 1, &device, &err), -1);
    CHECK_INT(err.kind, ERROR_UNAVAILABLE);
    if (!strstr(err.text, says)) {
        CHECK_STR(err.text, says);
    }
    CHECK(device == NULL);
    emulated_cards(1, 13000, cudaSuccess);
}

static void test_no_driver(void) {
    emulated_cards(0, 0, cudaErrorInsufficientDriver);
    refuses("device \"cuda\": NVIDIA's driver is missing (libcuda.so.1): pods that ask for GPUs");
}

static void test_an_old_driver(void) {
    emulated_cards(0, 12040, cudaErrorInsufficientDriver);
    refuses("device \"cuda\": NVIDIA's driver is for CUDA up to 12.4, this program is of CUDA 13.");
}

static void test_no_gpu(void) {
    emulated_cards(0, 13000, cudaErrorNoDevice);
    unsetenv("CUDA_VISIBLE_DEVICES");
    refuses("there is a driver, but it finds no GPU; `nvidia-smi -L`");
    setenv("CUDA_VISIBLE_DEVICES", "7", 1);
    emulated_cards(0, 13000, cudaErrorNoDevice);
    refuses("it finds no GPU (CUDA_VISIBLE_DEVICES is \"7\"); `nvidia-smi -L`");
    unsetenv("CUDA_VISIBLE_DEVICES");
}

static void test_another_trouble_is_the_drivers_own_words(void) {
    emulated_cards(1, 13000, cudaErrorSystemNotReady);
    refuses("device \"cuda\": no GPU can be used: an error");
}

static void test_numbers(void) {
    struct device *device = NULL;
    struct error err = {0};
    emulated_cards(2, 13000, cudaSuccess);
    CHECK_OK(device_open("cuda1:bfloat16", 1, &device, &err), &err);
    device_close(device);
    CHECK_INT(device_open("cuda2", 1, &device, &err), -1);
    CHECK_STR(err.text, "device \"cuda\": GPU 2 does not exist: 2 are there "
                        "(numbered from 0)");
    emulated_cards(1, 13000, cudaSuccess);
    error_clear(&err);
    CHECK_INT(device_open("cuda123", 1, &device, &err), -1);
    CHECK_INT(err.kind, ERROR_INVALID);
}

int main(void) {
    TEST(test_numbers);
    TEST(test_no_driver);
    TEST(test_an_old_driver);
    TEST(test_no_gpu);
    TEST(test_another_trouble_is_the_drivers_own_words);
    return TEST_END();
}
