// SPDX-License-Identifier: Apache-2.0
/* Signed statements: of the openssl program's keys, checked here and by openssl. */
#include "agent/result/envelope.h"

#include "agent/result/result_file.h"
#include "lib/digest.h"
#include "lib/file.h"
#include "lib/text/base64.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

static char folder[] = "/tmp/windlass-keys-XXXXXX";

static char *read_text(const char *name) {
    AUTO(text_freep) char *path = file_join(folder, name);
    struct error err = {0};
    char *text = NULL;
    size_t size = 0;
    CHECK_OK(file_read(path, 1 << 20, &text, &size, &err), &err);
    return text;
}

/* KEY.pem and KEY.public.pem */
static void make_key(const char *name, const char *algorithm) {
    AUTO(text_freep)
    char *command = x_printf("cd %s && openssl genpkey -algorithm %s -out %s.pem 2>/dev/null && "
                             "openssl pkey -in %s.pem -pubout -out %s.public.pem",
                             folder, algorithm, name, name, name);
    CHECK_INT(system(command), 0);
}

static struct signature_key *private_key(const char *name) {
    AUTO(text_freep) char *pem = read_text(name);
    struct signature_key *key = NULL;
    struct error err = {0};
    CHECK_OK(signature_key_read_private(pem, &key, &err), &err);
    return key;
}

static struct signature_key *public_key(const char *name) {
    AUTO(text_freep) char *pem = read_text(name);
    struct signature_key *key = NULL;
    struct error err = {0};
    CHECK_OK(signature_key_read_public(pem, &key, &err), &err);
    return key;
}

static const char result_text[] =
    "{\"windlass\":1,\"kind\":\"BatchScore\",\"name\":\"j\",\"outputs\":[{\"name\":\"rows.txt\","
    "\"bytes\":1,\"sha256\":\"00\"}],\"reports\":[],\"list\":{\"name\":\"outputs.jsonl\","
    "\"sha256\":\"11\"}}";

static char *sign_result(const struct signature_key *key) {
    AUTO(tree_freep) json_t *result = json_loads(result_text, 0, NULL);
    return envelope_make(result_text, strlen(result_text), result, key);
}

/* "", or why not. */
static char *check_text(const char *text, const struct signature_key *key) {
    char hex[65];
    struct error err = {0};
    digest_sha256(result_text, strlen(result_text), hex);
    return x_strdup(envelope_check(text, strlen(text), key, hex, &err) < 0 ? err.text : "");
}

static void test_a_statement_is_checked_with_its_key_alone(void) {
    AUTO(signature_key_freep) struct signature_key *own = private_key("own.pem");
    AUTO(signature_key_freep) struct signature_key *open = public_key("own.public.pem");
    AUTO(signature_key_freep) struct signature_key *other = public_key("other.public.pem");
    AUTO(text_freep) char *line = sign_result(own);
    AUTO(text_freep) char *good = check_text(line, open);
    CHECK_STR(good, "");
    AUTO(text_freep) char *bad = check_text(line, other);
    CHECK_STR(bad, "it has no valid signature of this key");
    AUTO(text_freep) char *beside = x_printf("{}\n\n%s{\"payload\":1}\n", line);
    AUTO(text_freep) char *found = check_text(beside, open);
    CHECK_STR(found, "");
    AUTO(text_freep) char *none = check_text("", open);
    CHECK_STR(none, "it has no envelope");
    char hex[65];
    struct error err = {0};
    digest_sha256("{}", 2, hex); /* another result.json */
    CHECK_INT(envelope_check(line, strlen(line), open, hex, &err), -1);
    CHECK(strstr(err.text, "it is about another result.json"));
}

