// Shows a run of `rondo train`. Its numbers are those that the program wrote; only the sums over epochs and
// the positions in the pictures are computed here.
const run = JSON.parse(byId('data').textContent);
const n2 = (x) => x.toFixed(2);
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const finite = Number.isFinite;  // a number that was not finite is null
const lossText = (x) => (!finite(x) ? 'not finite' : x < 1000 ? x.toFixed(4) : x.toExponential(2));
const percentText = (x) => (finite(x) ? `${(100 * x).toFixed(2)} %` : '–');
const grouped = (x) => x.toLocaleString('en');
function duration(seconds) {
  if (seconds < 100) return time(seconds);
  const whole = Math.round(seconds), two = (x) => String(x).padStart(2, '0');
  const minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

// ---- Head ----
const byEpochs = run.steps.length === 0;
const last = run.epochs.at(-1), sum = (list) => list.reduce((a, b) => a + b, 0);
byId('title').textContent = run.title;
const inHead = {network: '', processes: '', devices: '', parallelism: '', batch: 'batch ', precision: '', 'learning rate': 'learning rate '};
byId('about').textContent =
    run.facts.filter(([label]) => label in inHead).map(([label, text]) => inHead[label] + text).join(' · ');
const states = {
  running: 'Written while the training ran',
  done: 'Finished',
  stopped: 'Stopped before its end',
  failed: `Failed: ${run.reason}`,
};
byId('state').textContent = states[run.state];
byId('state').className = run.state;
function tiles() {
  if (!byEpochs) {
    const timed = run.steps.map((s) => s.seconds).filter(finite);
    return [
      ['loss of the last step', lossText(run.steps.at(-1).loss)],
      ['time of a step', timed.length ? time(sum(timed) / timed.length) : '–'],
      ['timed steps', String(timed.length)],
      ['memory at most', finite(run.peak_bytes) ? size(run.peak_bytes) : '–'],
    ];
  }
  const seconds = sum(run.epochs.map((e) => e.seconds)), n = run.epochs.length;
  return [
    ['training loss', last ? lossText(last.train_loss) : run.losses.length ? lossText(run.losses.at(-1).loss) : '–'],
    ['test accuracy', last ? percentText(last.test_accuracy) : '–'],
    ['training time', n ? duration(seconds) : '–'],
    ['time of an epoch', n ? duration(seconds / n) : '–'],
    ['epochs', `${n} of ${run.epochs_planned}`],
  ];
}
byId('tiles').innerHTML = tiles().map(([name, value]) => `<div><span>${name}</span><b>${value}</b></div>`).join('');
byId('facts').innerHTML = run.facts.map(([label, text]) => `<dt>${escaped(label)}</dt><dd>${escaped(text)}</dd>`).join('');

// ---- Curves ----
function ticks(low, high, wanted) {
  const rough = (high - low) / wanted, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= rough * (1 - 1e-9));
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high * (1 + 1e-9); ++i) list.push(i * step);
  return {list, digits: clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 8)};
}
// A curve with a point that the arrow keys move. series[0] is the one that is read.
//   series: {name, class, thin, points: [{x, y, low, high, text}]}
function curve(id, {title, xName, wholeX, yText, series, empty}) {
  const box = byId(id), all = series.flatMap((s) => s.points).filter((p) => finite(p.y)), points = series[0].points;
  byId(`${id}-title`).textContent = title;
  if (!points.length) {
    box.innerHTML = `<p class="soft">${empty}</p>`;
    return;
  }
  box.innerHTML = `<div class="legend">${
      series.filter((s) => s.points.length)
          .map((s) => `<span><i style="--colour:var(--${s.class === 'main' ? 'accent' : 'reduce'})"></i>${s.name}</span>`)
          .join('')}</div>
    <div class="curve" tabindex="0" role="slider" aria-label="${title}" aria-orientation="horizontal"
      aria-valuemin="1" aria-valuemax="${points.length}"></div><p class="read" aria-hidden="true"></p>`;
  const slider = box.querySelector('.curve'), read = box.querySelector('.read');
  let at = points.length - 1, width = 0, height = 0, x, y;
  const ys = all.flatMap((p) => [p.low ?? p.y, p.high ?? p.y]), xs = points.concat(all).map((p) => p.x);
  const sorted = ys.toSorted((a, b) => a - b), middle = sorted[Math.floor(sorted.length / 2)];
  // A loss that diverges would flatten everything before it.
  const logarithmic = sorted.length > 0 && sorted[0] > 0 && sorted.at(-1) > 100 * middle;
  const scale = logarithmic ? Math.log10 : (v) => v;
  let low = scale(sorted[0] ?? 0), high = scale(sorted.at(-1) ?? 1);
  if (!logarithmic && low > 0 && low < 0.75 * high) low = 0;
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) [low, high] = [low - 0.5, high + 0.5];
  else if (low !== 0) [low, high] = [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  const first = Math.min(...xs), end = Math.max(...xs);
  const across = first === end ? [first - 0.5, end + 0.5] : [first, end];

  function draw() {
    width = Math.max(240, slider.clientWidth || 600);
    height = width < 420 ? 200 : 240;
    const left = 52, right = width - 14, top = 10, bottom = height - 34;
    x = (v) => left + ((v - across[0]) / (across[1] - across[0])) * (right - left);
    y = (v) => bottom - ((scale(v) - low) / (high - low)) * (bottom - top);
    const yTicks = logarithmic ?
        {list: Array.from({length: Math.floor(high) - Math.ceil(low) + 1}, (_, i) => 10 ** (Math.ceil(low) + i)), digits: 0} :
        ticks(low, high, 4);
    const xTicks = ticks(across[0], across[1], width / 90);
    const xList = wholeX ? xTicks.list.filter(Number.isInteger) : xTicks.list;
    let text = '';
    for (const v of yTicks.list)
      text += `<line class="grid" x1="${left}" x2="${right}" y1="${n2(y(v))}" y2="${n2(y(v))}"/><text x="${left - 7}" y="${
          n2(y(v) + 4)}" text-anchor="end">${yText ? yText(v) : logarithmic ? v.toExponential(0) : v.toFixed(yTicks.digits)}</text>`;
    for (const v of xList)
      text += `<text x="${n2(x(v))}" y="${bottom + 17}" text-anchor="middle">${Number(v.toFixed(xTicks.digits))}</text>`;
    text += `<text x="${right}" y="${height - 3}" text-anchor="end">${xName}${logarithmic ? ', logarithmic' : ''}</text>`;
    for (const s of series) {
      if (s.points.some((p) => p.high > p.low)) {
        const band = s.points.filter((p) => finite(p.low));
        text += `<path class="band ${s.class}-fill" d="M${band.map((p) => `${n2(x(p.x))} ${n2(y(p.high))}`).join('L')}L${
            band.toReversed().map((p) => `${n2(x(p.x))} ${n2(y(p.low))}`).join('L')}Z"/>`;
      }
      let path = '', down = false;
      for (const p of s.points) {
        if (finite(p.y)) path += `${down ? 'L' : 'M'}${n2(x(p.x))} ${n2(y(p.y))}`;
        down = finite(p.y);
      }
      text += `<path class="series ${s.class}-series${s.thin ? ' thin' : ''}" d="${path}"/>`;
      if (s.points.length <= (s.thin ? 1 : 60))
        for (const p of s.points.filter((q) => finite(q.y)))
          text += `<circle class="dot ${s.class}-fill" cx="${n2(x(p.x))}" cy="${n2(y(p.y))}" r="4"/>`;
    }
    slider.innerHTML = `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${text}<g class="mark"></g></svg>`;
    mark();
  }
  function mark() {
    const p = points[at];
    read.textContent = p.text;
    slider.setAttribute('aria-valuenow', at + 1);
    slider.setAttribute('aria-valuetext', p.text);
    slider.querySelector('.mark').innerHTML = `<line class="cursor" x1="${n2(x(p.x))}" x2="${n2(x(p.x))}" y1="10" y2="${
        height - 34}"/>${finite(p.y) ? `<circle class="dot ${series[0].class}-fill" cx="${n2(x(p.x))}" cy="${n2(y(p.y))}" r="5"/>` : ''}`;
  }
  function go(to) {
    at = clamp(to, 0, points.length - 1);
    mark();
  }
  slider.addEventListener('pointermove', (event) => {
    const rect = slider.getBoundingClientRect(), v = ((event.clientX - rect.left) * width) / rect.width;
    let best = 0;
    points.forEach((p, i) => {
      if (Math.abs(x(p.x) - v) < Math.abs(x(points[best].x) - v)) best = i;
    });
    go(best);
  });
  slider.addEventListener('keydown', (event) => {
    const page = Math.max(1, Math.round(points.length / 10));
    const to = {ArrowLeft: at - 1, ArrowDown: at - 1, ArrowRight: at + 1, ArrowUp: at + 1, PageDown: at - page, PageUp: at + page,
                Home: 0, End: points.length - 1}[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(to);
  });
  new ResizeObserver(() => slider.clientWidth !== width && draw()).observe(slider);
  draw();
}

function curvesOfEpochs() {
  const spe = Math.max(1, run.steps_per_epoch), many = run.losses.some((p) => p.high > p.low || run.parts_of_a_point > 1);
  const mean = new Map(run.epochs.map((e) => [e.epoch, e.train_loss]));
  const steps = run.losses.map((p) => {
    const epoch = p.step / spe, end = Number.isInteger(epoch) && mean.has(epoch);
    return {
      x: epoch, y: p.loss, low: p.least, high: p.most,
      text: `step ${grouped(p.step)} (epoch ${Number(epoch.toFixed(2))}): loss ${lossText(p.loss)}${
          many ? `, from ${lossText(p.least)} to ${lossText(p.most)}` : ''}${
          end ? `; mean of epoch ${epoch}: ${lossText(mean.get(epoch))}` : ''}`,
    };
  });
  const epochs = run.epochs.map((e) => ({x: e.epoch, y: e.train_loss, text: `epoch ${e.epoch}: mean loss ${lossText(e.train_loss)}`}));
  const ofEpochs = {name: 'mean of an epoch', class: 'second', points: epochs};
  const ofSteps = {name: many ? 'steps, with least and largest' : 'steps', class: 'main', thin: true, points: steps};
  curve('curve-1', {title: 'Training loss', xName: 'epoch', series: steps.length ? [ofSteps, ofEpochs] : [ofEpochs],
                    empty: 'No step is done yet.'});
  curve('curve-2', {
    title: 'Test accuracy', xName: 'epoch', wholeX: true, yText: (v) => `${Number((100 * v).toFixed(1))} %`,
    series: [{name: 'after each epoch', class: 'main', points: run.epochs.map((e) => ({
      x: e.epoch, y: e.test_accuracy, text: `epoch ${e.epoch}: test accuracy ${percentText(e.test_accuracy)}`}))}],
    empty: 'The accuracy is measured after each epoch; no epoch is complete.',
  });
}
function curvesOfSteps() {
  curve('curve-1', {
    title: 'Training loss', xName: 'step', wholeX: true, empty: '',
    series: [{name: 'steps', class: 'main', points: run.steps.map((s, i) => ({x: i + 1, y: s.loss, text: `step ${i + 1}: loss ${lossText(s.loss)}`}))}],
  });
  curve('curve-2', {
    title: 'Time of a step', xName: 'step', wholeX: true, empty: 'No step is timed.', yText: (v) => time(v),
    series: [{name: 'timed steps', class: 'main', points: run.steps.map((s, i) => ({x: i + 1, y: s.seconds,
      text: `step ${i + 1}: ${time(s.seconds ?? 0)}`})).filter((p) => finite(p.y))}],
  });
}
byEpochs ? curvesOfEpochs() : curvesOfSteps();

// ---- Phases and memory ----
const phaseNames = ['load', 'forward', 'backward', 'reduce', 'update'];
const bars = (rows) => `<div class="bars">${
    rows.map(({name, share, first, second, cls}) => `<div><span>${escaped(name)}</span><div class="${cls ?? ''}"><i style="width:${
        n2(100 * clamp(share, 0, 1))}%"></i></div><span>${first}</span><span class="soft">${second}</span></div>`).join('')}</div>`;
