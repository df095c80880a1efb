// The connection to the router and the page as a whole.

const STALE_MS = 4000;
const LONGEST_PAUSE_MS = 10000;
let latest = null;  // The newest snapshot.
let heardAt = 0;    // When it came, by the clock of this page.
let pause = 1000;
let retryTimer = null;
let retryAt = 0;
let connection = null;

const adminKey = () => sessionStorage.getItem('penstock-key');

async function connect() {
  clearTimeout(retryTimer);
  retryAt = 0;
  if (connection) connection.abort();
  const own = connection = new AbortController();
  try {
    const headers = adminKey() ? { authorization: `Bearer ${adminKey()}` } : {};
    const answer = await fetch('/penstock/events', { headers, signal: own.signal, cache: 'no-store' });
    if (answer.status === 401 || answer.status === 403) return askForKey(answer);
    if (!answer.ok) throw new Error(`the router answered ${answer.status}`);
    byId('key-form').hidden = true;
    await readEvents(answer.body.getReader());
    throw new Error('the router ended the stream');
  } catch (error) {
    if (own !== connection) return;
    retryAt = Date.now() + pause;
    retryTimer = setTimeout(connect, pause);
    pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
    showLink();
  }
}

async function askForKey(answer) {
  const error = await answer.json().catch(() => null);
  byId('key-form').hidden = false;
  byId('main').hidden = !latest;
  connection = null;
  sessionStorage.removeItem('penstock-key');
  setText(document.querySelector('#key-form label'), error && error.error ? error.error.message : 'An admin key is needed.');
  showLink();
}

async function readEvents(reader) {
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const data = text.slice(0, end).split('\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6)).join('\n');
      text = text.slice(end + 2);
      if (data) take(JSON.parse(data));
    }
  }
}

function take(snapshot) {
  if (latest && snapshot.fleet.sequence < latest.fleet.sequence) decisions = [];  // The router was started anew.
  latest = snapshot;
  heardAt = Date.now();
  pause = 1000;
  byId('main').hidden = false;
  noteDecisions(snapshot.requests);
  notePools(snapshot.fleet);
  noteStates(snapshot.fleet);
  redraw();
  showLink();
}

// The page says how old its data is, and never shows old data as new.
function showLink() {
  const age = latest ? Math.round((Date.now() - heardAt) / 1000) : null;
  const stale = !latest || Date.now() - heardAt > STALE_MS;
  const asks = !byId('key-form').hidden;
  const chip = byId('link');
  chip.className = 'chip ' + (asks ? 'warn' : stale ? (latest ? 'bad' : 'warn') : 'good');
  setText(chip, asks ? 'key needed' : stale ? (latest ? 'lost' : 'connecting') : latest.fleet.router.draining ? 'draining' : 'live');
  byId('main').classList.toggle('stale', Boolean(stale && latest));
  const lost = stale && !asks && (latest || retryAt > 0);
  byId('banner').hidden = !lost;
  if (!lost) return;
  const next = retryAt ? ` Next try in ${Math.max(0, Math.ceil((retryAt - Date.now()) / 1000))} s.` : '';
  setText(byId('banner-text'), (latest ? `The connection is lost. The data is ${age} s old.` : 'The router cannot be reached.') + next);
}

function drawSummary({ fleet, requests }) {
  const last = (values) => values[values.length - 1] || 0;
  const up = fleet.replicas.filter((row) => row.health === 'up').length;
  const tiles = [['active', short(last(fleet.tokens.active_per_s)), 'active tok/s'], ['late', short(last(fleet.tokens.late_per_s)), 'late tok/s'],
    ['wasted', short(last(fleet.tokens.wasted_per_s)), 'wasted tok/s'], ['', short(requests.running_total), 'running'],
    ['', short(requests.waiting_total), 'waiting'], ['', `${up}/${fleet.replicas_total}`, 'replicas up'],
    ['active', percent(productiveShare(fleet)), 'GPU time productive']];
  const node = byId('summary');
  if (node.children.length === 0) tiles.forEach(([kind]) => node.append(element('div', { class: `tile ${kind}` }, element('b'), element('span'))));
  tiles.forEach(([, value, label], i) => {
    setText(node.children[i].children[0], value);
    setText(node.children[i].children[1], label);
  });
  setText(byId('router'), `${fleet.router.version}, policy ${fleet.router.policy}, up ${seconds(fleet.router.uptime_s)}`);
}

function fillChoices(select, values) {
  const same = select.options.length === values.length && values.every((value, i) => select.options[i].value === value);
  if (same) return;
  const chosen = select.value;
  select.replaceChildren(...values.map((value) => element('option', { value }, value)));
  if (values.includes(chosen)) select.value = chosen;
}

