// The queue, the replicas, the tenants, the decisions and the details of one request.

const name = (of) => ({ title: of[0], kind: 'name', cell: (row) => row[of[1]] || '–' });
const healthKind = { up: 'good', probing: 'warn', draining: 'warn', down: 'bad' };
const eventKind = { forward: 'good', end: 'good', park: 'warn', abort: 'warn', refuse: 'bad', error: 'bad', notice: '' };

function drawQueue(requests) {
  const groups = new Map();
  for (const row of requests.waiting) {
    const key = JSON.stringify([row.class, row.tenant, row.model, row.reason]);
    const group = groups.get(key) || { ...row, key, count: 0, oldest: 0, start: null };
    group.count += 1;
    group.oldest = Math.max(group.oldest, row.age_s);
    if (row.expected_start_s !== null) group.start = Math.max(group.start || 0, row.expected_start_s);
    groups.set(key, group);
  }
  const listed = requests.waiting.length;
  setText(byId('queue-note'), requests.waiting_total > listed
    ? `${short(requests.waiting_total)} wait; the ${listed} oldest are shown` : `${short(requests.waiting_total)} wait`);
  fillTable(byId('queue-groups'), [name(['Class', 'class']), { title: 'Tenant', kind: 'name', cell: (row) => row.tenant || 'no tenant' },
    name(['Model', 'model']), { title: 'Waiting', number: true, cell: (row) => short(row.count) },
    { title: 'Oldest', number: true, cell: (row) => seconds(row.oldest) },
    { title: 'Last starts in', number: true, cell: (row) => seconds(row.start) },
    { title: 'Why', kind: 'wide', cell: (row) => row.why }],
  [...groups.values()], (row) => row.key, 'Nobody waits.');
  fillTable(byId('waiting'), [{ title: 'Request', cell: (row) => ({ text: row.request, open: () => openRequest(row.request) }) },
    name(['Class', 'class']), name(['Tenant', 'tenant']), name(['Model', 'model']),
    { title: 'Place', number: true, cell: (row) => (row.position === null ? '–' : String(row.position)) },
    { title: 'Waits', number: true, cell: (row) => seconds(row.age_s) },
    { title: 'Starts in', number: true, cell: (row) => seconds(row.expected_start_s) },
    { title: 'Why', kind: 'wide', cell: (row) => row.why }], requests.waiting, (row) => row.request, 'Nobody waits.');
}

const comparisonColumns = [name(['Policy', 'policy']),
  { title: 'On time', number: true, cell: (row) => percent(row.requests > 0 ? row.on_time / row.requests : null) },
  { title: 'Active tok/s', number: true, cell: (row) => short(row.active_per_s) },
  { title: 'Late tok/s', number: true, cell: (row) => short(row.late_per_s) },
  { title: 'TTFT p50', number: true, cell: (row) => seconds(row.ttft_p50_s) },
  { title: 'TTFT p99', number: true, cell: (row) => seconds(row.ttft_p99_s) },
  { title: 'Requests', number: true, cell: (row) => short(row.requests) },
  { title: 'Refused', number: true, cell: (row) => short(row.refused) },
  { title: 'Failed', number: true, cell: (row) => short(row.failed) }];

function drawComparison(rows) {
  byId('comparison').hidden = rows.length === 0;
  if (rows.length > 0) fillTable(byId('comparison-table'), comparisonColumns, rows, (row) => row.policy, '');
}

