/* cloud_place.h: the address of a store's service, and what stores of all services take from the
 * environment, which holds no secrets:
 *
 *   WINDLASS_STORES_FOLDER  the folder of mounted Secrets ("/windlass/stores"), with a folder for
 *                           each account or bucket. Its files are read when needed, and again when
 *                           the service refuses them.
 *   WINDLASS_AUTHORITIES    a PEM file of certificate authorities for the service (default:
 *                           "/windlass/ca.crt" if it exists, else this machine's).
 *   WINDLASS_NAME_SERVERS   used instead of those of /etc/resolv.conf: "127.0.0.1:5353". */
#pragma once

#include "lib/error.h"
#include "lib/tree.h"

/* First member of every service's place. */
struct cloud_place {
    char *folder;           /* "", or the path in the container without slashes at its ends */
    char *endpoint;         /* "https://HOST[:PORT][/PATH]", without a slash at its end */
    char *host;             /* of the endpoint, without brackets */
    int port;               /* of the endpoint; 443 by default */
    char *secrets;          /* folder of the account's or bucket's mounted Secret */
    char *authorities_file; /* NULL: this machine's */
    char *name_servers;     /* NULL: /etc/resolv.conf */
    bool is_read_only;
};
void cloud_place_release(struct cloud_place *place); /* accepts a zeroed one */

/* Reads the variables above. name: of the folder of the mounted Secret. */
void cloud_place_read(struct cloud_place *place, const char *name);
/* Takes the folder from what follows the container in a path; false: it has empty parts or dots. */
bool cloud_place_set_folder(struct cloud_place *place, const char *path);
/* Sets the endpoint, without slashes at its end. False: not https:// and a host. */
bool cloud_place_set_endpoint(struct cloud_place *place, const char *endpoint);

/* An environment variable; NULL if it is missing or empty. Borrowed. */
const char *cloud_variable(const char *name);
/* Reads a variable that holds a list of JSON objects, and finds the one whose `key` is `name`;
 * *ret_found is NULL if there is none, and points into *ret_list, which the caller frees. */
NODISCARD int cloud_find_listed(const char *variable, const char *key, const char *name,
                                json_t **ret_list, const json_t **ret_found, struct error *err);

/* Parses "https://HOST[:PORT]/..." to host (an IPv6 address without its brackets) and port (443 by
 * default). False, with *ret_host untouched, if the URL is invalid or not https. The caller frees
 * *ret_host. */
bool cloud_url_host(const char *url, char **ret_host, int *ret_port);

/* Before anything is sent to a host: each of its addresses ("ADDRESS,ADDRESS"), or the host itself,
 * is one that a user's storage may have. DENIED: it is link-local or a metadata service's
 * (address_is_link_local), which answers to nothing but its address. */
NODISCARD int cloud_check_addresses(const char *host, const char *addresses, struct error *err);
