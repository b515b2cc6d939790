// SPDX-License-Identifier: Apache-2.0
#include "lib/text/picture_name.h"

#include "lib/text/file_type.h"

static bool is_read(const struct file_type *type) {
    return type && type->use == FILE_TYPE_READ;
}

bool picture_name_is_ending(const char *ending) {
    return is_read(file_type_of_ending(ending));
}

bool picture_name_is_known(const char *name) {
    return is_read(file_type_of_name(name));
}
