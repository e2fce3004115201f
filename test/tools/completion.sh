#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Completion in bash: what is offered for words that stand on a command line.
top=${top_srcdir:-.} build=${top_builddir:-.}
scratch=$(mktemp -d) || exit 99
trap 'rm -r "$scratch"' EXIT
printf 'my-adapter u2.0 nonthreadsafe default libdaplsoft.so.2 udapl.1.0 "lo" ""\n' >"$scratch/dat.conf"
export DAT_OVERRIDE=$scratch/dat.conf PATH=$build:$PATH
count=0
failed=0

# offers COMMAND-LINE-WITH-ITS-LAST-WORD-UNFINISHED WANTED...: a word with ! before it must not be offered.
offers() {
	line=$1
	shift
	mapfile -t COMP_WORDS < <(xargs -n1 <<<"$line")
	[[ $line == *" " ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	COMPREPLY=()
	"_${COMP_WORDS[0]//-/_}" "$build/${COMP_WORDS[0]}" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
	count=$((count + 1))
	for word in "$@"; do
		has=no
		for offered in "${COMPREPLY[@]}"; do
			[[ $offered == "${word#!}" ]] && has=yes
		done
		[[ $word == !* ]] && want=no || want=yes
		if [[ $has != "$want" ]]; then
			echo "# offered: ${COMPREPLY[*]}; $word"
			echo "not ok $count - $line"
			failed=1
			return
		fi
	done
	echo "ok $count - $line"
}

for command in dat-info dat-trace dapltest; do
	# shellcheck disable=SC1090
	. "$top/tools/completion/$command"
done
echo 1..16
offers "dat-info --" --check --doctor --pid --generate --settings --version '!-f'
offers "dat-info --do" --doctor '!--check'
offers "dat-info -v " my-adapter
offers "dat-info my" my-adapter
offers "dat-info --pid " $$
offers "dat-info -f $scratch/da" "$scratch/dat.conf"
offers "dat-info --timeout " '!my-adapter'
offers "dat-trace " $$
offers "dat-trace 1 " dump points 0 10 -1
offers "dat-trace 1 dump " '!0'
offers "dapltest -T " S T P Q L
offers "dapltest -T P -D my" my-adapter
offers "dapltest -T P -m " b p
offers "dapltest -T P --s" --sweep '!--duration'
offers "dapltest -T T client " SR RR RW
offers "dapltest -T L limit_l" limit_lmr '!limit_pz'
exit $failed
