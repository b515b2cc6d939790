// SPDX-License-Identifier: Apache-2.0
/* Which names are pictures'. */
#include "lib/text/picture_name.h"
#include "tests/test.h"

static void names(void) {
    CHECK(picture_name_is_known("a/b.jpg") && picture_name_is_known("b.JPEG"));
    CHECK(picture_name_is_known("a.tar.png") && !picture_name_is_known("a/.png"));
    CHECK(!picture_name_is_known(".png") && !picture_name_is_known("png"));
    CHECK(!picture_name_is_known("a.jpg/b") && !picture_name_is_known("a.jpg."));
    CHECK(!picture_name_is_known("a.gif") && !picture_name_is_known(""));
    CHECK(picture_name_is_ending("Png") && !picture_name_is_ending("seg.png"));
    CHECK(!picture_name_is_ending(""));
}

int main(void) {
    TEST(names);
    return TEST_END();
}
