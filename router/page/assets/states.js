// The states of the GPUs' time: a thin bar per GPU and one for the fleet, over the last minute.

const STATES = [['productive', 'productive'], ['full', 'memory full'], ['slow', 'slow'], ['for_nobody', 'for nobody'],
  ['blocked', 'blocked on memory'], ['waiting', 'demand waits'], ['elsewhere', 'demand elsewhere'], ['idle', 'idle'], ['asleep', 'asleep'], ['down', 'down']];
const STATE_WINDOW_S = 60;
// {at, fleet, gpus: seconds by id} of the last minute.
let stateHistory = [];

function noteStates(fleet) {
  const last = stateHistory[stateHistory.length - 1];
  if (last && fleet.gpu_time.seconds.productive < last.fleet.productive) stateHistory = [];  // The router was started anew.
  stateHistory.push({ at: fleet.time, fleet: fleet.gpu_time.seconds, gpus: new Map(fleet.gpus.map((gpu) => [gpu.id, gpu.seconds])) });
  while (stateHistory[0].at < fleet.time - STATE_WINDOW_S) stateHistory.shift();
}

// [kind, label, share] of the time between two looks; since the start of the router, before there were two.
function sharesOf(before, after) {
  const spent = STATES.map(([kind]) => Math.max(0, after[kind] - (before && before !== after ? before[kind] : 0)));
  const whole = spent.reduce((sum, each) => sum + each, 0);
  return STATES.map(([kind, label], i) => [kind, label, whole > 0 ? spent[i] / whole : 0]);
}

const sharesOfGpu = (gpu) => sharesOf(stateHistory[0].gpus.get(gpu.id), gpu.seconds);
const sharesOfFleet = (fleet) => sharesOf(stateHistory[0].fleet, fleet.gpu_time.seconds);
// The time in which every stream was on time, whether memory was full or not.
const productiveShare = (fleet) => sharesOfFleet(fleet).reduce((sum, [kind, , share]) => sum + (kind === 'productive' || kind === 'full' ? share : 0), 0);
const wordsOf = (shares) => shares.filter(([, , share]) => share >= 0.005).map(([, label, share]) => `${label} ${percent(share)}`).join(', ');

function drawStates(svg, name, shares) {
  let at = 0;
  svg.replaceChildren(...shares.filter(([, , share]) => share > 0).map(([kind, label, share]) => {
    const bar = shape('rect', { class: `state-${kind}`, x: at * 1000, width: share * 1000, y: 0, height: 20 }, shape('title'));
    bar.firstChild.textContent = `${label} ${percent(share)}`;
    at += share;
    return bar;
  }));
  svg.setAttribute('aria-label', `${name}, the last minute: ${wordsOf(shares) || 'nothing known'}`);
}

const stateBar = () => shape('svg', { class: 'states', viewBox: '0 0 1000 20', preserveAspectRatio: 'none', role: 'img' });

function drawFleetStates(fleet) {
  const node = byId('fleet-states');
  if (!node.firstElementChild) node.append(stateBar(), element('p', { class: 'quiet' }));
  const time = fleet.gpu_time;
  const shares = sharesOfFleet(fleet);
  drawStates(node.children[0], 'All GPUs', shares);
  const wasted = Object.entries(time.wasted_tokens).filter(([, count]) => count > 0);
  const words = [`${time.productive_gpu_hours.toFixed(2)} productive GPU-hours since start`, `${seconds(time.waiting_for_input_s)} without input`];
  if (time.cost_per_million_active_tokens !== null) words.push(`${time.cost_per_million_active_tokens.toFixed(2)} per million active tokens`);
  const stranded = fleet.pools.filter((pool) => pool.stranded > 0).map((pool) => `${pool.name} ${amount(pool.stranded, pool.unit)}`);
  if (time.short_of_memory_s >= 1) words.push(`${seconds(time.short_of_memory_s)} short of memory`);
  if (stranded.length) words.push(`stranded KV: ${stranded.slice(0, 4).join(', ')}${stranded.length > 4 ? ' and more' : ''}`);
  if (wasted.length) words.push(`wasted tokens: ${wasted.map(([cause, count]) => `${short(count)} ${cause.replaceAll('_', ' ')}`).join(', ')}`);
  setText(node.children[1], words.join(' · '));
}
