// Plays the schedules that `rondo schedule` computed. Nothing about a schedule is computed here: the states
// of the chunks after a step are those of the step before with the step's changes.
const data = JSON.parse(document.getElementById('data').textContent);
const names = [...new Set(data.schedules.map((s) => s.algorithm))];
const counts = [...new Set(data.schedules.map((s) => s.ranks))];
const still = matchMedia('(prefers-reduced-motion: reduce)');

let schedule;     // the one that is shown
let states = [];  // states[k][rank][chunk] after k steps
let at = 0;       // how many steps are done
let playing = 0;  // the timer of the player, or 0
let frame = 0;    // the animation of the transfers, or 0

// ---- Text ----
const input = (rank, chunk) => schedule.inputs[rank][chunk];
function expression(cell, chunk) {
  const texts = cell.sums.map((sum) => sum.map((rank) => input(rank, chunk)).join(' + '));
  return texts.length > 1 ? texts.map((text) => `(${text})`).join(' + ') : texts[0];
}
const ranksOf = (cell) => cell.sums.flat();
const chunkName = (m) =>
    (m.chunks === 1 ? `chunk ${m.chunk}` :
         m.chunks === schedule.ranks ? 'the whole vector' :
                                       `chunks ${m.chunk} to ${m.chunk + m.chunks - 1}`);
const finished = (cell) => ranksOf(cell).length === schedule.ranks;
const phaseClass = (step) => (step.reduces ? 'reduces' : 'gathers');

function hue(rank) {  // with many ranks, neighbours also differ in lightness
  const n = schedule.ranks;
  return `--hue:${(212 + (360 * rank) / n) % 360};--lift:${n > 8 && rank % 2 ? '9%' : '0%'}`;
}
const colour = (rank) =>
    `hsl(${(212 + (360 * rank) / schedule.ranks) % 360} var(--saturation) calc(var(--lightness) + ${
        schedule.ranks > 8 && rank % 2 ? 9 : 0}%))`;

// ---- The picture ----
const width = 1080, height = 760, middle = [540, 380], radius = 208;
const angle = (rank) =>
    (schedule.ranks === 2 ? Math.PI : -Math.PI / 2) + (2 * Math.PI * rank) / schedule.ranks;
const onCircle = (a, rx, ry = rx) => [middle[0] + rx * Math.cos(a), middle[1] + ry * Math.sin(a)];
const node = (rank) => onCircle(angle(rank), radius);
const n2 = (x) => x.toFixed(1);

function groupShapes() {
  const n = schedule.ranks, m = schedule.group;
  if (m === n) return '';
  let text = '';
  for (let first = 0; first < n; first += m) {
    const half = (Math.PI / n) * 0.82, a = angle(first) - half, b = angle(first + m - 1) + half;
    const large = b - a > Math.PI ? 1 : 0;
    const [p, q, r, s] = [onCircle(a, 252), onCircle(b, 252), onCircle(b, 164), onCircle(a, 164)];
    text += `<path class="group" d="M${p.map(n2)}A252 252 0 ${large} 1 ${q.map(n2)}L${r.map(n2)}A164 164 0 ${
        large} 0 ${s.map(n2)}Z"/>`;
    if (m === 1) continue;
    const [x, y] = onCircle(angle(first + Math.floor(m / 2) - 0.5), 236);  // between two ranks of the group
    text += `<text class="soft" x="${n2(x)}" y="${n2(y + 5)}" text-anchor="middle" font-size="13">node ${
        first / m}</text>`;
  }
  return text;
}

