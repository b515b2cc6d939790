// SPDX-License-Identifier: Apache-2.0
// Texts of mixed scripts and tokenizer files, drawn by a seed, and what Hugging Face's own library makes of them.
//   node tokenizers.cjs FOLDER-OF-NPM VOCABULARY.json FOLDER FILES LINES SEED [TOKENIZER.json ...] [-- REAL.json ...]
// VOCABULARY: that of WordPiece; TOKENIZER: files of BPE and Unigram, of which every third drawn
// file is made. REAL: files that are taken as they are, behind the drawn ones.
// Writes FOLDER/N.json, the tokenizer, N.lines (JSON: a text or two) and N.wanted (what `model tokenize` prints for them).
'use strict';
const fs = require('fs');
const path = require('path');

const [packages, vocabularyFile, folder, files, lines, seed, ...rest] = process.argv.slice(2);
const dashes = rest.includes('--') ? rest.indexOf('--') : rest.length;
const pairFiles = rest.slice(0, dashes), realFiles = rest.slice(dashes + 1);
const {Tokenizer} = require(path.resolve(packages, 'node_modules/tokenizers'));

// ---- drawing ---------------------------------------------------------------------------------------------------
let state = (Number(seed) * 2654435761 + 1) >>> 0;
function draw(count) { // 0 to count - 1 (mulberry32)
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % count;
}
const pick = (list) => list[draw(list.length)];
const maybe = (percent) => draw(100) < percent;

