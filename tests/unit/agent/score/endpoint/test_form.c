// SPDX-License-Identifier: Apache-2.0
#include "agent/score/endpoint/answer.h"
#include "agent/score/endpoint/body_template.h"
#include "agent/score/endpoint/complaint.h"
#include "agent/score/endpoint/form.h"
#include "agent/score/endpoint/select.h"
#include "tests/test.h"

#include <stdlib.h>

static json_t *json(const char *text) {
    return json_loads(text, JSON_DECODE_ANY, NULL);
}

static struct endpoint_request request;

static const char *read_line(const char *line) {
    static char said[512];
    struct error err = {0};
    int result = endpoint_request_of_line(line, strlen(line), &request, &err);
    snprintf(said, sizeof said, "%s", result == 0 ? "" : err.text);
    return said;
}

static void lines_are_requests(void) {
    endpoint_request_init(&request);
    CHECK_STR(
        read_line(" {\"custom_id\": \"a\\u00e9\", \"method\":\"POST\", \"url\":\"/v1/embeddings\","
                  "\"body\":{\"model\":\"m\", \"input\":\"x\"}}"),
        "");
    CHECK_STR(request.id.data, "\"a\\u00e9\"");
    CHECK_STR(request.path, "/v1/embeddings");
    CHECK_STR(request.body.data, "{\"model\":\"m\", \"input\":\"x\"}");
    CHECK_STR(request.key, "/v1/embeddings m");
    CHECK_STR(read_line("{\"custom_id\":\"b\",\"url\":\"/v1/x\",\"body\":{\"max_tokens\":100}}"),
              "");
    CHECK_INT(request.tokens, 18 / 4 + 1 + 100);
    CHECK_STR(read_line("{\"custom_id\":\"b\",\"url\":\"/x\",\"body\":{\"stream\": false }}"), "");
    endpoint_request_release(&request);
}

/* Of several servers each has its own. */
static void a_servers_last_part_is_not_repeated(void) {
    CHECK_STR(endpoint_path_at("http://h", "/v1/x"), "/v1/x");
    CHECK_STR(endpoint_path_at("http://h/v1", "/v1/x"), "/x");
    CHECK_STR(endpoint_path_at("http://h/a/v1", "/v1/x"), "/x");
    CHECK_STR(endpoint_path_at("http://h/v1", "/v1x"), "/v1x");
    CHECK_STR(endpoint_path_at("http://h", "/h/x"), "/h/x");
}

static void bad_lines_say_what_they_lack(void) {
    static const char *const rows[][2] = {
        {"[1]", "is not a JSON object"},
        {"{\"url\":\"/x\",\"body\":{}}", "custom_id is missing"},
        {"{\"custom_id\":7,\"url\":\"/x\",\"body\":{}}", "custom_id is missing"},
        {"{\"custom_id\":\"\",\"url\":\"/x\",\"body\":{}}", "custom_id is missing"},
        {"{\"custom_id\":\"a\",\"method\":\"GET\",\"url\":\"/x\",\"body\":{}}", "method is not"},
        {"{\"custom_id\":\"a\",\"url\":\"x\",\"body\":{}}", "url is missing"},
        {"{\"custom_id\":\"a\",\"url\":\"/x y\",\"body\":{}}", "url is missing"},
        {"{\"custom_id\":\"a\",\"url\":\"/x\\r\\nHost: y\",\"body\":{}}", "url is missing"},
        {"{\"custom_id\":\"a\",\"url\":\"/x\",\"body\":[]}", "body is missing"},
        {"{\"custom_id\":\"a\",\"url\":\"/x\"}", "body is missing"},
        {"{\"custom_id\":\"a\",\"url\":\"/x\",\"body\":{\"stream\": true ,\"n\":1}}",
         "body.stream is true: answers are read whole; leave it out"},
    };
    endpoint_request_init(&request);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        const char *said = read_line(rows[i][0]);
        CHECK(strncmp(said, rows[i][1], strlen(rows[i][1])) == 0);
    }
    endpoint_request_release(&request);
}

static const char *fill(const char *template, const char *values) {
    static char said[1024];
    struct error err = {0};
    struct buffer body;
    AUTO(tree_freep) json_t *form = json(template);
    AUTO(tree_freep) json_t *row = json(values);
    buffer_init(&body, sizeof said - 1);
    int result = body_template_fill(form, row, &body, &err);
    snprintf(said, sizeof said, "%s", result == 0 ? body.data : err.text);
    buffer_release(&body);
    return said;
}

