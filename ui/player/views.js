// The views of the player: each maker builds its node once and returns the function that draws a frame.
const SVG = "http://www.w3.org/2000/svg";
const MINUS = "−";
const DASHES = ["none", "6 4", "2 4", "8 3 2 3"];

// The drawing functions of all nodes with a data-view, which names its maker.
function makeViews({ data, root, stopAt, choosePrompt }) {
  const { texts, prompts, actions } = data;
  const last = data.epochs.length - 1;
  const makers = { heatmap, groups, bars, curve, stage, map };
  return [...root.querySelectorAll("[data-view]")].map((node) => makers[node.dataset.view](node));

  function promptHeader(p) {
    const button = make("button", "", prompts[p]);
    button.type = "button";
    button.setAttribute("aria-pressed", p === data.prompt);
    button.onclick = () => choosePrompt(p);
    const header = make("th");
    header.scope = "row";
    header.append(button);
    return header;
  }

  // A table with a head and a row per prompt; returns its cells as [prompt][column].
  function table(node, heads, columns) {
    const head = make("tr");
    heads.forEach((text) => {
      const cell = make("th", "", text);
      cell.scope = "col";
      head.append(cell);
    });
    const body = make("tbody");
    const cells = prompts.map((_, p) => {
      const row = make("tr", p === data.prompt ? "chosen" : "");
      const made = Array.from({ length: columns }, () => make("td"));
      row.append(promptHeader(p), ...made);
      body.append(row);
      return made;
    });
    const top = make("thead");
    top.append(head);
    node.replaceChildren(top, body);
    return cells;
  }

  function heatmap(node) {
    const cells = table(node, [texts.prompt, ...actions], actions.length);
    root.classList.toggle("wide-heatmap", actions.length > 4); // on a phone each cell then carries its action
    const [ink, paper] = palette();
    return (frame) =>
      cells.forEach((row, p) =>
        row.forEach((cell, a) => {
          const value = data.probabilities[frame][p][a];
          const color = mixed(ink, paper, value);
          cell.replaceChildren(make("b", "", actions[a]), value.toFixed(3));
          if (data.targets[p][a]) cell.append(make("small", "", texts.target));
          cell.className = data.targets[p][a] ? "target" : "";
          cell.style.background = `rgb(${color})`;
          cell.style.color = luminance(color) > 0.18 ? "#000" : "#fff";
          cell.title = `π(${actions[a]} | ${prompts[p]}) = ${value.toFixed(3)}`;
        }),
      );
  }

  // The two ends of the probability scale.
  function palette() {
    return ["--ink", "--paper"].map((name) => getComputedStyle(root).getPropertyValue(name).split(",").map(Number));
  }

  function mixed(ink, paper, share) {
    return paper.map((from, i) => Math.round(from + (ink[i] - from) * share));
  }

  function groups(node) {
    const perSample = data.samples !== null;
    const names = perSample ? data.samples[0][0].map((_, i) => i + 1) : actions;
    root.classList.toggle("many", names.length > 4); // wide tables get a row of their own
    const cells = table(node, [texts.prompt, ...names, texts.mean, texts.std], names.length + 2);
    return (frame) =>
      cells.forEach((row, p) => {
        names.forEach((_, i) => {
          const a = perSample ? data.samples[frame][p][i] : i;
          const count = data.counts[frame][p][a];
          const reward = data.rewards[p][a];
          const cell = row[i];
          cell.replaceChildren(make("b", "", perSample ? actions[a] : `${actions[a]} ×${count}`), String(reward));
          if (!perSample && count) cell.append(make("small", "", signed(data.advantages[frame][p][a])));
          cell.className = data.targets[p][a] ? "good" : "bad";
          cell.style.opacity = count ? 1 : 0.35;
          cell.title = arithmetic(frame, p, a);
        });
        [data.mean, data.std].forEach((stat, i) => {
          const cell = row[names.length + i];
          cell.className = "stat";
          cell.replaceChildren(make("small", "", i ? texts.std : texts.mean), stat[frame][p].toFixed(2));
        });
      });
  }

  function bars(node) {
    const largest = Math.max(1, ...data.advantages.flat(2).map(Math.abs));
    const stages = prompts.map((prompt, p) => {
      const block = make("div", p === data.prompt ? "chosen" : "");
      const stage = make("div", "stage");
      stage.setAttribute("role", "img");
      block.append(make("h4", "", prompt), stage);
      return [block, stage];
    });
    node.replaceChildren(...stages.map(([block]) => block));
    return (frame) =>
      stages.forEach(([, stage], p) => {
        const taken = sampled(frame, p);
        const values = taken.map((a) => data.advantages[frame][p][a]);
        const drawn = taken.map((a, i) => {
          const value = values[i];
          const height = (Math.abs(value) / largest) * 38;
          const bar = make("div", value < 0 ? "bar down" : "bar up");
          const block = make("i");
          const text = make("span", "", value ? signed(value) : "0");
          block.style.height = `${height}%`;
          text.style[value < 0 ? "top" : "bottom"] = `${51 + height}%`;
          bar.append(block, text);
          bar.title = `${actions[a]}: ${arithmetic(frame, p, a)}`;
          return bar;
        });
        if (data.std[frame][p] === 0) drawn.splice(0, drawn.length, make("div", "says", texts.silent));
        stage.replaceChildren(...drawn);
        label(stage, `${prompts[p]}: ${values.map((value) => signed(value)).join(", ")}`);
      });
  }

  // One of the five stages of the loop, for the chosen prompt.
  function stage(card) {
    const p = data.prompt;
    const link = make("a", "", texts[card.dataset.stage]);
    link.href = data.links[card.dataset.stage];
    link.target = "_self";
    const heading = make("h3");
    heading.append(link);
    const body = make("div", "body");
    card.replaceChildren(heading, make("p", "says", texts[`${card.dataset.stage}_says`]), body);
    const draw = { policy, group, rewards, compared, moved }[card.dataset.stage];
    return (frame) => body.replaceChildren(...draw(frame, sampled(frame, p)));

    function probabilities(now, before) {
      return actions.map((action, a) => {
        const row = make("div", data.targets[p][a] ? "share target" : "share");
        const bar = make("i");
        bar.style.backgroundSize = `${100 * now[a]}% 100%, auto`;
        const change = before ? ` (${signed(now[a] - before[a], 3)})` : "";
        row.append(make("span", "", data.targets[p][a] ? `${action} · ${texts.target}` : action), make("b", "", now[a].toFixed(3) + change), bar);
        return row;
      });
    }

    function chips(items) {
      const row = make("div", "chips");
      row.append(...items.map(([text, good]) => make("span", good ? "good" : "bad", text)));
      return row;
    }

    function policy(frame) {
      return probabilities(data.probabilities[frame][p]);
    }
    function group(frame, taken) {
      return [chips(taken.map((a) => [data.samples ? actions[a] : `${actions[a]} ×${data.counts[frame][p][a]}`, data.targets[p][a]]))];
    }
    function rewards(frame, taken) {
      const stats = [`${texts.mean} ${data.mean[frame][p].toFixed(2)}`, `${texts.std} ${data.std[frame][p].toFixed(2)}`];
      return [chips(taken.map((a) => [String(data.rewards[p][a]), data.targets[p][a]])), ...stats.map((text) => make("p", "stat", text))];
    }
    function compared(frame, taken) {
      if (data.std[frame][p] === 0) return [make("p", "", texts.silent)];
      const values = taken.map((a) => data.advantages[frame][p][a]);
      const best = taken[values.indexOf(Math.max(...values))];
      return [chips(values.map((value) => [signed(value), value > 0])), make("p", "stat", arithmetic(frame, p, best))];
    }
    function moved(frame) {
      return probabilities(data.after[frame][p], data.probabilities[frame][p]);
    }
  }

  // The sampled actions of a group: in their order, or above 8 samples each distinct one once.
  function sampled(frame, p) {
    return data.samples ? data.samples[frame][p] : actions.map((_, a) => a).filter((a) => data.counts[frame][p][a]);
  }

  function arithmetic(frame, p, a) {
    if (!data.counts[frame][p][a]) return "";
    const [mean, std] = [data.mean[frame][p], data.std[frame][p]];
    if (std === 0) return texts.silent;
    return `(${data.rewards[p][a]} ${MINUS} ${mean.toFixed(2)}) / (${std.toFixed(2)} + ${data.epsilon}) = ${signed(data.advantages[frame][p][a])}`;
  }

  // P(silent) over probability and group size, with a dot for each prompt.
  function map(card) {
    const plot = card.querySelector(".plot");
    const { sizes, table, row } = data.map;
    const columns = table[0].length;
    const [ink, paper] = palette();
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", `0 0 ${columns} ${sizes.length}`);
    svg.setAttribute("preserveAspectRatio", "none");
    table.forEach((line, r) =>
      line.forEach((value, c) => {
        const color = mixed(ink, paper, value);
        path(svg, `M${c} ${sizes.length - 1 - r}h1.02v1.02h-1.02z`, `fill:rgb(${color})`);
      }),
    );
    const y = (r) => ((r + 0.5) / sizes.length) * 100;
    const here = make("div", "here");
    here.style.bottom = `${(row / sizes.length) * 100}%`;
    here.style.height = `${100 / sizes.length}%`;
    plot.replaceChildren(svg, here);
    sizes.forEach((size, r) => {
      const tick = make("span", "tick y", r === row ? `G ${size}` : size);
      tick.style.bottom = `${y(r)}%`;
      plot.append(tick);
    });
    [0, 0.25, 0.5, 0.75, 1].forEach((p) => {
      const tick = make("span", "tick x", `p ${p}`);
      tick.style.left = `${p * 100}%`;
      plot.append(tick);
    });
    const legend = make("p", "legend");
    const dots = prompts.map((prompt, p) => {
      const dot = make("div", "dot", p + 1);
      const value = make("output");
      const item = make("span", "", `${p + 1}: ${prompt}`);
      dot.style.bottom = `${y(row)}%`;
      item.append(value);
      legend.append(item);
      plot.append(dot);
      return [dot, value];
    });
    card.querySelector(".legend")?.remove();
    card.querySelector("h3").after(legend);
    plot.setAttribute("role", "img");
    return (frame) => {
      dots.forEach(([dot, value], p) => {
        const probability = data.curves.probability[p].values[frame];
        const together = data.curves.probability.map(({ values }, q) => [Math.abs(values[frame] - probability) < 0.02, q + 1]);
        dot.textContent = together.flatMap(([near, number]) => (near ? [number] : [])).join(" ");
        dot.style.left = `${probability * 100}%`;
        value.textContent = `p ${probability.toFixed(3)}, ${texts.silent_chance} ${data.map.chance[frame][p].toFixed(3)}`;
      });
      label(plot, legend.textContent);
    };
  }

  function curve(card) {
    const plot = card.querySelector(".plot");
    const lines = data.curves[card.dataset.curve];
    const all = lines.flatMap(({ values, low, high }) => [...values, ...(low ?? []), ...(high ?? [])]);
    const bottom = Math.min(0, ...all);
    const top = Math.max(...all, bottom + 0.01);
    const x = (frame) => (last ? (frame / last) * 100 : 50);
    const y = (value) => ((value - bottom) / (top - bottom)) * 100;
    const points = (list) => list.map((value, frame) => `${x(frame)},${100 - y(value)}`);
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("viewBox", "0 0 100 100");
    svg.setAttribute("preserveAspectRatio", "none");
    path(svg, "M0 100H100M0 50H100M0 0H100", "stroke:currentColor;stroke-opacity:.15");
    const marker = make("div", "line");
    plot.replaceChildren(svg, marker);
    const legend = make("p", "legend");
    const shown = lines.map(({ name, values, low, high }, i) => {
      const color = `--color:var(--line-${card.dataset.curve}-${i % 3}, var(--line-${i % 3}))`;
      if (low) path(svg, `M${points(high).join("L")}L${points(low).reverse().join("L")}Z`, `${color};fill:var(--color);fill-opacity:.14`);
      path(svg, `M${points(values).join("L")}`, `${color};fill:none;stroke:var(--color);stroke-width:2.5;stroke-dasharray:${DASHES[i % 4]}`);
      const dot = make("div", "dot");
      const value = make("output");
      const item = make("span", "", name);
      dot.style = item.style = color;
      item.append(value);
      legend.append(item);
      plot.append(dot);
      return [values, dot, value];
    });
    card.querySelector(".legend")?.remove();
    card.querySelector("h3").after(legend);
    [0, 0.5, 1].forEach((share) => {
      const tick = make("span", "tick y", (bottom + (top - bottom) * share).toFixed(2));
      tick.style.bottom = `${share * 100}%`;
      const epoch = make("span", "tick x", data.epochs[Math.round(last * share)]);
      epoch.style.left = `${share * 100}%`;
      plot.append(tick, epoch);
    });
    plot.setAttribute("role", "img");
    plot.onpointerdown = (event) => {
      plot.setPointerCapture(event.pointerId);
      plot.onpointermove(event);
    };
    plot.onpointermove = (event) => {
      if (!event.buttons) return;
      const box = plot.getBoundingClientRect();
      stopAt(Math.round(((event.clientX - box.left) / box.width) * last));
    };
    return (frame) => {
      marker.style.left = `${x(frame)}%`;
      shown.forEach(([values, dot, value]) => {
        dot.style.left = `${x(frame)}%`;
        dot.style.bottom = `${y(values[frame])}%`;
        value.textContent = values[frame].toFixed(3);
      });
      label(plot, `${texts[card.dataset.curve]}: ${lines.map(({ name, values }) => `${name} ${values[frame].toFixed(3)}`).join(", ")}`);
    };
  }
}

function make(tag, className = "", text = null) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text !== null) node.textContent = text;
  return node;
}

function path(svg, d, style) {
  const node = document.createElementNS(SVG, "path");
  node.setAttribute("d", d);
  node.setAttribute("style", style);
  node.setAttribute("vector-effect", "non-scaling-stroke");
  svg.append(node);
}

function label(node, text) {
  node.setAttribute("aria-label", text);
}

function signed(value, digits = 2) {
  const text = Math.abs(value).toFixed(digits);
  return Number(text) === 0 ? "0" : (value < 0 ? MINUS : "+") + text;
}

function luminance(color) {
  const [r, g, b] = color.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The page's background as numbers, whatever notation the theme used for it.
function isDark(root) {
  const probe = make("i");
  probe.style.color = "var(--st-background-color)";
  root.append(probe);
  const color = getComputedStyle(probe).color.match(/[\d.]+/g).slice(0, 3).map(Number);
  probe.remove();
  return luminance(color) < 0.2;
}
