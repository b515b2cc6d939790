/* azure_place.h: az://ACCOUNT/CONTAINER/path: the account of Azure Blob Storage, the address of its
 * service, and the ways to log in. They come from these environment variables, which hold no
 * secrets:
 *
 *   WINDLASS_STORES         spec.stores[] as JSON: [{"account":"films","readOnly":true},
 *                           {"account":"results","clientID":"6c3...","endpoint":"https://..."}].
 *                           An account that is not listed has none of these fields.
 *   WINDLASS_STORES_FOLDER  the folder of mounted Secrets ("/windlass/stores"):
 *                           ACCOUNT/azurestorageaccountkey or
 *                           ACCOUNT/azurestorageaccountsastoken. Read when needed, and again when
 *                           the service refuses them.
 *   AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_AUTHORITY_HOST
 *                           workload identity, as set by AKS: for accounts with a clientID, which
 *                           then replaces AZURE_CLIENT_ID, and for accounts without a mounted
 *                           key or SAS file.
 *   WINDLASS_BLOB_ENDPOINT  for stores without an endpoint:
 *                           "https://ACCOUNT.blob.core.windows.net", in which the word ACCOUNT is
 *                           replaced. Users set it for Azurite ("https://127.0.0.1:10000/ACCOUNT").
 *   WINDLASS_AUTHORITIES    a PEM file of certificate authorities for the service (default:
 *                           "/windlass/ca.crt" if it exists, else this machine's).
 *   WINDLASS_NAME_SERVERS   used instead of those of /etc/resolv.conf: "127.0.0.1:5353". */
#pragma once

#include "lib/error.h"

struct azure_place {
    char *account, *container;
    char *folder;           /* "", or the path in the container without slashes at its ends */
    char *endpoint;         /* "https://HOST[:PORT][/PATH]", without a slash at its end */
    char *host;             /* of the endpoint, without brackets */
    int port;               /* of the endpoint; 443 by default */
    char *secrets;          /* folder of the account's mounted Secret */
    char *authorities_file; /* NULL: this machine's */
    char *name_servers;     /* NULL: /etc/resolv.conf */
    char *client_id, *tenant_id, *token_file, *authority; /* workload identity; NULL: not set */
    bool has_client_id;                                   /* the account has a clientID: no file is
                                                             read */
    bool is_read_only;
};

/* INVALID: the path or the environment is invalid; the error says which. */
NODISCARD int azure_place_read(const char *spec_path, struct azure_place *ret_place,
                               struct error *err);
void azure_place_release(struct azure_place *place); /* also for AUTO; accepts a zeroed one */

/* Parses "https://HOST[:PORT]/..." to host (an IPv6 address without its brackets) and port (443 by
 * default). False, with *ret_host untouched, if the URL is invalid or not https. The caller frees
 * *ret_host. */
bool azure_url_host(const char *url, char **ret_host, int *ret_port);

/* Before anything is sent to a host: each of its addresses ("ADDRESS,ADDRESS"), or the host itself,
 * is one that a user's storage may have. DENIED: it is link-local or a metadata service's
 * (address_is_link_local), which answers to nothing but its address. */
NODISCARD int azure_check_addresses(const char *host, const char *addresses, struct error *err);