// The curve of a transfer from circle to circle: the two directions of a pair are apart.
function curve(m) {
  const [ax, ay] = node(m.from), [bx, by] = node(m.to), dx = bx - ax, dy = by - ay,
             length = Math.hypot(dx, dy);
  const bow = schedule.ranks === 2 ? 0.2 : 0.08;
  const cx = (ax + bx) / 2 - dy * bow, cy = (ay + by) / 2 + dx * bow, gap = schedule.ranks > 12 ? 23 : 31;
  const from = Math.hypot(cx - ax, cy - ay), to = Math.hypot(bx - cx, by - cy);
  const p = [ax + ((cx - ax) / from) * gap, ay + ((cy - ay) / from) * gap];
  const q = [bx - ((bx - cx) / to) * (gap + 7), by - ((by - cy) / to) * (gap + 7)];
  return {p, c: [cx, cy], q, length};
}
const point =
    ({p, c, q}, t) => [0, 1].map((i) => (1 - t) ** 2 * p[i] + 2 * t * (1 - t) * c[i] + t * t * q[i]);

function arrows(step) {
  const few = step.movements.length <= schedule.ranks;
  let lines = '', tags = '';
  for (const m of step.movements) {
    const shape = curve(m), {p, c, q} = shape;
    const thick = 1.6 + 7 * Math.sqrt(m.bytes / Math.max(1, data.bytes)) * (few ? 1 : 0.4);
    const dx = q[0] - c[0], dy = q[1] - c[1], l = Math.hypot(dx, dy), u = [dx / l, dy / l], h = 5 + thick;
    const tip = [q[0] + u[0] * 8, q[1] + u[1] * 8];
    lines += `<path class="arrow" stroke-width="${n2(thick)}" d="M${p.map(n2)}Q${c.map(n2)} ${
        q.map(n2)}"/><path class="head" d="M${tip.map(n2)}L${n2(q[0] - u[0] * 3 - u[1] * h)} ${
        n2(q[1] - u[1] * 3 +
           u[0] * h)}L${n2(q[0] - u[0] * 3 + u[1] * h)} ${n2(q[1] - u[1] * 3 - u[0] * h)}Z"/>`;
    if (!few) continue;
    // Beside the arrow, towards the middle of the circle; on the arrow where it crosses the middle.
    const half = point(shape, 0.5), crosses = Math.hypot(half[0] - middle[0], half[1] - middle[1]) < 80;
    const [x, y] = point(shape, crosses ? 0.24 : 0.5), away = Math.hypot(x - middle[0], y - middle[1]);
    const s = crosses ? 1 : 1 - (schedule.ranks > 8 ? 30 : 40) / away;
    const [tx, ty] = [middle[0] + (x - middle[0]) * s, middle[1] + (y - middle[1]) * s];
    const label = m.chunks === 1 ? `c${m.chunk}` :
        m.chunks === schedule.ranks ? 'all' :
                                      `c${m.chunk}–${m.chunk + m.chunks - 1}`;
    const two = schedule.ranks <= 10;
    tags += `<text class="tag" text-anchor="middle" font-size="${two ? 15 : 12}" x="${n2(tx)}" y="${
        n2(ty + (two ? -2 : 4))}">${label}${
        two ? `<tspan x="${n2(tx)}" dy="16" font-size="12" font-weight="400">${size(m.bytes)}</tspan>` :
              ''}</text>`;
  }
  return `<g class="${phaseClass(step)}" opacity="${few ? 1 : 0.75}">${lines}</g>${tags}`;
}

