/* connection_string.h: what is secret in an ODBC connection string, "Driver=...;Uid=...;Pwd={a;b}",
 * so that no message has it: all values but those of keywords that are known to be none, such as
 * Driver, Server and Database (https://learn.microsoft.com/sql/odbc/reference/syntax,
 * SQLDriverConnect). */
#pragma once

#include "lib/error.h"

struct connection_string {
    char **secrets; /* private; owned */
    size_t count;
};

/* INVALID, without any of the text: it is not UTF-8, or a brace has no other one, or something
 * else than a semicolon behind it. Release it in any case. */
NODISCARD int connection_string_read(const char *text, struct connection_string *ret_string,
                                     struct error *err);
void connection_string_release(struct connection_string *string);
/* Replaces the secrets in a message by stars. is_cut: the message may end within one. */
void connection_string_hide(const struct connection_string *string, char *message, bool is_cut);
