// SPDX-License-Identifier: Apache-2.0
#include "lib/text/usage_error.h"

#include "tests/test.h"

static void the_words_and_the_code_decide(void) {
    static const struct {
        int code;
        const char *output;
        bool is_usage;
    } rows[] = {
        {2, "usage: train.py [-h] --data DATA | train.py: error: unrecognized arguments: --dat",
         true},
        {2, "train.py: error: the following arguments are required: --data", true},
        {2, "score: invalid option -- 'q' | Usage: score [-n N] FILE", true},
        {2, "loading | Usage: score [-n N] FILE", true},
        {2, "loading\nUsage: score [-n N] FILE\n", true},
        {2, "Try 'main.py --help' for help. | Error: No such option: --epoch", true},
        {2, "flag provided but not defined: -x | Usage of /tmp/go:", true},
        {2, "python3: can't open file '/mnt/code/trian.py': [Errno 2] No such file or directory",
         true},
        {2, "sh: 1: Syntax error: Unterminated quoted string", true},
        {64, "usage: x", true},
        {127, "sh: 1: nonsense: not found", true},
        {127, "bash: line 1: nonsense: command not found", true},
        {126, "sh: 1: /mnt/code/a: Permission denied", true},
        {126, "/mnt/code/a: cannot execute: required file not found", true},
        {1, "    import torhc | ModuleNotFoundError: No module named 'torhc'", true},
        {1, "  File \"a.py\", line 3\n    for x in y\n              ^\nSyntaxError: expected ':'",
         true},
        {1, "NameError: name 'modle' is not defined", true},
        {1, "Traceback | UnboundLocalError: local variable 'loss' referenced before assignment",
         true},
        {1, "IndentationError: unexpected indent", true},
        {1, "IndentationError: unexpected indent\n\n", true},
        {1, "NameError: name 'x' is not defined | OSError: [Errno 5] Input/output error", false},
        {1, "NameError: name 'x' is not defined\nDuring handling\nConnectionError: down", false},
        {1, "ImportError: libcuda.so.1: cannot open shared object file", false}, /* this node */
        {1, "OSError: [Errno 116] Stale file handle: 'x'", false},
        {1, "training: caught a NameError: ignored", false},
        {3, "NameError: name 'x' is not defined", false},
        {2, "", false},
        {2, "epoch 3: loss is nan", false},
        {2, "memory usage: 81 %", false}, /* no help */
        {2, "goroutine 1 [running]:", false},
        {1, "usage: train.py [-h]", false},
        {0, "usage: train.py [-h]", false},
        {137, "usage: train.py [-h]", false},
        {127, "the data server said 127", false},
        {126, "", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        if (usage_error_is(rows[i].code, rows[i].output) != rows[i].is_usage) {
            printf("# %d: %s\n", rows[i].code, rows[i].output);
            test_failures++;
        }
    }
}

int main(void) {
    TEST(the_words_and_the_code_decide);
    return TEST_END();
}
