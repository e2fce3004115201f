/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Numbers, ranges and the operands that follow the options. */
#include "params.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int unit_shift(char unit)
{
	switch (unit) {
	case 'k':
	case 'K':
		return 10;
	case 'm':
	case 'M':
		return 20;
	case 'g':
	case 'G':
		return 30;
	default:
		return -1;
	}
}

int dt_number_parse(const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	uint64_t number = 0;
	int shift = 0;

	if (*text < '0' || *text > '9')
		return -1;
	for (; *text >= '0' && *text <= '9'; text++) {
		number = number * 10 + (uint64_t)(*text - '0');
		if (number > max)
			return -1;
	}
	if (*text) {
		shift = unit_shift(*text++);
		if (shift < 0 || *text)
			return -1;
	}
	if (number > max >> shift || number << shift < min)
		return -1;
	*value = number << shift;
	return 0;
}

/* Cuts the next part, up to "..", into `part`; returns what follows it or null at the end. */
static const char *cut_part(const char *text, char *part, size_t size)
{
	const char *dots = strstr(text, "..");
	size_t length = dots ? (size_t)(dots - text) : strlen(text);

	if (length >= size)
		length = size - 1;
	memcpy(part, text, length);
	part[length] = '\0';
	return dots ? dots + 2 : NULL;
}

int dt_range_parse(const char *text, uint32_t max, struct dt_range *range)
{
	uint64_t value[3] = { 0, 0, 0 };
	char part[16];
	int count = 0;

	while (text) {
		if (count == 3)
			return -1;
		text = cut_part(text, part, sizeof(part));
		if (dt_number_parse(part, 1, max, &value[count++]))
			return -1;
	}
	if (count == 1)
		value[1] = value[0];
	if (value[1] < value[0])
		return -1;
	/* Without a step: five values, spread evenly, both ends among them where they fall so. */
	if (count < 3)
		value[2] = (value[1] - value[0]) / 4;
	range->first = (uint32_t)value[0];
	range->last = (uint32_t)value[1];
	range->step = value[2] ? (uint32_t)value[2] : 1;
	return 0;
}

static int xfer_parse(const char *text, enum dt_xfer *xfer)
{
	if (!strcmp(text, "SR"))
		*xfer = DT_XFER_SR;
	else if (!strcmp(text, "RR"))
		*xfer = DT_XFER_RR;
	else if (!strcmp(text, "RW"))
		*xfer = DT_XFER_RW;
	else
		return -1;
	return 0;
}

static bool starts_op(const char *text)
{
	return !strcmp(text, "client") || !strcmp(text, "server");
}

/* [seg_size [num_segs]]: returns how many arguments it took, or -1. */
static int sizes_parse(struct dt_op *op, int argc, char **argv)
{
	uint64_t value;
	int used = 0;

	op->seg_size = 4096;
	op->num_segs = 1;
	for (; used < argc && used < 2; used++) {
		if (starts_op(argv[used]) || !strcmp(argv[used], "-f"))
			break;
		if (dt_number_parse(argv[used], 1, used ? DT_MAX_SEGS : DT_MAX_SEG_SIZE, &value)) {
			fprintf(stderr, "OP: %s must be a number from 1 to %u, not %s\n",
				used ? "num_segs" : "seg_size",
				used ? DT_MAX_SEGS : DT_MAX_SEG_SIZE, argv[used]);
			return -1;
		}
		*(used ? &op->num_segs : &op->seg_size) = (uint32_t)value;
	}
	if ((uint64_t)op->seg_size * op->num_segs > UINT32_MAX) {
		fprintf(stderr, "OP: %u segments of %u bytes are too much for one transfer\n",
			op->num_segs, op->seg_size);
		return -1;
	}
	return used;
}

