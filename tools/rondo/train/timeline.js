// The timeline of the page of `rondo train`, from the events of the trace. Times are in microseconds.

// The rows, items and transfers of the events.
function readTrace(trace) {
  const ranks = new Map(), rows = new Map(), items = [], flows = new Map(), at = new Map();
  const key = (e) => `${e.pid} ${e.tid}`;
  for (const e of trace.traceEvents) {
    if (e.ph === 'M' && e.name === 'process_name') ranks.set(e.pid, e.args.name);
    if (e.ph === 'M' && e.name === 'thread_name')
      rows.set(key(e), {rank: e.pid, id: e.tid, name: e.args.name, items: []});
  }
  for (const e of trace.traceEvents.filter((e) => e.ph === 'X')) {
    const phase = e.args?.phase ?? 'other', row = rows.get(key(e));
    const item = {
      name: e.name,
      kind: e.cat,
      begin: e.ts,
      end: e.ts + e.dur,
      time: e.dur,
      phase,
      step: e.args?.step ?? 0,
      row,
      arrows: []
    };
    row.items.push(item);
    items.push(item);
    at.set(`${key(e)} ${e.ts}`, item);
  }
  for (const e of trace.traceEvents) {
    if (e.ph !== 's' && e.ph !== 'f') continue;
    const flow = flows.get(e.id) ?? {};
    flow[e.ph === 's' ? 'from' : 'to'] = at.get(`${key(e)} ${e.ts}`);
    flows.set(e.id, flow);
  }
  const arrows = [...flows.values()].filter((f) => f.from && f.to);
  for (const arrow of arrows) arrow.from.arrows.push(arrow), arrow.to.arrows.push(arrow);
  const order = [...rows.values()].toSorted((a, b) => a.rank - b.rank || a.id - b.id);
  for (const row of order) row.items.sort((a, b) => a.begin - b.begin);
  return {ranks, rows: order, items, arrows};
}

