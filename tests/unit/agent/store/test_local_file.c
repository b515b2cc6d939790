// SPDX-License-Identifier: Apache-2.0
/* One who may write to a volume exchanges a folder of it for a link to a secret, between the moment
 * at which a path is found to be in the volume and the one at which the file is read: what readers
 * get is the volume's file or an error. */
#include "agent/store/local_file.h"

#include "agent/engine/model.h"
#include "agent/score/endpoint/form.h"
#include "agent/score/post/labels.h"
#include "lib/file.h"
#include "tests/test.h"
#include "tests/unit/agent/engine/onnx/build.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/test-local-file-XXXXXX";
static char volume[64], link_path[96], model_path[96];
static bool is_armed; /* exchange when a file of the volume is opened by its path */

/* volume/model is the model's folder, or a link to the folder of secrets. */
static void exchange(void) {
    CHECK_INT(renameat2(AT_FDCWD, link_path, AT_FDCWD, model_path, RENAME_EXCHANGE), 0);
}

/* Takes the place of the C library's function in this program. */
__attribute__((visibility("default"))) int open(const char *path, int flags, ...) {
    int (*real)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
    va_list arguments;
    va_start(arguments, flags);
    unsigned mode = flags & O_CREAT ? va_arg(arguments, unsigned) : 0;
    va_end(arguments);
    if (is_armed && text_starts(path, model_path)) {
        is_armed = false;
        exchange();
    }
    return real(path, flags, mode);
}

static void write_text(const char *in, const char *name, const char *text) {
    struct error err = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s/%s", folder, in, name);
    CHECK_OK(file_write(path, text, strlen(text), &err), &err);
}

/* y = w, whose four bytes are in another file. */
static void write_model(const char *in) {
    struct error err = {0};
    struct message graph = {0}, tensor = {0}, entry = {0};
    AUTO(text_freep) char *path = x_printf("%s/%s/net.onnx", folder, in);
    add_integer(&tensor, 1, 4);
    add_integer(&tensor, 2, 2);
    add_text(&tensor, 8, "w");
    add_text(&entry, 1, "location");
    add_text(&entry, 2, "key");
    add_message(&tensor, 13, &entry);
    add_integer(&tensor, 14, 1);
    add_node(&graph, (struct node_fields){.op = "Identity", .input = "w", .output = "y"});
    add_message(&graph, 5, &tensor);
    add_value(&graph, 12, "y", 2, NULL, 0);
    struct message model = make_model(graph, 13);
    CHECK_OK(file_write(path, model.bytes, model.size, &err), &err);
}

static void make_volume(void) {
    struct error err = {0};
    CHECK(mkdtemp(folder) != NULL);
    snprintf(volume, sizeof volume, "%s/volume", folder);
    snprintf(model_path, sizeof model_path, "%s/model", volume);
    snprintf(link_path, sizeof link_path, "%s/link", volume);
    AUTO(text_freep) char *stores = x_printf("%s/stores", folder);
    CHECK_OK(file_make_folders(model_path, &err), &err);
    CHECK_OK(file_make_folders(stores, &err), &err);
    CHECK_INT(symlink(stores, link_path), 0);
    write_text("volume/model", "key", "cats");
    write_text("stores", "key", "keys");
    write_model("volume/model");
    write_model("stores");
    setenv("vol", volume, 1);
}

static void the_spec_s_files(void) {
    struct error err = {0};
    struct labels labels = {0};
    AUTO(tree_freep) json_t *spec = json_pack("{s:s}", "labels", "vol/model/key");
    is_armed = true;
    CHECK_OK(labels_read(spec, "labels", &labels, &err), &err);
    CHECK_STR(labels_name(&labels, 0), "cats");
    CHECK(is_armed); /* nothing was opened by its path */
    is_armed = false;
    labels_release(&labels);
}

/* Reads an item's file as a scorer does, after the exchange. */
static void an_item(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(text_freep) char *data = NULL;
    size_t size = 0;
    struct store_info info;
    CHECK_OK(store_open("vol/model", false, &store, &err), &err);
    CHECK_OK(local_file_make(store, "key", &file, &err), &err);
    CHECK_OK(local_file_read(&file, 100, &data, &size, &info, &err), &err);
    CHECK_STR(data, "cats");
    CHECK_INT(info.size_bytes, 4);
    exchange();
    free(TAKE(data));
    CHECK_OK(file_read(file.path, 100, &data, &size, &err), &err);
    CHECK_STR(data, "keys"); /* so it would be by the path */
    CHECK_INT(local_file_read(&file, 100, &data, &size, NULL, &err), -1);
    CHECK_STR(err.text, "vol/model/key: a symbolic link in the path leaves the volume");
    exchange();
    error_clear(&err);
    CHECK_INT(local_file_read(&file, 3, &data, &size, NULL, &err), -1);
    CHECK_STR(err.text, "vol/model/key: larger than the limit of 3 bytes");
}

