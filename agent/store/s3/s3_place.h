/* s3_place.h: s3://BUCKET/path: the address of a bucket, and the keys for it. They come from the
 * environment variables of cloud_place.h and these, which hold no secrets:
 *
 *   WINDLASS_BUCKETS        what is known about buckets, as JSON:
 * [{"name":"films","readOnly":true},
 *                           {"name":"ours","endpoint":"https://rgw.example.com:8443",
 *                           "region":"us-east-1","style":"Virtual"}]. A bucket that is not listed
 *                           has none of these fields. The folder of its mounted Secret is
 *                           s3-BUCKET, with the files AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY
 *                           and, for keys that expire, AWS_SESSION_TOKEN.
 *   WINDLASS_S3_ENDPOINT    for buckets without an endpoint: "https://127.0.0.1:9000". Default:
 *                           Amazon's of the region.
 *   AWS_REGION              for buckets without a region. Default: us-east-1.
 *
 * An endpoint has its buckets in the path; with "style": "Virtual", in the host name. */
#pragma once

#include "agent/store/cloud/cloud_place.h"

struct s3_place {
    struct cloud_place base; /* its endpoint has the bucket's host name, if that is virtual */
    char *bucket, *region;
    char *authority; /* what the header Host says: "HOST" or "HOST:PORT" */
    bool is_virtual; /* the bucket is in the host name, not in the path */
};

/* INVALID: the path or the environment is invalid; the error says which. */
NODISCARD int s3_place_read(const char *spec_path, struct s3_place *ret_place, struct error *err);
void s3_place_release(struct s3_place *place); /* also for AUTO; accepts a zeroed one */
