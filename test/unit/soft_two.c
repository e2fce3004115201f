/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "test/unit/soft_two.h"

#include <stdlib.h>
#include <string.h>

struct node left, right;
uint8_t *out, *in;
struct tp_mr *out_mr, *in_mr;

static unsigned fds_before;
static int64_t usual_link;

void two_open(size_t size, uint32_t out_access, uint32_t in_access)
{
	fds_before = count_fds();
	node_open(&left, "lo");
	node_open(&right, "");
	out = aligned_alloc(64, size);
	in = aligned_alloc(64, size);
	assert_non_null(out);
	assert_non_null(in);
	fill(out, size, 1);
	memset(in, 0, size);
	out_mr = reg(&left, out, size, out_access);
	in_mr = reg(&right, in, size, in_access);
}

void two_close(void)
{
	dereg(out_mr);
	dereg(in_mr);
	node_close(&left);
	node_close(&right);
	free(out);
	free(in);
	assert_int_equal(count_fds(), fds_before);
}

static int set_up(int64_t link)
{
	usual_link = soft_config.link;
	soft_config.link = link;
	two_open(TWO_BIG, FULL, FULL);
	return 0;
}

int two_set_up(void **state)
{
	(void)state;
	return set_up(soft_config.link);
}

int two_set_up_tcp(void **state)
{
	(void)state;
	return set_up(SOFT_LINK_TCP);
}

int two_set_up_shm(void **state)
{
	(void)state;
	return set_up(SOFT_LINK_SHM);
}

int two_tear_down(void **state)
{
	(void)state;
	two_close();
	soft_config.link = usual_link;
	return 0;
}

void pair(struct end *a, struct end *b, const struct end_options *options)
{
	end_create(a, &left, options);
	end_create(b, &right, options);
	ends_connect(a, b);
}

void unpair(struct end *a, struct end *b)
{
	end_destroy(a);
	end_destroy(b);
}
