/* cloud_question.h: one question to a service that gives credentials: a token endpoint over TLS, or
 * a service of the machine or node at an address that is known beforehand. */
#pragma once

#include "agent/store/cloud/cloud_place.h"
#include "lib/buffer.h"
#include "lib/net/resolver.h"

struct cloud_question {
    const char *url, *method;
    const char *const *headers;   /* "Name: value", ended by NULL */
    const char *form;             /* sent as a form; NULL: nothing */
    const char *authorities_file; /* NULL: this machine's */
    const char *variable;         /* where the URL comes from, in messages */
    /* The addresses, ended by NULL, that the URL's host must be one of, or a loopback address, and
     * which are asked over plain HTTP; NULL: any host that cloud_check_addresses lets pass, over
     * TLS. */
    const char *const *addresses;
    bool takes_names; /* with addresses: the host may be a name that has no other addresses */
};

/* Blocks, asks once, follows no redirect. An answer of any status is none of the errors: INVALID,
 * the URL is not such a one; DENIED, its host is link-local or its certificate is refused;
 * UNAVAILABLE and TIMEOUT. The caller wipes and frees *ret_body. */
NODISCARD int cloud_question_ask(const struct cloud_question *question, struct resolver *resolver,
                                 int *ret_status, char **ret_body, struct error *err);

/* Adds a field to a form, encoded, behind "&". The form must have the room. */
void cloud_add_field(struct buffer *form, const char *name, const char *value);

/* Reads a token that the kubelet or a webhook has mounted, without white space at its ends. DENIED:
 * it cannot be read, is empty or is not one word. The caller wipes and frees *ret_token. */
NODISCARD int cloud_mounted_token(const char *path, char **ret_token, struct error *err);
