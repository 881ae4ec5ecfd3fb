// The player: which frame is shown, and the controls that change it. What a frame looks like is in views.js.

// View state outlives a remount of the component; it is kept under an id of our own.
const states = (globalThis.__grpoPlayer ??= new Map());

export default function player({ data, parentElement, setTriggerValue }) {
  const root = parentElement.querySelector(".player");
  const find = (selector) => root.querySelector(selector);
  const { texts, prompts, actions } = data;
  const last = data.epochs.length - 1;
  const state = remembered(data.id);
  clearInterval(state.timer); // the earlier call was not cleaned up
  state.frame = frameOfEpoch(state.epoch);
  root.classList.toggle("dark", isDark(root));

  root.querySelectorAll("[data-text]").forEach((node) => (node.textContent = texts[node.dataset.text]));
  const choosePrompt = (p) => setTriggerValue("prompt", p); // an event: the same prompt may be chosen again later
  const views = makeViews({ data, root, stopAt, choosePrompt });
  const range = find("input");
  const play = find(".play");
  const speed = find("select");
  label(root, texts.player);
  label(range, texts.epoch);
  label(speed, texts.speed);
  range.max = last;
  speed.value = state.pause;
  const acts = {
    first: () => stopAt(0),
    back: () => stopAt(state.frame - 1),
    forward: () => stopAt(state.frame + 1),
    last: () => stopAt(last),
    play: () => (state.playing ? stopAt(state.frame) : start()),
  };
  root.querySelectorAll("[data-do]").forEach((button) => {
    button.onclick = acts[button.dataset.do];
    if (button !== play) label(button, texts[button.dataset.do]);
  });
  range.oninput = () => stopAt(Number(range.value));
  speed.onchange = () => {
    state.pause = Number(speed.value);
    if (state.playing) run();
  };
  root.onkeydown = (event) => {
    const tag = event.composedPath()[0].tagName;
    if (event.altKey || event.ctrlKey || event.metaKey || tag === "SELECT") return;
    const keys = { ArrowLeft: "back", ArrowRight: "forward", Home: "first", End: "last" };
    const act = event.key === " " && tag !== "BUTTON" ? "play" : keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    acts[act]();
  };
  draw();
  if (state.playing) run();
  return () => clearInterval(state.timer);

  function frameOfEpoch(epoch) {
    const index = data.epochs.findIndex((value) => value >= epoch);
    return index < 0 ? last : index;
  }

  function start() {
    if (state.frame === last) state.frame = 0;
    state.playing = true;
    draw();
    run();
  }

  function run() {
    clearInterval(state.timer);
    state.timer = setInterval(() => {
      if (!root.isConnected) return clearInterval(state.timer);
      if (state.frame >= last) return stopAt(last);
      state.frame += 1;
      draw();
    }, state.pause);
  }

  function stopAt(frame) {
    clearInterval(state.timer);
    state.playing = false;
    state.frame = Math.max(0, Math.min(last, frame));
    draw();
    speak();
  }

  function draw() {
    const frame = state.frame;
    state.epoch = data.epochs[frame];
    remember(data.id, state);
    range.value = frame;
    find(".where").textContent = `${texts.epoch} ${state.epoch} / ${data.epochs[last]}`;
    play.textContent = state.playing ? texts.pause : texts.play;
    views.forEach((view) => view(frame));
  }

  function speak() {
    const parts = prompts.map((prompt, p) => {
      const shares = actions.map((action, a) => `${action} ${data.probabilities[state.frame][p][a].toFixed(2)}`);
      return `${prompt} ${shares.join(", ")}`;
    });
    const kl = `${texts.kl} ${data.curves.kl[0].values[state.frame].toFixed(3)}`;
    find(".spoken").textContent = `${texts.epoch} ${state.epoch}. ${parts.join(". ")}. ${kl}`;
  }
}

function remembered(id) {
  if (!states.has(id)) {
    let saved = {};
    try {
      saved = JSON.parse(sessionStorage.getItem(`player ${id}`)) ?? {};
    } catch {} // storage may be forbidden
    states.set(id, { epoch: saved.epoch ?? 1, pause: saved.pause ?? 400, playing: false, timer: 0, frame: 0 });
  }
  return states.get(id);
}

function remember(id, { epoch, pause }) {
  try {
    sessionStorage.setItem(`player ${id}`, JSON.stringify({ epoch, pause }));
  } catch {} // storage may be forbidden
}
