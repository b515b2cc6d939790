// SPDX-License-Identifier: Apache-2.0
/* Command lines into words: those of real launchers, and random lines compared with the words of
 * this machine's shell (SOAK_SEED, SOAK_ROUNDS); variables in texts. */
#include "agent/launch/pod/shell_words.h"
#include "agent/launch/pod/variables.h"
#include "lib/file.h"
#include "tests/seed.h"
#include "tests/test.h"

#include <stdlib.h>
#include <unistd.h>

enum { OUTPUT_MAX = 64 << 20 };

/* "a|b|c" of the words, or "shell". */
static char *split(const char *line) {
    struct shell_words words;
    if (!shell_words_split(line, &words)) {
        return x_strdup("shell");
    }
    char *text = x_printf("%zu", words.assigned);
    for (size_t i = 0; i < words.count; i++) {
        char *longer = x_printf("%s|%s", text, words.items[i]);
        free(text);
        text = longer;
    }
    CHECK(words.items[words.count] == NULL);
    shell_words_release(&words);
    return text;
}

static void lines(void) {
    static const struct {
        const char *line, *words;
    } rows[] = {
        {"orted -mca ess \"env\" -mca ess_base_vpid 1",
         "0|orted|-mca|ess|env|-mca|ess_base_vpid|1"},
        {"\"/usr/bin/hydra_pmi_proxy\" --control-port 10.0.0.1:33 --usize -2",
         "0|/usr/bin/hydra_pmi_proxy|--control-port|10.0.0.1:33|--usize|-2"},
        {"A=1 B='x y' prog C=3", "2|A=1|B=x y|prog|C=3"},
        {"prog ''  \"\" a\\ b", "0|prog|||a b"},
        {"prog \"a\\\"b\\\\c\\d\"", "0|prog|a\"b\\c\\d"},
        {"prog a'b'\"c\"d", "0|prog|abcd"},
        {"prog a#b", "0|prog|a#b"},
        {"'A'=1", "0|A=1"}, /* not a variable's name: a command of that name */
        {"1A=1 prog", "0|1A=1|prog"},
        {"prog a~b x=~y", "shell"},
        {"", "shell"},
        {"A=1", "shell"},
        {"( test ! -r ./.profile || . ./.profile; PATH=/x:$PATH ; orted )", "shell"},
        {"cd /tmp", "shell"},
        {"exec orted", "shell"},
        {"prog $HOME", "shell"},
        {"prog `id`", "shell"},
        {"prog \"$HOME\"", "shell"},
        {"prog 'a", "shell"},
        {"prog \"a", "shell"},
        {"prog a\\", "shell"},
        {"prog > file", "shell"},
        {"prog a;b", "shell"},
        {"prog # comment", "shell"},
        {"prog *", "shell"},
        {"~/prog", "shell"},
        {"A=~/x prog", "shell"},
        {"prog a\nb", "shell"},
        {"\"\" a", "shell"},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        AUTO(text_freep) char *words = split(rows[i].line);
        CHECK_STR(words, rows[i].words);
    }
}

static char *random_line(uint64_t *state) {
    static const char *const parts[] = {"a", "b=",  "'",     "\"",         "\\", " ", "  ",  "$",
                                        "#", "~",   "*",     "-x",         "''", ";", "=",   "{",
                                        "!", "\\ ", "\t",    "é",          ",",  "/", "x:~", "[",
                                        "&", ">",   "'a b'", "\"c\\\"d\"", "%",  "@", "^",   "+"};
    char *line = x_strdup("p");
    for (uint64_t i = test_random(state) % 12; i-- > 0;) {
        char *longer = x_printf("%s%s", line, parts[test_random(state) % ARRAY_LEN(parts)]);
        free(line);
        line = longer;
    }
    return line;
}

