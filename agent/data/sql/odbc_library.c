// SPDX-License-Identifier: Apache-2.0
#include "agent/data/sql/odbc_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define LIBRARY "libodbc.so.2"

static const struct {
    const char *name;
    size_t offset; /* in struct odbc_library */
} rows[] = {
    {"SQLAllocHandle", offsetof(struct odbc_library, alloc)},
    {"SQLFreeHandle", offsetof(struct odbc_library, free)},
    {"SQLSetEnvAttr", offsetof(struct odbc_library, set_environment)},
    {"SQLSetConnectAttr", offsetof(struct odbc_library, set_connection)},
    {"SQLDriverConnectW", offsetof(struct odbc_library, connect)},
    {"SQLDisconnect", offsetof(struct odbc_library, disconnect)},
    {"SQLGetInfo", offsetof(struct odbc_library, get_info)},
    {"SQLPrepareW", offsetof(struct odbc_library, prepare)},
    {"SQLExecute", offsetof(struct odbc_library, execute)},
    {"SQLNumResultCols", offsetof(struct odbc_library, count_columns)},
    {"SQLDescribeColW", offsetof(struct odbc_library, describe)},
    {"SQLFetch", offsetof(struct odbc_library, fetch)},
    {"SQLGetData", offsetof(struct odbc_library, get)},
    {"SQLGetDiagRecW", offsetof(struct odbc_library, diagnose)},
    {"SQLEndTran", offsetof(struct odbc_library, end)},
};

int odbc_library_open(struct odbc_library *ret_library, struct error *err) {
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_GLOBAL); /* drivers use its functions */
    if (!handle) {
        return error_set(err, ERROR_INVALID,
                         LIBRARY " cannot be loaded: install unixODBC and the database's driver in "
                                 "the coordinator's image (docs/inputs.md): %.160s",
                         dlerror());
    }
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        void *symbol = dlsym(handle, rows[i].name);
        if (!symbol) {
            return error_set(err, ERROR_INVALID, LIBRARY " is too old: it has no %s", rows[i].name);
        }
        memcpy((char *)ret_library + rows[i].offset, &symbol, sizeof symbol);
    }
    return 0;
}
