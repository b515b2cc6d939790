# shellcheck shell=bash disable=SC2154 # what is used here is set there
# s3_identity.sh: keys of s3:// that are in no Secret: of a user's file, of a service account's role, by the gateway's own
# token service, of EKS Pod Identity and of a node, by stand-ins that give the gateway's keys. For test_s3.sh.
printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n[other]\naws_access_key_id=x\n' "$id" "$secret" >"$work/shared"
mkdir -p "$work/home/.aws"
cp "$work/shared" "$work/home/.aws/credentials"
alone() { WINDLASS_STORES_FOLDER=$work "$@"; } # no Secret is mounted
check "keys of ~/.aws/credentials" eval 'HOME=$work/home alone round_trip'
check "of another file" eval 'AWS_SHARED_CREDENTIALS_FILE=$work/shared alone store probe $here'
check "a profile without keys" eval 'AWS_SHARED_CREDENTIALS_FILE=$work/shared AWS_PROFILE=other alone says 3 "denied: $here: $work/shared: the profile \"other\" has no valid aws_access_key_id" probe $here'
check "a file that is not there" eval 'AWS_SHARED_CREDENTIALS_FILE=$work/nothing alone says 3 "$work/nothing: No such file or directory" probe $here'

##### the role of a service account
python3 tests/s3/issuer.py "$s3" >"$work/issuer.log" 2>&1 &
until_true 60 [ -s "$s3/issuer.port" ]
python3 tests/s3/issuer.py "$s3" trust && python3 tests/s3/issuer.py "$s3" token || echo "not ok the gateway trusts the issuer"
provider=127.0.0.1:$(cat "$s3/issuer.port")
admin() {
    LD_LIBRARY_PATH=$(tests/s3/get.sh)/usr/lib/x86_64-linux-gnu:$(tests/s3/get.sh)/usr/lib/x86_64-linux-gnu/ceph \
        "$(tests/s3/get.sh)/usr/bin/radosgw-admin" -c "$s3/ceph.conf" "$@" >"$work/admin" 2>&1
}
admin role create --role-name scorer --path / --assume-role-policy-doc "{\"Version\":\"2012-10-17\",\"Statement\":[{\"Effect\":\"Allow\",
    \"Principal\":{\"Federated\":[\"arn:aws:iam:::oidc-provider/$provider\"]},\"Action\":[\"sts:AssumeRoleWithWebIdentity\"],
    \"Condition\":{\"StringEquals\":{\"$provider:aud\":\"sts.amazonaws.com\"}}}]}" || cat "$work/admin"
admin role-policy put --role-name scorer --policy-name films --policy-doc '{"Version":"2012-10-17","Statement":[{"Effect":"Allow",
    "Action":["s3:*"],"Resource":["arn:aws:s3:::films","arn:aws:s3:::films/*"]}]}' || cat "$work/admin"
tests/s3/start.sh roles "$s3" || echo "not ok the gateway of roles starts"
service=https://127.0.0.1:$(cat "$s3/roles.port")
role=(env WINDLASS_S3_ENDPOINT="$service" WINDLASS_BUCKETS='[{"name":"films","identity":"ServiceAccount"}]' AWS_ENDPOINT_URL_STS="$service"
    AWS_ROLE_ARN=arn:aws:iam:::role/scorer AWS_WEB_IDENTITY_TOKEN_FILE="$s3/token" WINDLASS_STORES_FOLDER="$work")
plain_tool=$tool
as() { # VARIABLES... -- COMMAND...
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    printf '#!/bin/sh\nexec %s "$@"\n' "$(printf '%q ' "${role[@]}" "${variables[@]}" "$plain_tool")" >"$work/as"
    chmod +x "$work/as"
    tool=$work/as
    "$@"
    local code=$?
    tool=$plain_tool
    return $code
}
check "the role of a service account" as -- round_trip
check "uploads in parts have the session's token, too" as -- store upload $here session 20000000
check "the role may not use another bucket" as 'WINDLASS_BUCKETS=[{"name":"results","identity":"ServiceAccount"}]' -- \
    says 3 "denied: s3://results/x: the storage answered 403 AccessDenied" probe s3://results/x
check "a role that is not the account's" as AWS_ROLE_ARN=arn:aws:iam:::role/other -- \
    says 3 "denied: $here: cannot get keys for the role of the service account (AWS_ROLE_ARN): 403 AccessDenied" probe $here
echo "$(sed 's/\..*\./.e30./' "$s3/token")" >"$work/forged"
check "a token that the issuer has not signed" as AWS_WEB_IDENTITY_TOKEN_FILE="$work/forged" -- says 3 "denied: $here: cannot get keys" probe $here
echo two words >"$work/words"
check "a token of two words" as AWS_WEB_IDENTITY_TOKEN_FILE="$work/words" -- says 3 "denied: $here: $work/words: one word, a token, is expected" probe $here
check "a token that is not there" as AWS_WEB_IDENTITY_TOKEN_FILE="$work/nothing" -- says 3 "$work/nothing: No such file or directory" probe $here
check "half of an identity" as AWS_WEB_IDENTITY_TOKEN_FILE= -- says 3 "AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE are expected, only one is set" probe $here
check "no identity" as AWS_WEB_IDENTITY_TOKEN_FILE= AWS_ROLE_ARN= HOME="$work" -- says 3 "denied: $here: the service account has no role in this pod" probe $here
check "no token service" as AWS_ENDPOINT_URL_STS=https://127.0.0.1:1 -- says 3 "unavailable: $here: the role of the service account: " probe $here
check "in plain" as AWS_ENDPOINT_URL_STS="http://127.0.0.1:$port" -- says 2 "AWS_ENDPOINT_URL_STS is \"http://127.0.0.1:$port/\", expected https:// and a host" probe $here
check "at a link-local address" as AWS_ENDPOINT_URL_STS=https://169.254.169.254 -- says 3 "link-local or a metadata service's; nothing is sent there" probe $here