const quoted = (words) => `'${words.replaceAll("'", "'\\''")}'`;

function curlFor(model, router) {
  const port = router.listen.slice(router.listen.lastIndexOf(':') + 1);
  const unix = router.listen.startsWith('unix:');
  const base = unix ? 'http://localhost' : router.admin_apart ? `http://${location.hostname}:${port}` : location.origin;
  const body = JSON.stringify({ model, stream: true, max_tokens: 60, messages: [{ role: 'user', content: 'Hello' }] });
  return [`curl -N ${unix ? `--unix-socket ${quoted(router.listen.slice(5))} ` : ''}${base}/v1/chat/completions`,
    "  -H 'content-type: application/json'", ...(router.requires_key ? ['  -H "authorization: Bearer $PENSTOCK_KEY"'] : []),
    `  -d ${quoted(body)}`].join(' \\\n');
}

function drawSetup({ fleet }) {
  const state = fleet.configuration;
  fillFacts(byId('configuration'), [['File', state.file || 'none, by options'], ['In force since', moment(state.loaded_at)],
    ['Reloads', `${state.reloads} taken, ${state.reloads_refused} refused`],
    ['Last error', state.last_error ? `${moment(state.last_error_at)}\n${state.last_error}` : 'none']]);
  const up = fleet.models.filter((model) => model.replicas_up > 0).map((model) => model.name);
  byId('ask').hidden = up.length === 0;
  if (up.length === 0) return;
  fillChoices(byId('model'), up);
  setText(byId('curl'), curlFor(byId('model').value, fleet.router));
}

function redraw() {
  if (!latest) return;
  drawSummary(latest);
  drawComparison(latest.fleet.comparison);
  drawShadow(latest.shadow);
  drawGpus(latest.fleet);
  drawFleetStates(latest.fleet);
  drawTokens(latest.fleet.tokens);
  fillChoices(byId('pool'), latest.fleet.pools.map((pool) => pool.name));
  drawFan(latest.fleet);
  drawQueue(latest.requests);
  drawReplicas(latest.fleet);
  drawNodes(latest.fleet.nodes);
  drawTenants(latest.tenants);
  drawDecisions();
  drawDetail();
  drawSetup(latest);
}

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  byId('theme').textContent = theme === 'dark' ? 'Light' : 'Dark';
}

function begin() {
  const system = matchMedia('(prefers-color-scheme: dark)');
  const themeNow = () => localStorage.getItem('penstock-theme') || (system.matches ? 'dark' : 'light');
  setTheme(themeNow());
  system.addEventListener('change', () => setTheme(themeNow()));
  byId('theme').addEventListener('click', () => {
    localStorage.setItem('penstock-theme', document.documentElement.dataset.theme === 'dark' ? 'light' : 'dark');
    setTheme(themeNow());
  });
  legend(byId('gpu-legend'), GPU_KINDS);
  legend(byId('state-legend'), STATES.map(([kind, label]) => [`state-${kind}`, label]));
  legend(byId('token-legend'), [['line active', 'active'], ['line late', 'late'], ['line wasted', 'wasted']]);
  legend(byId('fan-legend'), [['line held', 'held'], ['line mean', 'expected of what runs now'], ['fan1', '± 1 and 2 sigma'], ['past1', 'an earlier forecast, of what ran then'], ['line cohort', 'what those requests hold']]);
  byId('retry').addEventListener('click', () => { pause = 1000; connect(); });
  byId('key-form').addEventListener('submit', (event) => {
    event.preventDefault();
    sessionStorage.setItem('penstock-key', byId('key').value);
    byId('key').value = '';
    byId('key-form').hidden = true;
    connect();
  });
  for (const id of ['pool', 'model', 'replica-filter', 'decision-filter']) byId(id).addEventListener('input', redraw);
  byId('gpu-more').addEventListener('click', () => { allGpus = !allGpus; redraw(); });
  byId('pause').addEventListener('click', () => {
    decisionsPaused = !decisionsPaused;
    byId('pause').setAttribute('aria-pressed', String(decisionsPaused));
    setText(byId('pause'), decisionsPaused ? 'Go on' : 'Pause');
    redraw();
  });
  byId('copy').addEventListener('click', async () => {
    let done = 'Copied';
    try {
      await navigator.clipboard.writeText(byId('curl').textContent);
    } catch {
      getSelection().selectAllChildren(byId('curl'));
      done = 'Selected; press Ctrl-C';
    }
    setText(byId('copied'), done);
  });
  byId('detail').addEventListener('close', () => { opened = null; });
  addEventListener('resize', redraw);
  setInterval(showLink, 1000);
  byId('main').hidden = true;
  connect();
}

begin();
