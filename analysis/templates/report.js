const PAGE = 40;
const WORDS = { k: "killed", h: "held: nothing noticed it", r: "a condition raised", f: "a test failed, no condition was violated", t: "timeout", e: "another error", n: "not run" };
const shards = new Map(), waiting = new Map();
let index = null, found = [], shown = 0;

async function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// called by the scripts that hold the shards
function shard(number, packed) {
  const ready = unpack(packed);
  shards.set(number, ready);
  if (waiting.has(number)) waiting.get(number)(ready);
}

function load(number) {
  if (!shards.has(number)) {
    shards.set(number, new Promise((resolve, reject) => {
      waiting.set(number, resolve);
      const script = document.createElement("script");
      script.src = `report-data/${String(number).padStart(4, "0")}.js`;
      script.onerror = () => { shards.delete(number); reject(new Error(`${script.src} is missing: it belongs beside this page`)); };
      document.head.append(script);
    }));
  }
  return shards.get(number);
}

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

function choices(id, first, names, values = names.map((_, n) => n)) {
  const select = document.getElementById(id);
  select.append(new Option(first, ""));
  names.map((name, n) => [name, values[n]]).sort((a, b) => (a[0] < b[0] ? -1 : 1)).forEach(([name, value]) => select.append(new Option(name, value)));
  select.addEventListener("change", filter);
}

const value = (id) => document.getElementById(id).value;

function matches(candidate) {
  const [, , model, setting, reason, level, , missed] = candidate;
  const verdict = value("verdict");
  return (value("model") === "" || model === +value("model"))
    && (value("setting") === "" || setting === +value("setting"))
    && (verdict === "" || (verdict === "complete" ? level === 2 : verdict === "correct" ? level > 0 : verdict === "incomplete" ? level === 1 : verdict === "wrong" ? level === 0 : reason === +verdict.slice(1)))
    && (value("made_by") === "" || missed.includes(+value("made_by")));
}

const counted = (n, name) => `${n.toLocaleString("en")} ${name}${n === 1 ? "" : "s"}`;

let round = 0;
async function filter() {
  const mine = ++round, search = value("search").toLowerCase().split(/\s+/).filter(Boolean), deep = document.getElementById("texts").checked;
  const by = new Map();
  for (const candidate of index.candidates) {
    if (!matches(candidate)) continue;
    if (!by.has(candidate[0])) by.set(candidate[0], []);
    by.get(candidate[0]).push(candidate);
  }
  const result = [];
  for (const [number, candidates] of [...by].sort((a, b) => a[0] - b[0])) {
    const method = index.methods[number];
    if (value("repository") !== "" && method.repository !== +value("repository")) continue;
    const words = `${method.id} ${method.words} ${index.repository[method.repository]}`.toLowerCase();
    let kept = candidates;
    if (!search.every((word) => words.includes(word))) {
      if (!deep) continue;
      const full = (await load(method.shard))[method.place];
      if (mine !== round) return;
      kept = candidates.filter(([, at]) => search.every((word) => full.candidates[at].text.toLowerCase().includes(word) || words.includes(word)));
      if (!kept.length) continue;
    }
    result.push([number, kept]);
  }
  found = result;
  shown = 0;
  document.getElementById("list").replaceChildren();
  const candidates = found.reduce((sum, [, kept]) => sum + kept.length, 0);
  document.getElementById("count").textContent = `${counted(candidates, "candidate")} of ${counted(found.length, "method")}`;
  more();
}

function more() {
  const list = document.getElementById("list");
  for (const [number, candidates] of found.slice(shown, shown + PAGE)) list.append(entry(number, candidates));
  shown += PAGE;
  document.getElementById("more").hidden = shown >= found.length;
}