// ---- texts ------------------------------------------------------------------------------------------------------
const scripts = [
    [0x61, 0x7a], [0x41, 0x5a], [0x30, 0x39], [0xc0, 0x17f], [0x391, 0x3c9], [0x410, 0x44f], [0x5d0, 0x5ea],
    [0x620, 0x64a], [0x904, 0x939], [0x93e, 0x94d], [0xe01, 0xe3a], [0x1100, 0x11ff], [0xac00, 0xd7a3],
    [0x3041, 0x30ff], [0x4e00, 0x4fff], [0x1ea0, 0x1ef9], [0xff01, 0xff5e], [0x1f600, 0x1f64f], [0x2460, 0x24ff],
];
const marks = [[0x300, 0x36f], [0x591, 0x5bd], [0x64b, 0x652], [0x1ab0, 0x1ac0], [0x20d0, 0x20f0], [0xfe00, 0xfe0f]];
const spaces = [' ', ' ', ' ', '  ', '\t', '\n', '\r\n', '\u00a0', '\u3000', '\u2028', '\v', '\u0085'];
const within = ([first, last]) => String.fromCodePoint(first + draw(last - first + 1));
function anything() {
    const code = 1 + draw(0x10ffff);
    return code >= 0xd800 && code < 0xe000 ? '?' : String.fromCodePoint(code);
}
function word() {
    if (maybe(1)) return pick(scripts.slice(0, 8).map(within)).repeat(90 + draw(30));
    const script = maybe(40) ? scripts[0] : pick(scripts);
    let text = '';
    for (let size = 1 + draw(9); size > 0; size--) {
        text += maybe(3) ? anything() : within(maybe(10) ? pick(scripts) : script);
        if (maybe(4)) text += within(pick(marks));
    }
    return text;
}
const punctuation = [...'.,;:!?-_()[]{}"\'/\\@#$%&*+=<>|~^`', '。', '、', '«', '»', '–', '…', '।', '؟', '\u200d', '\ufffd', '\u0001'];
function text(vocabulary, addedTexts) {
    let made = maybe(10) ? pick(spaces) : '';
    for (let size = draw(24); size > 0; size--) {
        made += maybe(50) ? pick(vocabulary).replace(/^##/, '') : maybe(15) ? pick(addedTexts) : word();
        if (maybe(20)) made += pick(punctuation);
        if (maybe(80)) made += pick(spaces);
    }
    return made;
}

// ---- patterns --------------------------------------------------------------------------------------------------
// Of public tokenizers (GPT-2, Llama 3, GPT-4o, DeepSeek, CLIP), and others of each part of the syntax.
const contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
const regexes = [
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
    contractions + '|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+',
    '[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+' + contractions + '?|\\p{N}{1,3}|\\s+',
    "<\\|startoftext\\|>|<\\|endoftext\\|>|'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+",
    '[一-龥぀-ゟ゠-ヿ]+', '\\s?\\p{L}++|\\s?\\p{N}++', ' {2,}', '\\s', '\\d', '[a-cx-z]', '[^a-e\\s]+', '.', '\\w+|[^\\w\\s]+',
    '(?=[A-Z])', '^\\S+|\\S+$', '(?:ab|a)(?:c|bcd)?', '\\p{P}', '[\\p{P}\\p{S}]+?', '(?i)straße|ſ|k', '(a|b)*c', '(?>a+)b', '[!-/:-@\\[-`{-~]',
    'e{2}|e', '\\u00e9|\\x{4e00}', '[[:a-z]]', '(?<word>[a-z]+)\\s', 'a{,2}b', '\\A.|.\\z',
];

// SentencePiece's map: a trie as a double array (darts-clone), whose values are places of texts.
function charsmap(pairs) {
    const texts = Buffer.concat(pairs.map(([, to]) => Buffer.from(to + '\0')));
    let place = 0;
    const root = {children: new Map()};
    for (const [from, to] of pairs) {
        let node = root;
        for (const byte of Buffer.from(from)) {
            if (!node.children.has(byte)) node.children.set(byte, {children: new Map()});
            node = node.children.get(byte);
        }
        node.value = place;
        place += Buffer.byteLength(to) + 1;
    }
    const units = [0], used = new Set([0]);
    const set = (at, value) => { while (units.length <= at) units.push(0); units[at] = value >>> 0; };
    // A unit's children are at (place ^ offset) ^ label; a value is the child with label 0.
    const lay = (node, at, label) => {
        const labels = [...node.children.keys(), ...(node.value === undefined ? [] : [0])].sort((a, b) => a - b);
        let base = 1;
        while (labels.some((one) => used.has(base ^ one)) || (base ^ at) >= 1 << 21) base++;
        const has = node.value === undefined ? 0 : 1;
        set(at, (((base ^ at) << 10) | (has << 8) | label) >>> 0);
        for (const one of labels) used.add(base ^ one);
        if (has) set(base, (node.value | 0x80000000) >>> 0);
        for (const [one, child] of node.children) lay(child, base ^ one, one);
    };
    lay(root, 0, 0);
    while (units.length % 256) units.push(0);
    const trie = Buffer.alloc(4 + 4 * units.length);
    trie.writeUInt32LE(4 * units.length, 0);
    units.forEach((unit, i) => trie.writeUInt32LE(unit, 4 + 4 * i));
    return Buffer.concat([trie, texts]).toString('base64');
}
function drawMap() {
    const pairs = new Map([['\t', ' '], ['\r\n', ' '], ['\u00a0', ' '], ['ﬁ', 'fi'], ['①', '1'], ['Ａ', 'A'], ['e\u0301', 'é'], ['\u0001', ''], ['한', 'h']]);
    for (let count = draw(200); count > 0; count--) {
        const from = maybe(70) ? word().slice(0, 1 + draw(2)) : within(pick(scripts)) + within(pick(marks));
        if (from.isWellFormed() && !from.includes('\0')) pairs.set(from, maybe(10) ? '' : word().slice(0, 3).toWellFormed());
    }
    return charsmap([...pairs]);
}

// ---- tokenizer files ----------------------------------------------------------------------------------------------
const flag = () => maybe(50);
const normalizers = [
    () => ({type: 'BertNormalizer', clean_text: flag(), handle_chinese_chars: flag(), strip_accents: pick([null, true, false]), lowercase: flag()}),
    () => ({type: pick(['NFC', 'NFD', 'NFKC', 'NFKD'])}),
    () => ({type: 'Lowercase'}),
    () => ({type: 'StripAccents'}),
    () => ({type: 'Strip', strip_left: flag(), strip_right: flag()}),
    () => ({type: 'Replace', pattern: {String: pick(['a', ' ', 'ss', '--'])}, content: pick(['', 'b', '▁', 'ä '])}),
    () => ({type: 'Replace', pattern: {Regex: pick(regexes)}, content: pick(['', 'b', ' ', '▁'])}),
    () => ({type: 'Precompiled', precompiled_charsmap: drawMap()}),
    () => ({type: 'Prepend', prepend: pick(['▁', 'x '])}),
    () => ({type: 'ByteLevel'}),
];
const byteLevel = () => ({type: 'ByteLevel', add_prefix_space: flag(), trim_offsets: flag(), use_regex: maybe(80)});
const behaviors = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous'];
const preTokenizers = [
    () => ({type: 'BertPreTokenizer'}),
    () => ({type: 'Whitespace'}),
    () => ({type: 'WhitespaceSplit'}),
    () => ({type: 'CharDelimiterSplit', delimiter: pick([' ', 'e', '。'])}),
    () => ({type: 'Punctuation', behavior: pick(behaviors)}),
    () => ({type: 'Digits', individual_digits: flag()}),
    () => ({type: 'Split', pattern: {String: pick([' ', 'a', 'ss'])}, behavior: pick(behaviors), invert: flag()}),
    () => ({type: 'Split', pattern: {Regex: pick(regexes)}, behavior: pick(behaviors), invert: flag()}),
    () => ({type: 'Split', pattern: {Regex: pick(regexes)}, behavior: 'Isolated', invert: false}),
    () => ({type: 'Metaspace', replacement: '▁', prepend_scheme: pick(['always', 'never']), split: flag()}),
    byteLevel,
];
// Alone: behind Prepend, Hugging Face's takes what follows the prepended text for the first piece, too.
const metaspaceFirst = () => ({type: 'Metaspace', replacement: '▁', prepend_scheme: 'first', split: flag()});
function some(list, name, most) {
    const count = draw(most + 1);
    if (count === 0) return null;
    if (count === 1) return pick(list)();
    return {type: 'Sequence', [name]: Array.from({length: count}, () => pick(list)())};
}
const special = (id, type) => ({SpecialToken: {id, type_id: type}});
const sequence = (id, type) => ({Sequence: {id, type_id: type}});
function processor(ids) {
    const pair = (name) => [name, ids[name]];
    const template = {
        type: 'TemplateProcessing',
        single: [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0)],
        pair: [special('[CLS]', 0), sequence('A', 0), special('[SEP]', 0), sequence('B', 1), special('[SEP]', 1)],
        special_tokens: Object.fromEntries(['[CLS]', '[SEP]'].map((name) => [name, {id: name, ids: [ids[name]], tokens: [name]}])),
    };
    const swapped = {...template, pair: [sequence('B', 2), special('[SEP]', 1), sequence('A', 3)]};
    return pick([
        null, template, template, swapped,
        {type: 'BertProcessing', sep: pair('[SEP]'), cls: pair('[CLS]')},
        {type: 'RobertaProcessing', sep: pair('[SEP]'), cls: pair('[CLS]'), trim_offsets: flag(), add_prefix_space: flag()},
        {type: 'Sequence', processors: [{type: 'ByteLevel', add_prefix_space: true, trim_offsets: false, use_regex: true}, template]},
    ]);
}
// How many tokens it adds to two texts.
function added(processor) {
    if (!processor) return 0;
    const [one] = processor.type === 'Sequence' ? processor.processors.slice(1) : [processor];
    if (one.type === 'TemplateProcessing') return one.pair.filter((part) => part.SpecialToken).length;
    return one.type === 'BertProcessing' ? 3 : 4;
}
const token = (id, content, settings) => ({id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: false, ...settings});
function addedTokens(ids) {
    const made = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'].map((name) => token(ids[name], name, {special: true, lstrip: name === '[MASK]' && flag()}));
    let next = Object.keys(ids).length;
    for (const content of ['<new>', 'Éa', 'ſt', '<new><x>', ' _ ']) {
        if (maybe(60)) made.push(token(next++, content, {single_word: maybe(30), lstrip: maybe(30), rstrip: maybe(30), normalized: flag()}));
    }
    return made;
}
function draft(ids, first) {
    const bert = {type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true};
    const normalizer = first ? bert : some(normalizers, 'normalizers', 3);
    const preTokenizer = first ? {type: 'BertPreTokenizer'} : some(preTokenizers, 'pretokenizers', 2);
    const postProcessor = processor(ids);
    // An even number of tokens for two texts: which of them gets an odd one depends, in Hugging Face's, on where it
    // stopped to cut words that truncation would take away.
    const ends = added(postProcessor);
    const isPlain = !JSON.stringify(normalizer).includes('Prepend');
    return {
        version: '1.0',
        truncation: first || maybe(50) ? null : {direction: pick(['Right', 'Left']), max_length: ends + 2 * (1 + draw(20)), strategy: 'LongestFirst', stride: 0},
        padding: first || maybe(50) ? null : {strategy: pick(['BatchLongest', {Fixed: draw(64)}]), direction: pick(['Right', 'Left']),
            pad_to_multiple_of: pick([null, 8]), pad_id: ids['[PAD]'], pad_type_id: draw(2), pad_token: '[PAD]'},
        added_tokens: addedTokens(ids),
        normalizer,
        pre_tokenizer: !first && isPlain && maybe(20) ? metaspaceFirst() : preTokenizer,
        post_processor: postProcessor,
        decoder: null,
        model: !first && maybe(10) ? {type: 'WordLevel', vocab: ids, unk_token: '[UNK]'} : {type: 'WordPiece', unk_token: '[UNK]', continuing_subword_prefix: '##', max_input_chars_per_word: first ? 100 : pick([5, 100]), vocab: ids},
    };
}