##### services of the node
echo "pod-token.$RANDOM$RANDOM" >"$s3/pod-token"
python3 tests/s3/keys.py "$s3" arn:aws:iam:::role/scorer >"$work/keys.log" 2>&1 &
until_true 60 [ -s "$s3/keys.port" ]
near=http://127.0.0.1:$(cat "$s3/keys.port")
odd() { # JSON COMMAND...
    echo "$1" >"$s3/odd.own" && mv "$s3/odd.own" "$s3/odd"
    "${@:2}"
    local code=$?
    rm -f "$s3/odd"
    return $code
}
given() { cat "$s3/given"; }
outlasts() { # has its keys renewed three times: they are said to last 2 s
    local before reader
    echo 2 >"$s3/lifetime"
    store probe $here || return
    before=$(given)
    "$tool" outlast $here session "$work/renewed" >"$work/held" 2>&1 &
    reader=$!
    renewed() { [ $(($(given) - before)) -ge 4 ]; }
    until_true 60 renewed
    touch "$work/renewed"
    wait $reader
    local code=$?
    rm "$s3/lifetime" "$work/renewed"
    return $code
}
once() { local before; before=$(given); as "${pod[@]}" -- store list $here && [ $(($(given) - before)) -eq 1 ]; }
pod=(AWS_ROLE_ARN= AWS_WEB_IDENTITY_TOKEN_FILE= AWS_CONTAINER_CREDENTIALS_FULL_URI="$near/v1/credentials" AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$s3/pod-token")
check "EKS Pod Identity" as "${pod[@]}" -- round_trip
check "keys serve many requests" once
check "and are fetched again before they end" as "${pod[@]}" -- outlasts
check "it is busy for a moment" odd '{"path": "/v1", "status": 503, "times": 2}' as "${pod[@]}" -- store probe $here
check "it stays busy" odd '{"path": "/v1", "status": 503, "times": 9}' as "${pod[@]}" -- says 3 "unavailable: $here: EKS Pod Identity answered 503 (6 tries)" probe $here
check "it answers late" odd '{"path": "/v1", "status": 503, "times": 1, "pause": 6}' as "${pod[@]}" -- store probe $here
check "it refuses" as "${pod[@]}" AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE="$s3/token" -- says 3 "denied: $here: EKS Pod Identity answered 401" probe $here
check "its answer is none" odd '{"path": "/v1", "body": "<html>", "times": 9}' as "${pod[@]}" -- says 3 "EKS Pod Identity: the answer has no valid keys" probe $here
check "its keys have ended" odd '{"path": "/v1", "times": 9, "body": "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\",\"Expiration\":\"2020-01-01T00:00:00Z\"}"}' \
    as "${pod[@]}" -- says 3 "EKS Pod Identity: the keys have ended already" probe $here
check "its keys would end a header" odd '{"path": "/v1", "times": 9, "body": "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\\r\\nd: e\",\"Expiration\":\"2099-01-01T00:00:00Z\"}"}' \
    as "${pod[@]}" -- says 3 "EKS Pod Identity: the answer has no valid keys" probe $here
for address in http://10.0.0.1/v1 "https://127.0.0.1/v1" "http://127.0.0.1@10.0.0.1/v1" http://127.0.0.1.example/v1 http://169.254.169.254/v1; do
    check "nothing is asked at $address" as "${pod[@]}" AWS_CONTAINER_CREDENTIALS_FULL_URI=$address -- \
        says 2 "AWS_CONTAINER_CREDENTIALS_FULL_URI is \"$address\", expected http:// and 169.254.170.23 or a loopback address" probe $here
done
node=(AWS_ROLE_ARN= AWS_WEB_IDENTITY_TOKEN_FILE= 'WINDLASS_BUCKETS=[{"name":"films","identity":"Node"}]' AWS_EC2_METADATA_SERVICE_ENDPOINT="$near")
check "the role of a node" as "${node[@]}" -- round_trip
check "a node without a role" odd '{"path": "security-credentials/", "status": 404, "times": 9}' as "${node[@]}" -- says 3 "denied: $here: the instance metadata service: the node has no role" probe $here
check "metadata that is closed to pods" odd '{"path": "api/token", "status": 403, "times": 9}' as "${node[@]}" -- says 3 "denied: $here: the instance metadata service answered 403" probe $here
check "a role whose name leads elsewhere" odd '{"path": "security-credentials/", "body": "../x", "times": 9}' as "${node[@]}" -- says 3 "the instance metadata service: the answer has no name of a role" probe $here
check "a failure in its answer" odd '{"path": "node-role", "body": "{\"Code\": \"AssumeRoleUnauthorizedAccess\"}", "times": 9}' as "${node[@]}" -- says 3 "the instance metadata service: the answer has no valid keys" probe $here