/* One shell gets all lines that we call plain; p is a function that prints its words. */
static void as_a_shell_has_them(void) {
    uint64_t state = test_seed(5);
    int64_t rounds = test_rounds(2000) * 10;
    printf("# SOAK_SEED=%llu SOAK_ROUNDS=%lld\n", (unsigned long long)state,
           (long long)rounds / 10);
    char folder[] = "/tmp/test-words-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    AUTO(text_freep) char *script = x_printf("%s/script", folder);
    AUTO(text_freep) char *output = x_printf("%s/output", folder);
    AUTO(text_freep) char *wanted_path = x_printf("%s/wanted", folder);
    FILE *lines_file = fopen(script, "w"), *wanted = fopen(wanted_path, "w");
    fputs("cd /nonexistent 2>/dev/null\np() { printf '(%s)' \"$@\"; echo; }\n", lines_file);
    int64_t plain = 0;
    for (int64_t i = 0; i < rounds; i++) {
        AUTO(text_freep) char *line = random_line(&state);
        struct shell_words words;
        if (!shell_words_split(line, &words)) {
            continue;
        }
        if (strcmp(words.items[0], "p") == 0) {
            plain++;
            fprintf(lines_file, "%s\n", line);
            fputs(words.count == 1 ? "()" : "", wanted); /* what printf does without words */
            for (size_t k = 1; k < words.count; k++) {
                fprintf(wanted, "(%s)", words.items[k]);
            }
            fputs("\n", wanted);
        }
        shell_words_release(&words);
    }
    fclose(lines_file);
    fclose(wanted);
    AUTO(text_freep) char *command = x_printf("sh %s >%s 2>&1 </dev/null", script, output);
    CHECK_INT(system(command), 0);
    struct error err = {0};
    AUTO(text_freep) char *seen = NULL;
    AUTO(text_freep) char *hoped = NULL;
    size_t seen_size = 0, hoped_size = 0;
    CHECK_OK(file_read(output, OUTPUT_MAX, &seen, &seen_size, &err), &err);
    CHECK_OK(file_read(wanted_path, OUTPUT_MAX, &hoped, &hoped_size, &err), &err);
    printf("# %lld of %lld lines are plain\n", (long long)plain, (long long)rounds);
    CHECK(plain > rounds / 20);
    CHECK_INT(seen_size, hoped_size);
    CHECK(seen && hoped && strcmp(seen, hoped) == 0);
    CHECK_OK(file_remove_tree(folder, &err), &err);
}

/* ---- variables ------------------------------------------------------------------------------ */

static const char *look_up(void *context, const char *name) {
    static const char *const rows[][2] = {{"A", "a"},           {"B", "<$A>"},      {"C", "<${B}>"},
                                          {"D", "<$C>"},        {"LOOP", "$LOOP."}, {"EMPTY", ""},
                                          {"COSTS", "$$5 $$A"}, {"_x9", "under"}};
    (*(int *)context)++;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (strcmp(rows[i][0], name) == 0) {
            return rows[i][1];
        }
    }
    return NULL;
}

static void variables(void) {
    static const struct {
        const char *text, *wanted;
    } rows[] = {
        {"", ""},
        {"plain", "plain"},
        {"$A", "a"},
        {"x$A/y${A}z", "xa/yaz"},
        {"$AB ${AB} $Ax", "$AB ${AB} $Ax"},
        {"$B $C $D", "<a> <<a>> <<<$A>>>"}, /* three passes, not four */
        {"$LOOP", "$LOOP..."},
        {"[$EMPTY]", "[]"},
        {"$$A $$$A $$$$", "$A $a $$"},
        {"$COSTS", "$5 $A"},
        {"$", "$"},
        {"a$ b", "a$ b"},
        {"$1 ${ ${A ${} $-", "$1 ${ ${A ${} $-"},
        {"$(A)$(a-b) $(date +%s) $(A $()", "a$(a-b) $(date +%s) $(A $()"},
        {"$_x9.", "under."},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct error err = {0};
        AUTO(text_freep) char *text = NULL;
        int asked = 0;
        CHECK_OK(variables_expand(rows[i].text, look_up, &asked, &text, &err), &err);
        CHECK_STR(text, rows[i].wanted);
    }
}

static const char *big(void *context, const char *name) {
    (void)name;
    return context;
}

static void too_much(void) {
    struct error err = {0};
    AUTO(text_freep) char *text = NULL;
    AUTO(text_freep) char *many = x_malloc(EXPAND_MAX + 2);
    memset(many, 'x', EXPAND_MAX + 1);
    many[EXPAND_MAX + 1] = 0;
    CHECK(variables_expand(many, big, many, &text, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
    many[EXPAND_MAX] = 0;
    error_clear(&err);
    CHECK_OK(variables_expand(many, big, many, &text, &err), &err);
    /* 16,000 variables that consist of variables: memory and time are limited. */
    for (size_t i = 0; i + 2 < 32000; i += 2) {
        memcpy(many + i, "$a", 2);
        many[i + 2] = 0;
    }
    error_clear(&err);
    CHECK(variables_expand("$a$a$a$a$a$a$a", big, many, &text, &err) < 0);
    CHECK_INT(err.kind, ERROR_INVALID);
}

int main(void) {
    TEST(lines);
    TEST(as_a_shell_has_them);
    TEST(variables);
    TEST(too_much);
    return TEST_END();
}
