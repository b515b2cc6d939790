// SPDX-License-Identifier: Apache-2.0
#include "operator/scalar.h"

#include "lib/text/text_list.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *after_sign(const char *text) {
    return text + (*text == '-' || *text == '+');
}

static bool is_all(const char *text, const char *digits) {
    return *text && text[strspn(text, digits)] == 0;
}

bool scalar_is_ambiguous(const char *text) {
    static const char *const words[] = {"y",  "Y",  "yes", "Yes", "YES", "n",   "N",   "no", "No",
                                        "NO", "on", "On",  "ON",  "off", "Off", "OFF", NULL};
    if (text_list_has(words, text)) {
        return true;
    }
    const char *digits = after_sign(text);
    bool octal = digits[0] == '0' && digits[1] && is_all(digits, "0123456789_");
    bool binary = text_starts(digits, "0b") && is_all(digits + 2, "01_");
    octal = octal || (text_starts(digits, "0o") && is_all(digits + 2, "01234567_"));
    /* 1_000 is a number in YAML 1.1 and text here. */
    bool grouped = *digits >= '0' && *digits <= '9' && strchr(digits, '_') &&
                   is_all(digits, "0123456789_.eE+-");
    return octal || binary || grouped;
}

/* [0-9]* ( . [0-9]* )? ( [eE] [-+]? [0-9]+ )?, with a digit before the exponent. */
static bool is_number(const char *text) {
    const char *at = after_sign(text);
    size_t whole = strspn(at, "0123456789");
    at += whole;
    size_t part = 0;
    if (*at == '.') {
        part = strspn(at + 1, "0123456789");
        at += 1 + part;
    }
    if (whole + part == 0) {
        return false;
    }
    if (*at == 'e' || *at == 'E') {
        at = after_sign(at + 1);
        return is_all(at, "0123456789");
    }
    return *at == 0;
}

static int resolve_integer(const char *text, int base, json_t **ret_value, struct error *err) {
    errno = 0;
    long long value = strtoll(text, NULL, base);
    if (errno == ERANGE) {
        return error_set(err, ERROR_INVALID, "%.40s: number too large; a string needs quotes",
                         text);
    }
    *ret_value = json_integer(value);
    return 0;
}

int scalar_resolve(const char *text, json_t **ret_value, struct error *err) {
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const no_numbers[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
    if (scalar_is_ambiguous(text)) {
        return error_set(
            err, ERROR_INVALID, "%s: YAML versions disagree on it; write \"%s\" for the text%s",
            text, text,
            *after_sign(text) <= '9' ? ", or a plain decimal number" : ", or true or false");
    }
    if (text_list_has(nulls, text)) {
        *ret_value = json_null();
    } else if (text_list_has(trues, text)) {
        *ret_value = json_true();
    } else if (text_list_has(falses, text)) {
        *ret_value = json_false();
    } else if (text_list_has(no_numbers, after_sign(text))) {
        return error_set(err, ERROR_INVALID, "%s: not a finite number", text);
    } else if (is_all(after_sign(text), "0123456789")) {
        return resolve_integer(text, 10, ret_value, err);
    } else if (text_starts(text, "0x") && is_all(text + 2, "0123456789abcdefABCDEF")) {
        return resolve_integer(text, 16, ret_value, err);
    } else if (is_number(text)) {
        double value = strtod(text, NULL);
        if (!isfinite(value)) {
            return error_set(err, ERROR_INVALID, "%.40s: number too large", text);
        }
        *ret_value = json_real(value);
    } else {
        json_t *value = json_string(text);
        if (!value) {
            return error_set(err, ERROR_INVALID, "text is not UTF-8");
        }
        *ret_value = value;
    }
    return 0;
}
