// SPDX-License-Identifier: Apache-2.0
// Texts to tokens by Hugging Face's library, 1,000 at a time: prints the processor time in seconds.
//   node tokens.cjs TOKENIZERS TOKENIZER.json LINES.txt
'use strict';
const fs = require('fs');
const path = require('path');
const [packages, file, texts] = process.argv.slice(2);
const {Tokenizer} = require(path.resolve(packages, 'node_modules/tokenizers'));

(async () => {
    const tokenizer = Tokenizer.fromFile(file);
    const lines = fs.readFileSync(texts, 'utf8').split('\n').filter((line) => line);
    const before = process.cpuUsage();
    for (let at = 0; at < lines.length; at += 1000) await tokenizer.encodeBatch(lines.slice(at, at + 1000));
    const used = process.cpuUsage(before);
    console.log(((used.user + used.system) / 1e6).toFixed(3));
})();
