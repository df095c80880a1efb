// The policy in the shadow: what it would have done, and what that would have been worth.

const runNames = { real: 'as it was', decides: 'on a simulated copy', shadow: 'on a simulated copy' };
const runColumns = [name(['Policy', 'policy']), { title: 'Run', kind: 'name', cell: (row) => runNames[row.run] },
  { title: 'On time', number: true, cell: (row) => percent(row.on_time_share) },
  { title: 'Active tok/s', number: true, cell: (row) => short(row.active_per_s) },
  { title: 'TTFT p50', number: true, cell: (row) => seconds(row.ttft_p50_s) },
  { title: 'TTFT p99', number: true, cell: (row) => seconds(row.ttft_p99_s) },
  { title: 'Refused', number: true, cell: (row) => short(row.refused) },
  { title: 'Failed', number: true, cell: (row) => short(row.failed) },
  { title: 'Requests', number: true, cell: (row) => short(row.requests) }];
const verdictColumns = [{ title: 'Decision', kind: 'wide', cell: (row) => row.text },
  { title: 'Requests', number: true, cell: (row) => short(row.requests) },
  { title: 'Really on time', number: true, cell: (row) => short(row.on_time) },
  { title: 'Late', number: true, cell: (row) => short(row.late) },
  { title: 'Late tokens', number: true, cell: (row) => short(row.late_tokens) },
  { title: 'First token earlier', number: true, cell: (row) => (row.gain_s && row.requests > 0 ? seconds(row.gain_s / row.requests) : '–') }];
const differenceColumns = [{ title: 'Ago', number: true, cell: (row) => seconds(row.age_s) },
  name(['Model', 'model']), name(['Class', 'class']),
  { title: 'Went to', kind: 'name', cell: (row) => row.replica || 'refused' },
  { title: 'In the shadow', kind: 'name', cell: (row) => row.shadow_replica || row.reason || '–' },
  { title: 'TTFT expected', number: true, cell: (row) => seconds(row.expected_ttft_s) },
  { title: 'In the shadow', number: true, cell: (row) => seconds(row.shadow_expected_ttft_s) },
  { title: 'Became', cell: (row) => ({ chip: row.outcome === 'on_time' ? 'good' : row.outcome === '' ? '' : 'bad', text: row.outcome.replace('_', ' ') || 'runs' }) }];

function drawShadow(shadow) {
  const shown = Boolean(shadow && shadow.configured);
  byId('shadow').hidden = !shown;
  if (!shown) return;
  const copies = shadow.counterfactual;
  const lost = shadow.dropped_events > 0 ? `, ${short(shadow.dropped_events)} events lost` : '';
  setText(byId('shadow-note'), `${shadow.shadow} beside ${shadow.decides}: ${percent(shadow.agreement_share)} of ${short(shadow.compared)} decisions agree${lost}`);
  setText(byId('shadow-copies'), copies.unavailable ? `No simulated copies: ${copies.unavailable}.`
    : copies.worth_on_time_share === null ? `The copies have compared ${short(copies.runs[0].requests)} requests: too few to tell a worth.`
      : `${signed(100 * copies.worth_on_time_share)} points on time, ${signed(copies.worth_active_per_s)} active tokens per second by the copies. For the policy in charge their error is ${signed(100 * copies.model_error_on_time_share)} points; for the shadow it is unknown. ${short(copies.cut_off)} requests were cut off by a start of the copies.`);
  fillTable(byId('shadow-runs'), runColumns, copies.runs, (row) => row.run, '');
  fillTable(byId('shadow-verdicts'), verdictColumns, shadow.verdicts.filter((row) => row.requests > 0), (row) => row.verdict, 'Nothing was decided yet.');
  fillTable(byId('shadow-differences'), differenceColumns, shadow.recent, (row) => row.number, 'No difference yet.');
}

const signed = (value) => `${value < 0 ? '−' : '+'}${Math.abs(value).toFixed(1)}`;
