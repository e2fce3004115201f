#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Runs of the matrix as one test, for the scripts that source it.

number=0
declare -A failures
# The points of one run, numbered on: NAME COMMAND...
points() {
	local name=$1 line what
	shift
	while IFS= read -r line; do
		case $line in
		ok\ * | not\ ok\ *)
			number=$((number + 1))
			what=${line#* - }
			printf '%s %d - %s: %s\n' "${line%% [0-9]*}" "$number" "$name" "$what"
			case $what in
			*' calls failed,'*)
				line=${what#*: }
				failures[${what%%:*}]=$((${failures[${what%%:*}]:-0} + ${line%% *}))
				;;
			esac
			;;
		1..*) ;;
		*) printf '%s\n' "$line" ;;
		esac
	done < <("$@")
}

# The last point: what, of the calls whose names match PATTERN, has never failed; and the plan.
finish() {
	local what never=
	for what in "${!failures[@]}"; do
		# shellcheck disable=SC2053
		[[ $what != $1 ]] || [ "${failures[$what]}" -gt 0 ] || never="$never, $what"
	done
	number=$((number + 1))
	if [ -z "$never" ]; then
		echo "ok $number - every one of them has failed somewhere"
	else
		echo "not ok $number - never failed: ${never#, }"
	fi
	echo "1..$number"
}