function entry(number, candidates) {
  const method = index.methods[number];
  const count = (level) => candidates.filter((candidate) => candidate[5] >= level).length;
  const details = element("details", { className: "method", id: `method-${number}` },
    element("summary", {}, element("b", { textContent: method.id }),
      element("span", { className: "tag", textContent: index.repository[method.repository] }),
      element("span", { className: "soft", textContent: `${counted(candidates.length, "candidate")}, ${count(1)} correct, ${count(2)} complete; ${counted(method.mutants, "mutant")}` })));
  details.addEventListener("toggle", async () => {
    if (!details.open || details.childElementCount > 1) return;
    const body = element("div", { textContent: "loading" });
    details.append(body);
    try {
      const full = (await load(method.shard))[method.place];
      body.replaceChildren(...methodBody(full), ...candidates.map(([, at]) => candidateBody(full, full.candidates[at])));
    } catch (error) {
      body.textContent = error.message;
    }
  });
  return details;
}

function folded(title, text) {
  return element("details", {}, element("summary", { textContent: title }), element("pre", { textContent: text }));
}

function methodBody(method) {
  const parts = [element("p", { className: "soft", textContent: `${method.file}, ${method.lines} lines` }), element("pre", { textContent: method.implementation })];
  if (method.reference) parts.push(folded("reference postconditions", method.reference));
  for (const [setting, prompt] of Object.entries(method.prompts)) parts.push(folded(`prompt (${setting.toUpperCase()})`, prompt));
  return parts;
}

function difference(text) {
  const pre = element("pre");
  for (const line of text.split("\n")) {
    pre.append(element("span", { className: line[0] === "+" ? "plus" : line[0] === "-" ? "minus" : "", textContent: `${line}\n` }));
  }
  return pre;
}

// The answer's clauses, each marked by what it does.
function marked(candidate) {
  const pre = element("pre"), kills = candidate.clauses.map((_, n) => candidate.alone.length ? candidate.alone[n][1].length : candidate.first.filter((at) => at === n).length);
  let rest = candidate.answer;
  candidate.clauses.forEach((clause, n) => {
    const at = rest.indexOf(clause);
    if (at < 0) return;
    const failed = candidate.alone.length ? !candidate.alone[n][0] : candidate.violated === n;
    const kind = failed ? "bad" : kills[n] ? "good" : "idle";
    const word = failed ? "fails on the original" : kills[n] ? `kills ${kills[n]} mutant${kills[n] > 1 ? "s" : ""}${candidate.alone.length ? "" : " first"}` : candidate.correct ? "kills nothing" + (candidate.alone.length ? "" : " that others did not kill before") : "";
    pre.append(rest.slice(0, at), element("mark", { className: candidate.correct || failed ? kind : "", title: word, textContent: clause }));
    rest = rest.slice(at + clause.length);
  });
  pre.append(rest || "");
  if (!pre.textContent.trim()) pre.textContent = "(no clause)";
  return pre;
}

// Thought, probe or submission, what it was told, what it caught: turn by turn.
function transcript(method, candidate) {
  const details = element("details", {}, element("summary", { textContent: `${counted(candidate.turns.length, "turn")}` }));
  candidate.turns.forEach((turn, n) => {
    const cells = element("span", { className: "cells" });
    if (turn.score !== null) method.mutants.forEach((mutant, at) => cells.append(element("i", { className: turn.caught.includes(at) ? "k" : "h", title: mutant.made_by })));
    const score = turn.score === null ? "" : `, score ${turn.score.toFixed(2)}`;
    details.append(element("p", {}, element("span", { className: "tag", textContent: `${n + 1}: ${turn.kind}${score}` }), " ", cells));
    if (turn.thought) details.append(element("p", { className: "soft", textContent: turn.thought }));
    if (turn.proposal) details.append(element("pre", { textContent: turn.proposal }));
    if (turn.observation) details.append(element("p", { className: "told", textContent: turn.observation }));
  });
  return details;
}

