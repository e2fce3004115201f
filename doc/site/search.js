/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Finds the parts of pages that have all words of the query; those with them in a heading first. */
"use strict";

const query = document.getElementById("query");
const found = document.getElementById("found");
const MOST = 30, AROUND = 70;

/* 0: not all words are there. */
function score(entry, words) {
	const title = entry.t.toLowerCase(), head = entry.h.toLowerCase(), text = entry.x.toLowerCase();
	let sum = 0;

	for (const word of words) {
		const points = (title.startsWith(word) ? 20 : title.includes(word) ? 8 : 0) +
			(head.includes(word) ? 6 : 0) + (text.includes(word) ? 1 : 0);

		if (!points)
			return 0;
		sum += points;
	}
	return sum;
}

function excerpt(entry, word) {
	const at = Math.max(0, entry.x.toLowerCase().indexOf(word) - AROUND);

	return (at ? "… " : "") + entry.x.slice(at, at + 2 * AROUND) + " …";
}

function item(entry, word) {
	const li = document.createElement("li"), a = document.createElement("a"),
		small = document.createElement("small");

	a.href = document.body.dataset.up + entry.u;
	a.textContent = entry.t + (entry.h && entry.h !== entry.t ? ": " + entry.h : "");
	small.textContent = excerpt(entry, word);
	li.append(a, small);
	return li;
}

function search() {
	const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
	const hits = words.length ? searchIndex.map(entry => [score(entry, words), entry])
		.filter(hit => hit[0]).sort((a, b) => b[0] - a[0]).slice(0, MOST) : [];

	found.replaceChildren(...hits.map(hit => item(hit[1], words[0])));
	if (words.length && !hits.length)
		found.append("Nothing has all of these words.");
	found.hidden = !words.length;
}

query.addEventListener("input", search);
search();
