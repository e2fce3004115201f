/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* DAT 1.2 as the rest of the library sees it; old.c, which alone includes its headers, proves it. */
#ifndef DAT12_OLD_H
#define DAT12_OLD_H

#include <stddef.h>
#include <stdint.h>

/* Where the lower bytes of a number that has so many more lie. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define DAT12_LOWER(more) (more)
#else
#define DAT12_LOWER(more) 0
#endif

/* Both triplets: segments of local and of a peer's memory (D12-38, D12-39). */
struct dat12_segment {
	uint32_t context, pad;
	uint64_t address, length;
};

struct dat12_event {
	uint32_t number;
	void *evd;
	uint64_t data[4];
};

/* Words of the data of DTO and bind events; D12-47. */
enum dat12_dto_word {
	DAT12_DTO_EP,
	DAT12_DTO_COOKIE,
	DAT12_DTO_STATUS,
	DAT12_DTO_LENGTH,
};

struct dat12_cno_param {
	void *ia, *agent_data;
	void (*agent_func)(void *, void *);
};

/* The numbers that an event of DAT 1.2 can have (D12-65). */
extern const uint32_t dat12_event_numbers[];
extern const unsigned int dat12_num_event_numbers;

#endif