static int ask_with(const struct item *item, struct endpoint_request *request, struct error *err) {
    AUTO(tree_freep) json_t *template = json_pack("{s:s}", "text", "{text}");
    const struct endpoint_form form = {.template = template, .path = "/v1/x"};
    error_clear(err);
    return endpoint_form_request(&form, item, request, err);
}

/* A request holds neither what is outside of the volume, nor another content than was listed. */
static void a_request(void) {
    struct error err = {0};
    AUTO(store_freep) struct store *store = NULL;
    struct endpoint_request request;
    struct item item = {.type = ITEM_PATH, .name = "key"};
    struct store_info info;
    endpoint_request_init(&request);
    CHECK_OK(store_open("vol/model", false, &store, &err), &err);
    CHECK_OK(local_file_make_info(store, "key", &item.file, &info, &err), &err);
    AUTO(text_freep)
    char *core = x_printf("%llx-%llx", (unsigned long long)info.size_bytes,
                          (unsigned long long)info.modified_ns);
    item.text = item.file.path;
    item.core = core;
    CHECK_OK(ask_with(&item, &request, &err), &err);
    CHECK_STR(request.body.data, "{\"text\":\"cats\"}");
    exchange();
    CHECK_INT(ask_with(&item, &request, &err), -1);
    CHECK_STR(err.text, "key: vol/model/key: a symbolic link in the path leaves the volume");
    exchange();
    write_text("volume/model", "key", "other");
    CHECK_INT(ask_with(&item, &request, &err), -1);
    CHECK_INT(err.kind, ERROR_CONFLICT);
    write_text("volume/model", "key", "cats");
    endpoint_request_release(&request);
    local_file_release(&item.file);
}

static void check_weights(const struct model *model, const char *wanted) {
    CHECK(model && memcmp(model->graph.values[0].constant.data, wanted, 4) == 0);
}

/* A large network is read first, and its further files then. */
static void weights_beside_a_model(void) {
    struct error err = {0};
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(model_freep) struct model *model = NULL;
    AUTO(model_freep) struct model *by_path = NULL;
    struct model_files files = {-1, -1};
    CHECK_OK(local_file_open("vol/model/net.onnx", &file, &err), &err);
    CHECK_OK(local_file_descriptors(&file, &files.fd, &files.folder_fd, &err), &err);
    exchange();
    CHECK_OK(model_open_files(file.path, &files, &model, &err), &err);
    check_weights(model, "cats");
    CHECK_OK(model_open(file.path, &by_path, &err), &err);
    check_weights(by_path, "keys"); /* so it would be by the path */
    fd_closep(&files.fd);
    fd_closep(&files.folder_fd);
    CHECK_INT(local_file_descriptors(&file, &files.fd, &files.folder_fd, &err), -1);
    CHECK(strstr(err.text, "a symbolic link in the path leaves the volume") != NULL);
    exchange();
}

/* A link within the volume is followed: the further files are where it leads. */
static void a_model_behind_a_link(void) {
    struct error err = {0};
    AUTO(local_file_release) struct local_file file = {0};
    AUTO(model_freep) struct model *model = NULL;
    struct model_files files = {-1, -1};
    AUTO(text_freep) char *latest = file_join(volume, "latest.onnx");
    CHECK_INT(symlink("model/net.onnx", latest), 0);
    CHECK_OK(local_file_open("vol/latest.onnx", &file, &err), &err);
    CHECK_OK(local_file_descriptors(&file, &files.fd, &files.folder_fd, &err), &err);
    CHECK_OK(model_open_files(file.path, &files, &model, &err), &err);
    check_weights(model, "cats");
    fd_closep(&files.fd);
    fd_closep(&files.folder_fd);
}

int main(void) {
    struct error err = {0};
    make_volume();
    TEST(the_spec_s_files);
    TEST(an_item);
    TEST(a_request);
    TEST(weights_beside_a_model);
    TEST(a_model_behind_a_link);
    CHECK_OK(file_remove_tree(folder, &err), &err);
    return TEST_END();
}
