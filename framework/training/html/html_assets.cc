#include "kusari/framework/training/html/html_assets.h"

namespace kusari::training::html {

const char* const kPageStyle = R"css(
:root { --page: #f5f7f9; --accent: #1f6fb5; --good: #0b8a66; --bad: #c0362c; --best: #e4f3ed; }
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e4e9ef; --muted: #98a4b1; --rule: #2b333d; --surface: #171c23; --page: #0e1217;
    --accent: #5ba8e8; --good: #3fc298; --bad: #f0766b; --best: #16362d;
    --series-0: #5ba8e8; --series-1: #f29a4d; --series-2: #3fc298; --series-3: #e182bb;
    --series-4: #d8b93a; --series-5: #8fd3f7; --series-6: #ab93ee; --series-7: #a3acb8;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif;
}
main { max-width: 1240px; margin: 0 auto; padding: 28px 24px 48px; }
header { display: flex; flex-wrap: wrap; align-items: center; gap: 4px 16px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; }
h2 { margin: 36px 0 12px; font-size: 18px; }
.subtitle { flex-basis: 100%; color: var(--muted); overflow-wrap: anywhere; }
.state { padding: 2px 12px; border-radius: 99px; font-size: 13px; font-weight: 600; color: #fff; background: var(--accent); }
.state.finished { background: var(--good); }
.state.failed { background: var(--bad); }
@media (prefers-color-scheme: dark) { .state { color: #0e1217; } }
.error { margin: 16px 0 0; padding: 10px 14px; border-left: 4px solid var(--bad); background: var(--surface);
  white-space: pre-wrap; overflow-wrap: anywhere; }
.progress { display: flex; align-items: center; gap: 12px; margin: 18px 0; color: var(--muted); font-size: 13px; }
.bar { flex: 1; height: 8px; border-radius: 4px; background: var(--rule); overflow: hidden; }
.bar div { height: 100%; border-radius: 4px; background: var(--accent); }
.bar .finished { background: var(--good); }
.bar .failed { background: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(136px, 1fr)); gap: 12px; margin: 18px 0 0; padding: 0; }
.tiles > div, .card { background: var(--surface); border: 1px solid var(--rule); border-radius: 10px; }
.tiles > div { padding: 10px 12px; }
.tiles dt { color: var(--muted); font-size: 12.5px; overflow-wrap: anywhere; }
.tiles dd { margin: 0; font-size: 17px; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles small { display: block; font-size: 13px; font-weight: 400; color: var(--muted); }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 460px), 1fr)); gap: 16px; }
.card { position: relative; padding: 12px; min-width: 0; }
.card > .chart { display: block; width: 100%; height: auto; }
.cursor { stroke: var(--muted); stroke-dasharray: 3 3; }
.tip {
  position: absolute; z-index: 2; pointer-events: none; padding: 6px 10px; border-radius: 6px; max-width: 90%;
  background: var(--ink); color: var(--surface); font-size: 12.5px; font-variant-numeric: tabular-nums; white-space: nowrap;
}
.tip i { display: inline-block; width: 9px; height: 9px; margin-right: 6px; border-radius: 50%; }
.scroll { overflow: auto; max-height: 420px; padding: 0; }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-variant-numeric: tabular-nums; font-size: 14px; }
th, td { padding: 6px 14px; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--rule); }
th { position: sticky; top: 0; background: var(--surface); color: var(--muted); font-weight: 600; font-size: 12.5px; }
.log td:first-child, .log th:first-child { position: sticky; left: 0; background: var(--surface); }
.log th:first-child { z-index: 1; }
tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: var(--page); }
td.best, tbody tr:hover td.best { background: var(--best); color: var(--good); font-weight: 700; }
.plain th, .plain td { text-align: left; }
.columns .scroll { max-height: none; }
.note { margin: 8px 2px 0; color: var(--muted); font-size: 13px; }
.columns { columns: 2 460px; column-gap: 16px; }
.columns section { break-inside: avoid; overflow: hidden; }
.values { display: grid; grid-template-columns: max-content 1fr; margin: 0; padding: 6px 14px; font-size: 14px; }
.values dt { padding: 4px 24px 4px 0; color: var(--muted); }
.values dd { margin: 0; padding: 4px 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
pre { margin: 0; padding: 2px 14px; overflow: auto; max-height: 460px; font: 12.5px/1.55 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
details summary { cursor: pointer; color: var(--accent); padding: 2px 4px; }
.graph { overflow: auto; max-height: 640px; text-align: center; }
.graph svg { max-width: 100%; height: auto; }
.graph svg text { fill: var(--ink); font: 12px system-ui, "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
.graph svg .graph > polygon { fill: none; stroke: none; }
.graph svg .node > * { stroke: var(--muted); }
.graph svg .node > ellipse, .graph svg .node > polygon, .graph svg .node > path { fill: var(--page); }
.graph svg .node > [fill="#6495ed"] { fill: var(--accent); fill-opacity: .25; }  /* functions, as DumpGraph colours them */
.graph svg .node text { stroke: none; }
.graph svg .edge path, .graph svg .edge polygon { stroke: var(--muted); }
.graph svg .edge polygon { fill: var(--muted); }
footer { margin-top: 40px; color: var(--muted); font-size: 13px; }
@media print {
  body { background: #fff; }
  .scroll, pre, .graph { max-height: none; }
  .card { break-inside: avoid; }
}
)css";

const char* const kPageScript = R"js(
'use strict';
for (const svg of document.querySelectorAll('.charts .chart')) {
  const [left, top, width, height] = svg.dataset.plot.split(' ').map(Number);
  const axes = svg.dataset.axes.split(' '), [x0, x1, y0, y1] = axes.map(Number), isLog = axes[4] === 'log';
  const placeX = x => left + width * (x - x0) / (x1 - x0);
  const placeY = y => top + height * (1 - (isLog ? Math.log(y / y0) / Math.log(y1 / y0) : (y - y0) / (y1 - y0)));
  const make = (name, values) => {
    const element = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const key in values) element.setAttribute(key, values[key]);
    element.style.display = 'none';
    return svg.appendChild(element);
  };
  const cursor = make('line', {class: 'cursor', y1: top, y2: top + height});
  const curves = [...svg.querySelectorAll('[data-points]')].map(path => ({
    name: path.dataset.name,
    color: path.style.stroke,
    values: new Map(path.dataset.points.split(' ').map(point => point.split(',').map(Number))),
    dot: make('circle', {r: 4.5, style: 'fill:' + path.style.stroke}),
  }));
  const xs = [...new Set(curves.flatMap(curve => [...curve.values.keys()]))];
  const tip = svg.parentNode.appendChild(document.createElement('div'));
  tip.className = 'tip';
  tip.hidden = true;

  svg.addEventListener('pointermove', event => {
    const box = svg.getBoundingClientRect(), scale = svg.viewBox.baseVal.width / box.width;
    const at = (event.clientX - box.left) * scale;
    const x = xs.reduce((best, other) => Math.abs(placeX(other) - at) < Math.abs(placeX(best) - at) ? other : best, xs[0]);
    cursor.setAttribute('x1', placeX(x));
    cursor.setAttribute('x2', placeX(x));
    cursor.style.display = '';
    tip.textContent = svg.dataset.x + ' ' + x;
    for (const curve of curves) {
      const y = curve.values.get(x);
      curve.dot.style.display = y === undefined ? 'none' : '';
      if (y === undefined) continue;
      curve.dot.setAttribute('cx', placeX(x));
      curve.dot.setAttribute('cy', placeY(y));
      const row = tip.appendChild(document.createElement('div'));
      row.appendChild(document.createElement('i')).style.background = curve.color;
      row.append(curve.name + ': ' + Number(y.toPrecision(6)));
    }
    tip.hidden = false;
    const card = svg.parentNode.getBoundingClientRect(), onScreen = box.left + placeX(x) / scale;
    const isLeft = placeX(x) < left + width / 2;
    tip.style.left = isLeft ? onScreen - card.left + 12 + 'px' : 'auto';
    tip.style.right = isLeft ? 'auto' : card.right - onScreen + 12 + 'px';
    tip.style.top = (top + 8) / scale + 'px';
  });
  svg.addEventListener('pointerleave', () => {
    for (const element of [cursor, ...curves.map(curve => curve.dot)]) element.style.display = 'none';
    tip.hidden = true;
  });
}
for (const box of document.querySelectorAll('.scroll.log')) box.scrollTop = box.scrollHeight;
)js";

}  // namespace kusari::training::html
