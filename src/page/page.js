/* page.js - what a page does beside its words and tables: pictures of the data in #data, with values on hover and
 * by keyboard and series on and off, bars in the main table, tables that sort.
 *
 * Data reaches the page as text and numbers only: textContent and attributes, never markup. A picture is drawn
 * at the width it has and again when that changes. Each type of picture is a function that draws into a frame and
 * answers how to look things up in it:
 *
 *     {stops, find(x, y) -> stop, tell(stop) -> {head, rows}, lift(stop) -> [x, y] and what is lit, table() -> rows}
 *
 * A stop is what arrow keys step through. Tests: tests/cli/test_pages.py. */
"use strict";
(() => {

/* ---- parts ---- */

const SVG = "http://www.w3.org/2000/svg";
const TEXT_PX = 6.3, ROWS_MAX = 2000, GREY = 6;

function make(name, attributes, ...children) {
  const node = document.createElement(name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  node.append(...children.filter(child => child !== null && child !== undefined));
  return node;
}

function draw(parent, name, attributes, text) {
  const node = document.createElementNS(SVG, name);
  for (const key in attributes) node.setAttribute(key, attributes[key]);
  if (text !== undefined) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const px = value => Math.round(value * 10) / 10;
const known = value => value !== null && value !== undefined && isFinite(value);
const cut = (text, chars) => text.length > chars ? text.slice(0, Math.max(1, chars - 1)) + "…" : text;
const many = (count, what) => count.toLocaleString("en-US") + " " + what;

/* ---- numbers for people, as on a terminal ---- */

function duration(s) {
  const sign = s < 0 ? "-" : "", two = n => String(n).padStart(2, "0");
  s = Math.abs(s);
  if (s < 59.95) return sign + (s < 0.0995 && s > 0 ? +(s * 1000).toPrecision(3) + "ms" : +s.toPrecision(s < 10 ? 2 : 3) + "s");
  const whole = Math.round(s), minutes = Math.round(s / 60), hours = Math.round(s / 3600);
  if (whole < 3600) return sign + Math.floor(whole / 60) + "m" + two(whole % 60) + "s";
  if (minutes < 1440) return sign + Math.floor(minutes / 60) + "h" + two(minutes % 60) + "m";
  return sign + Math.floor(hours / 24) + "d" + hours % 24 + "h";
}

const count = v => Math.round(v).toLocaleString("en-US");
const plain = v => Math.abs(v) >= 99.995 ? count(v) : Math.abs(v) >= 0.1 || v === 0 ? v.toFixed(2) : String(+v.toPrecision(2));

function bytes(v) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let i = 0;
  while (v >= 999.5 && i + 1 < units.length) { v /= 1000; i++; }
  return (i ? +v.toPrecision(3) : v.toFixed(0)) + " " + units[i];
}

const date = v => new Date(v * 1000).toISOString().slice(0, 16).replace("T", " ");

/* Below ten cents two digits that say something: $0.0037. */
function usd(v) {
  const amount = Math.abs(v);
  let places = 2;
  for (let next = 0.0995; amount > 0 && amount < next && places < 7; next /= 10) places++;
  return (v < 0 ? "-$" : "$") + (amount < 99.995 ? amount.toFixed(places) : count(amount));
}

const FORMAT = {
  none: plain, count,
  value: v => Math.abs(v) >= 1e5 && Math.abs(v) < 1e15 ? v.toFixed(0) : String(+v.toPrecision(6)),
  seconds: duration, hours: v => plain(v / 3600) + " h",
  ms: v => v < 0.1 ? (v * 1000).toFixed(1) + " us" : v.toFixed(1) + " ms",
  date, bytes,
  share: v => (v > 0 && v < 0.0995 ? (100 * v).toFixed(1) : (100 * v).toFixed(0)) + " %",
  usd,
  times: v => v.toFixed(2) + "x",
};

const say = (axis, v) => known(v) ? FORMAT[axis.unit](v + (axis.from || 0)) : "-";

/* ---- axes ---- */

const TIMES = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800,
  432000, 864000, 1728000, 2592000, 7776000, 15552000, 31536000];

function step_of(axis, span, ticks) {
  const least = span / ticks;
  if ((axis.unit === "seconds" || axis.unit === "date") && least > 0.5)
    return TIMES.find(t => t >= least) || 31536000 * Math.ceil(least / 31536000);
  const unit = axis.unit === "hours" ? 3600 : 1, ten = 10 ** Math.floor(Math.log10(least / unit));
  const step = unit * ten * [1, 2, 5, 10].find(n => n * ten >= least / unit * 0.999);
  return axis.unit === "count" ? Math.max(1, step) : step;
}

/* "27 Jan", "12:00", "2h", "0.5": as short as the step allows. */
function tick_text(axis, v, step) {
  if (axis.unit === "date") {
    const iso = new Date((v + (axis.from || 0)) * 1000).toISOString();
    return step >= 2592000 ? iso.slice(0, 7) : step >= 86400 || iso.slice(11, 16) === "00:00" ? iso.slice(5, 10) : iso.slice(11, 16);
  }
  if (axis.unit === "seconds") {
    if (v === 0) return "0";
    const [size, name] = v % 86400 === 0 ? [86400, "d"] : v % 3600 === 0 ? [3600, "h"] : v % 60 === 0 && v >= 60 ? [60, "m"] : [1, "s"];
    return v < 1 ? duration(v) : +(v / size).toPrecision(6) + name;
  }
  if (axis.unit === "share") return +(v * 100).toPrecision(4) + " %";
  if (axis.unit === "usd") return "$" + (Math.abs(v) >= 1000 ? count(v) : +v.toPrecision(4));
  if (axis.unit === "hours") return +(v / 3600).toPrecision(4) + " h";
  if (axis.unit === "bytes") return bytes(v);
  if (axis.unit === "times") return +v.toPrecision(4) + "x";
  if (axis.unit === "ms") return +v.toPrecision(4) + " ms";
  return Math.abs(v) >= 1e7 ? v.toExponential(0) : Math.abs(v) >= 1000 ? count(v) : String(+v.toPrecision(4));
}

/* The scale of an axis over `low` to `high`, from pixel `from` to `to`. Round ends where data sets them. */
function scale_of(axis, low, high, from, to, ticks, round) {
  const marks = [];
  const fixed = axis.low !== undefined;
  if (fixed) { low = axis.low; high = axis.high; }
  if (axis.log) {
    low = Math.max(low, high * 1e-9, 1e-12);
    if (!(high > low)) high = low * 10;
    const a = Math.log(low), b = Math.log(high);
    const seconds = [1, 10, 60, 600, 3600, 36000, 86400, 864000, 8640000];
    const given = axis.unit === "seconds" && low >= 0.5 ? b - a < 4 ? TIMES : seconds : null, all = given || [];
    if (axis.unit === "count") for (let n = 2 ** Math.floor(Math.log2(low)); n <= high; n *= 2) all.push(n);
    else for (let e = Math.floor(Math.log10(low)); !given && e <= Math.log10(high); e++)
      for (const n of b - a < 4 ? [1, 2, 5] : [1]) all.push(n * 10 ** e);
    const fits = all.filter(v => v >= low * 0.999 && v <= high * 1.001), skip = Math.ceil(fits.length / ticks);
    fits.forEach((v, i) => i % skip || marks.push(v));
    const at = v => from + (Math.log(Math.max(v, low)) - a) / (b - a) * (to - from);
    return {at, back: p => Math.exp(a + (p - from) / (to - from) * (b - a)), marks, text: v => tick_text(axis, v, 1), low, high};
  }
  if (axis.unit === "share" && !fixed && low >= 0 && high <= 1.001 && high > 0.4) { low = 0; high = 1; }
  if (!(high > low)) { high = low + (Math.abs(low) || 1); }
  const step = step_of(axis, high - low, ticks), base = axis.unit === "date" ? axis.from || 0 : 0;
  if (round && !fixed) {
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
  }
  for (let i = Math.ceil((low + base) / step - 1e-9); i * step - base <= high + step * 1e-9; i++) marks.push(i * step - base);
  const at = v => from + (v - low) / (high - low) * (to - from);
  return {at, back: p => low + (p - from) / (to - from) * (high - low), marks, text: v => tick_text(axis, v, step), low, high};
}

/* ---- lines, steps, dots ---- */

const x_of = (series, i) => series.x ? series.x[i] : i;

function ends_of(picture, shown) {
  let x0 = Infinity, x1 = -Infinity, y0 = Infinity, y1 = -Infinity;
  for (const s of shown)
    for (let i = 0; i < s.y.length; i++) {
      const x = x_of(s, i);
      if (!known(x) || picture.x.log && x <= 0) continue;
      for (const y of [s.y[i], s.low && s.low[i], s.high && s.high[i]])
        if (known(y) && (!picture.y.log || y > 0)) {
          x0 = Math.min(x0, x); x1 = Math.max(x1, x); y0 = Math.min(y0, y); y1 = Math.max(y1, y);
        }
    }
  if (!(x0 <= x1)) { x0 = 0; x1 = 1; y0 = 0; y1 = 1; }
  if (!picture.y.log && y0 > 0 && y0 < 0.6 * y1) y0 = 0;
  return {x0, x1, y0, y1};
}

/* The last point at or before x, or the nearest where nothing holds. */
function index_at(s, x, steps) {
  let low = 0, high = s.y.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (x_of(s, middle) <= x) low = middle; else high = middle - 1;
  }
  if (!steps && low + 1 < s.y.length && x_of(s, low + 1) - x < x - x_of(s, low)) low++;
  return low;
}

const line_class = s => `l c${s.colour} d${s.many || s.wide ? 0 : s.dash || 0}` + (s.many ? " many" : s.wide ? " wide" : "");

/* Whether what a point is differs from what the last one was. */
function is_news(s, i) {
  let before = i - 1;
  while (before >= 0 && !known(s.y[before])) before--;
  return !s.texts || before < 0 || s.texts[before] !== s.texts[i];
}

function line_path(s, X, Y, steps) {
  let d = "", open = false;
  for (let i = 0; i < s.y.length; i++) {
    if (!known(s.y[i])) { open = false; continue; }
    const x = px(X.at(x_of(s, i))), y = px(Y.at(clamp(s.y[i], Y.low, Y.high)));
    d += !open ? `M${x} ${y}` : steps ? `H${x}V${y}` : `L${x} ${y}`;
    open = true;
  }
  return d;
}

function band_path(s, X, Y, steps) {
  let there = "", back = "";
  for (let i = 0; i < s.y.length; i++) {
    if (!known(s.low[i]) || !known(s.high[i])) continue;
    const x = px(X.at(x_of(s, i))), high = px(Y.at(s.high[i])), low = px(Y.at(s.low[i]));
    there += there === "" ? `M${x} ${high}` : steps ? `H${x}V${high}` : `L${x} ${high}`;
    back = (steps && back !== "" ? `L${x} ${low}V${px(Y.at(s.low[i]))}` : `L${x} ${low}`) + back;
  }
  return there === "" ? "" : there + back + "z";
}

function draw_axes(svg, picture, X, Y, box) {
  for (const v of Y.marks) {
    draw(svg, "path", {class: "grid", d: `M${box.left} ${px(Y.at(v))}H${box.right}`});
    draw(svg, "text", {class: "end", x: box.left - 6, y: px(Y.at(v)) + 4}, Y.text(v));
  }
  X.marks.forEach(v => {
    const x = px(X.at(v)), text = X.text(v), half = text.length * TEXT_PX / 2;
    draw(svg, "path", {class: "rule", d: `M${x} ${box.bottom}v4`});
    draw(svg, "text", {class: x + half > box.width ? "end" : "mid", x, y: box.bottom + 17}, text);
  });
  if (picture.y.title) draw(svg, "text", {x: 0, y: 10}, picture.y.title);
  if (picture.x.title && picture.x.title !== "time")
    draw(svg, "text", {class: "end", x: box.right, y: box.bottom + 32}, picture.x.title);
}

function draw_marks(svg, picture, X, box) {
  for (const [at, text] of picture.marks || []) {
    const x = px(X.at(at));
    if (!known(x) || x < box.left || x > box.right + 1) continue;
    draw(svg, "path", {class: "mark", d: `M${x} ${box.top}V${box.bottom}`});
    const right = x + text.length * TEXT_PX + 6 > box.right;
    draw(svg, "text", {class: right ? "end" : "", x: right ? x - 4 : x + 4, y: box.top + 8}, text);
  }
}

/* Names at the ends of lines, those that have room, in the margin they were given. */
function draw_names(svg, shown, X, Y, box, down) {
  const ends = [];
  for (const s of shown) {
    let i = down ? 0 : s.y.length - 1;
    while (down ? i < s.y.length - 1 && !known(s.y[i]) : i > 0 && !known(s.y[i])) i += down ? 1 : -1;
    if (known(s.y[i]) && !s.many && !s.wide && !s.apart) ends.push({s, y: Y.at(s.y[i]), x: X.at(x_of(s, i))});
  }
  ends.sort((a, b) => a.y - b.y);
  let last = -Infinity;
  for (const end of ends) {
    const y = Math.max(end.y + 4, last + 13);
    if (y > box.bottom + 8) break;
    draw(svg, "text", {class: "name", x: box.right + 8, y: px(y)}, cut(end.s.name, Math.floor(box.margin / 7)));
    last = y;
  }
}

/* Names beside dots, where each series is one; further down where another name lies, left out where they are too many there. */
function name_dots(svg, shown, X, Y, box) {
  const names = shown.filter(s => s.y.length === 1 && known(s.y[0])).map(s => ({s, x: X.at(x_of(s, 0)), y: Y.at(s.y[0]) + 4}));
  if (names.length !== shown.length || names.length > 12) return;
  names.sort((a, b) => a.y - b.y);
  const placed = [];
  for (const one of names) {
    const right = box.right - one.x - 8, left = one.x - 8, back = 7 * one.s.name.length > right && left > right;
    const text = cut(one.s.name, Math.min(36, Math.floor((back ? left : right) / 7))), wide = 7 * text.length, from = back ? one.x - 8 - wide : one.x + 8;
    const over = () => placed.find(other => from < other.to && other.from < from + wide && Math.abs(other.y - y) < 13);
    let y = one.y;
    while (over()) y = over().y + 13;
    if (y > one.y + 27) continue;
    placed.push({from, to: from + wide, y});
    draw(svg, "text", {class: back ? "name end" : "name", x: px(one.x + (back ? -8 : 8)), y: px(y)}, text);
  }
}

function lines(svg, picture, shown, width) {
  const steps = picture.type === "steps", dots = picture.type === "dots", ends = ends_of(picture, shown);
  const height = width < 560 ? 200 : 260;
  const named = !dots && width >= 640 && shown.length > 1 && shown.length <= 8;
  const margin = named ? Math.min(150, 12 + 7 * Math.max(...shown.map(s => s.many || s.wide || s.apart ? 0 : s.name.length))) : 10;
  const box = {top: 18, bottom: height - (picture.x.title && picture.x.title !== "time" ? 38 : 22), width, margin};
  const Y = scale_of(picture.y, ends.y0, ends.y1, box.bottom, box.top, 5, true);
  box.left = 10 + TEXT_PX * Math.max(2, ...Y.marks.map(v => Y.text(v).length));
  box.right = width - margin;
  const sides = picture.x.down ? [box.right, box.left] : [box.left, box.right];
  const X = scale_of(picture.x, ends.x0, ends.x1, ...sides, Math.max(3, Math.floor(width / 110)), dots);
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  draw_axes(svg, picture, X, Y, box);
  draw_marks(svg, picture, X, box);
  for (const s of shown) {
    if (s.low && s.high) draw(svg, "path", {class: "band c" + s.colour, d: band_path(s, X, Y, steps)});
    if (!dots && !s.apart && s.y.length > 1)
      draw(svg, "path", {class: line_class(s), d: line_path(s, X, Y, steps)});
    if (dots || s.apart || s.dots || s.y.length === 1)
      s.y.forEach((y, i) => known(y) && (dots || s.apart || is_news(s, i)) && draw(svg, "circle", {class: "dot c" + s.colour, cx: px(X.at(x_of(s, i))), cy: px(Y.at(y)), r: 3.5}));
  }
  if (named) draw_names(svg, shown, X, Y, box, picture.x.down);
  if (dots) name_dots(svg, shown, X, Y, box);
  return dots ? look_at_dots(picture, shown, X, Y) : look_at_lines(picture, shown, X, Y, box, steps);
}

const STOPS = 80, TOLD = 10;

function look_at_lines(picture, shown, X, Y, box, steps) {
  const told = shown.filter(s => !s.many), grey = shown.filter(s => s.many);
  const at = stop => X.back(box.left + clamp(stop, 0, STOPS) / STOPS * (box.right - box.left));
  let pointed = null; /* where among grey lines the pointer is */
  const value = (s, x) => {
    if (!s.y.length || x < x_of(s, 0) - 1e-9 && !steps && s.y.length > 1) return null;
    const i = index_at(s, x, steps), far = s.apart ? Math.abs(X.at(x_of(s, i)) - X.at(x)) : 0;
    return far > 1 + (box.right - box.left) / STOPS / 2 ? null : s.y[i];
  };
  return {
    stops: STOPS + 1,
    find(x, y) {
      pointed = y;
      return clamp((x - box.left) / (box.right - box.left) * STOPS, 0, STOPS);
    },
    tell(stop) {
      const x = at(stop), rows = [];
      let all = told.map(s => [s, value(s, x)]).filter(row => known(row[1]));
      if (pointed !== null || told.length === 0) {
        const near = grey.map(s => [s, value(s, x)]).filter(row => known(row[1]))
          .map(row => [...row, Math.abs(Y.at(row[1]) - (pointed === null ? 0 : pointed))]).sort((a, b) => a[2] - b[2]);
        if (near.length && (near[0][2] < 14 || told.length === 0)) all.unshift(near[0]);
      }
      const s = all.length ? all[0][0] : null;
      for (const row of all.slice(0, TOLD)) {
        const i = index_at(row[0], x, steps), extra = row[0].texts && row[0].texts[i];
        let text = say(picture.y, row[1]);
        if (row[0].low && known(row[0].low[i])) text += ` (${say(picture.y, row[0].low[i])} to ${say(picture.y, row[0].high[i])})`;
        rows.push([row[0], extra ? `${row[0].name}, ${extra}` : row[0].name, text]);
      }
      if (all.length > TOLD) rows.push([null, `${all.length - TOLD} more`, ""]);
      const head = s && !steps && s.y.length ? x_of(s, index_at(s, x, false)) : x;
      return {head: `${picture.x.title ? picture.x.title + " " : ""}${say(picture.x, head)}`, rows};
    },
    lift(stop, svg) {
      const x = px(X.at(at(stop)));
      draw(svg, "path", {class: "cursor", d: `M${x} ${box.top}V${box.bottom}`});
      return [x, pointed === null ? box.top : pointed];
    },
    leave() { pointed = null; },
    table() {
      const first = shown.reduce((a, b) => b.y.length > a.y.length ? b : a, shown[0]), rows = [];
      if (!first) return {head: [], rows, left: 0};
      const every = Math.max(1, Math.ceil(first.y.length / 24));
      for (let i = 0; i < first.y.length; i += every) {
        const x = x_of(first, i);
        rows.push([say(picture.x, x), ...shown.slice(0, 24).map(s => say(picture.y, value(s, x)))]);
      }
      return {head: [picture.x.title || "", ...shown.slice(0, 24).map(s => s.name)], rows, left: 0, more: shown.length - 24};
    },
  };
}

function look_at_dots(picture, shown, X, Y) {
  const points = [];
  for (const s of shown)
    s.y.forEach((y, i) => known(y) && points.push({s, i, x: x_of(s, i), y, at: X.at(x_of(s, i)), up: Y.at(y)}));
  points.sort((a, b) => a.x - b.x || a.y - b.y);
  return {
    stops: points.length,
    find(x, y) {
      let best = -1, least = 30 * 30;
      points.forEach((p, i) => {
        const far = (p.at - x) ** 2 + (p.up - y) ** 2;
        if (far < least) { least = far; best = i; }
      });
      return best;
    },
    tell(stop) {
      const p = points[Math.round(stop)];
      const name = p.s.texts && p.s.texts[p.i] || p.s.name;
      return {head: name, rows: [[p.s, picture.x.title || "", say(picture.x, p.x)], [null, picture.y.title || "", say(picture.y, p.y)]]};
    },
    lift(stop, svg) {
      const p = points[Math.round(stop)];
      draw(svg, "circle", {class: "lift", cx: px(p.at), cy: px(p.up), r: 6});
      return [p.at, p.up];
    },
    table() {
      const rows = points.slice(0, ROWS_MAX).map(p => [p.s.name, p.s.texts && p.s.texts[p.i] || "", say(picture.x, p.x), say(picture.y, p.y)]);
      return {head: ["", "", picture.x.title || "", picture.y.title || ""], rows, left: points.length - rows.length};
    },
  };
}

/* ---- bars ---- */

function bars(svg, picture, shown, width) {
  const labels = picture.labels || [], narrow = width < 560, row = narrow ? 42 : 30, bar = 16;
  const left = narrow ? 0 : Math.min(240, 14 + 7 * Math.max(4, ...labels.map(l => l.length))), right = width - 76;
  const sums = labels.map((_, i) => shown.reduce((sum, s) => sum + Math.max(0, s.y[i] || 0), 0));
  const lows = labels.map((_, i) => shown.reduce((low, s) => Math.min(low, s.y[i] || 0, s.low && known(s.low[i]) ? s.low[i] : 0), 0));
  const tops = labels.map((_, i) => shown.reduce((top, s) => Math.max(top, s.high && known(s.high[i]) ? s.high[i] : 0), sums[i]));
  const low = picture.y.low !== undefined ? picture.y.low : Math.min(0, ...lows);
  const high = picture.y.high !== undefined ? picture.y.high : Math.max(...tops, low + 1e-12);
  const at = v => left + (clamp(v, low, high) - low) / (high - low) * (right - left);
  const parts = [];
  svg.setAttribute("viewBox", `0 0 ${width} ${labels.length * row + 4}`);
  labels.forEach((label, i) => {
    const y = i * row + (narrow ? 20 : 7), chars = Math.floor((narrow ? width - 84 : left - 10) / 6.8);
    draw(svg, "text", {class: "name", x: 0, y: narrow ? y - 5 : y + 12}, cut(label.replace("\n", ", "), chars));
    draw(svg, "rect", {class: "sunk", x: left, y, width: Math.max(0, right - left), height: bar, rx: 3});
    let from = 0;
    for (const s of shown) {
      const v = s.y[i];
      if (!known(v) || v === 0) continue;
      const a = at(v < 0 ? v : from), b = at(v < 0 ? 0 : from + v);
      if (v > 0) from += v;
      draw(svg, "rect", {class: "part c" + s.colour, x: px(a), y, width: Math.max(1, px(b - a)), height: bar});
      parts.push({s, i, a, b, y});
      if (s.low && s.high && known(s.low[i]) && known(s.high[i]))
        draw(svg, "path", {class: "whisker", d: `M${px(at(s.low[i]))} ${y + 3}v10m0-5H${px(at(s.high[i]))}m0-5v10`});
    }
    const one = shown.length === 1 ? shown[0].y[i] : sums[i];
    draw(svg, "text", {class: "end", x: width, y: y + 12}, say(picture.y, known(one) ? one : null));
  });
  return {
    stops: parts.length,
    find(x, y) {
      const line = Math.floor(y / row);
      let best = -1;
      parts.forEach((p, i) => { if (p.i === line && (best < 0 || x >= p.a)) best = i; });
      return best;
    },
    tell(stop) {
      const p = parts[Math.round(stop)], s = p.s, rows = [];
      const range = s.low && s.high && known(s.low[p.i]) ? ` (${say(picture.y, s.low[p.i])} to ${say(picture.y, s.high[p.i])})` : "";
      rows.push([s, s.texts && s.texts[p.i] || s.name, say(picture.y, s.y[p.i]) + range]);
      if (shown.length > 1) rows.push([null, "together", say(picture.y, sums[p.i])]);
      return {head: labels[p.i], rows};
    },
    lift(stop, on) {
      const p = parts[Math.round(stop)];
      draw(on, "rect", {class: "lift", x: px(p.a), y: p.y, width: Math.max(1, px(p.b - p.a)), height: bar});
      return [p.b, p.y + bar];
    },
    table() {
      const rows = labels.slice(0, ROWS_MAX).map((label, i) => [label, ...shown.map(s => say(picture.y, s.y[i]))]);
      return {head: ["", ...shown.map(s => s.name)], rows, left: labels.length - rows.length};
    },
  };
}

/* ---- lanes ---- */

const FROM = 0, TO = 1, LOW = 2, HIGH = 3, LANE = 4, COLOUR = 5, WHAT = 6; /* of a rectangle */

function lanes(svg, picture, shown, width) {
  const labels = picture.labels || [], rects = picture.rects, texts = picture.texts, narrow = width < 560;
  const heights = picture.heights || labels.map(() => 1), sum = heights.reduce((a, b) => a + b, 0) || 1;
  const whole = clamp(picture.heights ? sum * 7 : labels.length * 34, 110, narrow ? 300 : 420), gap = 8;
  const left = Math.min(narrow ? 76 : 130, 10 + 7.5 * Math.max(3, ...labels.flatMap(l => l.split("\n").map(part => part.length))));
  const box = {top: 12, left, right: width - 10, width};
  const tops = [];
  let y = box.top;
  for (const height of heights) { const h = Math.max(34, whole * height / sum); tops.push([y, h]); y += h + gap; }
  box.bottom = y;
  let x0 = Infinity, x1 = -Infinity;
  for (const r of rects) { x0 = Math.min(x0, r[FROM]); x1 = Math.max(x1, r[TO]); }
  if (picture.x.unit === "seconds" && x0 > 0 && x0 < x1 / 4) x0 = 0;
  const X = scale_of(picture.x, x0, x1, box.left, box.right, Math.max(3, Math.floor(width / 110)), false);
  svg.setAttribute("viewBox", `0 0 ${width} ${Math.ceil(box.bottom + 20)}`);
  labels.forEach((label, i) => {
    const [top, h] = tops[i], [name, small] = label.split("\n"), chars = Math.floor(left / 7);
    draw(svg, "rect", {class: "sunk", x: box.left, y: top, width: box.right - box.left, height: h});
    draw(svg, "text", {class: "name", x: 0, y: top + 14}, cut(name, chars));
    if (small) draw(svg, "text", {x: 0, y: top + 28}, cut(small, chars));
  });
  const place = r => {
    const [top, h] = tops[r[LANE]], a = X.at(r[FROM]), b = X.at(r[TO]);
    return [a, top + r[LOW] * h, Math.max(0.5, b - a), (r[HIGH] - r[LOW]) * h];
  };
  const paths = [];
  rects.forEach(r => {
    const [a, top, w, h] = place(r);
    paths[r[COLOUR]] = (paths[r[COLOUR]] || "") + `M${px(a)} ${px(top)}h${px(w)}v${px(h)}h${-px(w)}z`;
  });
  paths.forEach((d, colour) => draw(svg, "path", {class: `lanes c${colour}` + (rects.length > 800 ? " fine" : ""), d}));
  for (const v of X.marks) {
    const at = px(X.at(v));
    draw(svg, "path", {class: "grid", d: `M${at} ${box.bottom - gap}v4`});
    draw(svg, "text", {class: at + 24 > width ? "end" : "mid", x: at, y: box.bottom + 12}, X.text(v));
  }
  draw_marks(svg, picture, X, box);
  let room = 60;
  for (const r of rects) {
    const name = r[WHAT] < 0 ? "" : texts[r[WHAT]].split(":")[0], [a, top, w, h] = place(r);
    if (name === "" || h < 13 || w < name.length * 6.5 + 8 || room-- <= 0) continue;
    draw(svg, "text", {class: "on", x: px(a + 4), y: px(top + h / 2 + 4)}, name);
  }
  const order = rects.map((_, i) => i).sort((a, b) => rects[a][LANE] - rects[b][LANE] || rects[a][FROM] - rects[b][FROM]);
  const what = r => r[WHAT] < 0 ? "several short ones" : texts[r[WHAT]];
  const when = r => `${say(picture.x, r[FROM])} to ${say(picture.x, r[TO])}`;
  return {
    stops: order.length,
    find(x, y) {
      return order.findIndex(i => {
        const [a, top, w, h] = place(rects[i]);
        return x >= a && x <= a + w && y >= top && y <= top + h;
      });
    },
    tell(stop) {
      const r = rects[order[Math.round(stop)]];
      return {head: what(r), rows: [[{colour: r[COLOUR]}, labels[r[LANE]].split("\n")[0], when(r)]]};
    },
    lift(stop, on) {
      const r = rects[order[Math.round(stop)]], [a, top, w, h] = place(r);
      const same = r[WHAT] < 0 ? [r] : rects.filter(other => other[WHAT] === r[WHAT]).slice(0, 500);
      draw(on, "path", {class: "lift", d: same.map(place).map(p => `M${px(p[0])} ${px(p[1])}h${px(p[2])}v${px(p[3])}h${-px(p[2])}z`).join("")});
      return [a + w / 2, top + h];
    },
    table() {
      const rows = order.slice(0, ROWS_MAX).map(i => [what(rects[i]), labels[rects[i][LANE]].split("\n")[0], when(rects[i])]);
      return {head: ["what", "where", "when"], rows, left: order.length - rows.length};
    },
  };
}

/* ---- a picture and what is around it ---- */

const DRAW = {lines, steps: lines, dots: lines, bars, lanes};

function key_of(series, type) {
  const line = (type === "lines" || type === "steps") && !series.apart;
  const svg = draw(null, "svg", {width: line ? 24 : 10, height: 10, "aria-hidden": "true"});
  if (line) draw(svg, "path", {class: line_class(series), d: "M0 5H24"});
  else draw(svg, "rect", {class: "part c" + series.colour, width: 10, height: 10, rx: type === "dots" || series.apart ? 5 : 2});
  return svg;
}

function data_table(rows, label) {
  const head = make("tr", {}, ...rows.head.map(text => make("th", {scope: "col"}, text)));
  const body = rows.rows.map(cells => make("tr", {}, ...cells.map(text => make("td", {}, text))));
  const left = rows.left > 0 ? make("p", {class: "dim small"}, many(rows.left, "left out")) : null;
  return [make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": label},
    make("table", {}, make("thead", {}, head), make("tbody", {}, ...body))), left].filter(Boolean);
}