function card(rank, state) {
  const n = schedule.ranks, w = Math.min(46, (n > 10 ? 142 : 226) / n), h = 34;
  const [x, y] = onCircle(angle(rank), n === 2 ? 330 : 408, 318), left = x - (n * w) / 2, top = y - h / 2 + 8;
  const [nx, ny] = node(rank), [gx, gy] = onCircle(angle(rank), n === 2 ? 280 : 270);
  let text = `<path class="leader" d="M${n2(nx)} ${n2(ny)}L${n2(gx)} ${n2(gy)}"/><g class="rank" style="${
      hue(rank)}"><circle class="hue" cx="${n2(nx)}" cy="${n2(ny)}" r="${n > 12 ? 18 : 24}"/><text x="${
      n2(nx)}" y="${n2(ny + 6)}" text-anchor="middle" font-size="17" font-weight="700">${rank}</text></g>
    <text class="soft" x="${n2(x)}" y="${n2(top - 6)}" text-anchor="middle" font-size="13">rank ${
      rank}</text>`;
  state.forEach((cell, chunk) => {
    const cx = left + chunk * w, stripe = w / n, empty = schedule.chunks[chunk].bytes === 0;
    const title = empty ? `chunk ${chunk} is empty` :
                          `rank ${rank}, chunk ${chunk}: ${expression(cell, chunk)} = ${cell.value}`;
    text += `<g><title>${title}</title><rect class="cell" x="${n2(cx)}" y="${n2(top)}" width="${
        n2(w)}" height="${h}"/>`;
    if (!empty) {
      for (const r of ranksOf(cell))
        text += `<rect class="share" style="${hue(r)}" x="${(cx + r * stripe).toFixed(2)}" y="${
            n2(top)}" width="${(stripe + 0.2).toFixed(2)}" height="${h}"/>`;
      for (const r of cell.waiting)
        text += `<rect class="waits" style="${hue(r)}" x="${(cx + r * stripe + 1).toFixed(2)}" y="${
            n2(top + 1)}" width="${Math.max(0.5, stripe - 2).toFixed(2)}" height="${h - 2}"/>`;
    }
    const marks = `${cell.changed ? ' changed' : ''}${empty ? ' empty' : finished(cell) ? ' finished' : ''}`;
    text += `<rect class="edge${marks}" x="${n2(cx + 0.5)}" y="${n2(top + 0.5)}" width="${
        n2(w - 1)}" height="${h - 1}" rx="2"/>`;
    if (w >= 21 && !empty)
      text += `<text class="value" x="${n2(cx + w / 2)}" y="${n2(top + h / 2 + 5)}" text-anchor="middle"${
          w < 26     ? ' style="font-size:10.5px"' :
              w < 30 ? ' style="font-size:12px"' :
                       ''}>${cell.value}</text>`;
    text += '</g>';
  });
  return text;
}

function picture(k, id) {
  const step = k > 0 ? schedule.steps[k - 1] : null;
  const title = `${schedule.ranks} ranks in a circle, ${
      k === 0 ? 'before the first step' : `after step ${k} of ${schedule.steps.length}`}`;
  return `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}"${id ? ` id="${id}"` : ''}>${
      groupShapes()}${states[k].map((state, rank) => card(rank, state)).join('')}${
      step ? arrows(step) : ''}<g class="packets"></g></svg>`;
}

// ---- The page ----
function makeStates() {
  let state = schedule.inputs.map(
      (row, rank) => row.map((value) => ({value, sums: [[rank]], waiting: [], changed: false})));
  states = [state];
  for (const step of schedule.steps) {
    state = state.map((row) => row.map((cell) => ({...cell, changed: false})));
    for (const {rank, chunk, value, sums, waiting} of step.changed)
      state[rank][chunk] = {value, sums, waiting, changed: true};
    states.push(state);
  }
}

function sentence(step) {
  const all =
      step.movements.map((m) => `rank ${m.from} sends ${chunkName(m)} (${size(m.bytes)}) to rank ${m.to}`);
  if (all.length === 0) return 'Nothing is sent: the chunks are empty.';
  if (all.length <= 4) return `${all.join('; ')}.`.replace(/^r/, 'R');
  const last = step.movements.length - 1;
  return `${plural(all.length, 'transfer')}: ${all[0]}, … , ${all[last]}.`;
}

function bar(label, part, text, on, extra = '') {
  return `<div class="bar ${on}"><span>${label}</span><div><i style="width:${(100 * part).toFixed(2)}%"></i>${
      extra}</div><span>${text}</span></div>`;
}