static void templates_are_filled(void) {
    const char *row = "{\"id\":7,\"text\":\"a \\\"b\\\"\\n\",\"list\":[1,{\"x\":null}]}";
    CHECK_STR(fill("{\"n\":\"{id}\",\"t\":\"{text}\",\"l\":\"{list}\",\"p\":[true,0.5,null]}", row),
              "{\"n\":7,\"t\":\"a \\\"b\\\"\\n\",\"l\":[1,{\"x\":null}],\"p\":[true,0.5,null]}");
    CHECK_STR(fill("\"{id}: {text}{{x}} {list}\"", row),
              "\"7: a \\\"b\\\"\\n{x} [1,{\\\"x\\\":null}]\"");
    CHECK_STR(fill("{\"a\":{},\"b\":[],\"c\":\"\"}", row), "{\"a\":{},\"b\":[],\"c\":\"\"}");
    CHECK(strstr(fill("\"{no}\"", row), "there is no column \"no\""));
    CHECK(strstr(fill("\"a } b\"", row), "unmatched brace before \"} b\""));
    CHECK(strstr(fill("\"a {\"", row), "unmatched brace"));
    AUTO(tree_freep) json_t *form = json("{\"a\":[{\"b\":\"x {data}\"}]}");
    CHECK(body_template_names(form, "data") && !body_template_names(form, "text"));
}

static const char *choose(const char *pointer, const char *tree) {
    static char said[1024];
    struct error err = {0};
    AUTO(tree_freep) json_t *from = json(tree);
    AUTO(tree_freep) json_t *value = NULL;
    if (select_value(from, pointer, &value, &err) < 0) {
        snprintf(said, sizeof said, "%s", err.text);
        return said;
    }
    AUTO(text_freep) char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
    snprintf(said, sizeof said, "%s", text);
    return said;
}

static void pointers_select(void) {
    const char *tree = "{\"a\":[{\"b~/c\":1}],\"t\":\"{\\\"x\\\":[2,3]}\",\"n\":null}";
    CHECK_STR(choose("/a/0/b~0~1c", tree), "1");
    CHECK_STR(choose("/t#/x/1", tree), "3");
    CHECK_STR(choose("/t#", tree), "{\"x\":[2,3]}");
    CHECK_STR(choose("/n", tree), "null");
    CHECK_STR(choose("/a/1", tree), "the answer has nothing at /a/1");
    CHECK_STR(choose("/a/x", tree), "the answer has nothing at /a/x");
    CHECK_STR(choose("/n#", tree), "what is at /n is not JSON: no text");
}

static const char *fits(const char *schema, const char *value) {
    static char said[512];
    struct error err = {0};
    AUTO(tree_freep) json_t *form = json(schema);
    AUTO(tree_freep) json_t *given = json(value);
    int result = select_fits(form, given, &err);
    snprintf(said, sizeof said, "%s", result == 0 ? "" : err.text);
    return said;
}

static void schemas_decide(void) {
    CHECK_STR(fits("{\"type\":\"integer\"}", "2.0"), "");
    CHECK_STR(fits("{\"type\":\"integer\"}", "2.5"), "is not of type \"integer\"");
    CHECK_STR(fits("{\"type\":[\"string\",\"null\"]}", "null"), "");
    CHECK_STR(fits("{\"required\":[\"a\"]}", "{}"), "\"a\" is missing");
    CHECK_STR(fits("{\"properties\":{\"a\":{\"items\":{\"maximum\":3}}}}", "{\"a\":[1,4]}"),
              "/a/1: 4 is not within maximum 3");
    CHECK_STR(fits("{\"additionalProperties\":false}", "{\"z\":1}"),
              "\"z\" is not a property of it");
    CHECK_STR(fits("{\"additionalProperties\":{\"const\":1}}", "{\"z\":2}"),
              "/z: 2 differs from const");
    CHECK_STR(fits("{\"enum\":[\"spam\",\"ham\"]}", "\"eggs\""), "\"eggs\" is not in enum");
    CHECK_STR(fits("{\"exclusiveMinimum\":1}", "1"), "1 is not within exclusiveMinimum 1");
    CHECK_STR(fits("{\"maxLength\":2}", "\"\xC3\xA9\xC3\xA9\""), "");
    CHECK_STR(fits("{\"minItems\":1}", "[]"), "0 is not within minItems 1");
    CHECK_STR(fits("{\"oneOf\":[{\"type\":\"number\"},{\"minimum\":3}]}", "5"),
              "does not fit exactly one of oneOf");
    CHECK_STR(fits("{\"anyOf\":[{\"type\":\"string\"},{\"minimum\":3}]}", "5"), "");
    CHECK_STR(fits("{\"allOf\":[{\"minimum\":3},{\"maximum\":4}]}", "5"),
              "5 is not within maximum 4");
    CHECK_STR(fits("{\"not\":{\"type\":\"number\"}}", "5"), "fits the schema of not");
    CHECK_STR(fits("false", "5"), "no value is allowed here (the schema false)");
}