const sorting = { column: 'name', descending: false };
const replicaColumns = [
  { ...name(['Replica', 'name']), sort: 'name' }, { ...name(['Model', 'model']), sort: 'model' },
  { title: 'Role', sort: 'role', cell: (row) => (row.role === 'both' ? '–' : row.role) },
  { title: 'Health', sort: 'health', cell: (row) => (row.health === 'up' && row.stalled ? { chip: 'bad', text: 'stands still' }
    : row.health === 'up' && row.node_closed ? { chip: 'bad', text: 'node closed' }
    : row.health === 'up' && row.derate > 1 ? { chip: 'warn', text: `${row.derate.toFixed(1)}x slow (${row.grey_cause})` }
    : row.health === 'up' && row.node_derate > 1 ? { chip: 'warn', text: `node ${row.node_derate.toFixed(1)}x slow` }
    : row.health === 'up' && row.storage_pressure >= 0.5 ? { chip: 'warn', text: `storage ${percent(row.storage_pressure)} busy` }
    : row.residency === 'awake' || row.health === 'down'
    ? { chip: healthKind[row.health], text: row.health } : { chip: '', text: row.residency.replace('_', ' ') }) },
  { title: 'Running', number: true, sort: 'running', cell: (row) => short(row.running) },
  { title: 'Prefill', number: true, sort: 'prefilling', cell: (row) => short(row.prefilling) },
  { title: 'Step', number: true, sort: 'observed_step_s', cell: (row) => seconds(row.observed_step_s) },
  { title: 'Expected', number: true, sort: 'expected_step_s', cell: (row) => seconds(row.expected_step_s) },
  { title: 'Pace', number: true, sort: 'pace', cell: (row) => (row.observed_step_s === null ? { chip: '', text: '–' }
    : { chip: row.pace < 0.4 ? 'bad' : row.pace < 0.75 ? 'warn' : '', text: `${Math.round(row.pace * 100)} %` }) },
  { title: 'Tokens/s each', number: true, sort: 'tokens_per_s', cell: (row) => short(row.tokens_per_s) },
  { title: 'Preempted', number: true, sort: 'preemptions', cell: (row) => short(row.preemptions) },
];

function drawReplicas(fleet) {
  const table = byId('replica-table');
  const wanted = byId('replica-filter').value.toLowerCase();
  const rows = fleet.replicas.filter((row) => [row.name, row.model, row.health, row.residency].join(' ').toLowerCase().includes(wanted));
  const by = sorting.column;
  rows.sort((a, b) => {
    const order = typeof a[by] === 'number' || typeof b[by] === 'number' ? (a[by] || 0) - (b[by] || 0) : String(a[by]).localeCompare(String(b[by]), undefined, { numeric: true });
    return sorting.descending ? -order : order;
  });
  fillTable(table, replicaColumns, rows, (row) => row.name, wanted ? 'No replica matches.' : 'No replica.');
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, i) => {
    const column = replicaColumns[i];
    if (!head.firstElementChild) {
      const button = element('button', { type: 'button' }, column.title);
      button.onclick = () => {
        sorting.descending = sorting.column === column.sort && !sorting.descending;
        sorting.column = column.sort;
        redraw();
      };
      head.replaceChildren(button);
    }
    head.setAttribute('aria-sort', by !== column.sort ? 'none' : sorting.descending ? 'descending' : 'ascending');
    setText(head.firstElementChild, column.title + (by !== column.sort ? '' : sorting.descending ? ' ▼' : ' ▲'));
  });
}

const leftColumn = (title, part) => ({ title, number: true, cell: (row) => ({
  chip: row.left[part] < 0.2 ? 'warn' : '', text: percent(row.left[part]) }) });
const nodeColumns = [name(['Node', 'name']), { title: 'Replicas', number: true, cell: (row) => short(row.replicas) },
  leftColumn('KV memory', 'memory'), leftColumn('Compute', 'compute'), leftColumn('Storage', 'storage'), leftColumn('I/O CPU', 'io_cpu'),
  { title: 'Storage requests', number: true, cell: (row) => short(row.storage_requests) }];

function drawNodes(nodes) {
  byId('nodes').hidden = nodes.length === 0;
  if (nodes.length > 0) fillTable(byId('node-table'), nodeColumns, nodes, (row) => row.name, '');
}

function drawTenants(tenants) {
  setText(byId('tenant-note'), tenants.fairness === 'none' ? 'no shares between tenants' : `fairness: ${tenants.fairness}, charged by ${tenants.charged}`);
  fillTable(byId('tenant-table'), [name(['Tenant', 'name']), { title: 'Weight', number: true, cell: (row) => String(row.weight) },
    { title: 'Due share', number: true, cell: (row) => percent(row.due_share) },
    { title: 'Share so far', number: true, cell: (row) => percent(row.share) },
    { title: 'Ahead by', number: true, cell: (row) => short(row.lead) },
    { title: 'Tokens left', number: true, cell: (row) => (row.tokens_per_minute === null ? 'no limit'
      : row.available_tokens < 0 ? `owes ${short(-row.available_tokens)}` : `${short(row.available_tokens)} of ${short(row.tokens_per_minute)}/min`) },
    { title: 'Waiting', number: true, cell: (row) => short(row.waiting) },
    { title: 'Running', number: true, cell: (row) => `${short(row.running)}${row.max_concurrent === null ? '' : ' of ' + row.max_concurrent}` }],
  tenants.tenants, (row) => row.name, 'No tenants are configured.');
}

