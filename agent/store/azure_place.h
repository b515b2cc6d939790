/* azure_place.h: az://ACCOUNT/CONTAINER/path: which account of Azure Blob Storage, where its
 * service is, and what may be used there. It goes by the environment, in which nothing is secret:
 *
 * WINDLASS_STORES  spec.stores[] as JSON: [{"account":"films","readOnly":true},
 *     {"account":"results","clientID":"6c3...","endpoint":"https://..."}]. An account that is not
 * in it has none of these fields. WINDLASS_STORES_FOLDER  where Secrets are mounted
 * ("/windlass/stores"): ACCOUNT/ azurestorageaccountkey or ACCOUNT/azurestorageaccountsastoken,
 * read when needed, and again when the service refuses what they say. AZURE_FEDERATED_TOKEN_FILE,
 * AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_AUTHORITY_HOST  workload identity, as AKS sets them: for
 * accounts with a clientID, which then counts, and for those without a file. WINDLASS_BLOB_ENDPOINT
 * "https://ACCOUNT.blob.core.windows.net", in which the word ACCOUNT is replaced: where a store
 * says no endpoint of its own; of a user's own environment, for Azurite
 *     ("https://127.0.0.1:10000/ACCOUNT").
 * WINDLASS_AUTHORITIES  a PEM file: who may vouch for the service ("/windlass/ca.crt" if that is
 *     there, else this machine's).
 * WINDLASS_NAME_SERVERS  instead of those of /etc/resolv.conf: "127.0.0.1:5353". */
#pragma once

#include "lib/error.h"

struct azure_place {
    char *account, *container;
    char *folder;           /* "", or the path in the container without slashes at its ends */
    char *endpoint;         /* "https://HOST[:PORT][/PATH]", without a slash at its end */
    char *host;             /* of the endpoint, without brackets */
    int port;               /* likewise */
    char *secrets;          /* the account's folder */
    char *authorities_file; /* NULL: this machine's */
    char *name_servers;     /* NULL: /etc/resolv.conf */
    char *client_id, *tenant_id, *token_file, *authority; /* identity; NULL: not told */
    bool has_client_id;                                   /* of its own: no file is looked for */
    bool is_read_only;
};

/* INVALID: no such path, or the environment is wrong; says which. */
NODISCARD int azure_place_read(const char *spec_path, struct azure_place *ret_place,
                               struct error *err);
void azure_place_release(struct azure_place *place); /* for AUTO, too; a zeroed one is fine */

/* "https://HOST[:PORT]/..." -> host and port; false when it is not such a text. The caller frees
 * *ret_host. */
bool azure_url_host(const char *url, char **ret_host, int *ret_port);
