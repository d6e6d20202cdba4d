// Shows a run of `rondo train`. Its numbers are those that the program wrote; only the sums over epochs and
// the positions in the pictures are computed here.
const run = JSON.parse(byId('data').textContent);
const lossText = (x) => (!finite(x) ? 'no finite value' : x < 1000 ? x.toFixed(4) : x.toExponential(2));
const percentText = (x) => (finite(x) ? `${(100 * x).toFixed(2)} %` : '–');
const grouped = (x) => x.toLocaleString('en');
function duration(seconds) {
  if (seconds < 100) return time(seconds);
  const whole = Math.round(seconds), two = (x) => String(x).padStart(2, '0');
  const minutes = Math.floor(whole / 60) % 60, hours = Math.floor(whole / 3600);
  return hours ? `${hours}:${two(minutes)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

const tableHead = (names) =>
    `<thead><tr>${names.map((n) => `<th scope="col">${n}</th>`).join('')}</tr></thead>`;

// ---- Head ----
const byEpochs = run.steps.length === 0;
const last = run.epochs.at(-1), sum = (list) => list.reduce((a, b) => a + b, 0);
byId('title').textContent = run.title;
const inHead = {
  network: '',
  processes: '',
  devices: '',
  parallelism: '',
  batch: 'batch ',
  precision: '',
  'learning rate': 'learning rate '
};
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
    [
      'training loss',
      last                  ? lossText(last.train_loss) :
          run.losses.length ? lossText(run.losses.at(-1).loss) :
                              '–'
    ],
    ['test accuracy', last ? percentText(last.test_accuracy) : '–'],
    ['training time', n ? duration(seconds) : '–'],
    ['time of an epoch', n ? duration(seconds / n) : '–'],
    ['epochs', `${n} of ${run.epochs_planned}`],
  ];
}
byId('tiles').innerHTML =
    tiles().map(([name, value]) => `<div><span>${name}</span><b>${value}</b></div>`).join('');
byId('facts').innerHTML =
    run.facts.map(([label, text]) => `<dt>${escaped(label)}</dt><dd>${escaped(text)}</dd>`).join('');

// ---- Curves ----
function curvesOfEpochs() {
  const spe = Math.max(1, run.steps_per_epoch), many = run.parts_of_a_point > 1;
  const mean = new Map(run.epochs.map((e) => [e.epoch, e.train_loss]));
  const steps = run.losses.map((p) => {
    const epoch = p.step / spe, end = Number.isInteger(epoch) && mean.has(epoch);
    return {
      x: epoch,
      y: p.loss,
      low: p.least,
      high: p.most,
      text: `step ${grouped(p.step)} (epoch ${Number(epoch.toFixed(2))}): loss ${lossText(p.loss)}${
          many ? `, from ${lossText(p.least)} to ${lossText(p.most)}` :
                 ''}${end ? `; mean of epoch ${epoch}: ${lossText(mean.get(epoch))}` : ''}`,
    };
  });
  const epochs = run.epochs.map(
      (e) => ({x: e.epoch, y: e.train_loss, text: `epoch ${e.epoch}: mean loss ${lossText(e.train_loss)}`}));
  const ofEpochs = {name: 'mean of an epoch', class: 'second', points: epochs};
  const ofSteps =
      {name: many ? 'steps, with least and largest' : 'steps', class: 'main', thin: true, points: steps};
  curve('curve-1', {
    title: 'Training loss',
    xName: 'epoch',
    series: steps.length ? [ofSteps, ofEpochs] : [ofEpochs],
    empty: 'No step is done yet.'
  });
  curve('curve-2', {
    title: 'Test accuracy',
    xName: 'epoch',
    wholeX: true,
    yText: (v) => `${Number((100 * v).toFixed(1))} %`,
    series: [{
      name: 'after each epoch',
      class: 'main',
      points: run.epochs.map((e) => ({
                               x: e.epoch,
                               y: e.test_accuracy,
                               text: `epoch ${e.epoch}: test accuracy ${percentText(e.test_accuracy)}`
                             }))
    }],
    empty: 'The accuracy is measured after each epoch; no epoch is complete.',
  });
}
function curvesOfSteps() {
  curve('curve-1', {
    title: 'Training loss',
    xName: 'step',
    wholeX: true,
    empty: '',
    series: [{
      name: 'steps',
      class: 'main',
      points:
          run.steps.map((s, i) => ({x: i + 1, y: s.loss, text: `step ${i + 1}: loss ${lossText(s.loss)}`}))
    }],
  });
  curve('curve-2', {
    title: 'Time of a step',
    xName: 'step',
    wholeX: true,
    empty: 'No step is timed.',
    yText: (v) => time(v),
    series: [{
      name: 'timed steps',
      class: 'main',
      points:
          run.steps.map((s, i) => ({x: i + 1, y: s.seconds, text: `step ${i + 1}: ${time(s.seconds ?? 0)}`}))
              .filter((p) => finite(p.y))
    }],
  });
}
byEpochs ? curvesOfEpochs() : curvesOfSteps();

// ---- Phases and memory ----
const phaseNames = ['load', 'forward', 'backward', 'reduce', 'update'];
const bars = (rows) => `<div class="bars">${
    rows.map(
            ({name, share, first, second, cls}) => `<div><span>${escaped(name)}</span><div class="${
                cls ?? ''}"><i style="width:${n2(100 * clamp(share, 0, 1))}%"></i></div><span>${
                first}</span><span class="soft">${second}</span></div>`)
        .join('')}</div>`;
const share = (part, whole) => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : '–');
function showPhases() {
  const total = phaseNames.map(
      (name) => (run.step_phases ? run.step_phases[name] : sum(run.epochs.map((e) => e.phases[name] ?? 0))));
  const whole = sum(total), most = Math.max(...total);
  if (!(whole > 0)) {
    byId('phases').innerHTML = `<p class="soft">${
        escaped(run.no_phases || 'Phases are known after the first epoch with a full batch.')}</p>`;
    return;
  }
  byId('phases').innerHTML = `${bars(phaseNames.map((name, i) => ({
                                                      name,
                                                      share: total[i] / most,
                                                      first: time(total[i]),
                                                      second: share(total[i], whole),
                                                      cls: name
                                                    })))}
    <p class="soft small">${
      run.step_phases ?
          'Of the last step' :
          `Of ${plural(run.epochs.length, 'epoch')}, in the proportions of the last full batch of each`},
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
  byId('memory').innerHTML = `${
          [...kinds.values()]
              .map((same) => {
                const {parts, capacity, replicas} = same[0], whole = sum(parts.map((p) => p.bytes)),
                                        most = Math.max(...parts.map((p) => p.bytes));
                return `<h3>${same.map((d) => escaped(d.device)).join(', ')}: ${size(whole)} of ${
                    size(capacity)}${same.length > 1 ? ' each' : ''}, ${plural(replicas, 'replica')}</h3>${
                    bars(parts.toSorted((a, b) => b.bytes - a.bytes).map((p) => ({
                                                                           name: p.name,
                                                                           share: p.bytes / most,
                                                                           first: size(p.bytes),
                                                                           second: share(p.bytes, whole)
                                                                         })))}`;
              })
              .join('')}<p class="soft small">${
      finite(run.peak_bytes) ? `Measured: ${size(run.peak_bytes)} at most on a device. ` :
                               ''}Computed before anything is allocated.</p>`;
}
showPhases();
showMemory();