static void schemas_are_checked(void) {
    static const char *const good[] = {
        "{}", "{\"type\":[\"string\",\"null\"],\"required\":[],\"minimum\":0.5}",
        "{\"items\":true,\"not\":{},\"additionalProperties\":false,\"anyOf\":[{},true]}"};
    static const char *const bad[] = {
        "{\"type\":\"strin\"}",
        "{\"type\":[]}",
        "{\"type\":[\"null\",7]}",
        "{\"type\":\"string null\"}",
        "{\"enum\":\"a\"}",
        "{\"enum\":{}}",
        "{\"required\":\"a\"}",
        "{\"required\":[1]}",
        "{\"allOf\":{\"a\":{}}}",
        "{\"anyOf\":true}",
        "{\"oneOf\":[7]}",
        "{\"properties\":[{}]}",
        "{\"properties\":{\"a\":\"string\"}}",
        "{\"items\":[{}]}",
        "{\"not\":7}",
        "{\"additionalProperties\":\"no\"}",
        "{\"maximum\":\"3\"}",
        "{\"items\":{\"minLength\":true}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *schema = json(good[i]);
        CHECK_OK(select_check_schema(schema, &err), &err);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct error err = {0};
        AUTO(tree_freep) json_t *schema = json(bad[i]);
        CHECK_INT(select_check_schema(schema, &err) == -1 ? -1 : (int)i, -1);
        CHECK(strstr(err.text, "spec.scorer.endpoint.response.schema: "));
    }
    struct error err = {0};
    AUTO(tree_freep) json_t *odd = json("{\"properties\":{\"a\":{\"pattern\":\"x\"}}}");
    CHECK_INT(select_check_schema(odd, &err), -1);
    CHECK(strstr(err.text, "spec.scorer.endpoint.response.schema: \"pattern\" is not supported"));
}

static void usage_is_read(void) {
    static const struct {
        const char *body;
        int64_t in, cached, out;
    } rows[] = {
        {"{\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"prompt_tokens_details\":{"
         "\"cached_tokens\":3}}}",
         7, 3, 5},
        {"{\"usage\":{\"input_tokens\":8,\"input_tokens_details\":{\"a\":1,\"cached_tokens\":2},"
         "\"output_tokens\":1}}",
         8, 2, 1},
        {"{\"tokens_evaluated\":4,\"tokens_predicted\":9}", 4, 0, 9},
        {"{\"usage\":null}", 0, 0, 0},
        {"{\"usage\":{\"prompt_tokens\":-7,\"prompt_tokens_details\":null}}", 0, 0, 0},
        {"[1]", 0, 0, 0},
        {" 7", 0, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct answer_usage usage = answer_usage_of(rows[i].body, strlen(rows[i].body));
        CHECK_INT(usage.in, rows[i].in);
        CHECK_INT(usage.cached, rows[i].cached);
        CHECK_INT(usage.out, rows[i].out);
    }
}

static void cut_answers_are_found(void) {
    static const struct {
        const char *body;
        bool is_cut;
    } rows[] = {
        {"{\"choices\":[{\"message\":{\"finish_reason\":\"length\"},\"finish_reason\":\"stop\"}]}",
         false},
        {"{\"choices\":[{\"finish_reason\":\"stop\"} , "
         "{\"index\":1,\"finish_reason\":\"length\"}]}",
         true},
        {"{\"choices\": [ {\"finish_reason\" : \"length\"} ] }", true},
        {"{\"choices\":[7,\"length\",[{\"finish_reason\":\"length\"}]]}", false},
        {"{\"choices\":[]}", false},
        {"{\"choices\":{\"finish_reason\":\"length\"}}", false},
        {"{\"type\":\"message\",\"stop_reason\":\"max_tokens\"}", true},
        {"{\"stop_reason\":\"end_turn\"}", false},
        {"{\"done\":true,\"done_reason\":\"length\"}", true},
        {"{\"content\":\"a\",\"stop_type\":\"limit\"}", true},
        {"{\"content\":\"a\",\"stopped_limit\":true}", true},
        {"{\"content\":\"a\",\"stopped_limit\":false}", false},
        {"{\"status\":\"incomplete\",\"output\":[]}", true},
        {"{\"status\":\"completed\"}", false},
        {"[{\"finish_reason\":\"length\"}]", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CHECK_INT(answer_usage_of(rows[i].body, strlen(rows[i].body)).is_cut ? (int)i : -1,
                  rows[i].is_cut ? (int)i : -1);
    }
}

static void complaints_are_one_line(void) {
    static const char *const rows[][2] = {
        {"{\"error\":{\"message\":\"no\\nsuch\",\"code\":404}}", "404 Not Found: no such"},
        {"{\"error\":\"overloaded\"}", "404 Not Found: overloaded"},
        {"{\"detail\":[{\"msg\":\"field required\"}]}", "404 Not Found: field required"},
        {"<html>", "404 Not Found: <html>"},
        {"{\"x\":1}", "404 Not Found"},
        {"", "404 Not Found"},
    };
    char text[COMPLAINT_MAX];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        complaint_read(404, rows[i][0], strlen(rows[i][0]), NULL, text);
        CHECK_STR(text, rows[i][1]);
    }
    const char *unknown = "{\"error\":{\"code\":\"model_not_found\"}}";
    CHECK(complaint_is_of_model(unknown, strlen(unknown)));
    CHECK(!complaint_is_of_model("{}", 2));
}

/* Also one that would be cut within the key. */
static void complaints_do_not_repeat_the_key(void) {
    static const char key[] = "sk-0123456789";
    for (int i = 0; i < 2; i++) {
        for (int before = 0; before < COMPLAINT_MAX; before++) {
            char filler[COMPLAINT_MAX + 1], text[COMPLAINT_MAX];
            memset(filler, '.', sizeof filler);
            filler[before] = 0;
            AUTO(text_freep)
            char *body = i == 0 ? x_printf("%s%s", filler, key)
                                : x_printf("{\"error\":{\"message\":\"%s%s is "
                                           "wrong, %s\"}}",
                                           filler, key, key);
            complaint_read(401, body, strlen(body), key, text);
            CHECK_INT(strstr(text, "sk-") ? before : -1, -1);
        }
    }
}

/* {"a": [[],[],...], "t": "[[],[],...]"} */
static char *lists_of(size_t count) {
    char *text = x_malloc(2 * 3 * count + 32), *at = stpcpy(text, "{\"a\":[");
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < count; k++) {
            at = stpcpy(at, "[],");
        }
        at = stpcpy(at, i == 0 ? "[]],\"t\":\"[" : "[]]\"}");
    }
    return text;
}

