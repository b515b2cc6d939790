/* azure_place.h: az://ACCOUNT/CONTAINER/path: the account of Azure Blob Storage, the address of its
 * service, and the ways to log in. They come from the environment variables of cloud_place.h and
 * these, which hold no secrets:
 *
 *   WINDLASS_STORES         spec.stores[] as JSON: [{"account":"films","readOnly":true},
 *                           {"account":"results","clientID":"6c3...","endpoint":"https://..."}].
 *                           An account that is not listed has none of these fields. The folder of
 *                           its mounted Secret is ACCOUNT, with the file azurestorageaccountkey or
 *                           azurestorageaccountsastoken.
 *   AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_AUTHORITY_HOST
 *                           workload identity, as set by AKS: for accounts with a clientID, which
 *                           then replaces AZURE_CLIENT_ID, and for accounts without a mounted
 *                           key or SAS file.
 *   WINDLASS_BLOB_ENDPOINT  for stores without an endpoint:
 *                           "https://ACCOUNT.blob.core.windows.net", in which the word ACCOUNT is
 *                           replaced. Users set it for Azurite ("https://127.0.0.1:10000/ACCOUNT").
 */
#pragma once

#include "agent/store/cloud/cloud_place.h"

struct azure_place {
    struct cloud_place base;
    char *account, *container;
    char *client_id, *tenant_id, *token_file, *authority; /* workload identity; NULL: not set */
    bool has_client_id;                                   /* the account has a clientID: no file is
                                                             read */
};

/* INVALID: the path or the environment is invalid; the error says which. */
NODISCARD int azure_place_read(const char *spec_path, struct azure_place *ret_place,
                               struct error *err);
void azure_place_release(struct azure_place *place); /* also for AUTO; accepts a zeroed one */
