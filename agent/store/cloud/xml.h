/* xml.h: reads the XML that storage services write: elements and texts, no declarations, no CDATA.
 * Pure; texts point into what is read, and are decoded in place. */
#pragma once

#include "lib/error.h"

enum { XML_DEPTH_MAX = 8 };

/* Where the reader is: the elements that are open, the outermost first. */
struct xml_path {
    struct xml_element {
        const char *name; /* not terminated */
        size_t length;
        bool is_encoded; /* Encoded="true": its text is percent-encoded, and was decoded */
    } elements[XML_DEPTH_MAX];
    int depth;
};
/* names: "ListBucketResult/Contents/Key", all elements that are open. */
bool xml_is_at(const struct xml_path *path, const char *names);
/* The innermost element is any that is directly in that one. */
bool xml_is_below(const struct xml_path *path, const char *names);

struct xml_visitor {
    const char *root;    /* the outermost element */
    const char *refusal; /* begins the message about other content */
    /* The innermost element ends, and has only that text, which stays valid with what is read. -1
     * with *err set ends the reading with that. */
    int (*leaf)(void *context, const struct xml_path *path, char *text, struct error *err);
    /* The innermost element ends, after its leaf. NULL: not needed. */
    int (*end)(void *context, const struct xml_path *path, struct error *err);
    void *context;
};

/* Overwrites the text. UNAVAILABLE: it is something else, or cut. */
NODISCARD int xml_read(char *text, size_t size, const struct xml_visitor *visitor,
                       struct error *err);

/* Decodes a URL's text in place: "%2F", and "+" for a space. False: it is not such a text, or has a
 * NUL. */
bool xml_decode_url(char *text);
/* Reads a number of up to 18 digits; -1: it is not one. */
NODISCARD int xml_size(const char *text, int64_t *ret_size);