function candidateBody(method, candidate) {
  const killed = [...candidate.verdicts].filter((letter) => letter === "k").length, total = candidate.verdicts.length;
  const level = candidate.correct ? (total && killed === total ? "complete" : "correct") : "";
  const box = element("div", { className: `candidate ${level}` },
    element("div", {}, element("span", { className: "tag", textContent: `${candidate.model} · ${candidate.setting.toUpperCase()} · sample ${candidate.sample}` }), " ",
      element("span", { className: `tag ${level}`, textContent: candidate.correct ? `${level}: kills ${killed} of ${total}` : candidate.reason.replaceAll("_", " ") }), " ",
      ...candidate.notes.map((note) => element("span", { className: "tag", textContent: note }))),
    marked(candidate));
  if (candidate.message) box.append(element("pre", { textContent: candidate.message }));
  if (candidate.text.trim() !== candidate.answer.trim()) box.append(folded("the whole completion", candidate.text));
  if (candidate.turns.length) box.append(transcript(method, candidate));
  if (candidate.correct) {
    const cells = element("span", { className: "cells" }), place = element("div");
    [...candidate.verdicts].forEach((letter, at) => {
      const mutant = method.mutants[at], by = candidate.first[at];
      const word = `${mutant.made_by}: ${WORDS[letter]}${letter === "k" && by >= 0 ? `, first by clause ${by + 1}` : ""}`;
      cells.append(element("i", { className: letter, title: word, onclick: () => place.replaceChildren(element("p", { className: "soft", textContent: `${mutant.id}, ${word}` }), difference(mutant.change)) }));
    });
    box.append(cells, place);
    const missed = [...candidate.verdicts].map((letter, at) => [letter, at]).filter(([letter]) => letter !== "k");
    if (missed.length) {
      const list = element("details", {}, element("summary", { textContent: `${missed.length} mutant${missed.length > 1 ? "s" : ""} missed` }));
      missed.forEach(([letter, at]) => list.append(element("p", { className: "soft", textContent: `${method.mutants[at].made_by}: ${WORDS[letter]}` }), difference(method.mutants[at].change)));
      box.append(list);
    }
  }
  return box;
}

async function begin() {
  index = await unpack(INDEX);
  choices("model", "all models", index.model);
  choices("setting", "all settings", index.setting.map((name) => name.toUpperCase()));
  choices("repository", "all repositories", index.repository);
  choices("made_by", "any mutants", index.made_by.map((name) => `misses ${name}`));
  const reasons = index.reason.filter((name) => name !== "passed");
  choices("verdict", "all verdicts", ["complete", "correct", "correct, not complete", "not correct", ...reasons.map((name) => `on the original: ${name.replaceAll("_", " ")}`)],
    ["complete", "correct", "incomplete", "wrong", ...reasons.map((name) => `r${index.reason.indexOf(name)}`)]);
  let timer = null;
  document.getElementById("search").addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(filter, 120); });
  document.getElementById("texts").addEventListener("change", filter);
  document.getElementById("more").addEventListener("click", more);
  restore();
  await filter();
  document.body.dataset.ready = "1";
  if (location.protocol.startsWith("http")) follow();
}

// A page that is served is made anew while its run goes on: it is loaded again, with what was chosen, when nobody reads in it.
const CHOSEN = ["search", "model", "setting", "verdict", "repository", "made_by"];

function keep() {
  const names = CHOSEN.map((id) => { const field = document.getElementById(id); return field.options ? field.options[field.selectedIndex].text : field.value; });
  sessionStorage.setItem("chosen", JSON.stringify(names));
}

function restore() {
  if (!location.protocol.startsWith("http")) return;
  JSON.parse(sessionStorage.getItem("chosen") || "[]").forEach((name, n) => {
    const field = document.getElementById(CHOSEN[n]);
    if (!field.options) field.value = name;
    else { const option = [...field.options].find((one) => one.text === name); if (option) field.value = option.value; }
  });
}

async function follow() {
  const ask = async () => (await fetch("/version")).json();
  let version;
  try { version = await ask(); } catch { return; }
  setInterval(async () => {
    try {
      if ((await ask()) === version) return;
    } catch { return; }
    keep();
    if (!document.querySelector(".method[open]")) return location.reload();
    if (!document.getElementById("newer")) document.querySelector("nav").append(element("button", { id: "newer", textContent: "newer results: reload", onclick: () => { keep(); location.reload(); } }));
  }, 3000);
}

begin();