const share = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–');
function showPhases() {
  const total = phaseNames.map((name) => (run.step_phases ? run.step_phases[name] : sum(run.epochs.map((e) => e.phases[name] ?? 0))));
  const whole = sum(total), most = Math.max(...total);
  if (!(whole > 0)) {
    byId('phases').innerHTML = `<p class="soft">${escaped(run.no_phases || 'Phases are known after the first epoch with a full batch.')}</p>`;
    return;
  }
  byId('phases').innerHTML = `${bars(phaseNames.map((name, i) => ({
    name, share: total[i] / most, first: time(total[i]), second: share(total[i], whole), cls: name})))}
    <p class="soft small">${run.step_phases ? 'Of the last step' : `Of ${plural(run.epochs.length, 'epoch')}, in the proportions of the last full batch of each`},
      on the first replica. <b>reduce</b> is the part of the all-reduce that backward does not hide.</p>`;
}
function showMemory() {
  if (!run.memory.length) {
    byId('memory').innerHTML = `<p class="soft">${escaped(run.no_memory)}</p>`;
    return;
  }
  const kinds = new Map();  // devices with the same memory share a list
  for (const device of run.memory) {
    const key = JSON.stringify([device.parts, device.capacity, device.replicas]);
    kinds.set(key, [...(kinds.get(key) ?? []), device]);
  }
  byId('memory').innerHTML = `${[...kinds.values()].map((same) => {
    const {parts, capacity, replicas} = same[0], whole = sum(parts.map((p) => p.bytes)), most = Math.max(...parts.map((p) => p.bytes));
    return `<h3>${same.map((d) => escaped(d.device)).join(', ')}: ${size(whole)} of ${size(capacity)}${same.length > 1 ? ' each' : ''}, ${
        plural(replicas, 'replica')}</h3>${bars(parts.toSorted((a, b) => b.bytes - a.bytes).map((p) => ({
      name: p.name, share: p.bytes / most, first: size(p.bytes), second: share(p.bytes, whole)})))}`;
  }).join('')}<p class="soft small">${finite(run.peak_bytes) ? `Measured: ${size(run.peak_bytes)} at most on a device. ` : ''}Computed before anything is allocated.</p>`;
}
showPhases();
showMemory();