static const char *keep(const char *pointer, size_t lists) {
    static char said[512];
    struct error err = {0};
    struct buffer line;
    AUTO(tree_freep) json_t *template = json("{}");
    AUTO(tree_freep) json_t *select = json_pack("{s:s}", "x", pointer);
    AUTO(text_freep) char *body = lists_of(lists);
    const struct endpoint_form form = {.template = template, .path = "/", .select = select};
    const struct endpoint_reply reply = {.status = 200, .body = body, .size = strlen(body)};
    buffer_init(&line, 64 << 20);
    int result = endpoint_form_result(&form, &request, &reply, &line, &err);
    snprintf(said, sizeof said, "%s", result == 0 ? line.data : err.text);
    buffer_release(&line);
    return said;
}

/* An answer is at most 32 MiB, and a tree of it 50 times that. */
static void trees_of_answers_are_small(void) {
    CHECK_STR(keep("/a/0", 10), "{\"x\":[]}");
    CHECK_STR(keep("/t#/10", 10), "{\"x\":[]}");
    CHECK_STR(keep("/t#/10000", 10000), "{\"x\":[]}");
    CHECK(strstr(keep("/a/0", 2 << 20),
                 "the model server's answer: its lists, objects and values take "));
    AUTO(tree_freep) json_t *tree = json_object();
    AUTO(text_freep) char *text = lists_of(2 << 20);
    struct error err = {0};
    json_t *value = NULL;
    json_object_set_new(tree, "t", json_string(text));
    CHECK_INT(select_value(tree, "/t#/a/0", &value, &err), -1);
    CHECK(strstr(err.text, "what is at /t: its lists, objects and values take "));
}

static void errors_are_lines(void) {
    struct buffer line, id;
    struct error err = {0};
    buffer_init(&line, 4096);
    buffer_init(&id, 100);
    CHECK_INT(buffer_printf(&id, &err, "\"a\""), 0);
    CHECK_INT(answer_error_line(&line, &id, "429 Too Many \"R\"", 16, &err), 0);
    CHECK(strstr(line.data,
                 "\"custom_id\":\"a\",\"response\":null,\"error\":{\"code\":\"http_429\","
                 "\"message\":\"429 Too Many \\\"R\\\"\"}}\n"));
    buffer_release(&line);
    buffer_release(&id);
}

int main(void) {
    TEST(lines_are_requests);
    TEST(a_servers_last_part_is_not_repeated);
    TEST(bad_lines_say_what_they_lack);
    TEST(templates_are_filled);
    TEST(pointers_select);
    TEST(schemas_decide);
    TEST(schemas_are_checked);
    TEST(usage_is_read);
    TEST(cut_answers_are_found);
    TEST(complaints_are_one_line);
    TEST(complaints_do_not_repeat_the_key);
    TEST(trees_of_answers_are_small);
    TEST(errors_are_lines);
    return TEST_END();
}