function show_picture(picture) {
  const panel = document.getElementById("p-" + picture.name);
  if (!panel) return;
  const figure = panel.querySelector("figure"), series = picture.series || [];
  const used = new Set();
  const greys = series.filter(s => s.colour === GREY).length; /* a single one is not one of many */
  series.forEach((s, i) => {
    s.dash = used.has(s.colour) || i < 7 ? i % 7 : 0;
    s.many = s.colour === GREY && greys > 1;
    s.on = true;
    used.add(s.colour);
  });
  const plot = make("div", {class: "plot", role: "slider", tabindex: "0", "aria-label": picture.title + ", values by arrow keys",
    "aria-valuemin": "0", "aria-valuemax": "0", "aria-valuenow": "0", "aria-valuetext": picture.note || picture.title});
  const tip = make("div", {class: "tip", "aria-hidden": "true"});
  let look = null, lit = null, stop = 0, width = 0, drawing = null, waiting = null;

  function redraw() {
    const shown = picture.type === "lanes" ? series : series.filter(s => s.on);
    if (drawing) drawing.remove();
    lit = null;
    drawing = draw(null, "svg", {"aria-hidden": "true"});
    plot.prepend(drawing);
    look = DRAW[picture.type](drawing, picture, shown, Math.max(width, 240));
    plot.setAttribute("aria-valuemax", Math.max(0, look.stops - 1));
    tip.style.visibility = "hidden";
  }
  function point(to) {
    if (lit) lit.remove();
    lit = null;
    if (to === null || to < 0 || !look.stops) { tip.style.visibility = "hidden"; return; }
    const {head, rows} = look.tell(to);
    lit = draw(drawing, "g", {});
    const [x, y] = look.lift(to, lit);
    tip.replaceChildren(make("b", {}, head), ...rows.map(([s, name, value]) =>
      make("p", {}, s ? key_of(s, picture.type) : null, make("span", {}, name), make("span", {}, value))));
    plot.setAttribute("aria-valuenow", Math.round(to));
    plot.setAttribute("aria-valuetext", head + rows.map(([, name, value]) => `; ${name} ${value}`).join(""));
    const scale = plot.clientWidth / Math.max(width, 240);
    tip.style.left = clamp(x * scale + 14, 0, Math.max(0, plot.clientWidth - tip.offsetWidth)) + "px";
    tip.style.top = Math.min(y * scale + 14, Math.max(0, plot.clientHeight - 10)) + "px";
    if (x * scale + 14 + tip.offsetWidth > plot.clientWidth && x * scale > tip.offsetWidth + 20)
      tip.style.left = x * scale - tip.offsetWidth - 14 + "px";
    tip.style.visibility = "visible";
  }
  plot.addEventListener("pointermove", event => {
    const at = drawing.getBoundingClientRect(), scale = Math.max(width, 240) / at.width;
    const to = look.find((event.clientX - at.left) * scale, (event.clientY - at.top) * scale);
    if (to >= 0) stop = to;
    point(to);
  });
  plot.addEventListener("pointerleave", () => { if (look.leave) look.leave(); point(null); });
  plot.addEventListener("blur", () => point(null));
  plot.addEventListener("keydown", event => {
    const far = Math.max(1, Math.round(look.stops / 10));
    const by = {ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -far, PageUp: far, Home: -Infinity, End: Infinity}[event.key];
    if (event.key === "Escape") point(null);
    if (by === undefined || !look.stops) return;
    event.preventDefault();
    if (look.leave) look.leave();
    stop = tip.style.visibility === "visible" || !isFinite(by) ? clamp(Math.round(stop) + by, 0, look.stops - 1) : clamp(Math.round(stop), 0, look.stops - 1);
    point(stop);
  });

  const legend = make("div", {class: "legend", role: "group", "aria-label": "Series of " + picture.title});
  const listed = series.filter(s => picture.type === "bars" || !s.many);
  if (listed.length > 1 && listed.length <= 24)
    for (const s of listed) {
      const button = picture.type === "lanes" ? make("span", {}, key_of(s, picture.type), s.name)
        : make("button", {type: "button", "aria-pressed": "true"}, key_of(s, picture.type), s.name);
      button.addEventListener("click", () => {
        s.on = !s.on;
        button.setAttribute("aria-pressed", s.on);
        redraw();
      });
      legend.append(button);
    }
  const details = make("details", {}, make("summary", {}, "Show as table"));
  details.addEventListener("toggle", () => {
    if (details.open && details.children.length === 1) {
      const table = look.table();
      details.append(...data_table(table, picture.title + " as a table"));
      if (table.more > 0) details.append(make("p", {class: "dim small"}, many(table.more, "series left out")));
    }
  });
  plot.append(tip);
  figure.replaceChildren(...(legend.children.length ? [legend] : []), plot, details);
  width = plot.clientWidth;
  redraw();
  new ResizeObserver(() => {
    if (plot.clientWidth === width || plot.clientWidth === 0) return;
    cancelAnimationFrame(waiting);
    waiting = requestAnimationFrame(() => { width = plot.clientWidth; redraw(); });
  }).observe(plot);
}