function showValues() {
  const n = schedule.ranks, chunks = schedule.chunks;
  let text = `<caption>What every rank holds after ${
      at === 0 ? 'no step' : plural(at, 'step')}. Rank r's chunk c begins as r × ${
      n <= 10 ?
          10 :
          100} + c, so each sum shows what was added. Bold: the sum is complete.</caption><thead><tr><th scope="col">rank</th>${
      chunks.map((c, i) => `<th scope="col" title="${c.bytes} bytes from byte ${c.begin}">chunk ${i}</th>`)
          .join('')}</tr></thead><tbody>`;
  states[at].forEach((row, rank) => {
    text += `<tr><th scope="row">${rank}</th>${
        row.map((cell, chunk) => {
             if (chunks[chunk].bytes === 0)
               return `<td class="empty" data-rank="${rank}" data-chunk="${chunk}"><div>empty</div></td>`;
             const have = new Set(ranksOf(cell)), stops = [];
             for (let r = 0; r < n; ++r)
               stops.push(`${have.has(r) ? colour(r) : 'var(--track)'} ${((100 * r) / n).toFixed(2)}% ${
                   ((100 * (r + 1)) / n).toFixed(2)}%`);
             const marks = `${cell.changed ? 'changed' : ''}${finished(cell) ? ' finished' : ''}`;
             const waits = cell.waiting.length ? ` (${plural(cell.waiting.length, 'input')} waiting)` : '';
             return `<td class="${marks}" data-rank="${rank}" data-chunk="${chunk}" title="${
                 expression(cell, chunk)}${waits}"><div style="--stripes:linear-gradient(90deg,${stops})">${
                 cell.value}</div></td>`;
           })
            .join('')}</tr>`;
  });
  byId('values').innerHTML = `${text}</tbody>`;
}

function showTransfers(step) {
  const rows = step ? step.movements : [];
  byId('transfers').innerHTML = `<caption>${
      step ?
          plural(rows.length, 'transfer') :
          'No step is done.'}</caption><thead><tr><th scope="col">from</th><th scope="col">to</th><th scope="col">what</th><th scope="col">bytes</th><th scope="col">bytes on this link so far</th></tr></thead><tbody>${
      rows.map(
              (m) => `<tr><td>${m.from}</td><td>${m.to}</td><td>${chunkName(m)}</td><td>${
                  m.bytes.toLocaleString('en-US')}</td><td>${m.total.toLocaleString('en-US')}</td></tr>`)
          .join('')}</tbody>`;
}

function showBars(step) {
  const sent = step ? step.sent : schedule.inputs.map(() => 0);
  const most =
      Math.max(1, ...schedule.steps.at(-1).sent, (2 * data.bytes * (schedule.ranks - 1)) / schedule.ranks);
  byId('sent').innerHTML =
      sent.map((bytes, rank) => bar(`rank ${rank}`, bytes / most, size(bytes), 'thin')).join('');
  byId('sent').setAttribute(
      'aria-label', sent.map((bytes, rank) => `rank ${rank}: ${size(bytes)}`).join(', '));
  const all = data.schedules.filter((s) => s.ranks === schedule.ranks),
        slowest = Math.max(1e-12, ...all.map((s) => s.seconds));
  const bound = `<b style="left:${((100 * schedule.bound_seconds) / slowest).toFixed(2)}%"></b>`;
  byId('compare').innerHTML = `${
      all.map(
             (s) => bar(s.algorithm, s.seconds / slowest, time(s.seconds), s === schedule ? 'on' : '', bound))
          .join('')}<p class="soft small">Dashed: no algorithm is faster than ${
      time(schedule.bound_seconds)}.</p>`;
  byId('compare').setAttribute('aria-label', all.map((s) => `${s.algorithm}: ${time(s.seconds)}`).join(', '));
}

