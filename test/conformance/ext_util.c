/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ext_util.h"

const char *xu_named(const struct cu_rig *rig, const char *name)
{
	const DAT_NAMED_ATTR *attr = rig->prov.provider_specific_attr;

	for (DAT_COUNT i = 0; i < rig->prov.num_provider_specific_attr; i++)
		if (strcmp(attr[i].name, name) == 0)
			return attr[i].value;
	return NULL;
}

void xu_need(const struct cu_rig *rig, const char *name)
{
	const char *value;

	if (rig->attr.extension_supported != DAT_EXTENSION_IB)
		harness_skip("the adapter has no InfiniBand extension");
	value = xu_named(rig, name);
	if (value == NULL || strcmp(value, "TRUE") != 0)
		harness_skip("the adapter's %s is %s", name, value ? value : "absent");
}

static bool extension_fits(const DAT_EVENT *event, const struct xu_event *want)
{
	DAT_IB_EXTENSION_EVENT_DATA ext, zero;

	memcpy(&ext, event->event_extension_data, sizeof(ext));
	if (ext.type != want->type || ext.status != (want->status ? DAT_IB_OP_ERR : DAT_OP_SUCCESS))
		return false;
	if (want->status == DAT_DTO_SUCCESS && ext.val.immed.data != want->immed)
		return false;
	/* IBX-22 */
	memset(&zero, 0, sizeof(zero));
	return memcmp(&ext.remote_ah, &zero.remote_ah, sizeof(ext.remote_ah)) == 0 &&
	       ext.context.as_64 == 0;
}

void xu_check(const DAT_EVENT *event, DAT_EVD_HANDLE evd, struct xu_event want, const char *file,
	      int line)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &event->event_data.dto_completion_event_data;

	if (event->event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT && event->evd_handle == evd &&
	    dto->ep_handle == want.ep && dto->user_cookie.as_64 == want.cookie &&
	    dto->status == want.status && (int)dto->operation == (int)want.operation &&
	    (want.status || dto->transfered_length == want.len) && extension_fits(event, &want))
		return;
	print_error("event 0x%x cookie 0x%llx status %d operation %d length %llu instead of "
		    "cookie 0x%llx status %d operation %d length %zu\n",
		    event->event_number, (unsigned long long)dto->user_cookie.as_64,
		    (int)dto->status, (int)dto->operation,
		    (unsigned long long)dto->transfered_length, (unsigned long long)want.cookie,
		    (int)want.status, (int)want.operation, want.len);
	_fail(file, line);
}

void xu_check_next(DAT_EVD_HANDLE evd, struct xu_event want, const char *file, int line)
{
	DAT_EVENT event;

	memset(&event, 0xee, sizeof(event));
	cu_poll(evd, &event);
	xu_check(&event, evd, want, file, line);
}

CU_PEER_MEMORY uint64_t xu_word(const void *at)
{
	return *(const volatile uint64_t *)at;
}

CU_PEER_MEMORY void xu_set_word(void *at, uint64_t value)
{
	*(volatile uint64_t *)at = value;
}

DAT_RETURN xu_post_immed(struct ct_end *end, DAT_COUNT num, const DAT_LMR_TRIPLET *from,
			 const DAT_RMR_TRIPLET *to, uint32_t immed, uint64_t cookie, uint32_t flags)
{
	return dat_ib_post_rdma_write_immed(end->ep, num, from, cu_cookie(cookie), to, immed,
					    flags);
}

DAT_RETURN xu_write_immed(struct ct_end *end, size_t len, const struct ct_mem *to, size_t to_off,
			  uint32_t immed, uint64_t cookie)
{
	DAT_LMR_TRIPLET from = ct_segment(&end->mem, 0, len);
	DAT_RMR_TRIPLET target = ct_target(to, to_off, len);

	return xu_post_immed(end, 1, &from, &target, immed, cookie, 0);
}
