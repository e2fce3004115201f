/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Prints what libdat.so.1 makes of every number, for convert-check: a word per line, with what it was
 * in one edition and what it is in the other.
 */
#include <stdio.h>
#include <string.h>

#include "dat-1.2/convert.h"
#include "dat-1.2/fields.h"
#include "dat-1.2/old.h"

static const struct {
	const char *name;
	const struct dat12_struct *fields;
} structures[] = {
	{ "dat_ep_attr", &dat12_ep_attr_fields },
	{ "dat_ep_param", &dat12_ep_param_fields },
	{ "dat_ia_attr", &dat12_ia_attr_fields },
	{ "dat_provider_attr", &dat12_provider_attr_fields },
	{ "dat_lmr_param", &dat12_lmr_param_fields },
	{ "dat_rmr_param", &dat12_rmr_param_fields },
};

#define NUM_STRUCTURES (sizeof(structures) / sizeof(structures[0]))

static void words(void)
{
	DAT_UINT32 i;

	for (i = 0; i < 0x10000; i++)
		printf("subtype %u %u\n", i,
		       DAT_GET_SUBTYPE(dat12_word(DAT_ERR(DAT_INVALID_PARAMETER, i))));
	for (i = 0; i <= DAT_TYPE_MASK >> 16; i++) {
		printf("type %u %u\n", i << 16, dat12_word(i << 16));
		printf("error %u %u\n", i << 16, dat12_word(DAT_CLASS_ERROR | i << 16));
	}
}

static void masks(void)
{
	uint64_t bits;
	size_t i;
	int bit;

	for (i = 0; i < NUM_STRUCTURES; i++)
		for (bit = 0; bit < 64; bit++)
			if (dat12_mask(structures[i].fields, (uint64_t)1 << bit, &bits))
				printf("mask %s %llu %llu\n", structures[i].name, 1ULL << bit,
				       (unsigned long long)bits);
}

/*
 * Where each byte of 2.0 goes, and each of 1.2: by structures whose bytes are all 0 but one. The
 * versions, which the library says itself, go nowhere.
 */
static void bytes(void)
{
	unsigned char old[1024], new[1024];
	size_t i, j, k;

	for (i = 0; i < NUM_STRUCTURES; i++) {
		for (j = 0; j < 768; j++) {
			memset(old, 0, sizeof(old));
			memset(new, 0, sizeof(new));
			new[j] = 1;
			dat12_out(structures[i].fields, DAT12_ALL, new, old);
			for (k = 0; k < sizeof(old); k++)
				if (old[k] == 1)
					printf("out %s %zu %zu\n", structures[i].name, j, k);
		}
	}
	for (j = 0; j < 192; j++) {
		memset(old, 0, sizeof(old));
		memset(new, 0, sizeof(new));
		old[j] = 1;
		if (!dat12_in(&dat12_ep_param_fields, DAT12_ALL, old, new))
			printf("refused dat_ep_param %zu 0\n", j);
		for (k = 0; k < sizeof(new); k++)
			if (new[k] == 1)
				printf("in dat_ep_param %zu %zu\n", j, k);
	}
}

static void numbers(void)
{
	unsigned int i;

	for (i = 0; i < dat12_num_event_numbers; i++)
		printf("event %u %u\n", dat12_event_numbers[i], dat12_event_numbers[i]);
	for (i = 0; i < 32; i++)
		printf("state %u %u\n", i, dat12_ep_state((DAT_EP_STATE)i));
}

int main(void)
{
	words();
	masks();
	bytes();
	numbers();
	return 0;
}
