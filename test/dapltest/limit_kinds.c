/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The kinds of objects that the limit test makes until no more can be made. */
#include "limit.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVD_QLEN 10

/* Where the search for the largest region ends. */
#define LARGEST_LMR ((uint64_t)1 << 30)

/* ---- objects ---- */

static DAT_RETURN create_ia(struct dt_limit_run *run, const struct dt_limit_set *set,
			    DAT_HANDLE *object, DAT_HANDLE *helper)
{
	DAT_EVD_HANDLE async_evd = DAT_HANDLE_NULL;

	(void)set;
	(void)helper;
	return dat_ia_open((DAT_NAME_PTR)run->params->ia_name, EVD_QLEN, &async_evd, object);
}

static DAT_RETURN free_ia(DAT_HANDLE object)
{
	return dat_ia_close(object, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN create_pz(struct dt_limit_run *run, const struct dt_limit_set *set,
			    DAT_HANDLE *object, DAT_HANDLE *helper)
{
	(void)run;
	(void)helper;
	return dat_pz_create(set->ia.handle, object);
}

static DAT_RETURN create_cno(struct dt_limit_run *run, const struct dt_limit_set *set,
			     DAT_HANDLE *object, DAT_HANDLE *helper)
{
	DAT_OS_WAIT_PROXY_AGENT no_agent = { NULL, NULL };

	(void)run;
	(void)helper;
	return dat_cno_create(set->ia.handle, no_agent, object);
}

static DAT_RETURN create_evd(struct dt_limit_run *run, const struct dt_limit_set *set,
			     DAT_HANDLE *object, DAT_HANDLE *helper)
{
	(void)run;
	(void)helper;
	return dat_evd_create(set->ia.handle, EVD_QLEN, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, object);
}

static DAT_RETURN create_ep(struct dt_limit_run *run, const struct dt_limit_set *set,
			    DAT_HANDLE *object, DAT_HANDLE *helper)
{
	(void)run;
	(void)helper;
	return dat_ep_create(set->ia.handle, set->pz, set->recv_evd, set->request_evd,
			     set->conn_evd, NULL, object);
}

typedef DAT_RETURN (*listener)(const struct dt_limit_set *set, DAT_CONN_QUAL port, DAT_EP_HANDLE ep,
			       DAT_HANDLE *object);

/* A qualifier that somebody else listens on is not the limit that is looked for. */
static DAT_RETURN next_free_port(struct dt_limit_run *run, listener listen_on,
				 const struct dt_limit_set *set, DAT_EP_HANDLE ep,
				 DAT_HANDLE *object)
{
	DAT_RETURN ret;

	do {
		if (run->next_port > UINT16_MAX)
			run->next_port = 1024;
		ret = listen_on(set, run->next_port++, ep, object);
	} while (DAT_GET_TYPE(ret) == DAT_CONN_QUAL_IN_USE && run->next_port != run->params->port);
	return ret;
}

static DAT_RETURN listen_psp(const struct dt_limit_set *set, DAT_CONN_QUAL port, DAT_EP_HANDLE ep,
			     DAT_HANDLE *object)
{
	(void)ep;
	return dat_psp_create(set->ia.handle, port, set->creq_evd, DAT_PSP_CONSUMER_FLAG, object);
}

static DAT_RETURN create_psp(struct dt_limit_run *run, const struct dt_limit_set *set,
			     DAT_HANDLE *object, DAT_HANDLE *helper)
{
	(void)helper;
	return next_free_port(run, listen_psp, set, DAT_HANDLE_NULL, object);
}

static DAT_RETURN listen_rsp(const struct dt_limit_set *set, DAT_CONN_QUAL port, DAT_EP_HANDLE ep,
			     DAT_HANDLE *object)
{
	return dat_rsp_create(set->ia.handle, port, ep, set->creq_evd, object);
}

static DAT_RETURN create_rsp(struct dt_limit_run *run, const struct dt_limit_set *set,
			     DAT_HANDLE *object, DAT_HANDLE *helper)
{
	DAT_RETURN ret = create_ep(run, set, helper, NULL);

	if (ret != DAT_SUCCESS)
		return ret;
	ret = next_free_port(run, listen_rsp, set, *helper, object);
	if (ret != DAT_SUCCESS)
		dat_ep_free(*helper);
	return ret;
}

static DAT_RETURN create_lmr(struct dt_limit_run *run, const struct dt_limit_set *set,
			     DAT_HANDLE *object, DAT_HANDLE *helper)
{
	DAT_REGION_DESCRIPTION region = { .for_va = set->memory };

	(void)run;
	(void)helper;
	return dat_lmr_create(set->ia.handle, DAT_MEM_TYPE_VIRTUAL, region, DT_LIMIT_BUFFER,
			      set->pz, DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, object, NULL,
			      NULL, NULL, NULL);
}

/* ---- what is not a number of objects ---- */

static DAT_RETURN post_until(const char *who, const struct dt_limit_set *set, uint32_t maximum,
			     uint32_t *posted)
{
	DAT_LMR_TRIPLET iov = {
		.virtual_address = (DAT_VADDR)(uintptr_t)set->memory,
		.segment_length = DT_LIMIT_BUFFER,
		.lmr_context = set->lmr_context,
	};
	DAT_DTO_COOKIE cookie = { .as_64 = 0 };
	DAT_RETURN ret = DAT_SUCCESS;

	while (!maximum || *posted < maximum) {
		ret = dat_ep_post_recv(set->ep, 1, &iov, cookie, DAT_COMPLETION_DEFAULT_FLAG);
		if (ret != DAT_SUCCESS)
			break;
		++*posted;
		dt_debug(1, "%s: dat_ep_post_recv #%u", who, *posted);
	}
	return ret;
}

static int probe_rpost(struct dt_limit_run *run)
{
	uint32_t total = 0, least = UINT32_MAX;
	char error[96];

	dt_debug(1, "%s: Exhausting posting of recv buffers", run->actor.who);
	for (uint32_t i = 0; i < run->num_sets; i++) {
		uint32_t posted = 0;
		DAT_RETURN ret =
			post_until(run->actor.who, &run->sets[i], run->params->maximum, &posted);

		total += posted;
		if (posted < least)
			least = posted;
		if (ret == DAT_SUCCESS)
			continue;
		if (DAT_GET_TYPE(ret) != DAT_INSUFFICIENT_RESOURCES)
			return dt_fail_dat(&run->actor, ret, "dat_ep_post_recv #%u", posted + 1);
		dt_say("%s: dat_ep_post_recv fails: %s", run->actor.who,
		       dt_strerror(ret, error, sizeof(error)));
	}
	run->most = least;
	dt_say("%s: recv buffers posted per EP: %u", run->actor.who, least);
	dt_say("\t\t (total posted: %u)", total);
	return 0;
}

/* Address space without memory behind it is enough: whether that can be registered is the test. */
static DAT_RETURN try_size(const struct dt_limit_set *set, uint64_t size)
{
	DAT_REGION_DESCRIPTION region;
	DAT_LMR_HANDLE lmr;
	DAT_RETURN ret;
	void *memory;

	memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return DAT_CLASS_ERROR | DAT_INSUFFICIENT_RESOURCES | DAT_RESOURCE_MEMORY;
	region.for_va = memory;
	ret = dat_lmr_create(set->ia.handle, DAT_MEM_TYPE_VIRTUAL, region, size, set->pz,
			     DAT_MEM_PRIV_LOCAL_WRITE_FLAG, DAT_VA_TYPE_VA, &lmr, NULL, NULL, NULL,
			     NULL);
	if (ret == DAT_SUCCESS)
		ret = dat_lmr_free(lmr);
	munmap(memory, size);
	return ret;
}

static int probe_size_lmr(struct dt_limit_run *run)
{
	/* A device pins what it registers: half of the memory must stay for everybody else. */
	uint64_t half = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	uint64_t most = half < LARGEST_LMR ? half : LARGEST_LMR;
	uint64_t size = DT_LIMIT_BUFFER, largest = 0;
	DAT_RETURN ret = DAT_SUCCESS;
	char error[96];

	for (; size <= most; size *= 2) {
		ret = try_size(&run->sets[0], size);
		if (ret != DAT_SUCCESS)
			break;
		run->most = largest = size;
	}
	if (ret == DAT_SUCCESS) {
		dt_say("%s: LMR of 0x%llx bytes OK - stopping now.", run->actor.who,
		       (unsigned long long)largest);
		return 0;
	}
	dt_say("%s: Largest LMR was 0x%llx bytes", run->actor.who, (unsigned long long)largest);
	dt_say("\t (failed attempting 0x%llx bytes)", (unsigned long long)size);
	if (largest)
		return 0;
	return dt_fail(&run->actor, "LMR of 0x%llx bytes - %s", (unsigned long long)size,
		       dt_strerror(ret, error, sizeof(error)));
}

static const struct dt_limit_kind kinds[DT_LIMIT_COUNT] = {
	[DT_LIMIT_IA] = { .call = "dat_ia_open",
			  .plural = "IAs opened",
			  .description = "Test max num of opens for the same physical IA",
			  .without_sets = true,
			  .create = create_ia,
			  .free = free_ia },
	[DT_LIMIT_PZ] = { .call = "dat_pz_create",
			  .plural = "PZs created",
			  .description = "Test max num of PZs that are supported by an IA",
			  .create = create_pz,
			  .free = dat_pz_free },
	[DT_LIMIT_CNO] = { .call = "dat_cno_create",
			   .plural = "CNOs created",
			   .description = "Test max num of CNOs that are supported by an IA",
			   .create = create_cno,
			   .free = dat_cno_free },
	[DT_LIMIT_EVD] = { .call = "dat_evd_create",
			   .plural = "EVDs created",
			   .description = "Test max num of EVDs that are supported by an IA",
			   .create = create_evd,
			   .free = dat_evd_free },
	[DT_LIMIT_EP] = { .call = "dat_ep_create",
			  .plural = "EPs created",
			  .description = "Test max num of EPs that are supported by an IA",
			  .create = create_ep,
			  .free = dat_ep_free },
	[DT_LIMIT_RSP] = { .call = "dat_rsp_create",
			   .plural = "RSPs created",
			   .description = "Test max num of RSPs that are supported by an IA",
			   .create = create_rsp,
			   .free = dat_rsp_free,
			   .free_helper = dat_ep_free },
	[DT_LIMIT_PSP] = { .call = "dat_psp_create",
			   .plural = "PSPs created",
			   .description = "Test max num of PSPs that are supported by an IA",
			   .create = create_psp,
			   .free = dat_psp_free },
	[DT_LIMIT_LMR] = { .call = "dat_lmr_create",
			   .plural = "LMRs created",
			   .description = "Test max num of LMRs that are supported by an IA",
			   .create = create_lmr,
			   .free = dat_lmr_free },
	[DT_LIMIT_RPOST] = { .call = "dat_ep_post_recv",
			     .plural = "recv buffers posted",
			     .description = "Test max num of receive buffers posted to an EP",
			     .probe = probe_rpost },
	[DT_LIMIT_SIZE_LMR] = { .call = "dat_lmr_create",
				.plural = "bytes",
				.description = "Test max size of LMRs that are supported by an IA",
				.probe = probe_size_lmr },
};

const struct dt_limit_kind *dt_limit_kind(enum dt_limit limit)
{
	return &kinds[limit];
}