function show() {
  const step = at > 0 ? schedule.steps[at - 1] : null, total = schedule.steps.length;
  document.body.dataset.step = at;
  byId('stage').innerHTML = picture(at);
  byId('position').textContent = step ? `Step ${at} of ${total}` : 'Start';
  byId('phase').textContent = step ? step.phase : 'inputs';
  byId('phase').className = step ? phaseClass(step) : 'soft';
  byId('action').textContent = step ? step.action : 'Every rank holds its own vector, cut into chunks.';
  byId('say').textContent = step ? sentence(step) : `${plural(total, 'step')} follow.`;
  byId('step-time').textContent = step ? `${time(step.seconds)} (latency ${time(step.latency)})` : '–';
  byId('time').textContent = `${time(step ? step.end : 0)} of ${time(schedule.seconds)}`;
  const slider = byId('slider');
  slider.max = total;
  slider.value = at;
  slider.setAttribute('aria-valuetext', step ? `step ${at} of ${total}, ${step.phase}` : 'start');
  byId('first').disabled = byId('back').disabled = at === 0;
  byId('next').disabled = byId('last').disabled = at === total;
  [...byId('timeline').children].forEach((block, i) => {
    block.classList.toggle('done', i < at);
    block.classList.toggle('now', i === at - 1);
  });
  showValues();
  showTransfers(step);
  showBars(step);
}

function choose(algorithm, ranks) {
  stop();
  schedule = data.schedules.find((s) => s.algorithm === algorithm && s.ranks === ranks);
  at = 0;
  makeStates();
  document.body.dataset.algorithm = algorithm;
  document.body.dataset.ranks = ranks;
  byId('ranks').value = ranks;
  document.querySelector(`#algorithms [value="${algorithm}"]`).checked = true;
  const {inside, between} = data.links,
                 link = (l) => `${time(l.alpha_seconds)} + bytes / ${
                     (l.bytes_per_second / 1e9).toPrecision(4).replace(/\.?0+$/, '')} GB/s`;
  const grouped = schedule.group < ranks;
  byId('about').textContent =
      `${size(data.bytes)} on each of ${ranks} ranks. A transfer takes ${link(inside)}${
          grouped ?
              ` inside a node of ${plural(schedule.group, 'rank')}, and ${link(between)} between nodes` :
              ''}.`;
  byId('foot').textContent =
      'A chunk is shown as one transfer. The library cuts large chunks into segments, so that one is added while the next is in transit.';
  byId('timeline').innerHTML =
      schedule.steps
          .map(
              (step, i) => `<div class="${phaseClass(step)}" data-go="${i + 1}" title="step ${i + 1}: ${
                  step.phase}, ${time(step.seconds)}" style="flex:${
                  (step.seconds / Math.max(1e-12, schedule.seconds)).toFixed(5)} 1 0"><i style="width:${
                  ((100 * step.latency) / Math.max(1e-12, step.seconds)).toFixed(2)}%"></i></div>`)
          .join('');
  byId('legend').innerHTML = `<span>A cell is a chunk. Its stripes are the inputs in its sum:</span>${
      schedule.inputs.map((_, rank) => `<span><i style="${hue(rank)}"></i>rank ${rank}</span>`).join('')}${
      schedule.algorithm === 'root' ?
          '<span>▯ arrived, not yet added</span>' :
          ''}<span class="reduces">⟶ partial sums</span><span class="gathers">⇢ finished sums</span>`;
  show();
}

