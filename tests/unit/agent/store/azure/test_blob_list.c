// SPDX-License-Identifier: Apache-2.0
#include "agent/store/azure/blob_list.h"
#include "lib/buffer.h"
#include "tests/test.h"

#include <stdlib.h>

static int collect(void *context, const struct cloud_entry *entry, struct error *err) {
    if (strcmp(entry->name, "refused") == 0) {
        return error_set(err, ERROR_CANCELLED, "enough");
    }
    return buffer_printf(context, err, "%s|%lld|%s%s%s;", entry->name, (long long)entry->size_bytes,
                         entry->token, entry->modified, entry->is_folder ? "|folder" : "");
}

/* The listed blobs, and the marker; or the kind of the error. The caller frees. */
static char *read_list(const char *xml) {
    struct error err = {0};
    AUTO(buffer_release) struct buffer told;
    AUTO(text_freep) char *copy = x_strdup(xml);
    const char *marker = NULL;
    buffer_init(&told, 1 << 20);
    if (blob_list_read(copy, strlen(xml), collect, &told, &marker, &err) < 0) {
        return x_printf("[%s]", error_kind_name(err.kind));
    }
    CHECK_OK(buffer_printf(&told, &err, ">%s", marker), &err);
    return buffer_take(&told, NULL);
}

#define BLOB(name, rest) "<Blob><Name>" name "</Name>" rest "</Blob>"
#define LIST(blobs) "<EnumerationResults><Blobs>" blobs "</Blobs><NextMarker/></EnumerationResults>"

static void reads_what_services_write(void) {
    static const struct {
        const char *xml, *wanted;
    } rows[] = {
        {"\xEF\xBB\xBF<?xml version=\"1.0\" encoding=\"utf-8\"?><EnumerationResults "
         "ServiceEndpoint=\"https://a.blob.core.windows.net/\" "
         "ContainerName=\"c\"><Prefix>l/</Prefix>"
         "<MaxResults>2</MaxResults><Blobs><Blob><Name>l/a &amp; b.txt</Name><Properties>"
         "<Last-Modified>Fri, 20 Nov 2026 10:00:00 GMT</Last-Modified><Etag>0x8DE</Etag>"
         "<Content-Length>12</Content-Length><Content-MD5 /><BlobType>BlockBlob</BlobType>"
         "</Properties><Metadata /></Blob><Blob><Name>l/b</Name><Properties><Etag>\"0x9\"</Etag>"
         "<Content-Length>0</Content-Length></Properties></Blob></Blobs>"
         "<NextMarker>2!80!MDAw</NextMarker></EnumerationResults>\n",
         "l/a & b.txt|12|0x8DEFri, 20 Nov 2026 10:00:00 GMT;l/b|0|0x9;>2!80!MDAw"},
        {LIST(""), ">"},
        {"<EnumerationResults><Blobs/><NextMarker/></EnumerationResults>", ">"},
        {LIST(BLOB("&#x41;&#228;&lt;&gt;&quot;&apos;&#10;", "")), "A\xC3\xA4<>\"'\n|0|;>"},
        {LIST("<Blob><Name Encoded=\"true\">a%EF%BF%BFb</Name></Blob>"), "a\xEF\xBF\xBF"
                                                                         "b|0|;>"},
        {LIST(BLOB("a%41", "")), "a%41|0|;>"},
        {LIST(BLOB("d", "<Metadata><hdi_isfolder>true</hdi_isfolder></Metadata>")),
         "d|0||folder;>"},
        {LIST(BLOB("d", "<Metadata><Hdi_Isfolder>True</Hdi_Isfolder></Metadata>")),
         "d|0||folder;>"},
        {LIST(BLOB("d", "<Metadata><Hdi_Isfolders>true</Hdi_Isfolders></Metadata>")), "d|0|;>"},
        {LIST(BLOB("d", "<Properties><ResourceType>directory</ResourceType></Properties>")),
         "d|0||folder;>"},
        {LIST(BLOB("a", "<Properties><A b='>'>x</A></Properties>")), "a|0|;>"},
        /* A name outside its element does not count. */
        {LIST(BLOB("a", "<Metadata><Name>b</Name></Metadata>")), "a|0|;>"},
        {LIST(BLOB("a", "") BLOB("refused", "")), "[cancelled]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *told = read_list(rows[i].xml);
        CHECK_STR(told, rows[i].wanted);
    }
}

static void refuses_what_is_no_list(void) {
    static const char *const rows[] = {
        "",
        "hello",
        "<html></html>",
        "<EnumerationResults>",
        "<EnumerationResults><Blobs></Blobs>",
        "<EnumerationResults></EnumerationResults><x/>",
        LIST("<Blob></Blob>"),
        LIST(BLOB("", "")),
        LIST(BLOB("a&b;", "")),
        LIST(BLOB("a&#0;", "")),
        LIST(BLOB("a&#xD800;", "")),
        LIST(BLOB("a&#99999999;", "")),
        LIST(BLOB("a&#;", "")),
        LIST("<Blob><Name Encoded=\"true\">a%4</Name></Blob>"),
        LIST("<Blob><Name Encoded=\"true\">a%00</Name></Blob>"),
        LIST(BLOB("a", "<Properties><Content-Length>-1</Content-Length></Properties>")),
        LIST(BLOB("a",
                  "<Properties><Content-Length>9999999999999999999</Content-Length></Properties>")),
        LIST("<!-- b -->"),
        LIST("<![CDATA[x]]>"),
        LIST("<a><b><c><d><e><f><g></g></f></e></d></c></b></a>"),
        "<EnumerationResults><Blobs></EnumerationResults></Blobs>",
        "<EnumerationResults a=\"></EnumerationResults>"};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *told = read_list(rows[i]);
        if (strcmp(told, "[unavailable]") != 0) {
            printf("# %s\n", rows[i]);
        }
        CHECK_STR(told, "[unavailable]");
    }
}

/* A list that is cut anywhere is refused, not read as a shorter one. */
static void refuses_every_part_of_one(void) {
    static const char whole[] = LIST(BLOB("a", "<Properties><Etag>e</Etag></Properties>"));
    for (size_t size = 0; size + 1 < sizeof whole - 1; size++) {
        AUTO(text_freep) char *part = x_strndup(whole, size);
        AUTO(text_freep) char *told = read_list(part);
        CHECK_STR(told, "[unavailable]");
    }
}

int main(void) {
    TEST(reads_what_services_write);
    TEST(refuses_what_is_no_list);
    TEST(refuses_every_part_of_one);
    return TEST_END();
}
