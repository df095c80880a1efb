// The bars of the GPUs, the plot of tokens and the fan of a pool.

const GPU_KINDS = [['weights', 'weights'], ['held', 'KV in use'], ['promised', 'promised'], ['peak', 'forecast peak'],
  ['stranded', 'KV stranded'], ['room', 'KV free'], ['free', 'free']];
// Replicas of one model have one shade on every GPU.
const MODEL_SHADES = 6;
const shadesOfModels = new Map();
function shadeOf(model) {
  if (!shadesOfModels.has(model)) shadesOfModels.set(model, shadesOfModels.size % MODEL_SHADES);
  return shadesOfModels.get(model);
}
const GPUS_SHOWN = 24;
let allGpus = false;

// The parts of a bar from left to right, in bytes: {kind, size, label}, and where the forecast's peak of each pool lies. A
// pool that several models share counts once.
function partsOf(gpu, pools) {
  const parts = [];
  const peaks = [];
  const seen = new Set();
  let at = 0;
  const add = (kind, size, label, model) => {
    if (size > 0) parts.push({ kind, size, at, model, label: `${label} ${amount(size, 'bytes')}` });
    at += Math.max(0, size);
  };
  for (const part of gpu.parts) {
    const from = at;
    add('weights', part.weights_bytes || 0, `${part.model}: weights`, part.model);
    const pool = pools.get(part.pool);
    const end = () => parts.push({ kind: 'end', at, size: at - from, model: part.model });
    if (!pool || pool.unit !== 'bytes' || seen.has(pool.name)) {
      end();
      continue;
    }
    seen.add(pool.name);
    const within = (value) => Math.min(value, pool.capacity);
    const held = within(pool.held + pool.draining);
    const promised = within(Math.max(held, pool.promised));
    const peak = within(Math.max(promised, pool.forecast_peak));
    if (pool.forecast_peak > 0) peaks.push(at + within(pool.forecast_peak));
    add('held', held, `${part.replica}: KV in use`);
    add('promised', promised - held, `${part.replica}: promised`);
    add('peak', peak - promised, `${part.replica}: forecast peak`);
    const stranded = Math.min(pool.stranded, pool.capacity - peak);
    add('stranded', stranded, `${part.replica}: free, but no waiting request fits`);
    add('room', pool.capacity - peak - stranded, `${part.replica}: KV free`);
    end();
  }
  return { parts, peaks, used: at };
}

function drawBar(svg, gpu, pools) {
  const { parts, peaks, used } = partsOf(gpu, pools);
  const whole = Math.max(gpu.memory_bytes || 0, used) || 1;
  const x = (bytes) => bytes / whole * 1000;
  const line = (kind, at) => shape('line', { class: kind, x1: x(at), x2: x(at), y1: 0, y2: 20, 'vector-effect': 'non-scaling-stroke' });
  svg.replaceChildren(...parts.flatMap((part) => {
    if (part.kind === 'end') {
      // A band below has the shade of the model from its weights to the end of its pool.
      const band = shape('rect', { class: `model-${shadeOf(part.model)}`, x: x(part.at - part.size), width: x(part.size), y: 16, height: 4 }, shape('title'));
      band.firstChild.textContent = part.model || 'unknown model';
      return [band, line('divider', part.at)];
    }
    const bar = shape('rect', { class: part.kind, x: x(part.at), width: x(part.size), y: 0, height: 16 }, shape('title'));
    bar.firstChild.textContent = part.label;
    return [bar];
  }), ...peaks.map((at) => line('mark', at)));
  svg.setAttribute('aria-label', `${gpu.id}: ${amount(used, 'bytes')} of ${amount(gpu.memory_bytes, 'bytes')} taken or reserved`);
}