// ---- Playing ----
function stop() {
  clearTimeout(playing);
  cancelAnimationFrame(frame);
  playing = frame = 0;
  byId('play').textContent = 'Play';
  byId('play').setAttribute('aria-pressed', 'false');
}
function go(step) {
  stop();
  at = Math.max(0, Math.min(schedule.steps.length, step));
  show();
}
// Moves a dot along each arrow.
function travel(step, milliseconds) {
  if (still.matches || step.movements.length > 64) return;
  const layer = document.querySelector('#stage .packets'), shapes = step.movements.map(curve);
  layer.setAttribute('class', `packets ${phaseClass(step)}`);
  layer.innerHTML = shapes.map(() => '<circle class="packet" r="8"/>').join('');
  let begun = 0;
  const move = (now) => {
    begun ||= now;
    const t = Math.min(1, (now - begun) / milliseconds);
    shapes.forEach((shape, i) => {
      const [x, y] = point(shape, t < 0.5 ? 2 * t * t : 1 - 2 * (1 - t) ** 2);
      layer.children[i].setAttribute('transform', `translate(${n2(x)} ${n2(y)})`);
    });
    if (t < 1)
      frame = requestAnimationFrame(move);
    else
      layer.innerHTML = '';
  };
  frame = requestAnimationFrame(move);
}
function tick() {
  if (at === schedule.steps.length) return stop();
  const pause = 1500 / Number(byId('speed').value);
  ++at;
  show();
  travel(schedule.steps[at - 1], pause * 0.6);
  playing = setTimeout(tick, pause);
}
function play() {
  if (playing) return stop();
  if (at === schedule.steps.length) at = 0;
  byId('play').textContent = 'Pause';
  byId('play').setAttribute('aria-pressed', 'true');
  tick();
}

// ---- On paper: every step as a small picture ----
function fillPrint() {
  byId('print').innerHTML = `<div class="legend">${byId('legend').innerHTML}</div>${
      states
          .map((_, k) => {
            const step = k > 0 ? schedule.steps[k - 1] : null;
            return `<figure>${picture(k)}<figcaption><b>${
                step ? `Step ${k} of ${schedule.steps.length}, ${step.phase}` : 'Start'}</b>${
                step ? `, until ${time(step.end)}. ${escaped(step.action)}` :
                       '. Every rank holds its own vector.'}</figcaption></figure>`;
          })
          .join('')}`;
}

byId('algorithms')
    .insertAdjacentHTML(
        'beforeend',
        names
            .map(
                (name, i) => `<label title="${name} (${i + 1})"><input type="radio" name="algorithm" value="${
                    name}"><span>${name}</span></label>`)
            .join(''));
byId('ranks').innerHTML = counts.map((n) => `<option>${n}</option>`).join('');
byId('algorithms').addEventListener('change', (event) => choose(event.target.value, schedule.ranks));
byId('ranks').addEventListener('change', (event) => choose(schedule.algorithm, Number(event.target.value)));
byId('slider').addEventListener('input', (event) => go(Number(event.target.value)));
byId('timeline').addEventListener('click', (event) => {
  const block = event.target.closest('[data-go]');
  if (block) go(Number(block.dataset.go));
});
byId('first').addEventListener('click', () => go(0));
byId('back').addEventListener('click', () => go(at - 1));
byId('next').addEventListener('click', () => go(at + 1));
byId('last').addEventListener('click', () => go(schedule.steps.length));
byId('play').addEventListener('click', play);
addEventListener('beforeprint', fillPrint);
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const on = event.target.closest('input, select, button, summary');
  if (on && (event.key === ' ' || (on.id !== 'play' && event.key.startsWith('Arrow'))))
    return;  // the control's own
  const neighbour = (by) => choose(
      schedule.algorithm,
      counts[Math.max(0, Math.min(counts.length - 1, counts.indexOf(schedule.ranks) + by))]);
  const keys = {
    ' ': play,
    ArrowRight: () => go(at + 1),
    ArrowLeft: () => go(at - 1),
    Home: () => go(0),
    End: () => go(schedule.steps.length),
    '+': () => neighbour(1),
    '=': () => neighbour(1),
    '-': () => neighbour(-1),
  };
  const action = keys[event.key] ??
      (names[Number(event.key) - 1] && (() => choose(names[Number(event.key) - 1], schedule.ranks)));
  if (!action) return;
  event.preventDefault();
  action();
});
choose(names[0], Number(document.body.dataset.firstRanks));
