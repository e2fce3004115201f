/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "listener.h"

#include <stdlib.h>
#include <string.h>

/* How far from the server's own port its tests listen, and how often another port is tried. */
#define MAX_WINDOW 20000
#define MIN_WINDOW 2000
#define MAX_TRIES  2000

/* Above the server's own port or, where few are left, below it. */
static bool goes_upward(const struct dt_ports *ports)
{
	return ports->base + MIN_WINDOW <= UINT16_MAX;
}

static uint32_t window_of(const struct dt_ports *ports)
{
	if (!goes_upward(ports) || ports->base + MAX_WINDOW <= UINT16_MAX)
		return MAX_WINDOW;
	return UINT16_MAX - (uint32_t)ports->base;
}

/*
 * A block of `count` adjacent ports. Blocks follow each other, so that a port is used again as late
 * as possible.
 */
static DAT_CONN_QUAL next_ports(struct dt_ports *ports, uint32_t count)
{
	bool upward = goes_upward(ports);
	uint32_t offset;

	pthread_mutex_lock(&ports->lock);
	if (ports->next + count > window_of(ports))
		ports->next = 0;
	offset = ports->next;
	ports->next += count;
	pthread_mutex_unlock(&ports->lock);
	return upward ? ports->base + 1 + offset : ports->base - offset - count;
}

int dt_listen_psp(struct dt_actor *actor, struct dt_listener *listener, const struct dt_ia *ia,
		  DAT_EVD_HANDLE evd, struct dt_ports *ports)
{
	DAT_RETURN ret = DAT_SUCCESS;

	memset(listener, 0, sizeof(*listener));
	for (int i = 0; i < MAX_TRIES; i++) {
		listener->port = next_ports(ports, 1);
		ret = dat_psp_create(ia->handle, listener->port, evd, DAT_PSP_CONSUMER_FLAG,
				     &listener->psp);
		if (ret == DAT_SUCCESS) {
			dt_debug(1, "%s: Listen on PSP port 0x%llx", actor->who,
				 (unsigned long long)listener->port);
			return 0;
		}
		listener->psp = DAT_HANDLE_NULL;
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	return dt_fail_dat(actor, ret, "dat_psp_create on port %llu",
			   (unsigned long long)listener->port);
}

static void free_rsps(struct dt_actor *actor, struct dt_listener *listener)
{
	DAT_RETURN ret;

	while (listener->num_rsps) {
		ret = dat_rsp_free(listener->rsps[--listener->num_rsps]);
		if (ret != DAT_SUCCESS)
			dt_fail_dat(actor, ret, "dat_rsp_free");
	}
}

static DAT_RETURN create_rsps(struct dt_listener *listener, const struct dt_ia *ia,
			      DAT_EVD_HANDLE evd, dt_link_finder find, void *test, uint32_t count)
{
	DAT_RETURN ret;

	while (listener->num_rsps < count) {
		ret = dat_rsp_create(ia->handle, listener->port + listener->num_rsps,
				     find(test, listener->num_rsps)->ep, evd,
				     &listener->rsps[listener->num_rsps]);
		if (ret != DAT_SUCCESS)
			return ret;
		listener->num_rsps++;
	}
	return DAT_SUCCESS;
}

int dt_listen_rsps(struct dt_actor *actor, struct dt_listener *listener, const struct dt_ia *ia,
		   DAT_EVD_HANDLE evd, struct dt_ports *ports, dt_link_finder find, void *test,
		   uint32_t count)
{
	DAT_RETURN ret = DAT_SUCCESS;

	memset(listener, 0, sizeof(*listener));
	if (count > window_of(ports))
		return dt_fail(actor, "%u RSPs: at most %u ports are there", count,
			       window_of(ports));
	listener->rsps = calloc(count, sizeof(*listener->rsps));
	if (!listener->rsps)
		return dt_fail(actor, "no memory");
	for (int i = 0; i < MAX_TRIES; i++) {
		listener->port = next_ports(ports, count);
		ret = create_rsps(listener, ia, evd, find, test, count);
		if (ret == DAT_SUCCESS)
			return 0;
		free_rsps(actor, listener);
		if (DAT_GET_TYPE(ret) != DAT_CONN_QUAL_IN_USE)
			break;
	}
	free(listener->rsps);
	listener->rsps = NULL;
	return dt_fail_dat(actor, ret, "dat_rsp_create near port %llu",
			   (unsigned long long)listener->port);
}

void dt_unlisten(struct dt_actor *actor, struct dt_listener *listener)
{
	DAT_RETURN ret;

	free_rsps(actor, listener);
	free(listener->rsps);
	listener->rsps = NULL;
	if (!listener->psp)
		return;
	ret = dat_psp_free(listener->psp);
	listener->psp = DAT_HANDLE_NULL;
	if (ret != DAT_SUCCESS)
		dt_fail_dat(actor, ret, "dat_psp_free");
}