// ---- Table of the curves ----
function showNumbers() {
  const head = (names) => `<thead><tr>${names.map((n) => `<th scope="col">${n}</th>`).join('')}</tr></thead>`;
  const body = (rows) => `<tbody>${rows.map(([name, ...cells]) => `<tr><th scope="row">${name}</th>${
      cells.map((c) => `<td>${c}</td>`).join('')}</tr>`).join('')}</tbody>`;
  byId('numbers-title').textContent = byEpochs ? 'Epochs' : 'Steps';
  byId('numbers').innerHTML = byEpochs ?
      head(['epoch', 'training loss', 'test accuracy', 'time', ...phaseNames, 'learning rate']) +
          body(run.epochs.map((e) => [e.epoch, lossText(e.train_loss), percentText(e.test_accuracy), duration(e.seconds),
            ...phaseNames.map((name) => (sum(Object.values(e.phases)) > 0 ? time(e.phases[name]) : '–')), e.learning_rate ?? '–'])) :
      head(['step', 'loss', 'time']) + body(run.steps.map((s, i) => [i + 1, lossText(s.loss), finite(s.seconds) ? time(s.seconds) : 'not timed']));
}
showNumbers();

// ---- Timeline ----
// The rows, items and transfers of the trace's events. Times are in microseconds.
function readTrace(trace) {
  const ranks = new Map(), rows = new Map(), items = [], flows = new Map(), at = new Map();
  const key = (e) => `${e.pid} ${e.tid}`;
  for (const e of trace.traceEvents) {
    if (e.ph === 'M' && e.name === 'process_name') ranks.set(e.pid, e.args.name);
    if (e.ph === 'M' && e.name === 'thread_name') rows.set(key(e), {rank: e.pid, id: e.tid, name: e.args.name, items: []});
  }
  for (const e of trace.traceEvents.filter((e) => e.ph === 'X')) {
    const phase = e.args?.phase ?? 'other', row = rows.get(key(e));
    const item = {name: e.name, kind: e.cat, begin: e.ts, end: e.ts + e.dur, time: e.dur, phase, step: e.args?.step ?? 0, row, arrows: []};
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
  let step, first, end;              // the step, and its bounds
  let from, to;                      // the part that is shown
  let chosen = null, shown = true;   // the item; whether transfers are drawn
  let ofRows = [], ofArrows = [];    // of the step
  let width = 0, x, tops = new Map(), rowHeight = 0;

  const us = (t) => time(t * 1e-6);
  const rankName = (rank) => ranks.get(rank) ?? `rank ${rank}`;
  const sentence = (item) => `${item.name}: ${rankName(item.row.rank)}, ${item.row.name}, ${item.phase}, begins after ${
      us(item.begin - first)}, takes ${us(item.time)}${item.arrows.length ? `, ${plural(item.arrows.length, 'transfer')}` : ''}`;

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
    const put = (phase, a, b) => paths.set(phase, `${paths.get(phase) ?? ''}M${n2(a)} ${top}H${n2(b)}V${top + rowHeight}H${n2(a)}Z`);
    let open = null;
    for (const item of row.items) {
      if (item.end < from || item.begin > to) continue;
      const a = Math.max(gutter - 2, x(item.begin)), b = Math.min(edge, Math.max(x(item.end), x(item.begin) + 0.75));
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
    return [...paths].map(([phase, d]) => `<path class="${phaseNames.includes(phase) ? phase : 'other'}" d="${d}"/>`).join('') + labels;
  }
  const visible = (arrow) => arrow.to.begin >= from && tail(arrow) <= to;
  const tail = (arrow) => (arrow.from.end <= arrow.to.begin ? arrow.from.end : arrow.from.begin);
  function drawn(arrow, on) {
    const [a, b] = [x(tail(arrow)), x(arrow.to.begin)], down = tops.get(arrow.to.row) > tops.get(arrow.from.row);
    const ya = tops.get(arrow.from.row) + (down ? rowHeight : 0), yb = tops.get(arrow.to.row) + (down ? 0 : rowHeight);
    const bend = Math.min(Math.abs(yb - ya) / 2, 40) * (down ? 1 : -1), side = down ? -7 : 7;
    return `<path class="transfer${on}" d="M${n2(a)} ${n2(ya)}C${n2(a)} ${n2(ya + bend)} ${n2(b)} ${n2(yb - bend)} ${n2(b)} ${
        n2(yb + side * 0.6)}"/><path class="transfer-head${on}" d="M${n2(b)} ${n2(yb)}l-3.5 ${side}h7Z"/>`;
  }

  const gutter = 62;
  function draw() {
    const height = layout();
    x = (t) => gutter + ((t - from) / (to - from)) * (width - gutter - 6);
    let text = '', rank = -1;
    const axis = ticks(from - first, to - first, (width - gutter) / 110), unit = to - from < 2000 ? [1, 'µs'] : [1e-3, 'ms'];
    for (const t of axis.list)
      text += `<line class="grid" x1="${n2(x(t + first))}" x2="${n2(x(t + first))}" y1="20" y2="${height - 6}"/><text x="${
          n2(Math.min(x(t + first), width - 26))}" y="14" text-anchor="middle">${Number((t * unit[0]).toFixed(4))} ${unit[1]}</text>`;
    for (const {row} of ofRows) {
      const top = tops.get(row);
      if (row.rank !== rank) text += `<text class="rank" x="6" y="${top - 5}">${escaped(rankName(row.rank))}</text>`;
      rank = row.rank;
      text += `<rect class="row" x="${gutter}" y="${top}" width="${width - gutter - 6}" height="${rowHeight}"/><text x="6" y="${
          top + rowHeight / 2 + 4}">${escaped(row.name)}</text>`;
    }
    text += `<clipPath id="inside"><rect x="${gutter}" y="0" width="${width - gutter - 6}" height="${height}"/></clipPath><g clip-path="url(#inside)">${
        ofRows.map(boxes).join('')}`;
    const inView = shown ? ofArrows.filter(visible) : [];
    if (inView.length <= mostArrows) text += inView.map((a) => drawn(a, '')).join('');
    if (chosen) {
      const top = tops.get(chosen.row), a = x(chosen.begin), b = Math.max(x(chosen.end), a + 1);
      text += chosen.arrows.filter(visible).map((arrow) => drawn(arrow, ' on')).join('');
      text += `<rect class="chosen" x="${n2(a - 1.5)}" y="${top - 1.5}" width="${n2(b - a + 3)}" height="${rowHeight + 3}" rx="3"/>`;
    }
    box.innerHTML = `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${text}</g></svg>`;
    byId('trace-note').textContent = `${plural(ofArrows.length, 'transfer')} between ranks in this step${
        inView.length > mostArrows ? `. Arrows are drawn when at most ${mostArrows} are in view: zoom in` : ''}. An arrow leads from the transfer to the first work of the other rank after it, or to the work that reads another rank's memory. Recording adds events to the streams, so a recorded step is slower than others.`;
    Object.assign(document.body.dataset, {step, from: n2(from - first), to: n2(to - first), arrows: inView.length});
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
    const center = at ?? (chosen && chosen.end >= from && chosen.begin <= to ? clamp((chosen.begin + chosen.end) / 2, from, to) : (from + to) / 2);
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
    ofRows = rows.map((row) => ({row, items: row.items.filter((i) => i.step === step)})).filter((r) => r.items.length);
    ofArrows = arrows.filter((a) => a.from.step === step);
    first = Math.min(...of.map((i) => i.begin));
    end = Math.max(...of.map((i) => i.end), first + 0.001);
    chosen = null;
    byId('item').textContent = `Step ${step}: ${plural(of.length, 'item')} on ${plural(ofRows.length, 'stream')}, ${us(end - first)}`;
    for (const button of byId('steps').querySelectorAll('button')) button.setAttribute('aria-pressed', String(Number(button.dataset.step) === step));
    const longest = of.toSorted((a, b) => b.time - a.time).slice(0, 12);
    byId('longest').innerHTML = `<thead><tr><th scope="col">item</th><th scope="col">rank</th><th scope="col">stream</th><th scope="col">phase</th><th scope="col">begins after</th><th scope="col">takes</th></tr></thead><tbody>${
        longest.map((i) => `<tr><td><button data-item="${items.indexOf(i)}">${escaped(i.name)}</button></td><td>${i.row.rank}</td><td>${
            escaped(i.row.name)}</td><td>${i.phase}</td><td>${us(i.begin - first)}</td><td>${us(i.time)}</td></tr>`).join('')}</tbody>`;
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
      if (t >= i.begin - near && t <= i.end + near && (!best || Math.abs(i.begin + i.end - 2 * t) < Math.abs(best.begin + best.end - 2 * t))) best = i;
    return best;
  }
  const timeAt = (event) => {
    const rect = box.getBoundingClientRect();
    return from + (clamp((event.clientX - rect.left - gutter) / (rect.width - gutter - 6), 0, 1)) * (to - from);
  };

  byId('steps').insertAdjacentHTML('beforeend', numbers.map((n) => `<button data-step="${n}" title="Step ${n} (${n})">step ${n}</button>`).join(''));
  byId('legend').innerHTML = [...phaseNames, 'other'].filter((p) => items.some((i) => i.phase === p))
                                 .map((p) => `<span><i class="${p}"></i>${p}</span>`).join('');
  byId('steps').addEventListener('click', (event) => event.target.dataset.step && open(Number(event.target.dataset.step)));
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
      ArrowRight: () => move(1, 0), ArrowLeft: () => move(-1, 0), ArrowDown: () => move(0, 1), ArrowUp: () => move(0, -1),
      Home: () => choose(row.items[0]), End: () => choose(row.items.at(-1)), Escape: () => choose(null),
      Enter: () => chosen && around(chosen),
      '+': () => zoom(0.5), '=': () => zoom(0.5), w: () => zoom(0.5), '-': () => zoom(2), s: () => zoom(2),
      a: () => pan(-0.25), d: () => pan(0.25), 0: whole,
    };
    const action = actions[event.key.length === 1 ? event.key.toLowerCase() : event.key] ?? (numbers.includes(Number(event.key)) && (() => open(Number(event.key))));
    if (!action) return;
    event.preventDefault();
    action();
  });
  box.addEventListener('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;  // the page's own scrolling
    event.preventDefault();
    if (event.shiftKey) pan(Math.sign(event.deltaX + event.deltaY) * 0.1);
    else zoom(event.deltaY > 0 ? 1.25 : 0.8, timeAt(event));
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
    tip.style.top = `${event.clientY + 18 + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 10 : event.clientY + 18}px`;
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
if (run.trace?.traceEvents.some((e) => e.ph === 'X')) {
  timeline(run.trace);
} else {
  byId('trace').hidden = true;
  byId('no-trace').hidden = false;
  byId('no-trace').textContent = run.no_trace || 'No step is recorded.';
}
