/* s3_place.h: s3://BUCKET/path, and gs://BUCKET/path of Google's Cloud Storage: the address of a
 * bucket, and the keys for it. They come from the environment variables of cloud_place.h and these,
 * which hold no secrets:
 *
 *   WINDLASS_BUCKETS        spec.buckets[] as JSON: [{"name":"films","readOnly":true},
 *                           {"name":"ours","endpoint":"https://rgw.example.com:8443",
 *                           "region":"us-east-1","style":"Virtual"},
 *                           {"name":"results","identity":"ServiceAccount"}]. A bucket that is not
 *                           listed has none of these fields. The folder of its mounted Secret is
 *                           s3-BUCKET, with the files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
 *                           and, for keys that expire, AWS_SESSION_TOKEN.
 *   WINDLASS_S3_ENDPOINT    for buckets without an endpoint: "https://127.0.0.1:9000". Default:
 *                           Amazon's of the region.
 *   AWS_REGION              for buckets without a region. Default: us-east-1.
 *
 * Without such a folder, or with "identity": "ServiceAccount", the first of these that is set up:
 *   AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE, AWS_ROLE_SESSION_NAME, AWS_ENDPOINT_URL_STS
 *                           the role of a service account, as EKS sets them
 *   AWS_CONTAINER_CREDENTIALS_FULL_URI, AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE
 *                           EKS Pod Identity
 *   AWS_SHARED_CREDENTIALS_FILE, AWS_PROFILE
 *                           the keys of a user ("~/.aws/credentials", "default")
 * With "identity": "Node":
 *   AWS_EC2_METADATA_SERVICE_ENDPOINT
 *                           the node's instance metadata service ("http://169.254.169.254")
 *
 * A bucket of gs:// is listed in the same way, and its keys (HMAC) are in files of the same names.
 * What differs:
 *   WINDLASS_GS_ENDPOINT    instead of WINDLASS_S3_ENDPOINT. Default: storage.googleapis.com.
 *   GCE_METADATA_HOST       with "identity": "Node", the host of the metadata service, which gives
 *                           a token ("169.254.169.254", "metadata.google.internal:80"); a name's
 *                           addresses must be that service's or of this machine
 * Its region is "auto" if none is listed; AWS_... are not used.
 *
 * An endpoint has its buckets in the path; with "style": "Virtual", in the host name. */
#pragma once

#include "agent/store/cloud/cloud_place.h"

enum s3_identity { S3_IDENTITY_NONE, S3_IDENTITY_SERVICE_ACCOUNT, S3_IDENTITY_NODE };

struct s3_place {
    struct cloud_place base; /* its endpoint has the bucket's host name, if that is virtual */
    char *bucket, *region;
    enum s3_identity identity; /* NONE: it is not listed, or has a Secret */
    char *authority;           /* what the header Host says: "HOST" or "HOST:PORT" */
    bool is_virtual;           /* the bucket is in the host name, not in the path */
    bool is_google;            /* gs:// */
};

/* INVALID: the path or the environment is invalid; the error says which. */
NODISCARD int s3_place_read(const char *spec_path, struct s3_place *ret_place, struct error *err);
void s3_place_release(struct s3_place *place); /* also for AUTO; accepts a zeroed one */