function timeline(trace) {
  const {ranks, rows, items, arrows} = readTrace(trace), box = byId('timeline');
  const numbers = [...new Set(items.map((i) => i.step))].toSorted((a, b) => a - b);
  const mostArrows = 300;
  let step, first, end;             // the step, and its bounds
  let from, to;                     // the part that is shown
  let chosen = null, shown = true;  // the item; whether transfers are drawn
  let ofRows = [], ofArrows = [];   // of the step
  let width = 0, x, tops = new Map(), rowHeight = 0;

  const us = (t) => time(t * 1e-6);
  const rankName = (rank) => ranks.get(rank) ?? `rank ${rank}`;
  const sentence = (item) => `${item.name}: ${rankName(item.row.rank)}, ${item.row.name}, ${
      item.phase}, begins after ${us(item.begin - first)}, takes ${us(item.time)}${
      item.arrows.length ? `, ${plural(item.arrows.length, 'transfer')}` : ''}`;

  function layout() {
    width = Math.max(280, box.clientWidth || 900);
    rowHeight = rows.length > 30 ? 15 : 24;
    tops = new Map();
    let y = 24, rank = -1;
    for (const {row} of ofRows) {
      if (row.rank !== rank) y += rank < 0 ? 16 : 24;
      rank = row.rank;
      tops.set(row, y);
      y += rowHeight + 4;
    }
    return y + 8;
  }

  function boxes(row) {  // one path for each phase: neighbours of less than a pixel become one rectangle
    const top = tops.get(row.row), paths = new Map(), edge = width + 2;
    let labels = '';
    const put = (phase, a, b) =>
        paths.set(phase, `${paths.get(phase) ?? ''}M${n2(a)} ${top}H${n2(b)}V${top + rowHeight}H${n2(a)}Z`);
    let open = null;
    for (const item of row.items) {
      if (item.end < from || item.begin > to) continue;
      const a = Math.max(gutter - 2, x(item.begin)),
            b = Math.min(edge, Math.max(x(item.end), x(item.begin) + 0.75));
      if (open && open.phase === item.phase && b - open.a < 1.5) {
        open.b = Math.max(open.b, b);
        continue;
      }
      if (open) put(open.phase, open.a, open.b);
      open = {phase: item.phase, a, b};
      const room = Math.floor((b - a - 8) / 6.3);
      if (room >= 4)
        labels += `<text class="label" x="${n2(a + 4)}" y="${top + rowHeight / 2 + 4}">${
            escaped(item.name.length > room ? `${item.name.slice(0, room - 1)}…` : item.name)}</text>`;
    }
    if (open) put(open.phase, open.a, open.b);
    return [
      ...paths
    ].map(([phase, d]) => `<path class="${phaseNames.includes(phase) ? phase : 'other'}" d="${d}"/>`)
               .join('') +
        labels;
  }
  const visible = (arrow) => arrow.to.begin >= from && tail(arrow) <= to;
  const tail = (arrow) => (arrow.from.end <= arrow.to.begin ? arrow.from.end : arrow.from.begin);
  function drawn(arrow, on) {
    const [a, b] = [x(tail(arrow)), x(arrow.to.begin)],
              down = tops.get(arrow.to.row) > tops.get(arrow.from.row);
    const ya = tops.get(arrow.from.row) + (down ? rowHeight : 0),
          yb = tops.get(arrow.to.row) + (down ? 0 : rowHeight);
    const bend = Math.min(Math.abs(yb - ya) / 2, 40) * (down ? 1 : -1), side = down ? -7 : 7;
    return `<path class="transfer${on}" d="M${n2(a)} ${n2(ya)}C${n2(a)} ${n2(ya + bend)} ${n2(b)} ${
        n2(yb - bend)} ${n2(b)} ${n2(yb + side * 0.6)}"/><path class="transfer-head${on}" d="M${n2(b)} ${
        n2(yb)}l-3.5 ${side}h7Z"/>`;
  }

  const gutter = 62;
  function draw() {
    const height = layout();
    x = (t) => gutter + ((t - from) / (to - from)) * (width - gutter - 6);
    let text = '', rank = -1;
    const axis = ticks(from - first, to - first, (width - gutter) / 110),
          unit = to - from < 2e3 ? [1, 'µs'] :
        to - from < 2e6          ? [1e-3, 'ms'] :
                                   [1e-6, 's'];
    for (const t of axis.list)
      text += `<line class="grid" x1="${n2(x(t + first))}" x2="${n2(x(t + first))}" y1="20" y2="${
          height - 6}"/><text x="${n2(Math.min(x(t + first), width - 26))}" y="14" text-anchor="middle">${
          Number((t * unit[0]).toFixed(4))} ${unit[1]}</text>`;
    for (const {row} of ofRows) {
      const top = tops.get(row);
      if (row.rank !== rank)
        text += `<text class="rank" x="6" y="${top - 5}">${escaped(rankName(row.rank))}</text>`;
      rank = row.rank;
      text += `<rect class="row" x="${gutter}" y="${top}" width="${width - gutter - 6}" height="${
          rowHeight}"/><text x="6" y="${top + rowHeight / 2 + 4}">${escaped(row.name)}</text>`;
    }
    text += `<clipPath id="inside"><rect x="${gutter}" y="0" width="${width - gutter - 6}" height="${
        height}"/></clipPath><g clip-path="url(#inside)">${ofRows.map(boxes).join('')}`;
    const inView = shown ? ofArrows.filter(visible) : [];
    if (inView.length <= mostArrows) text += inView.map((a) => drawn(a, '')).join('');
    if (chosen) {
      const top = tops.get(chosen.row), a = x(chosen.begin), b = Math.max(x(chosen.end), a + 1);
      text += chosen.arrows.filter(visible).map((arrow) => drawn(arrow, ' on')).join('');
      text += `<rect class="chosen" x="${n2(a - 1.5)}" y="${top - 1.5}" width="${n2(b - a + 3)}" height="${
          rowHeight + 3}" rx="3"/>`;
    }
    box.innerHTML = `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${text}</g></svg>`;
    byId('transfers').textContent = `${plural(ofArrows.length, 'transfer')} between ranks in this step${
        inView.length > mostArrows ? `; arrows are drawn when at most ${mostArrows} are in view: zoom in` :
                                     ''}.`;
    Object.assign(
        document.body.dataset, {step, from: n2(from - first), to: n2(to - first), arrows: inView.length});
  }

  function see(a, b) {  // the part [a, b], within the step's bounds
    const least = 0.05, most = (end - first) * 1.04, length = clamp(b - a, Math.min(least, most), most);
    const middle = (a + b) / 2, margin = 0.02 * (end - first);
    from = clamp(middle - length / 2, first - margin, end + margin - length);
    to = from + length;
    draw();
  }
  const whole = () => see(first - 0.02 * (end - first), end + 0.02 * (end - first));
  function zoom(factor, at) {
    const center = at ??
        (chosen && chosen.end >= from && chosen.begin <= to ?
             clamp((chosen.begin + chosen.end) / 2, from, to) :
             (from + to) / 2);
    see(center - (center - from) * factor, center + (to - center) * factor);
  }
  const pan = (part) => see(from + part * (to - from), to + part * (to - from));
  const around = (item) => see(item.begin - item.time, item.end + item.time);
  function choose(item) {
    chosen = item;
    byId('item').textContent = item ? sentence(item) : '';
    if (!item) return draw();
    if (item.end < from || item.begin > to || x(item.begin) < gutter) {
      const length = to - from;
      return see(item.begin - length / 2, item.begin + length / 2);
    }
    draw();
  }
  function open(number) {
    step = number;
    const of = items.filter((i) => i.step === step);
    ofRows = rows.map((row) => ({row, items: row.items.filter((i) => i.step === step)}))
                 .filter((r) => r.items.length);
    ofArrows = arrows.filter((a) => a.from.step === step);
    first = Math.min(...of.map((i) => i.begin));
    end = Math.max(...of.map((i) => i.end), first + 0.001);
    chosen = null;
    byId('item').textContent = `Step ${step}: ${plural(of.length, 'item')} on ${
        plural(ofRows.length, 'stream')}, ${us(end - first)}`;
    for (const button of byId('steps').querySelectorAll('button'))
      button.setAttribute('aria-pressed', String(Number(button.dataset.step) === step));
    const longest = of.toSorted((a, b) => b.time - a.time).slice(0, 12);
    byId('longest').innerHTML =
        `${tableHead(['item', 'rank', 'stream', 'phase', 'begins after', 'takes'])}<tbody>${
            longest
                .map(
                    (i) => `<tr><td><button data-item="${items.indexOf(i)}">${
                        escaped(
                            i.name)}</button></td><td>${i.row.rank}</td><td>${escaped(i.row.name)}</td><td>${
                        i.phase}</td><td>${us(i.begin - first)}</td><td>${us(i.time)}</td></tr>`)
                .join('')}</tbody>`;
    whole();
  }
  // The item to the left or right of the chosen one, or in the row above or below at about the same time.
  function move(along, rowBy) {
    const list = (r) => r.items, r = ofRows.findIndex(({row}) => row === chosen?.row);
    if (r < 0) return choose(list(ofRows[0])[0]);
    if (rowBy) {
      const next = ofRows[clamp(r + rowBy, 0, ofRows.length - 1)];
      const distance = (i) => Math.max(0, i.begin - chosen.end, chosen.begin - i.end);
      return choose(next.items.reduce((best, i) => (distance(i) < distance(best) ? i : best)));
    }
    const of = list(ofRows[r]), i = of.indexOf(chosen);
    choose(of[clamp(i + along, 0, of.length - 1)]);
  }
  function itemAt(event) {
    const rect = box.querySelector('svg').getBoundingClientRect(), scale = width / rect.width;
    const px = (event.clientX - rect.left) * scale, py = (event.clientY - rect.top) * scale;
    const found = ofRows.find(({row}) => py >= tops.get(row) && py <= tops.get(row) + rowHeight);
    if (!found || px < gutter) return null;
    const t = from + ((px - gutter) / (width - gutter - 6)) * (to - from), near = (2 * (to - from)) / width;
    let best = null;
    for (const i of found.items)
      if (t >= i.begin - near && t <= i.end + near &&
          (!best || Math.abs(i.begin + i.end - 2 * t) < Math.abs(best.begin + best.end - 2 * t)))
        best = i;
    return best;
  }
  const timeAt = (event) => {
    const rect = box.getBoundingClientRect();
    return from +
        (clamp((event.clientX - rect.left - gutter) / (rect.width - gutter - 6), 0, 1)) * (to - from);
  };

  byId('steps').insertAdjacentHTML(
      'beforeend',
      numbers.map((n) => `<button data-step="${n}" title="Step ${n} (${n})">step ${n}</button>`).join(''));
  byId('legend').innerHTML = [...phaseNames, 'other']
                                 .filter((p) => items.some((i) => i.phase === p))
                                 .map((p) => `<span><i class="${p}"></i>${p}</span>`)
                                 .join('');
  byId('steps').addEventListener(
      'click', (event) => event.target.dataset.step && open(Number(event.target.dataset.step)));
  byId('zoom-in').addEventListener('click', () => zoom(0.5));
  byId('zoom-out').addEventListener('click', () => zoom(2));
  byId('whole').addEventListener('click', whole);
  byId('arrows').addEventListener('change', (event) => {
    shown = event.target.checked;
    draw();
  });
  byId('longest').addEventListener('click', (event) => {
    const item = items[Number(event.target.dataset.item ?? -1)];
    if (!item) return;
    choose(item);
    around(item);
    box.focus();
  });
  box.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const row = ofRows.find((r) => r.row === chosen?.row) ?? ofRows[0];
    const actions = {
      ArrowRight: () => move(1, 0),
      ArrowLeft: () => move(-1, 0),
      ArrowDown: () => move(0, 1),
      ArrowUp: () => move(0, -1),
      Home: () => choose(row.items[0]),
      End: () => choose(row.items.at(-1)),
      Escape: () => choose(null),
      Enter: () => chosen && around(chosen),
      '+': () => zoom(0.5),
      '=': () => zoom(0.5),
      w: () => zoom(0.5),
      '-': () => zoom(2),
      s: () => zoom(2),
      a: () => pan(-0.25),
      d: () => pan(0.25),
      0: whole,
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key] ??
        (numbers.includes(Number(event.key)) && (() => open(Number(event.key))));
    if (!action) return;
    event.preventDefault();
    action();
  });
  box.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;  // the page's own scrolling
    event.preventDefault();
    if (event.shiftKey)
      pan(Math.sign(event.deltaX + event.deltaY) * 0.1);
    else
      zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
  }, {passive: false});
  let drag = null;
  box.addEventListener('pointerdown', (event) => {
    drag = {x: event.clientX, from, to, moved: false};
  });
  box.addEventListener('pointermove', (event) => {
    const tip = byId('tip');
    if (drag && event.buttons) {
      tip.hidden = true;
      const by = ((drag.x - event.clientX) / (box.clientWidth - gutter - 6)) * (drag.to - drag.from);
      drag.moved ||= Math.abs(drag.x - event.clientX) > 3;
      if (drag.moved) {
        if (!box.hasPointerCapture(event.pointerId)) box.setPointerCapture(event.pointerId);
        see(drag.from + by, drag.to + by);
      }
      return;
    }
    const item = itemAt(event);
    tip.hidden = !item;
    if (!item) return;
    tip.textContent = sentence(item);
    tip.style.left = `${clamp(event.clientX + 14, 4, Math.max(4, innerWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${
        event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 :
                                                              event.clientY + 18}px`;
  });
  box.addEventListener('pointerup', (event) => {
    if (drag && !drag.moved) choose(itemAt(event));
    drag = null;
  });
  box.addEventListener('pointerleave', () => (byId('tip').hidden = true));
  box.addEventListener('dblclick', (event) => {
    const item = itemAt(event);
    if (item) around(item);
  });
  new ResizeObserver(() => Math.max(280, box.clientWidth) !== width && draw()).observe(box);
  open(numbers.at(-1));
}
