/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Events: taken into one of DAT 2.0 on the stack, of which a program of DAT 1.2 gets 48 bytes. */
#include "dat-1.2/convert.h"
#include "dat-1.2/old.h"

#include <string.h>
#include <time.h>

/* D12-63 */
static inline uint32_t old_status(DAT_DTO_COMPLETION_STATUS status)
{
	return likely(status <= DAT_RMR_OPERATION_FAILED) ? status : DAT_DTO_ERR_LOCAL_PROTECTION;
}

/* As a word of the event's data, in whose first half it is. */
static inline uint64_t status_word(DAT_DTO_COMPLETION_STATUS status)
{
	return (uint64_t)old_status(status) << DAT12_LOWER(32);
}

static inline void dto_event_out(const DAT_EVENT *new, struct dat12_event *old)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *dto = &new->event_data.dto_completion_event_data;

	old->number = DAT_DTO_COMPLETION_EVENT;
	old->evd = new->evd_handle;
	old->data[DAT12_DTO_EP] = (uintptr_t)dto->ep_handle;
	old->data[DAT12_DTO_COOKIE] = dto->user_cookie.as_64;
	old->data[DAT12_DTO_STATUS] = status_word(dto->status);
	old->data[DAT12_DTO_LENGTH] = dto->transfered_length;
}

static bool is_number(uint32_t number)
{
	unsigned int i = 0;

	while (i < dat12_num_event_numbers && dat12_event_numbers[i] != number)
		i++;
	return i < dat12_num_event_numbers;
}

/* The data of all others begins with what DAT 1.2 has of it. */
static __attribute__((noinline)) bool other_out(const DAT_EVENT *new, struct dat12_event *old)
{
	if (!is_number(new->event_number))
		return false;
	old->number = new->event_number;
	old->evd = new->evd_handle;
	memcpy(old->data, &new->event_data, sizeof(old->data));
	if (old->number == DAT_RMR_BIND_COMPLETION_EVENT)
		old->data[DAT12_DTO_STATUS] =
			status_word(new->event_data.rmr_completion_event_data.status);
	return true;
}

/* False: DAT 1.2 has no such event, and the next one is wanted (D12-65). */
static bool event_out(const DAT_EVENT *new, struct dat12_event *old)
{
	if (new->event_number != DAT_DTO_COMPLETION_EVENT)
		return other_out(new, old);
	dto_event_out(new, old);
	return true;
}

/* The polling path is left: a failure, or the next event that DAT 1.2 has. */
static __attribute__((noinline)) DAT_RETURN dequeue_other(DAT_RETURN rc, DAT_EVENT *new,
							  struct dat12_event *old)
{
	DAT_EVD_HANDLE evd = rc == DAT_SUCCESS ? new->evd_handle : DAT_HANDLE_NULL;

	while (rc == DAT_SUCCESS && !event_out(new, old))
		rc = dat_evd_dequeue(evd, new);
	return dat12_word(rc);
}

DAT_RETURN dat12_evd_dequeue(DAT_EVD_HANDLE evd, DAT12_EVENT *event)
{
	DAT_EVENT new;
	DAT_RETURN rc;

	if (unlikely(!event))
		return dat12_word(dat_evd_dequeue(evd, NULL));
	rc = dat_evd_dequeue(evd, &new);
	if (rc == DAT_QUEUE_EMPTY)
		return rc;
	if (unlikely(rc != DAT_SUCCESS || new.event_number != DAT_DTO_COMPLETION_EVENT))
		return dequeue_other(rc, &new, event);
	dto_event_out(&new, event);
	return DAT_SUCCESS;
}

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

DAT_RETURN dat12_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			  DAT12_EVENT *event, DAT_COUNT *n_more)
{
	bool ends = timeout && timeout != DAT_TIMEOUT_INFINITE;
	uint64_t now, end = ends ? now_us() + timeout : 0;
	DAT_EVENT new;
	DAT_RETURN rc;

	for (;;) {
		rc = dat_evd_wait(evd, timeout, threshold, event ? &new : NULL, n_more);
		if (rc != DAT_SUCCESS || event_out(&new, event))
			return dat12_word(rc);
		now = ends ? now_us() : 0;
		timeout = !ends ? timeout : now < end ? (DAT_TIMEOUT)(end - now) : 0;
	}
}

/* D12-76 */
DAT_RETURN dat12_evd_post_se(DAT_EVD_HANDLE evd, const DAT12_EVENT *event)
{
	DAT_EVENT new;

	if (!event)
		return dat12_word(dat_evd_post_se(evd, NULL));
	memset(&new, 0, sizeof(new));
	new.event_number = event->number;
	new.evd_handle = event->evd;
	memcpy(&new.event_data.software_event_data, event->data,
	       sizeof(new.event_data.software_event_data));
	return dat12_word(dat_evd_post_se(evd, &new));
}

DAT_RETURN dat12_evd_create(DAT_IA_HANDLE ia, DAT_COUNT min_qlen, DAT_CNO_HANDLE cno,
			    DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd)
{
	if (flags & DAT12_NEW_EVD_FLAGS)
		return dat12_bad_arg(4);
	return dat12_word(dat_evd_create(ia, min_qlen, cno, flags, evd));
}
