'use strict';
// Elements, numbers and times. Names of models, tenants and clients become text nodes, never markup.

const byId = (id) => document.getElementById(id);

function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

function short(number) {
  if (number === null || number === undefined || !Number.isFinite(number)) return '–';
  const size = Math.abs(number);
  if (size >= 1e6) return (number / 1e6).toFixed(1) + 'M';
  if (size >= 1e4) return (number / 1e3).toFixed(1) + 'k';
  return String(Math.round(number));
}

function amount(number, unit) {
  if (number === null || number === undefined) return '–';
  return unit === 'tokens' ? short(number) + ' tokens' : (number / 1e9).toFixed(number < 1e10 ? 2 : 1) + ' GB';
}

function seconds(value) {
  if (value === null || value === undefined) return '–';
  if (value < 0.0995) return (value * 1000).toFixed(value < 0.01 ? 1 : 0) + ' ms';
  if (value < 99.5) return value.toFixed(value < 9.95 ? 1 : 0) + ' s';
  if (value < 5970) return Math.round(value / 60) + ' min';
  return (value / 3600).toFixed(1) + ' h';
}

const percent = (value) => (value === null || value === undefined ? '–' : (value * 100).toFixed(1) + ' %');
const clock = (unix) => new Date(unix * 1000).toLocaleTimeString();
const moment = (unix) => (unix ? new Date(unix * 1000).toLocaleString() : 'never');

function legend(node, entries) {
  node.replaceChildren(...entries.map(([kind, text]) => element('span', {}, element('i', { class: kind }), text)));
}

// Fills a table with rows. A row that was there stays the same element, so focus and selection stay.
// Columns: {title, cell(row) -> string or node, number, kind, sort}.
function fillTable(table, columns, rows, keyOf, empty) {
  if (!table.tHead) {
    const head = table.createTHead().insertRow();
    for (const column of columns) head.append(element('th', { scope: 'col', class: column.number ? 'number' : null }, column.title));
    table.createTBody();
  }
  const body = table.tBodies[0];
  const known = new Map([...body.rows].map((row) => [row.dataset.key, row]));
  const wanted = rows.map((row) => {
    const key = String(keyOf(row));
    let line = known.get(key);
    known.delete(key);
    if (!line) {
      line = document.createElement('tr');
      line.dataset.key = key;
      for (const column of columns) line.append(element('td', { class: column.number ? 'number' : column.kind || null }));
    }
    columns.forEach((column, i) => fillCell(line.cells[i], column.cell(row)));
    return line;
  });
  for (const gone of known.values()) gone.remove();
  if (wanted.length === 0) wanted.push(element('tr', {}, element('td', { class: 'empty', colspan: columns.length }, empty)));
  wanted.forEach((line, i) => { if (body.rows[i] !== line) body.insertBefore(line, body.rows[i] || null); });
}

function fillCell(cell, content) {
  if (typeof content === 'string') {
    if (cell.firstElementChild) cell.replaceChildren();
    setText(cell, content);
  } else if (content.chip !== undefined) {
    if (!cell.firstElementChild) cell.replaceChildren(element('span'));
    cell.firstElementChild.className = 'chip ' + content.chip;
    setText(cell.firstElementChild, content.text);
  } else {
    if (!cell.firstElementChild) cell.replaceChildren(element('button', { type: 'button' }));
    setText(cell.firstElementChild, content.text);
    cell.firstElementChild.onclick = content.open;
  }
}

function fillFacts(list, facts) {
  const nodes = [];
  for (const [name, value] of facts) nodes.push(element('dt', {}, name), element('dd', {}, value));
  list.replaceChildren(...nodes);
}