function gpuCard(key) {
  const card = element('div', { class: 'gpu' }, element('div', { class: 'gpu-head' }, element('b'), element('span')),
    shape('svg', { viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img' }), stateBar(), element('div', { class: 'gpu-parts' }));
  card.dataset.key = key;
  return card;
}

function drawGpus(fleet) {
  const pools = new Map(fleet.pools.map((pool) => [pool.name, pool]));
  const list = byId('gpu-list');
  const known = new Map([...list.children].map((card) => [card.dataset.key, card]));
  const shown = allGpus ? fleet.gpus : fleet.gpus.slice(0, GPUS_SHOWN);
  const cards = shown.map((gpu) => {
    const card = known.get(gpu.id) || gpuCard(gpu.id);
    const [title, size] = card.firstElementChild.children;
    setText(title, gpu.id.startsWith('replica ') ? gpu.id.slice(8) : gpu.id);
    setText(size, [gpu.kind, gpu.memory_bytes ? amount(gpu.memory_bytes, 'bytes') : 'memory unknown'].filter(Boolean).join(' · '));
    drawBar(card.children[1], gpu, pools);
    drawStates(card.children[2], title.textContent, sharesOfGpu(gpu));
    card.children[3].replaceChildren(...gpu.parts.map((part) => {
      const pool = pools.get(part.pool);
      const kv = pool ? ` ${amount(pool.held, pool.unit)} of ${amount(pool.capacity, pool.unit)} KV` : ' KV unknown';
      return element('span', {}, element('i', { class: `model-${shadeOf(part.model)}` }), element('b', {}, part.replica), ` ${part.model || 'unknown model'},${kv}`);
    }));
    return card;
  });
  if (cards.length !== list.children.length || cards.some((card, i) => list.children[i] !== card)) list.replaceChildren(...cards);
  const more = byId('gpu-more');
  more.hidden = fleet.gpus.length <= GPUS_SHOWN;
  setText(more, allGpus ? 'Show fewer' : `Show all ${fleet.gpus.length} GPUs`);
}

// A plot area of `width` by 210 with room for labels.
function plotFrame(node, label) {
  const width = Math.max(280, node.clientWidth);
  const area = { left: 54, right: width - 8, top: 8, bottom: 188 };
  const svg = shape('svg', { viewBox: `0 0 ${width} 210`, role: 'img', 'aria-label': label });
  node.replaceChildren(svg);
  return { svg, area };
}

const text = (x, y, words, anchor = 'start') => {
  const made = shape('text', { x, y, 'text-anchor': anchor });
  made.textContent = words;
  return made;
};

function niceTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((top) => top >= value);
}

const pathOf = (points) => points.map(([x, y], i) => `${i ? 'L' : 'M'}${x.toFixed(1)} ${y.toFixed(1)}`).join('');

function drawTokens(tokens) {
  const kinds = ['active', 'late', 'wasted'];
  const series = kinds.map((kind) => tokens[`${kind}_per_s`]);
  const last = series.map((values) => values[values.length - 1] || 0);
  const { svg, area } = plotFrame(byId('token-plot'), `Tokens per second: ${kinds.map((kind, i) => `${kind} ${last[i]}`).join(', ')}`);
  const top = niceTop(Math.max(10, ...series.flat()));
  const x = (i, count) => area.right - (count - 1 - i) / 119 * (area.right - area.left);
  const y = (value) => area.bottom - value / top * (area.bottom - area.top);
  for (const share of [0, 0.5, 1]) {
    svg.append(shape('line', { class: 'axis', x1: area.left, x2: area.right, y1: y(top * share), y2: y(top * share) }),
      text(area.left - 6, y(top * share) + 4, short(top * share), 'end'));
  }
  svg.append(text(area.left, 205, '2 min ago'), text(area.right, 205, 'now', 'end'));
  kinds.forEach((kind, k) => {
    const points = series[k].map((value, i) => [x(i, series[k].length), y(value)]);
    if (points.length === 0) return;
    if (kind === 'active') {
      svg.append(shape('path', { class: 'area active', d: `${pathOf(points)}L${area.right} ${area.bottom}L${points[0][0]} ${area.bottom}Z` }));
    }
    svg.append(shape('path', { class: `line ${kind}`, d: pathOf(points) }));
  });
}

// What a pool held and forecast, since the page was opened: {at, held, fan} by name.
const poolHistory = new Map();
// The last two forecasts that are followed: {began, fan, points of what their requests hold}, the newest last, by name.
const poolCohorts = new Map();

function noteCohort(pool, now) {
  const kept = poolCohorts.get(pool.name) || [];
  poolCohorts.set(pool.name, kept);
  if (pool.cohort_age_s === null) return;
  const began = now - pool.cohort_age_s;
  let cohort = kept[kept.length - 1];
  if (!cohort || began > cohort.began + 1) {
    // The page saw its forecast only when it was fresh.
    if (pool.cohort_age_s > 3) return;
    cohort = { began, fan: pool.fan, points: [] };
    kept.push(cohort);
    if (kept.length > 2) kept.shift();
  }
  cohort.points.push({ at: now, held: pool.cohort_held });
}

// The newest followed forecast of at least 15 s; the one before until then.
const followedOf = (name, now) => {
  const kept = (poolCohorts.get(name) || []).filter((each) => each.began >= now - 75);
  return kept.filter((each) => now - each.began >= 15).pop() || kept[0];
};

function notePools(fleet) {
  const names = new Set();
  for (const pool of fleet.pools) {
    names.add(pool.name);
    const past = poolHistory.get(pool.name) || [];
    past.push({ at: fleet.time, held: pool.held, fan: pool.fan });
    noteCohort(pool, fleet.time);
    while (past.length && past[0].at < fleet.time - 75) past.shift();
    poolHistory.set(pool.name, past);
  }
  for (const name of poolHistory.keys()) if (!names.has(name)) [poolHistory, poolCohorts].forEach((each) => each.delete(name));
}

function band(points, from, sigmas, x, y) {
  const upper = points.map((point) => [x(from + point.in_s), y(point.mean + sigmas * point.sigma)]);
  const lower = points.map((point) => [x(from + point.in_s), y(Math.max(0, point.mean - sigmas * point.sigma))]);
  return pathOf([...upper, ...lower.reverse()]) + 'Z';
}

function drawFan(fleet) {
  const pool = fleet.pools.find((each) => each.name === byId('pool').value) || fleet.pools[0];
  const node = byId('fan-plot');
  if (!pool) return node.replaceChildren(element('p', { class: 'quiet' }, 'No pool of a known size.'));
  const past = poolHistory.get(pool.name);
  const now = fleet.time;
  const last = pool.fan[pool.fan.length - 1];
  const { svg, area } = plotFrame(node, `${pool.name} holds ${amount(pool.held, pool.unit)} of ${amount(pool.capacity, pool.unit)}; ` +
    `in ${last.in_s} s ${amount(last.mean, pool.unit)} are expected`);
  const highest = Math.max(...past.map((each) => each.held), ...pool.fan.map((each) => each.mean + 2 * each.sigma), pool.capacity * 0.02);
  const top = Math.min(Math.max(highest * 1.15, 1), Math.max(pool.capacity * 1.05, highest * 1.05));
  const x = (at) => area.left + (at - now + 60) / 120 * (area.right - area.left);
  const y = (value) => area.bottom - Math.min(value, top) / top * (area.bottom - area.top);
  for (const share of [0, 0.5, 1]) {
    svg.append(shape('line', { class: 'axis', x1: area.left, x2: area.right, y1: y(top * share), y2: y(top * share) }),
      text(area.left - 6, y(top * share) + 4, pool.unit === 'bytes' ? `${(top * share / 1e9).toFixed(top < 2e10 ? 1 : 0)} GB` : short(top * share), 'end'));
  }
  svg.append(text(area.left, 205, '1 min ago'), text(x(now), 205, 'now', 'middle'), text(area.right, 205, 'in 1 min', 'end'));
  const old = followedOf(pool.name, now);
  if (old && old.points.length > 1) {
    const since = (point) => point.at >= now - 60;
    const points = [{ in_s: 0, mean: old.points[0].held, sigma: 0 }, ...old.fan];
    svg.append(shape('path', { class: 'past2', d: band(points, old.began, 2, x, y) }), shape('path', { class: 'past1', d: band(points, old.began, 1, x, y) }),
      shape('path', { class: 'line cohort', d: pathOf(old.points.filter(since).map((each) => [x(each.at), y(each.held)])) }));
  }
  const points = [{ in_s: 0, mean: pool.held, sigma: 0 }, ...pool.fan];
  svg.append(shape('path', { class: 'fan2', d: band(points, now, 2, x, y) }), shape('path', { class: 'fan1', d: band(points, now, 1, x, y) }),
    shape('path', { class: 'line mean', d: pathOf(points.map((each) => [x(now + each.in_s), y(each.mean)])) }),
    shape('line', { class: 'now', x1: x(now), x2: x(now), y1: area.top, y2: area.bottom }));
  if (pool.capacity <= top) svg.append(shape('line', { class: 'full', x1: area.left, x2: area.right, y1: y(pool.capacity), y2: y(pool.capacity) }));
  const held = past.filter((each) => each.at >= now - 60);
  svg.append(shape('path', { class: 'line held', d: pathOf(held.map((each) => [x(each.at), y(each.held)])) }));
}
