"use strict";
// The script of the report. First the likelihood, then what moves in the picture, then the tables.
(() => {
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);

  // ---- The likelihood: the formula of objective.py, term by term ----

  /** part · ln(part / (part + rest)); near one the logarithm is taken of the rest, which keeps the digits. */
  function timesLogShare(part, rest) {
    if (!(part > 0)) return 0;
    const whole = part + rest;
    return part * (part > rest ? Math.log1p(-rest / whole) : Math.log(part / whole));
  }

  /** Φ of one class: the log-likelihood of answers under their own best row. */
  function phi(row) {
    let sum = 0;
    for (let i = 0; i < row.length; i += 1) {
      let rest = 0;
      for (let k = 0; k < row.length; k += 1) if (k !== i) rest += row[k];
      sum += timesLogShare(row[i], rest);
    }
    return sum;
  }

  /** What the shares of the labels add for one label. */
  function shareTerm(problem, label, tasks, allTasks) {
    if (problem.selectivity === "none") return 0;
    if (problem.selectivity === "given") {
      const share = problem.shares[label];
      if (share === 0) return tasks > 0 ? -Infinity : 0;
      return tasks * Math.log(share);
    }
    const known = problem.gold ? problem.gold[label] : 0;
    const allKnown = problem.gold ? problem.gold.reduce((a, b) => a + b, 0) : 0;
    return timesLogShare(tasks + known, allTasks - tasks + (allKnown - known));
  }

  /** The log-likelihood of responses[label][class][answer] and tasks[label]. */
  function total(problem, { responses, tasks }) {
    const allTasks = tasks.reduce((a, b) => a + b, 0);
    return responses.reduce((sum, classes, label) => {
      const known = problem.offsets && problem.offsets[label];
      const fit = classes.reduce((s, row, k) => s + phi(known ? row.map((n, i) => n + known[k][i]) : row), 0);
      return sum + fit + shareTerm(problem, label, tasks[label], allTasks);
    }, 0);
  }

  /** Adds the responses of a bucket to those of a label, or takes them away. */
  function add(problem, sums, bucket, label, sign) {
    const weight = sign * problem.weights[bucket];
    sums.tasks[label] += weight;
    problem.counts[bucket].forEach((row, k) => row.forEach((n, i) => { sums.responses[label][k][i] += weight * n; }));
  }

  const copy = (sums) => ({ responses: sums.responses.map((c) => c.map((row) => row.slice())), tasks: sums.tasks.slice() });

  // ---- The order between buckets: order.py ----

  /** The numbers that dominance compares, all "more is higher". */
  function tails(problem, bucket) {
    const keys = [];
    let sum = problem.counts[bucket][0].map(() => 0);
    for (const row of problem.counts[bucket]) {
      sum = problem.ranked ? sum.map((n, i) => n + row[i]) : row;
      for (let cut = 1; cut < sum.length; cut += 1) {
        keys.push(sum.slice(cut).reduce((a, b) => a + b, 0), -sum.slice(0, cut).reduce((a, b) => a + b, 0));
      }
    }
    return keys;
  }

  const atLeast = (a, b) => a.every((value, i) => value >= b[i]);

  // ---- The picture ----

  const number = (value, digits) => value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits }).replace("-", "−");

  function picture(problem) {
    const { labels, colours, inks, at, cuts } = data;
    const svg = byId("lattice");
    const buckets = [...svg.querySelectorAll(".bucket")];
    const words = buckets.map((node) => node.getAttribute("aria-label").slice(0, -labels[problem.labels[Number(node.dataset.bucket)]].length));
    const keys = problem.ordered ? problem.counts.map((_, b) => tails(problem, b)) : [];
    const select = byId("bucket-label");
    const keepOrder = byId("keep-order");
    let current = problem.labels.slice();
    let rest = copy(problem.rest);
    let chosen = -1;

    const sumsOf = (mapping, others) => {
      const sums = copy(others);
      mapping.forEach((label, bucket) => add(problem, sums, bucket, label, 1));
      return sums;
    };

    /** The mapping after a bucket got a label; those that the order asks to follow do. */
    const moved = (mapping, bucket, label) => mapping.map((old, other) => {
      if (other === bucket) return label;
      if (!keepOrder || !keepOrder.checked) return old;
      if (old < label && atLeast(keys[other], keys[bucket])) return label;
      if (old > label && atLeast(keys[bucket], keys[other])) return label;
      return old;
    });

    function show() {
      const value = total(problem, sumsOf(current, rest));
      const loss = problem.optimum - value;
      const same = current.every((label, b) => label === problem.labels[b]) && JSON.stringify(rest) === JSON.stringify(problem.rest);
      byId("value").dataset.value = String(value);
      byId("value").textContent = Number.isFinite(value) ? number(value, 3) : "impossible";
      byId("loss").textContent = same ? "These are the answers of this report." : lossWords(loss);
      byId("reset").disabled = same;
      buckets.forEach((node, b) => {
        const label = current[b];
        node.querySelector("circle").setAttribute("fill", colours[label]);
        const text = node.querySelector("text");
        if (text) text.setAttribute("fill", inks[label]);
        node.dataset.label = String(label);
        node.classList.toggle("moved", label !== problem.labels[b]);
        node.classList.toggle("chosen", b === chosen);
        node.setAttribute("aria-label", words[b] + labels[label]);
        node.querySelector("title").textContent = words[b] + labels[label];
      });
      drawCuts();
      if (chosen >= 0) select.value = String(current[chosen]);
    }

    function lossWords(loss) {
      if (loss === Infinity) return "Impossible: a label has a given share of zero.";
      if (Math.abs(loss) < 1e-9 * Math.max(1, Math.abs(problem.optimum))) return "As likely as the answers of this report.";
      const size = Math.abs(loss) < 0.0005 ? Math.abs(loss).toExponential(1) : number(Math.abs(loss), 3);
      const times = Math.exp(Math.abs(loss));
      const ratio = times < 10 ? number(times, 2) : times < 1e6 ? number(times, 0) : `10^${Math.floor(Math.abs(loss) / Math.LN10)}`;
      return `${size} nats ${loss > 0 ? "less" : "more"} likely than the answers of this report: ${ratio} times.`;
    }

    /** The borders between neighbours with different labels. */
    function drawCuts() {
      svg.querySelector(".cuts").replaceChildren(...data.borders.filter(([a, b]) => current[a] !== current[b]).map((border) => {
        const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
        ["x1", "y1", "x2", "y2"].forEach((name, i) => line.setAttribute(name, border[2 + i]));
        return line;
      }));
    }

    function choose(bucket, focus) {
      chosen = bucket;
      buckets.forEach((node, b) => node.setAttribute("tabindex", b === bucket ? "0" : "-1"));
      byId("chosen").textContent = `${words[bucket].replace(/, label $/, "")}: label`;
      select.disabled = false;
      if (focus) buckets[bucket].focus();
      show();
    }

    function relabel(bucket, label) {
      current = moved(current, bucket, label);
      show();
    }

    /** The bucket nearest in a direction, straight ones first. */
    function neighbour(bucket, dx, dy) {
      let best = bucket;
      let least = Infinity;
      at.forEach(([x, y], b) => {
        const along = (x - at[bucket][0]) * dx + (y - at[bucket][1]) * dy;
        const aside = Math.abs((x - at[bucket][0]) * dy) + Math.abs((y - at[bucket][1]) * dx);
        if (b !== bucket && along > 0.01 && along + 2 * aside < least) [best, least] = [b, along + 2 * aside];
      });
      return best;
    }

    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    buckets.forEach((node, b) => {
      node.addEventListener("click", () => choose(b, false));
      node.addEventListener("keydown", (event) => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const place = Number(event.key) - 1;
        if (ways[event.key]) choose(neighbour(b, ...ways[event.key]), true);
        else if (event.key === "Enter" || event.key === " ") { choose(b, false); relabel(b, (current[b] + 1) % labels.length); }
        else if (event.key.trim() && place >= 0 && place < labels.length) { choose(b, false); relabel(b, place); }
        else return;
        event.preventDefault();
      });
    });
    select.addEventListener("change", () => relabel(chosen, Number(select.value)));

    /** Of all single buckets that can cross a cut without breaking the order, the one that costs least. */
    function step(cut, way) {
      const [from, to] = way === "down" ? [cut - 1, cut] : [cut, cut - 1];
      const sums = sumsOf(current, rest);
      let best = -1;
      let most = -Infinity;
      current.forEach((label, b) => {
        if (label !== from) return;
        const blocked = current.some((other, c) => c !== b && (way === "down"
          ? other < to && atLeast(keys[c], keys[b])
          : other > to && atLeast(keys[b], keys[c])));
        if (blocked) return;
        add(problem, sums, b, from, -1);
        add(problem, sums, b, to, 1);
        const value = total(problem, sums);
        add(problem, sums, b, to, -1);
        add(problem, sums, b, from, 1);
        if (value > most || best < 0) [best, most] = [b, value];
      });
      if (best < 0) return;
      current[best] = to;
      choose(best, false);
    }
    document.querySelectorAll("[data-cut]").forEach((button) => button.addEventListener("click", () => step(Number(button.dataset.cut), button.dataset.way)));

    function setCut(place) {
      const low = [cuts.responses[place].map((row) => row.slice())];
      const sums = {
        responses: [low[0], cuts.whole.map((row, k) => row.map((n, i) => n - low[0][k][i]))],
        tasks: [cuts.tasks[place], problem.rest.tasks.reduce((a, b) => a + b, 0) + problem.weights.reduce((a, b) => a + b, 0) - cuts.tasks[place]],
      };
      current = cuts.rank.map((rank) => (rank >= cuts.places[place] ? 1 : 0));
      current.forEach((label, bucket) => add(problem, sums, bucket, label, -1));
      rest = sums;
      markCut(place);
      show();
    }

    function markCut(place) {
      const [x, y] = data.curve[place];
      for (const end of ["x1", "x2"]) byId("curve-line").setAttribute(end, x);
      const dot = byId("curve-dot");
      if (dot) dot.setAttribute("visibility", y === null ? "hidden" : "visible");
      if (dot && y !== null) { dot.setAttribute("cx", x); dot.setAttribute("cy", y); }
      const from = cuts.from[place];
      byId("cut-words").textContent = from === null
        ? `No task is ${labels[1]}.`
        : `Tasks are ${labels[1]} where at least ${number(100 * from, 1)} % of the answers are.`;
      byId("cut").setAttribute("aria-valuetext", byId("cut-words").textContent);
    }
    if (cuts) {
      const slider = byId("cut");
      slider.closest("p").hidden = false;
      slider.addEventListener("input", () => setCut(Number(slider.value)));
      markCut(cuts.here);
    }

    byId("reset").addEventListener("click", () => {
      current = problem.labels.slice();
      rest = copy(problem.rest);
      if (cuts) { byId("cut").value = String(cuts.here); markCut(cuts.here); }
      show();
    });
    byId("controls").hidden = false;
    drawCuts();
  }

  // ---- The tables ----

  const value = (cell) => (cell.dataset.v === undefined ? cell.textContent : cell.dataset.v === "" ? null : Number(cell.dataset.v));
  const compare = (a, b) => (typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true }));

  /** Sorts by a column, the other way round at the second time; what has no value stays last. */
  function sort(button) {
    const table = byId(`table-${button.dataset.sort}`);
    const header = button.closest("th");
    const column = Number(button.dataset.column);
    const sign = header.getAttribute("aria-sort") === "ascending" ? -1 : 1;
    table.querySelectorAll("th[aria-sort]").forEach((other) => other.removeAttribute("aria-sort"));
    header.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
    const rows = [...table.tBodies[0].rows].map((row) => ({ row, key: value(row.cells[column]) }));
    rows.sort((a, b) => (a.key === null || b.key === null ? (a.key === null) - (b.key === null) : sign * compare(a.key, b.key)));
    table.tBodies[0].replaceChildren(...rows.map(({ row }) => row));
  }

  /** Shows the rows that have all words of the search somewhere. */
  function filter(input) {
    const name = input.dataset.search;
    const wanted = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    const rows = [...byId(`table-${name}`).tBodies[0].rows];
    let shown = 0;
    for (const row of rows) {
      const text = row.textContent.toLowerCase();
      row.hidden = !wanted.every((word) => text.includes(word));
      shown += row.hidden ? 0 : 1;
    }
    const output = document.querySelector(`[data-shown="${name}"]`);
    output.dataset.whole ??= output.textContent;
    output.textContent = wanted.length ? `${number(shown, 0)} found` : output.dataset.whole;
  }

  document.querySelectorAll("[data-sort]").forEach((button) => button.addEventListener("click", () => sort(button)));
  document.querySelectorAll("[data-search]").forEach((input) => input.addEventListener("input", () => filter(input)));
  if (data.problem) picture(data.problem);
})();