/* ---- tables ---- */

/* What a cell is sorted by: what it says it is, its number, or its text. */
function cell_value(row, column) {
  const cell = row.cells[column];
  if (cell.dataset.v !== undefined) return Number(cell.dataset.v);
  const text = cell.firstChild ? cell.firstChild.textContent : "";
  if (!cell.classList.contains("r")) return text;
  const number = parseFloat(text.replace(/[$,\s]/g, ""));
  return isNaN(number) ? null : number;
}

function sort_table(table, column, head) {
  const down = head.getAttribute("aria-sort") === "ascending", body = table.tBodies[0];
  const rows = [...body.rows].map(row => [cell_value(row, column), row]);
  rows.sort(([a], [b]) => {
    if (a === null || b === null) return (a === null) - (b === null);
    const order = typeof a === "string" ? a.localeCompare(b, "en", {numeric: true}) : a - b;
    return down ? -order : order;
  });
  for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");
  body.append(...rows.map(row => row[1]));
}

/* Bars below the first column that says what is better. */
function add_bars(table) {
  const rows = [...table.tBodies[0].rows], head = [...table.tHead.rows[0].cells];
  const column = head.findIndex(cell => cell.dataset.better !== undefined);
  if (column < 0 || rows.length < 2 || rows.length > 40) return;
  const values = rows.map(row => cell_value(row, column)), most = Math.max(...values);
  if (!(most > 0) || values.some(v => v < 0)) return;
  rows.forEach((row, i) => {
    const bar = make("i", {});
    bar.style.width = 100 * (values[i] || 0) / most + "%";
    row.cells[column].append(make("span", {class: "bar", "aria-hidden": "true"}, bar));
  });
}

function show_table(table) {
  const rows = table.tBodies[0].rows.length;
  if (rows < 2) return;
  add_bars(table);
  [...table.tHead.rows[0].cells].forEach((cell, column) => {
    const button = make("button", {type: "button"}, cell.textContent);
    button.addEventListener("click", () => sort_table(table, column, cell));
    cell.replaceChildren(button);
  });
}

const data = JSON.parse(document.getElementById("data").textContent);
data.pictures.forEach(show_picture);
document.querySelectorAll("main > section table").forEach(show_table);
performance.mark("drawn");
})();
