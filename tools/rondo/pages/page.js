'use strict';
// What the scripts of all pages share: elements, and numbers as text.
const byId = (id) => document.getElementById(id);
function size(bytes) {
  if (bytes < 1024) return bytes === 1 ? '1 byte' : `${bytes} bytes`;
  const power = Math.min(4, Math.floor(Math.log2(bytes) / 10)), value = bytes / 1024 ** power;
  return `${Number.isInteger(value) ? value : value.toFixed(value < 10 ? 2 : 1)} ${
          ['', 'KiB', 'MiB', 'GiB', 'TiB'][power]}`;
}
function time(seconds) {
  const [factor, unit] = seconds < 1e-3 ? [1e6, 'µs'] : seconds < 1 ? [1e3, 'ms'] : [1, 's'];
  const value = seconds * factor;
  return `${value === 0 ? '0' : value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ${unit}`;
}
const plural = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;
const escaped = (text) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);