// ---- Table of the curves ----
function showNumbers() {
  const body = (rows) => `<tbody>${
      rows.map(
              ([name, ...cells]) =>
                  `<tr><th scope="row">${name}</th>${cells.map((c) => `<td>${c}</td>`).join('')}</tr>`)
          .join('')}</tbody>`;
  byId('numbers-title').textContent = byEpochs ? 'Epochs' : 'Steps';
  byId('numbers').innerHTML = byEpochs ?
      tableHead(['epoch', 'training loss', 'test accuracy', 'time', ...phaseNames, 'learning rate']) +
          body(run.epochs.map(
              (e) =>
                  [e.epoch, lossText(e.train_loss), percentText(e.test_accuracy), duration(e.seconds),
                   ...phaseNames.map(
                       (name) => (sum(Object.values(e.phases)) > 0 ? time(e.phases[name]) : '–')),
                   e.learning_rate ?? '–'])) :
      tableHead(['step', 'loss', 'time']) +
          body(run.steps.map(
              (s, i) => [i + 1, lossText(s.loss), finite(s.seconds) ? time(s.seconds) : 'not timed']));
}
showNumbers();

// ---- Timeline ----
if (run.trace?.traceEvents.some((e) => e.ph === 'X')) {
  timeline(run.trace);
} else {
  byId('trace').hidden = true;
  byId('no-trace').hidden = false;
  byId('no-trace').textContent = run.no_trace || 'No step is recorded.';
}
