/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* When a QP is taken to INIT. The device and rdma_cm are this program's. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>

#include "providers/verbs/cm/rdma.h"
#include "test/unit/verbs_util.h"

enum {
	PORT = 2,
	KEY = 3 /* the place of the connection's partition */
};

static struct {
	struct vrb_dev dev;
	struct vrb_pd pd;
	struct ibv_context ctx;
	struct ibv_pd ibpd;
	struct ibv_cq null_cq;
	struct ibv_qp ibqp;
	struct vrb_qp qp;
	struct rdma_cm_id id;
	int refusals; /* of changes to come */
	int asked, changed;
	struct ibv_qp_attr attr; /* of the last change */
} t;

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	assert_ptr_equal(pd, &t.ibpd);
	assert_int_equal(init->qp_type, IBV_QPT_RC);
	return &t.ibqp;
}

int ibv_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr, int mask)
{
	assert_ptr_equal(ibqp, &t.ibqp);
	assert_int_equal(mask,
			 IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	assert_int_equal(attr->qp_state, IBV_QPS_INIT);
	if (t.refusals) {
		t.refusals--;
		return EINVAL;
	}
	t.changed++;
	t.attr = *attr;
	return 0;
}

int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *attr, int *mask)
{
	assert_ptr_equal(id, &t.id);
	assert_int_equal(attr->qp_state, IBV_QPS_INIT);
	attr->pkey_index = KEY;
	attr->port_num = PORT;
	attr->qp_access_flags = 0;
	*mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	t.asked++;
	return 0;
}

static int setup(void **state)
{
	(void)state;
	memset(&t, 0, sizeof(t));
	t.dev.config = &vrb_config;
	t.dev.port = PORT;
	t.dev.null_cq = &t.null_cq;
	t.dev.attr.operations = TP_ATOMICS;
	t.pd.ibpd = &t.ibpd;
	t.ibqp.context = &t.ctx;
	t.qp.dev = &t.dev;
	t.qp.pd = &t.pd;
	t.qp.sq.qp = t.qp.rq.qp = &t.qp;
	return 0;
}

static void in_init(int key)
{
	assert_int_equal(t.changed, 1);
	assert_int_equal(t.attr.port_num, PORT);
	assert_int_equal(t.attr.pkey_index, key);
	assert_int_equal(t.attr.qp_access_flags, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
							 IBV_ACCESS_REMOTE_READ |
							 IBV_ACCESS_REMOTE_ATOMIC);
}

static void a_qp_of_roce_is_there_when_it_is_made(void **state)
{
	(void)state;
	t.dev.quirks.init_without_route = true;
	assert_int_equal(vrb_qp_prepare(&t.qp), 0);
	in_init(0);
	/* Its connection has nothing to ask and nothing to change. */
	assert_int_equal(vrb_qp_prepare(&t.qp), 0);
	assert_int_equal(vrb_rdma_qp_to_init(&t.qp, &t.id), 0);
	in_init(0);
	assert_int_equal(t.asked, 0);
}

static void other_qps_wait_for_what_the_route_says(void **state)
{
	(void)state;
	assert_int_equal(vrb_qp_prepare(&t.qp), 0);
	assert_int_equal(t.changed, 0);
	assert_int_equal(vrb_rdma_qp_to_init(&t.qp, &t.id), 0);
	in_init(KEY);
	assert_int_equal(t.asked, 1);
}

static void what_the_device_refuses_at_first_is_asked_again(void **state)
{
	(void)state;
	t.dev.quirks.init_without_route = true;
	t.refusals = 1;
	assert_int_equal(vrb_qp_prepare(&t.qp), 0);
	assert_int_equal(t.changed, 0);
	assert_int_equal(vrb_rdma_qp_to_init(&t.qp, &t.id), 0);
	in_init(KEY);
	/* And a refusal then is the connection's. */
	t.refusals = 1;
	assert_int_equal(vrb_rdma_qp_to_init(&t.qp, &t.id), -EINVAL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_qp_of_roce_is_there_when_it_is_made, setup),
		cmocka_unit_test_setup(other_qps_wait_for_what_the_route_says, setup),
		cmocka_unit_test_setup(what_the_device_refuses_at_first_is_asked_again, setup),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
