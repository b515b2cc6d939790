// SPDX-License-Identifier: Apache-2.0
// The page of `windlass ui`. It asks for what has changed since the version it has, shows the rows
// that are in view alone, and puts all that comes from outside into text nodes.
'use strict';
// The order of ui_row.h.
const KEY = 0, PLACE = 1, NAME = 2, KIND = 3, STATE = 4, TONE = 5, DONE = 6, TOTAL = 7, SAID = 8, RATE = 9, LEFT = 10,
  START = 11, END = 12, RETRIES = 13, COST = 14, MESSAGE = 15, AFTER = 16;
const ROW = 68, LOOK = 1000, LOOK_HIDDEN = 15000;
const TONES = [['busy', 'running'], ['wait', 'waiting'], ['bad', 'failed'], ['stopped', 'stopped'], ['good', 'done']];
const at = id => document.getElementById(id);
const list = at('list'), room = at('room'), none = at('none'), article = at('job'), sum = at('sum');
const mayAct = document.documentElement.dataset.actions === 'yes';

// ---- small things ----
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'on') for (const [event, call] of Object.entries(value)) element.addEventListener(event, call);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}
function draw(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
const count = number => number.toLocaleString('en');
function span(seconds) {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return s + ' s';
  if (s < 3600) return Math.floor(s / 60) + ' min' + (s < 600 && s % 60 ? ' ' + s % 60 + ' s' : '');
  if (s < 86400) return Math.floor(s / 3600) + ' h ' + Math.floor(s / 60) % 60 + ' min';
  return Math.floor(s / 86400) + ' d ' + Math.floor(s / 3600) % 24 + ' h';
}
const now = () => Date.now() / 1000;
const ago = time => time < 0 ? '' : span(now() - time) + ' ago';
const short = number => Number.isFinite(number) ? String(+number.toPrecision(4)) : '';
function said(row) {
  const parts = [];
  if (row[TOTAL] > 0) parts.push(count(row[DONE]) + ' of ' + count(row[TOTAL]));
  else if (row[SAID]) parts.push(row[SAID]);
  if (row[RATE] && row[TONE] === 'busy') parts.push(row[RATE] + '/s');
  if (row[LEFT] >= 0 && row[TONE] === 'busy') parts.push(span(row[LEFT]) + ' left');
  return parts.join(' · ');
}
const stateOf = row => make('span', {class: 'state ' + row[TONE]}, make('span', {class: 'dot ' + row[TONE]}), row[STATE]);

// ---- the list ----
const jobs = new Map();
let version = 0, shown = [], chosen = '', onlyTone = '', words = '', isOff = '', note = '';
function fits(row) {
  return (!onlyTone || row[TONE] === onlyTone) &&
    (!words || (row[NAME] + ' ' + row[KIND] + ' ' + row[PLACE] + ' ' + row[STATE] + ' ' + row[MESSAGE]).toLowerCase().includes(words));
}
function choose() {
  shown = [];
  for (const row of jobs.values()) if (fits(row)) shown.push(row);
  shown.sort((a, b) => b[START] - a[START] || (a[KEY] < b[KEY] ? -1 : 1));
}
const drawn = new Map(); // index -> [row, element]
function rowElement(row, index) {
  const bar = make('div', {class: 'bar', 'aria-hidden': 'true'});
  if (row[TOTAL] > 0 || row[TONE] === 'good') {
    const share = row[TOTAL] > 0 ? Math.min(1, row[DONE] / row[TOTAL]) : 1;
    const part = make('i', {class: row[TONE]});
    part.style.width = 100 * share + '%';
    bar.append(part);
  }
  const element = make('div', {class: 'row', role: 'option', id: 'row-' + index, 'aria-setsize': shown.length,
    'aria-posinset': index + 1, 'aria-selected': row[KEY] === chosen, on: {click: () => open(row[KEY])}},
  make('div', {class: 'top'}, make('span', {class: 'name'}, row[NAME]), stateOf(row)), bar,
  make('div', {class: 'under'}, make('span', {class: 'what'},
    [row[KIND], row[PLACE], said(row)].filter(part => part).join(' · ')), make('span', {}, ago(row[START]))));
  element.style.top = index * ROW + 'px';
  return element;
}
// Only what is in view, and a few more, are elements.
function paint(all) {
  const first = Math.max(0, Math.floor(list.scrollTop / ROW) - 4);
  const last = Math.min(shown.length, Math.ceil((list.scrollTop + list.clientHeight) / ROW) + 4);
  room.style.height = shown.length * ROW + 'px';
  for (const [index, [row, element]] of drawn) {
    if (all || index < first || index >= last || shown[index] !== row) {
      element.remove();
      drawn.delete(index);
    }
  }
  for (let index = first; index < last; index++) {
    if (drawn.has(index)) continue;
    const element = rowElement(shown[index], index);
    drawn.set(index, [shown[index], element]);
    room.append(element);
  }
  const place = shown.findIndex(row => row[KEY] === chosen);
  if (drawn.has(place)) list.setAttribute('aria-activedescendant', 'row-' + place);
  else list.removeAttribute('aria-activedescendant');
}
function summary() {
  const counts = {};
  for (const row of jobs.values()) counts[row[TONE]] = (counts[row[TONE]] || 0) + 1;
  for (const button of at('tones').children) {
    const tone = button.dataset.tone;
    button.lastChild.textContent = button.dataset.word + ' ' + count(counts[tone] || 0);
    button.hidden = !counts[tone] && onlyTone !== tone;
  }
  sum.className = isOff || note ? 'bad' : '';
  sum.textContent = isOff || note || count(jobs.size) + (jobs.size === 1 ? ' job' : ' jobs');
  none.hidden = shown.length > 0 || version === 0;
  none.textContent = jobs.size ? 'No job is like that.' : 'No jobs yet. One that you start with windlass run appears here.';
}
function refresh(all) {
  choose();
  paint(all);
  summary();
}
async function ask(path, options) {
  return fetch(path, Object.assign({cache: 'no-store', credentials: 'omit', redirect: 'error'}, options));
}
async function lookAtJobs() {
  let all = false;
  try {
    const answer = await ask('api/jobs/' + version);
    const news = await answer.json();
    if (!answer.ok) throw new Error(news.message);
    all = isOff !== '' || note !== news.note;
    isOff = '';
    note = news.cut ? 'There are more jobs than this page shows. ' + news.note : news.note;
    if (news.all) jobs.clear();
    for (const row of news.jobs) jobs.set(row[KEY], row);
    for (const key of news.gone) jobs.delete(key);
    all = all || news.all || news.jobs.length > 0 || news.gone.length > 0 || version !== news.version;
    version = news.version;
  } catch (error) {
    all = true;
    isOff = 'windlass ui does not answer: what is shown is old';
  }
  if (all) refresh(false);
  if (performance.getEntriesByName('list').length === 0) performance.mark('list');
}

// ---- one job ----
let job = null, jobTag = '', jobOff = '', jobText = '', logs = null, logsTag = '', logsPod = '', open_ = 0;
function open(key, keepFocus) {
  if (decodeURIComponent(location.hash.slice(1)) !== key) history.replaceState(null, '', key ? '#' + encodeURIComponent(key) : '#');
  const changed = chosen !== key;
  chosen = key;
  document.body.className = key ? 'one' : '';
  if (changed) {
    job = logs = null;
    jobTag = jobText = jobOff = logsTag = logsPod = '';
    open_++;
    article.replaceChildren(make('p', {class: 'quiet'}, key ? '' : 'Choose a job.'));
    article.scrollTop = 0;
    lookAtJob();
  }
  paint(true);
  if (key && !keepFocus) article.focus({preventScroll: true});
  if (!key) list.focus({preventScroll: true});
}
// The element of a key is kept while what it shows is the same: a selection and a scroll survive.
function put(key, value, build) {
  const text = JSON.stringify(value);
  let element = article.querySelector('[data-part="' + key + '"]');
  if (element && element.shownText === text) return;
  const made = build();
  made.dataset.part = key;
  made.shownText = text;
  if (element) element.replaceWith(made);
  else article.append(made);
}
const empty = () => make('div', {hidden: ''});
// A column without any text is left out.
function table(head, all, label) {
  const used = head.map((text, i) => i === head.length - 1 || all.some(cells => cells[i] !== ''));
  head = head.filter((text, i) => used[i]);
  const rows = all.map(cells => cells.filter((cell, i) => used[i]));
  return make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': label}, make('table', {}, make('thead', {}, make('tr', {},
    ...head.map(text => make('th', {scope: 'col'}, text)))),
  make('tbody', {}, ...rows.map(cells => make('tr', {}, ...cells.map((cell, i) =>
    make('td', {class: i === cells.length - 1 ? 'wide' : ''}, cell)))))));
}
const section = (title, ...children) => make('section', {'aria-label': title}, make('h3', {}, title), ...children);
function tile(label, value, more) {
  return make('div', {class: 'tile'}, make('dt', {}, label), make('dd', {}, value), more ? make('dd', {class: 'note'}, more) : null);
}
function tiles(row, unit) {
  const parts = [];
  if (row[TOTAL] > 0) {
    parts.push(tile(unit || 'done', count(row[DONE]), 'of ' + count(row[TOTAL]) + ', ' + Math.floor(100 * row[DONE] / row[TOTAL]) + ' %'));
  } else if (row[SAID]) parts.push(tile('progress', row[SAID]));
  if (row[RATE]) parts.push(tile('a second', row[RATE], row[TONE] === 'busy' ? 'recent' : ''));
  if (row[LEFT] >= 0 && row[TONE] === 'busy') parts.push(tile('left', span(row[LEFT]), 'estimated'));
  if (row[START] >= 0) {
    const end = row[END] >= 0 ? row[END] : row[TONE] === 'busy' || row[TONE] === 'wait' ? now() : -1;
    if (end >= 0) parts.push(tile(row[END] >= 0 ? 'took' : 'so far', span(end - row[START])));
    parts.push(tile('started', new Date(1000 * row[START]).toLocaleTimeString('en-GB'), new Date(1000 * row[START]).toLocaleDateString('en-CA')));
  }
  if (row[RETRIES] > 0) parts.push(tile('tried again', count(row[RETRIES])));
  if (row[COST]) parts.push(tile('cost', row[COST]));
  return make('dl', {class: 'tiles'}, ...parts);
}
let sure = '';
async function act(action, key) {
  if (sure !== action + key && action !== 'suspend' && action !== 'resume') {
    sure = action + key;
    return showJob(true);
  }
  sure = '';
  let text = '';
  try {
    const answer = await ask('api/' + action + '/' + key, {method: 'POST', headers: {'Windlass-Action': '1'}});
    const said = await answer.json();
    text = answer.ok ? action + ': asked for' : said.message;
  } catch (error) {
    text = 'windlass ui does not answer';
  }
  const line = article.querySelector('[data-part=acts] p');
  showJob(true);
  const place = article.querySelector('[data-part=acts] p') || line;
  if (place) place.textContent = text;
}
function acts(key) {
  if (!mayAct) return empty();
  return make('div', {class: 'acts'}, ...job.actions.map(action => make('button', {type: 'button',
    class: 'act' + (sure === action + key ? ' sure' : ''), on: {click: () => act(action, key)}},
  sure === action + key ? (action === 'rerun' ? 'really delete the results and rerun?' : 'really ' + action + '?') : action)), make('p', {class: 'note', role: 'status'}));
}
// A drawing's unit is a pixel, so that its texts are as large as others.
const roomFor = least => Math.max(least, Math.min(900, article.clientWidth - 84));
function curve(data) {
  const W = roomFor(290), H = 190, points = data.points.filter(point => point[1] !== null || point[2] !== null);
  if (!points.length) return empty();
  const values = points.flatMap(point => [point[1], point[2]]).filter(value => value !== null);
  let low = Math.min(...values), high = Math.max(...values);
  if (low === high) { low -= Math.abs(low) * .1 || 1; high += Math.abs(high) * .1 || 1; }
  const end = points[points.length - 1][0], start = points[0][0];
  const x = value => 52 + (W - 62) * (end === start ? .5 : (value - start) / (end - start));
  const y = value => 10 + (H - 38) * (1 - (value - low) / (high - low));
  const path = column => points.filter(point => point[column] !== null).map((point, i) => (i ? 'L' : 'M') + x(point[0]).toFixed(1) + ' ' + y(point[column]).toFixed(1)).join('');
  const svg = draw('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label':
    `${data.metric}: best ${short(points[points.length - 1][1])} after ${end} reports`});
  for (let i = 0; i < 4; i++) {
    const value = low + (high - low) * i / 3;
    svg.append(draw('path', {class: 'grid', d: `M52 ${y(value)}H${W - 10}`}), draw('text', {x: 46, y: y(value) + 4, 'text-anchor': 'end'}, short(value)));
  }
  svg.append(draw('path', {class: 'line mean', d: path(2)}), draw('path', {class: 'line', d: path(1)}),
    draw('text', {x: 52, y: H - 8}, 'report ' + start), draw('text', {x: W - 10, y: H - 8, 'text-anchor': 'end'}, 'report ' + end));
  return section(data.metric, make('p', {class: 'note'}, make('span', {class: 'key'}), 'best so far', make('span', {class: 'key mean'}), 'mean so far'), svg);
}
// One axis for each parameter and the metric; a line for each trial.
function trials(data) {
  const axes = data.parameters.concat([{name: data.metric, isLogarithmic: false}]), W = roomFor(110 * axes.length), H = 280;
  const value = (trial, i) => i < data.parameters.length ? trial.values[i] : trial.best === null ? '' : String(trial.best);
  const scales = axes.map((axis, i) => {
    const texts = data.trials.map(trial => value(trial, i)).filter(text => text !== ''), numbers = texts.map(Number);
    if (!texts.length || numbers.some(number => !Number.isFinite(number))) {
      const words = [...new Set(texts)].sort();
      return {of: text => words.length > 1 ? words.indexOf(text) / (words.length - 1) : .5, ends: words.length > 1 ? [words[0], words[words.length - 1]] : [words[0] || '', '']};
    }
    const low = Math.min(...numbers), high = Math.max(...numbers), log = axis.isLogarithmic && low > 0, turn = log ? Math.log : number => number;
    return {of: text => high > low ? (turn(+text) - turn(low)) / (turn(high) - turn(low)) : .5, ends: [short(low), high > low ? short(high) : '']};
  });
  const x = i => 50 + (W - 100) * (axes.length > 1 ? i / (axes.length - 1) : .5), y = share => 250 - 205 * share;
  const svg = draw('svg', {viewBox: `0 0 ${W} ${H}`, role: 'img', 'aria-label': `${data.trials.length} trials: parameters and ${data.metric}`});
  svg.style.minWidth = 110 * axes.length + 'px';
  const order = data.trials.filter(trial => !trial.isBest).concat(data.trials.filter(trial => trial.isBest));
  for (const trial of order) {
    const path = axes.map((axis, i) => [i, value(trial, i)]).filter(([, text]) => text !== '')
      .map(([i, text], n) => (n ? 'L' : 'M') + x(i).toFixed(1) + ' ' + y(scales[i].of(text)).toFixed(1)).join('');
    const best = trial.best === null ? '' : ', ' + data.metric + ' ' + short(trial.best);
    svg.append(draw('path', {class: 'trial ' + trial.state + (trial.isBest ? ' best' : ''), d: path}, draw('title', {}, trial.name + ': ' + trial.state + best)));
  }
  axes.forEach((axis, i) => svg.append(draw('path', {class: 'grid', d: `M${x(i)} 45V250`}),
    draw('text', {x: x(i), y: 18, 'text-anchor': 'middle'}, axis.name), draw('text', {x: x(i), y: 36, 'text-anchor': 'middle'}, scales[i].ends[1]),
    draw('text', {x: x(i), y: 268, 'text-anchor': 'middle'}, scales[i].ends[0])));
  const keys = ['completed', 'running', 'stopped', 'failed'].map(state => [state, data.trials.filter(trial => trial.state === state).length]).filter(pair => pair[1]);
  const legend = make('p', {class: 'note'}, ...keys.flatMap(([state, number]) => [make('span', {class: 'key ' + state}), number + ' ' + state]),
    data.trials.some(trial => trial.isBest) ? make('span', {class: 'key mean'}) : '', data.trials.some(trial => trial.isBest) ? 'best' : '');
  const rows = data.trials.slice().sort((a, b) => b.isBest - a.isBest || b.index - a.index).slice(0, 100)
    .map(trial => [trial.name, trial.state, trial.best === null ? '' : short(trial.best), ...trial.values, trial.message]);
  return section('Trials', legend, make('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'Parallel coordinates'}, svg),
    table(['trial', 'state', data.metric, ...data.parameters.map(axis => axis.name), ''], rows, 'Trials'));
}
function figures(pairs) {
  return section('Figures', make('dl', {class: 'figures'}, ...pairs.map(([label, value]) => {
    const text = typeof value === 'number' ? count(value) : value;
    return make('div', {class: text.length > 30 ? 'long' : ''}, make('dt', {}, label), make('dd', {}, text));
  })));
}
function files(key) {
  const links = job.files.map(file => make('tr', {}, make('th', {scope: 'row'}, file.label), make('td', {class: 'wide'},
    file.page ? make('a', {href: 'page/' + file.page + '/' + key, target: '_blank', rel: 'noopener'}, 'open ' + file.label) : file.path)));
  const outputs = job.outputs.map(path => make('tr', {}, make('th', {scope: 'row'}, 'output'), make('td', {class: 'wide'}, path)));
  return links.length + outputs.length ? section('Files', make('table', {}, make('tbody', {}, ...outputs, ...links))) : empty();
}
// Pictures are loaded when they come into view.
function pictures(key) {
  const one = (pair, side) => make('a', {href: 'picture/' + pair[side] + '/' + key, target: '_blank', rel: 'noopener', 'aria-label': pair.name + ' ' + side},
    make('img', {src: 'picture/' + pair[side] + '/' + key, alt: pair.name + ' ' + side, loading: 'lazy', decoding: 'async'}));
  return section('Before and after', make('div', {class: 'pictures'}, ...job.pictures.map(pair =>
    make('figure', {}, make('div', {}, one(pair, 'before'), one(pair, 'after')), make('figcaption', {class: 'note'}, pair.name)))));
}
// The jobs that are linked with one by spec.after: {rows: Map of key to row, links: [[from, to]]}; null: none.
function linked(key) {
  const named = new Map(), all = [], rows = new Map([[key, jobs.get(key)]]);
  for (const row of jobs.values()) {
    named.set(row[PLACE] + ' ' + row[KIND] + '/' + row[NAME], row);
    named.set(row[PLACE] + ' /' + row[NAME], row);
  }
  for (const row of jobs.values()) for (const text of row[AFTER] || []) {
    const from = jobs.get(text) || named.get(row[PLACE] + ' ' + text);
    if (from && from !== row) all.push([from, row]);
  }
  all.sort((a, b) => b[1][START] - a[1][START]);
  const isTaken = row => [...rows.values()].some(one => one[NAME] === row[NAME] && one[KIND] === row[KIND] && one[PLACE] === row[PLACE]);
  for (let grows = jobs.has(key); grows;) { // of several runs of one job the newest
    grows = false;
    for (const [from, to] of all) for (const [here, there] of [[from, to], [to, from]]) {
      if (!rows.has(here[KEY]) || rows.has(there[KEY]) || rows.size >= 40 || isTaken(there)) continue;
      rows.set(there[KEY], there);
      grows = true;
    }
  }
  const links = all.filter(([from, to]) => rows.has(from[KEY]) && rows.has(to[KEY])).map(([from, to]) => [from[KEY], to[KEY]]);
  return links.length ? {rows, links} : null;
}
// A row of boxes for all that can run at the same time, from the first steps down.
function pipeline({rows, links}) {
  const depth = new Map([...rows.keys()].map(key => [key, 0]));
  for (let turn = 0; turn < rows.size; turn++) for (const [from, to] of links) depth.set(to, Math.min(rows.size, Math.max(depth.get(to), depth.get(from) + 1)));
  const layers = [...new Set([...depth.values()].sort((a, b) => a - b))].map(level => [...rows.values()].filter(row => depth.get(row[KEY]) === level)
    .sort((a, b) => a[NAME] < b[NAME] ? -1 : 1));
  const most = Math.max(...layers.map(layer => layer.length)), W = roomFor(112 * most), wide = Math.min(200, (W - 12 * (most - 1)) / most);
  const places = new Map(), H = 44, GAP = 30;
  layers.forEach((layer, level) => layer.forEach((row, i) => places.set(row[KEY],
    [(W - layer.length * wide - (layer.length - 1) * 12) / 2 + i * (wide + 12), 2 + level * (H + GAP)])));
  const svg = draw('svg', {viewBox: `0 0 ${W} ${layers.length * (H + GAP) - GAP + 4}`, role: 'group', 'aria-label': `Pipeline of ${rows.size} jobs`});
  svg.style.minWidth = 112 * most + 'px';
  svg.style.maxWidth = W + 'px';
  for (const [from, to] of links) {
    const [x, y] = places.get(from), [u, v] = places.get(to), mid = GAP / 2;
    svg.append(draw('path', {class: 'link', d: `M${x + wide / 2} ${y + H}C${x + wide / 2} ${y + H + mid} ${u + wide / 2} ${v - mid} ${u + wide / 2} ${v}`}));
  }
  const cut = text => text.length * 7 > wide - 34 ? text.slice(0, Math.max(3, Math.floor((wide - 34) / 7))) + '…' : text;
  for (const [key, [x, y]] of places) {
    const row = rows.get(key);
    svg.append(draw('a', {class: 'step ' + row[TONE] + (key === chosen ? ' here' : ''), href: '#' + encodeURIComponent(key),
      'aria-label': row[NAME] + ': ' + row[STATE]}, draw('title', {}, row[NAME] + ': ' + row[STATE]),
    draw('rect', {x, y, width: wide, height: H, rx: 8}), draw('circle', {cx: x + 15, cy: y + H / 2, r: 5}),
    draw('text', {class: 'name', x: x + 28, y: y + 19}, cut(row[NAME])), draw('text', {x: x + 28, y: y + 34}, cut(row[STATE]))));
  }
  return section('Pipeline', make('div', {class: 'scroll'}, svg));
}
const time = text => text ? text.replace('T', ' ').replace('Z', '') : '';
function showJob() {
  const key = chosen, row = job.row;
  put('head', [row[NAME], row[STATE], row[TONE], row[KIND], row[PLACE]], () => make('div', {},
    make('button', {class: 'back', type: 'button', on: {click: () => open('')}}, '‹ all jobs'),
    make('div', {class: 'head'}, make('h2', {}, row[NAME]), stateOf(row)), make('p', {class: 'note'}, row[KIND] + (row[PLACE] ? ' in ' + row[PLACE] : ' on this machine'))));
  put('off', jobOff, () => jobOff ? make('p', {class: 'message bad', role: 'status'}, jobOff) : empty());
  put('message', [job.message, row[TONE], job.notLive], () => make('div', {class: 'message' + (row[TONE] === 'bad' ? ' bad' : '')}, job.message,
    job.notLive ? make('p', {class: 'note'}, 'Figures as of the last write of the status: ' + job.notLive) : null));
  put('deed', job.actionFailed, () => job.actionFailed ? make('p', {class: 'message bad', role: 'status'}, job.actionFailed) : empty());
  put('acts', [job.actions, sure], () => acts(key));
  put('tiles', [row, Math.floor(row[END] < 0 ? now() / 2 : 0)], () => tiles(row, job.unit));
  const graph = linked(key);
  put('pipeline', graph && [[...graph.rows.values()].map(one => [one[KEY], one[NAME], one[STATE], one[TONE]]), graph.links],
    () => graph ? pipeline(graph) : empty());
  put('pictures', job.pictures, () => job.pictures.length ? pictures(key) : empty());
  put('curve', job.curve, () => job.curve ? curve(job.curve) : empty());
  put('made', job.made, () => job.made && job.made.trials.length ? trials(job.made) : empty());
  put('failures', job.failures, () => job.failures.length ? section('Items that failed', table(['item', 'tries', 'cause'],
    job.failures.map(one => [one.item, count(one.tries), one.cause]), 'Items that failed')) : empty());
  const told = job.figures.filter(([, value]) => value !== 0);
  put('figures', told, () => told.length ? figures(told) : empty());
  put('runs', job.runs, () => job.runs.length ? section('Runs', table(['run', 'state', 'due', ''], job.runs.map(([name, state, due, text]) =>
    [name, state, time(due), text]), 'Runs')) : empty());
  put('pods', job.pods, () => job.pods.length ? section('Pods', table(['pod', 'state', 'node', 'since', ''], job.pods.map(pod =>
    [pod.name, pod.state, pod.node, time(pod.start), pod.why]), 'Pods')) : empty());
  put('files', [job.outputs, job.files], () => files(key));
  put('conditions', job.conditions, () => job.conditions.length ? section('Conditions', table(['condition', 'is', 'reason', 'since', ''],
    job.conditions.map(one => [one.type, one.status, one.reason, time(one.time), one.message]), 'Conditions')) : empty());
  showLogs();
}
function showLogs() {
  const pods = logs || [];
  put('logs', pods.map(log => log.pod), () => {
    if (!pods.length) return empty();
    if (!pods.some(log => log.pod === logsPod)) logsPod = pods[0].pod;
    const menu = make('select', {'aria-label': 'Pod', on: {change: () => { logsPod = menu.value; fillLog(true); }}},
      ...pods.map(log => make('option', {value: log.pod, selected: log.pod === logsPod ? '' : null}, log.pod)));
    return make('section', {'aria-label': 'Log'}, make('div', {class: 'logs'}, make('h3', {}, 'Log'), menu),
      make('pre', {tabindex: '0', role: 'log', 'aria-live': 'off', 'aria-label': 'Last lines of the log'}));
  });
  fillLog(false);
}
function fillLog(jump) {
  const pre = article.querySelector('pre'), log = (logs || []).find(one => one.pod === logsPod);
  if (!pre || !log) return;
  const text = log.lines.join('\n') || 'nothing yet', isAtEnd = pre.scrollTop + pre.clientHeight > pre.scrollHeight - 30;
  if (pre.textContent === text) return;
  pre.textContent = text;
  if (jump || isAtEnd) pre.scrollTop = pre.scrollHeight;
}
async function read(path, tag) {
  const answer = await ask(path, tag ? {headers: {'If-None-Match': tag}} : {});
  if (answer.status === 304) return null;
  const tree = await answer.json();
  if (!answer.ok) throw new Error(tree.message);
  return [tree, answer.headers.get('etag') || ''];
}
async function lookAtJob() {
  const key = chosen, turn = open_;
  let effect = 'What is shown is old: ';
  if (!key) return;
  try {
    const news = await read('api/job/' + key, jobTag);
    if (turn !== open_) return;
    if (news) {
      const isFirst = !job;
      [job, jobTag] = news;
      if (isFirst) {
        jobOff = '';
        article.replaceChildren();
      }
    }
    if (job) showJob();
    effect = 'No new lines of the log: ';
    const lines = await read('api/logs/' + key, logsTag);
    if (turn !== open_) return;
    if (lines) [logs, logsTag] = lines;
    jobOff = '';
    if (job) showJob();
  } catch (error) {
    if (turn !== open_) return;
    const why = error instanceof TypeError ? 'windlass ui does not answer' : error.message;
    jobOff = effect + why;
    if (job) showJob();
    else article.replaceChildren(make('button', {class: 'back', type: 'button', on: {click: () => open('')}}, '‹ all jobs'),
      make('p', {class: 'message bad'}, why));
  }
}

// ---- what the user does ----
function move(by) {
  const place = shown.findIndex(row => row[KEY] === chosen);
  const next = place < 0 ? (by > 0 ? 0 : shown.length - 1) : Math.min(shown.length - 1, Math.max(0, place + by));
  if (!shown[next]) return;
  if (next * ROW < list.scrollTop) list.scrollTop = next * ROW;
  if ((next + 1) * ROW > list.scrollTop + list.clientHeight) list.scrollTop = (next + 1) * ROW - list.clientHeight;
  open(shown[next][KEY], true);
}
list.addEventListener('keydown', event => {
  const page = Math.max(1, Math.floor(list.clientHeight / ROW) - 1);
  const steps = {ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -shown.length, End: shown.length};
  if (event.key in steps) move(steps[event.key]);
  else if (event.key === 'Enter') article.focus({preventScroll: true});
  else return;
  event.preventDefault();
});
document.addEventListener('keydown', event => {
  if (event.key === 'Escape' && chosen) open('');
  if (event.key === '/' && !/^(input|select)$/i.test(event.target.tagName)) { event.preventDefault(); at('find').focus(); }
});
at('find').addEventListener('input', event => { words = event.target.value.trim().toLowerCase(); list.scrollTop = 0; refresh(true); });
for (const [tone, word] of TONES) {
  at('tones').append(make('button', {type: 'button', 'aria-pressed': 'false', 'data-tone': tone, 'data-word': word, hidden: '', on: {click: event => {
    onlyTone = onlyTone === tone ? '' : tone;
    for (const button of at('tones').children) button.setAttribute('aria-pressed', String(button.dataset.tone === onlyTone));
    list.scrollTop = 0;
    refresh(true);
    event.currentTarget.focus();
  }}}, make('span', {class: 'dot ' + tone}), ''));
}
list.addEventListener('scroll', () => paint(false), {passive: true});
addEventListener('resize', () => paint(false));
addEventListener('hashchange', () => open(decodeURIComponent(location.hash.slice(1))));
let timer = 0;
async function look() {
  clearTimeout(timer);
  await lookAtJobs();
  await lookAtJob();
  clearTimeout(timer);
  timer = setTimeout(look, document.hidden ? LOOK_HIDDEN : LOOK);
}
document.addEventListener('visibilitychange', () => { if (!document.hidden) look(); });
setInterval(() => { if (!document.hidden) paint(true); }, 30000); // "3 min ago"
look();
if (location.hash.length > 1) open(decodeURIComponent(location.hash.slice(1)), true);
