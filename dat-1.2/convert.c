/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Masks and structures. */
#include "dat-1.2/convert.h"

#include <string.h>

#include "dat-1.2/fields.h"
#include "dat-1.2/old.h"

/* What a program of DAT 1.2 is told of the version in use. */
#define VERSION_MAJOR 1
#define VERSION_MINOR 2

struct dat12_struct {
	const struct dat12_field *old, *new;
	size_t num;
};

#define TABLE(name) new_##name
#include "dat-1.2/tables.def"

#define STRUCT(name)                                                                     \
	const struct dat12_struct dat12_##name##_fields = {                              \
		dat12_old_##name, new_##name, sizeof(new_##name) / sizeof(new_##name[0]) \
	}
STRUCT(ep_attr);
STRUCT(ep_param);
STRUCT(ia_attr);
STRUCT(provider_attr);
STRUCT(lmr_param);
STRUCT(rmr_param);

bool dat12_mask(const struct dat12_struct *fields, uint64_t old_mask, uint64_t *new_mask)
{
	size_t i;

	*new_mask = 0;
	for (i = 0; i < fields->num; i++)
		if (old_mask & fields->old[i].bit)
			*new_mask |= fields->new[i].bit;
	for (i = 0; i < fields->num; i++)
		old_mask &= ~fields->old[i].bit;
	return !old_mask;
}

static uint64_t get(const void *from, const struct dat12_field *field)
{
	uint64_t value = 0;

	memcpy((char *)&value + DAT12_LOWER(sizeof(value) - field->size),
	       (const char *)from + field->offset, field->size);
	return value;
}

static void put(void *to, const struct dat12_field *field, uint64_t value)
{
	memcpy((char *)to + field->offset,
	       (const char *)&value + DAT12_LOWER(sizeof(value) - field->size), field->size);
}

static uint64_t old_value(enum dat12_kind kind, uint64_t value)
{
	switch (kind) {
	case DAT12_STATE:
		return dat12_ep_state((DAT_EP_STATE)value);
	case DAT12_COMPLETION:
		return value & DAT12_COMPLETION_FLAGS;
	case DAT12_PRIVILEGES:
		return value & DAT_MEM_PRIV_ALL_FLAG;
	case DAT12_LIMIT:
		return value == UINT32_MAX ? UINT64_MAX : value;
	case DAT12_MAJOR:
		return VERSION_MAJOR;
	case DAT12_MINOR:
		return VERSION_MINOR;
	default:
		return value;
	}
}

void dat12_out(const struct dat12_struct *fields, uint64_t old_mask, const void *new_one,
	       void *old_one)
{
	const struct dat12_field *old, *new;
	size_t i;

	for (i = 0; i < fields->num; i++) {
		old = &fields->old[i];
		new = &fields->new[i];
		if (!(old_mask & old->bit))
			continue;
		if (old->size > sizeof(uint64_t))
			memcpy((char *)old_one + old->offset, (const char *)new_one + new->offset,
			       old->size);
		else
			put(old_one, old, old_value((enum dat12_kind)old->kind, get(new_one, new)));
	}
}

bool dat12_in(const struct dat12_struct *fields, uint64_t old_mask, const void *old_one,
	      void *new_one)
{
	const struct dat12_field *old, *new;
	uint64_t value;
	size_t i;

	for (i = 0; i < fields->num; i++) {
		old = &fields->old[i];
		new = &fields->new[i];
		if (!(old_mask & old->bit))
			continue;
		value = get(old_one, old);
		if (new->size < old->size && value > UINT32_MAX)
			return false;
		if (old->kind == DAT12_COMPLETION && (value & DAT12_NEW_COMPLETION_FLAGS))
			return false;
		put(new_one, new, value);
	}
	return true;
}
