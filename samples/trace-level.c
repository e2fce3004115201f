/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads and changes the trace levels of this very program, knowing nothing but the names of the
 * IA's vendor attributes, as programs do on AIX:
 *
 *   trace-level [IA [DAT_LEVEL DAPL_LEVEL]]
 *
 * Without levels it tells them. Exit status: 0; 1 if the IA does not open or a level is refused; 2
 * if this implementation offers no control of the trace.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dat2/udat.h>

/* An attribute's value, NULL if there is none of the name. */
static const char *value_of(const DAT_IA_ATTR *attr, const char *name)
{
	DAT_COUNT i;

	for (i = 0; i < attr->num_vendor_attr; i++)
		if (strcmp(attr->vendor_attr[i].name, name) == 0)
			return attr->vendor_attr[i].value;
	return NULL;
}

static void tell(const char *what, DAT_DEBUG_QUERY_FUNC query)
{
	DAT_COUNT dat, dapl;

	if (query(&dat, &dapl) == DAT_SUCCESS)
		printf("%s: dat %d, dapl %d\n", what, (int)dat, (int)dapl);
}

static int change(DAT_DEBUG_QUERY_FUNC query, DAT_DEBUG_MODIFY_FUNC modify, char **levels)
{
	const char *major, *minor;
	DAT_RETURN rc;

	rc = modify(atoi(levels[0]), atoi(levels[1]));
	if (rc != DAT_SUCCESS) {
		dat_strerror(rc, &major, &minor);
		fprintf(stderr, "trace-level: refused: %s %s\n", major, minor);
		return 1;
	}
	tell("after", query);
	return 0;
}

static int control(DAT_IA_HANDLE ia, char **levels)
{
	DAT_DEBUG_MODIFY_FUNC modify;
	DAT_DEBUG_QUERY_FUNC query;
	DAT_IA_ATTR attr;
	DAT_RETURN rc;

	rc = dat_ia_query(ia, NULL, DAT_IA_FIELD_IA_NUM_VENDOR_ATTR | DAT_IA_FIELD_IA_VENDOR_ATTR,
			  &attr, 0, NULL);
	if (rc != DAT_SUCCESS)
		return 1;
	if (!value_of(&attr, "vendor_extension")) {
		fprintf(stderr, "trace-level: no control of the trace here\n");
		return 2;
	}
	printf("interface %s\n", value_of(&attr, "vendor_ext_version"));
	/* These two are no texts: the value itself is the function's address. */
	query = (DAT_DEBUG_QUERY_FUNC)(uintptr_t)value_of(&attr, "debug_query");
	modify = (DAT_DEBUG_MODIFY_FUNC)(uintptr_t)value_of(&attr, "debug_modify");
	tell("before", query);
	return levels ? change(query, modify, levels) : 0;
}

int main(int argc, char **argv)
{
	char *name = argc > 1 ? argv[1] : "soft-lo";
	DAT_EVD_HANDLE evd = DAT_HANDLE_NULL;
	const char *major, *minor;
	DAT_IA_HANDLE ia;
	DAT_RETURN rc;
	int status;

	rc = dat_ia_open(name, 8, &evd, &ia);
	if (rc != DAT_SUCCESS) {
		dat_strerror(rc, &major, &minor);
		fprintf(stderr, "trace-level: %s does not open: %s %s\n", name, major, minor);
		return 1;
	}
	status = control(ia, argc > 3 ? argv + 2 : NULL);
	dat_ia_close(ia, DAT_CLOSE_GRACEFUL_FLAG);
	return status;
}