// BPE over bytes; or over characters, or Unigram, with tokens for the bytes of characters that have none.
function draftOf(base) {
    const words = base.model.byte_fallback ? pick([null, null, ...preTokenizers.map((make) => make())])
        : pick([byteLevel(), {type: 'Sequence', pretokenizers: [{type: 'Digits', individual_digits: flag()}, byteLevel()]}]);
    return {
        ...base,
        normalizer: maybe(50) ? base.normalizer : some(normalizers, 'normalizers', 2),
        pre_tokenizer: words,
        model: base.model.type === 'Unigram' ? {...base.model, byte_fallback: flag()} : {...base.model, fuse_unk: flag(), ignore_merges: flag(), byte_fallback: base.model.byte_fallback && maybe(70),
            end_of_word_suffix: maybe(15) ? '</w>' : null},
    };
}

(async () => {
    const pairs = pairFiles.map((file) => JSON.parse(fs.readFileSync(file, 'utf8')));
    const ids = JSON.parse(fs.readFileSync(vocabularyFile, 'utf8'));
    const vocabulary = Object.keys(ids);
    for (let file = 0; file < Number(files) + realFiles.length; file++) {
        const real = realFiles[file - Number(files)];
        const made = real ? JSON.parse(fs.readFileSync(real, 'utf8')) : pairs.length && file % 3 === 2 ? draftOf(pick(pairs)) : draft(ids, file === 0);
        const json = JSON.stringify(made);
        const tokenizer = Tokenizer.fromString(json);
        const addedTexts = made.added_tokens.map((one) => one.content);
        const texts = [], wanted = [];
        for (let i = 0; i < Number(lines); i++) {
            const input = maybe(25) ? [text(vocabulary, addedTexts), text(vocabulary, addedTexts)] : text(vocabulary, addedTexts);
            const encoding = Array.isArray(input) ? await tokenizer.encode(...input) : await tokenizer.encode(input);
            texts.push(JSON.stringify(input));
            wanted.push(JSON.stringify({ids: encoding.getIds(), types: encoding.getTypeIds(), mask: encoding.getAttentionMask()}));
        }
        fs.writeFileSync(`${folder}/${file}.json`, json);
        fs.writeFileSync(`${folder}/${file}.lines`, texts.join('\n') + '\n');
        fs.writeFileSync(`${folder}/${file}.wanted`, wanted.join('\n') + '\n');
    }
})();