/* Any byte of payload, type and signature that is another makes the envelope invalid. */
static void test_no_byte_can_be_changed(void) {
    AUTO(signature_key_freep) struct signature_key *own = private_key("own.pem");
    AUTO(text_freep) char *line = sign_result(own);
    const char *signatures =
        strstr(line, "\"sig\": \"") ? strstr(line, "\"sig\": \"") : strstr(line, "\"sig\":\"");
    size_t size = strlen(line);
    for (size_t i = 0; i < size; i++) {
        bool is_key_id = strstr(line, "\"keyid\"") < line + i && line + i < signatures;
        /* The id is a hint, which is not signed; base64's last digit has bits without a meaning. */
        if (is_key_id || line[i] == '\n' || line[i + 1] == '=') {
            continue;
        }
        char *changed = x_strndup(line, size);
        changed[i] = changed[i] == 'A' ? 'B' : 'A';
        AUTO(text_freep) char *why = check_text(changed, own);
        if (!*why) {
            printf("# byte %zu of %s\n", i, line);
        }
        CHECK(*why);
        free(changed);
    }
}

static void test_the_statement_names_every_output(void) {
    AUTO(signature_key_freep) struct signature_key *own = private_key("own.pem");
    AUTO(text_freep) char *line = sign_result(own);
    AUTO(tree_freep) json_t *envelope = json_loads(line, 0, NULL);
    AUTO(text_freep) char *payload = NULL;
    size_t size = 0;
    struct error err = {0};
    CHECK_OK(base64_decode(tree_text(envelope, "payload", ""), &payload, &size, &err), &err);
    AUTO(tree_freep) json_t *statement = json_loads(payload, 0, NULL);
    char hex[65], id[65];
    digest_sha256(result_text, strlen(result_text), hex);
    CHECK_STR(tree_text(statement, "subject[0].name", ""), RESULT_NAME);
    CHECK_STR(tree_text(statement, "subject[0].digest.sha256", ""), hex);
    CHECK_STR(tree_text(statement, "subject[1].name", ""), "rows.txt");
    CHECK_STR(tree_text(statement, "subject[2].name", ""), "outputs.jsonl");
    CHECK_STR(tree_text(statement, "predicate.name", ""), "j");
    CHECK(!tree_get(statement, "predicate.outputs"));
    signature_key_id(own, id);
    CHECK_STR(tree_text(envelope, "signatures[0].keyid", ""), id);
}

static void test_other_keys_are_refused(void) {
    AUTO(text_freep) char *rsa = read_text("rsa.pem");
    AUTO(text_freep) char *locked = read_text("locked.pem");
    AUTO(text_freep) char *open = read_text("own.public.pem");
    const struct {
        const char *pem, *says;
    } rows[] = {{rsa, "a key of another algorithm, expected an ed25519 private key"},
                {locked, "no key, expected an ed25519 private key in PEM without a passphrase"},
                {open, "no key, expected"},
                {"", "no key, expected"},
                {"-----BEGIN PRIVATE KEY-----\n", "no key, expected"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct signature_key *key = NULL;
        struct error err = {0};
        CHECK_INT(signature_key_read_private(rows[i].pem, &key, &err), -1);
        CHECK_INT(err.kind, ERROR_INVALID);
        CHECK_STR(strncmp(err.text, rows[i].says, strlen(rows[i].says)) == 0 ? rows[i].says
                                                                             : err.text,
                  rows[i].says);
    }
}

int main(void) {
    if (!mkdtemp(folder)) {
        return 1;
    }
    make_key("own", "ed25519");
    make_key("other", "ed25519");
    make_key("rsa", "RSA");
    AUTO(text_freep)
    char *lock = x_printf("cd %s && openssl pkey -in own.pem -aes256 -passout pass:x -out "
                          "locked.pem",
                          folder);
    CHECK_INT(system(lock), 0);
    TEST(test_a_statement_is_checked_with_its_key_alone);
    TEST(test_no_byte_can_be_changed);
    TEST(test_the_statement_names_every_output);
    TEST(test_other_keys_are_refused);
    struct error ignored = {0};
    (void)!file_remove_tree(folder, &ignored);
    return TEST_END();
}