/* One operation: returns how many arguments it took, or -1. */
static int trans_op_parse(struct dt_op *op, int argc, char **argv)
{
	int used = 2, sizes;

	memset(op, 0, sizeof(*op));
	if (!starts_op(argv[0])) {
		fprintf(stderr, "OP first arg must <server/client>\n");
		return -1;
	}
	op->by_server = !strcmp(argv[0], "server");
	if (argc < 2 || xfer_parse(argv[1], &op->xfer)) {
		fprintf(stderr, "OP Second arg must be <RR/RW/SR>\n");
		return -1;
	}
	sizes = sizes_parse(op, argc - used, argv + used);
	if (sizes < 0)
		return -1;
	used += sizes;
	if (used < argc && !strcmp(argv[used], "-f")) {
		if (op->xfer != DT_XFER_SR) {
			fprintf(stderr, "OP: -f only valid on SEND_RECV\n");
			return -1;
		}
		op->reap_on_recv = true;
		used++;
	}
	if (used < argc && !starts_op(argv[used])) {
		fprintf(stderr, "OP too many args \n");
		return -1;
	}
	return used;
}

/* -f comes in pairs, the client's first, with no other -f between. */
static int check_pairs(const struct dt_params *params)
{
	bool client_open = false;

	for (uint32_t i = 0; i < params->num_ops; i++) {
		if (!params->ops[i].reap_on_recv)
			continue;
		if (params->ops[i].by_server != client_open) {
			client_open = true;
			break;
		}
		client_open = !client_open;
	}
	if (client_open)
		fprintf(stderr, "OP: Unbalanced -f options\n");
	return client_open ? -1 : 0;
}

static int check_both_send(const struct dt_params *params)
{
	bool client = false, server = false;

	for (uint32_t i = 0; i < params->num_ops; i++) {
		if (params->ops[i].xfer != DT_XFER_SR)
			continue;
		*(params->ops[i].by_server ? &server : &client) = true;
	}
	if (client && server)
		return 0;
	fprintf(stderr, "Error: Transaction test requires \n"
			"Error: At least one server SR and one client SR Operation\n");
	return -1;
}

/*
 * Server, client, server: the first says that all the server sent has left, the second that the
 * client has checked and refilled its buffers, the third that the server has.
 */
static void append_sync_ops(struct dt_params *params)
{
	for (int i = 0; i < DT_SYNC_OPS; i++) {
		struct dt_op *op = &params->ops[params->num_ops++];

		*op = (struct dt_op){
			.by_server = i != 1, .xfer = DT_XFER_SR, .seg_size = 4096, .num_segs = 1
		};
		if (params->format == DT_FORMAT_TEXT)
			printf("NOTE: Adding OP \"%s SR\" - for validation\n",
			       op->by_server ? "server" : "client");
	}
}

int dt_trans_ops_parse(struct dt_params *params, int argc, char **argv)
{
	int used;

	for (; argc > 0; argc -= used, argv += used) {
		if (params->num_ops == DT_MAX_OPS) {
			fprintf(stderr, "Client: Too Many Ops - Max %d\n", DT_MAX_OPS);
			return -1;
		}
		used = trans_op_parse(&params->ops[params->num_ops], argc, argv);
		if (used < 0)
			return -1;
		params->num_ops++;
	}
	if (check_pairs(params))
		return -1;
	if (params->validate)
		append_sync_ops(params);
	return check_both_send(params);
}

int dt_perf_op_parse(struct dt_params *params, int argc, char **argv)
{
	struct dt_op *op = &params->ops[0];
	int used;

	if (argc < 1) {
		fprintf(stderr, "Operation Missing Transfer Type\n");
		return -1;
	}
	if (xfer_parse(argv[0], &op->xfer)) {
		fprintf(stderr, "OP type must be <RR/RW/SR>\n");
		return -1;
	}
	used = sizes_parse(op, argc - 1, argv + 1);
	if (used < 0)
		return -1;
	if (used < argc - 1) {
		fprintf(stderr, "Too many OP args\n");
		return -1;
	}
	params->num_ops = 1;
	return 0;
}

int dt_limits_parse(struct dt_params *params, int argc, char **argv)
{
	for (int i = 0; i < DT_LIMIT_COUNT; i++)
		params->limits[i] = argc == 0;
	for (int i = 0; i < argc; i++) {
		int limit = 0;

		while (limit < DT_LIMIT_COUNT && strcmp(argv[i], dt_limit_name(limit)))
			limit++;
		if (limit == DT_LIMIT_COUNT) {
			fprintf(stderr, "Cannot find this limit test: %s\n", argv[i]);
			return -1;
		}
		params->limits[limit] = true;
	}
	return 0;
}
