// The curves of the page of `rondo train`.
const n2 = (x) => x.toFixed(2);
const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const finite = Number.isFinite;  // a number that was not finite is null

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
  const box = byId(id), all = series.flatMap((s) => s.points).filter((p) => finite(p.y)),
        points = series[0].points;
  byId(`${id}-title`).textContent = title;
  if (!points.length) {
    box.innerHTML = `<p class="soft">${empty}</p>`;
    return;
  }
  box.innerHTML = `<div class="legend">${
      series.filter((s) => s.points.length)
          .map(
              (s) => `<span><i style="--colour:var(--${s.class === 'main' ? 'accent' : 'reduce'})"></i>${
                  s.name}</span>`)
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
  if (high - low < 1e-9 * Math.max(1, Math.abs(high)))
    [low, high] = logarithmic || high <= 0 ? [low - 0.5, high + 0.5] : [0, 2 * high];
  else if (low !== 0)
    [low, high] = [low - 0.05 * (high - low), high + 0.05 * (high - low)];
  const first = Math.min(...xs), end = Math.max(...xs);
  const across = first === end ? [first - 0.5, end + 0.5] : [first, end];

  function draw() {
    width = Math.max(240, slider.clientWidth || 600);
    height = width < 420 ? 200 : 240;
    const left = 52, right = width - 14, top = 10, bottom = height - 34;
    x = (v) => left + ((v - across[0]) / (across[1] - across[0])) * (right - left);
    y = (v) => bottom - ((scale(v) - low) / (high - low)) * (bottom - top);
    const yTicks = logarithmic ? {
      list: Array.from({length: Math.floor(high) - Math.ceil(low) + 1}, (_, i) => 10 ** (Math.ceil(low) + i)),
      digits: 0
    } :
                                 ticks(low, high, 4);
    const xTicks = ticks(across[0], across[1], width / 90);
    const xList = wholeX ? xTicks.list.filter(Number.isInteger) : xTicks.list;
    let text = '';
    for (const v of yTicks.list)
      text += `<line class="grid" x1="${left}" x2="${right}" y1="${n2(y(v))}" y2="${n2(y(v))}"/><text x="${
          left - 7}" y="${n2(y(v) + 4)}" text-anchor="end">${
          yText           ? yText(v) :
              logarithmic ? v.toExponential(0) :
                            v.toFixed(yTicks.digits)}</text>`;
    for (const v of xList)
      text += `<text x="${n2(x(v))}" y="${bottom + 17}" text-anchor="middle">${
          Number(v.toFixed(xTicks.digits))}</text>`;
    text += `<text x="${right}" y="${height - 3}" text-anchor="end">${xName}${
        logarithmic ? ', logarithmic' : ''}</text>`;
    for (const s of series) {
      if (s.points.some((p) => p.high > p.low)) {
        const band = s.points.filter((p) => finite(p.low));
        text += `<path class="band ${s.class}-fill" d="M${
            band.map((p) => `${n2(x(p.x))} ${n2(y(p.high))}`).join('L')}L${
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
    slider.innerHTML =
        `<svg viewBox="0 0 ${width} ${height}" aria-hidden="true">${text}<g class="mark"></g></svg>`;
    mark();
  }
  function mark() {
    const p = points[at];
    read.textContent = p.text;
    slider.setAttribute('aria-valuenow', at + 1);
    slider.setAttribute('aria-valuetext', p.text);
    slider.querySelector('.mark').innerHTML =
        `<line class="cursor" x1="${n2(x(p.x))}" x2="${n2(x(p.x))}" y1="10" y2="${height - 34}"/>${
            finite(p.y) ?
                `<circle class="dot ${series[0].class}-fill" cx="${n2(x(p.x))}" cy="${n2(y(p.y))}" r="5"/>` :
                ''}`;
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
    const to = {
      ArrowLeft: at - 1,
      ArrowDown: at - 1,
      ArrowRight: at + 1,
      ArrowUp: at + 1,
      PageDown: at - page,
      PageUp: at + page,
      Home: 0,
      End: points.length - 1
    }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    go(to);
  });
  new ResizeObserver(() => slider.clientWidth !== width && draw()).observe(slider);
  draw();
}