// The newest decisions, newest first; more than one snapshot holds.
const DECISIONS_KEPT = 300;
let decisions = [];
let decisionsPaused = false;

function noteDecisions(requests) {
  const newest = decisions.length ? decisions[0].number : 0;
  decisions.unshift(...requests.decisions.filter((each) => each.number > newest).reverse());
  decisions.length = Math.min(decisions.length, DECISIONS_KEPT);
}

// What a decision says beyond its names, in a few words.
function summaryOf(each) {
  const words = [];
  const say = (key, write) => { if (each[key] !== undefined) words.push(write(each[key])); };
  say('reason', (value) => value.replaceAll('_', ' '));
  say('waited_s', (value) => `waited ${seconds(value)}`);
  say('expected_ttft_s', (value) => `first token in ${seconds(value)}`);
  say('peak_share', (value) => `memory to ${percent(value)}`);
  say('position', (value) => `place ${value}`);
  say('output_tokens', (value) => `${short(value)} tokens out`);
  say('total_s', (value) => `${seconds(value)} in all`);
  say('retry_after_s', (value) => `retry after ${seconds(value)}`);
  say('message', (value) => value);
  return words.join(', ');
}

const decisionColumns = [
  { title: 'Time', cell: (row) => clock(row.time) },
  { title: 'Decision', cell: (row) => ({ chip: eventKind[row.event] || '', text: row.event }) },
  { title: 'Request', kind: 'name', cell: (row) => (row.request ? { text: row.request, open: () => openRequest(row.request) } : '–') },
  name(['Class', 'class']), name(['Tenant', 'tenant']), name(['Model', 'model']), name(['Replica', 'replica']),
  { title: 'Receipt', kind: 'wide', cell: summaryOf },
];

function drawDecisions() {
  if (decisionsPaused) return;
  const wanted = byId('decision-filter').value.toLowerCase();
  const matches = (each) => !wanted || ['event', 'request', 'class', 'tenant', 'model', 'replica', 'reason', 'message']
    .some((key) => String(each[key] || '').toLowerCase().includes(wanted));
  fillTable(byId('decision-table'), decisionColumns, decisions.filter(matches).slice(0, 100), (row) => row.number,
    wanted ? 'No decision matches.' : 'No decision yet.');
}

let opened = null;

function openRequest(id) {
  opened = id;
  byId('detail-events').replaceChildren();
  drawDetail();
  if (!byId('detail').open) byId('detail').showModal();
}

function drawDetail() {
  if (opened === null || !latest) return;
  setText(byId('detail-title'), `Request ${opened}`);
  const live = latest.requests.waiting.find((row) => row.request === opened) || latest.requests.running.find((row) => row.request === opened);
  const known = decisions.filter((each) => each.request === opened);
  const facts = { ...Object.assign({}, ...[...known].reverse()), ...(live || {}) };
  const state = latest.requests.waiting.includes(live) ? `waits: ${live.why}` : live ? `runs on ${live.replica}${live.prefill && live.prefill !== live.replica ? `, prompt from ${live.prefill}` : ''}` : 'no longer among those shown';
  fillFacts(byId('detail-facts'), [['State', state], ['Model', facts.model || '–'], ['Class', facts.class || '–'],
    ['Tenant', facts.tenant || 'no tenant'], ['Endpoint', facts.endpoint || '–'], ['Client', facts.client || '–'],
    ['Prompt', `${short(facts.prompt_tokens_estimate)} tokens estimated` + (facts.prompt_tokens ? `, ${short(facts.prompt_tokens)} counted` : '')],
    ['Output', `${short(facts.output_tokens)} tokens` + (facts.max_tokens ? ` of at most ${short(facts.max_tokens)}` : '')],
    ['Place in the queue', live && live.position ? `${live.position}, starts in ${seconds(live.expected_start_s)}` : '–']]);
  fillTable(byId('detail-events'), [decisionColumns[0], decisionColumns[1], name(['Replica', 'replica']), decisionColumns[7]],
    known, (row) => row.number, 'Its decisions are no longer among the newest ones.');
}
