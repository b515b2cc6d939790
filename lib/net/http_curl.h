/* http_curl.h: libcurl, which is opened by the first http_open (lib/library/shared_library.h): with
 * all that it needs it is thirty libraries. curl_easy_init is called as libcurl.easy_init. Only
 * this file includes its header. http_curl.c opens the library; agent/shim/curl_linked.c has the
 * same two names for a program that is static. Private to http.c and http_call.c. */
#pragma once

#include "lib/error.h"

#include <assert.h>
#include <curl/curl.h>

#define LIBCURL_CALLS(CALL)                                                                        \
    CALL(easy_cleanup)                                                                             \
    CALL(easy_getinfo)                                                                             \
    CALL(easy_header)                                                                              \
    CALL(easy_init)                                                                                \
    CALL(easy_setopt)                                                                              \
    CALL(easy_strerror)                                                                            \
    CALL(free)                                                                                     \
    CALL(global_init)                                                                              \
    CALL(multi_add_handle)                                                                         \
    CALL(multi_cleanup)                                                                            \
    CALL(multi_info_read)                                                                          \
    CALL(multi_init)                                                                               \
    CALL(multi_remove_handle)                                                                      \
    CALL(multi_setopt)                                                                             \
    CALL(multi_socket_action)                                                                      \
    CALL(slist_append)                                                                             \
    CALL(slist_free_all)                                                                           \
    CALL(url)                                                                                      \
    CALL(url_cleanup)                                                                              \
    CALL(url_get)                                                                                  \
    CALL(url_set)                                                                                  \
    CALL(version_info)

/* Pointers with the types of the header. */
#define LIBCURL_MEMBER(name) __typeof__(&curl_##name) name;
extern struct http_curl { LIBCURL_CALLS(LIBCURL_MEMBER) } libcurl;

/* Opens the library once for all, any thread, before any other call. UNSUPPORTED: it is missing. */
NODISCARD int http_curl_open(struct error *err);
/* Whether its SSL_CTX is one of this program's OpenSSL. When it is open. */
bool http_curl_has_our_tls(void);

/* libcurl.easy_setopt of a constant option and a value of its kind, which the option's number says:
 * as with the macros of libcurl's header an int in the place of a long does not compile. */
#define LIBCURL_SET(handle, option, value)                                                         \
    ({                                                                                             \
        static_assert(LIBCURL_IS_NUMBER(value) == LIBCURL_TAKES_NUMBER(option),                    \
                      "the option takes another kind of value");                                   \
        libcurl.easy_setopt(handle, option, value);                                                \
    })
#define LIBCURL_IS_NUMBER(value) _Generic((value), long : 1, int : 2, default : 0)
#define LIBCURL_TAKES_NUMBER(option)                                                               \
    ((option) / 10000 * 10000 == CURLOPTTYPE_LONG || (option) / 10000 * 10000 == CURLOPTTYPE_OFF_T)
