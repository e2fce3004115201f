/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One object of each kind, for tests that say the same of all of them. */
#ifndef OBJECTS_H
#define OBJECTS_H

#include "harness.h"

/* An object and what it stands on. */
struct ct_object {
	const struct ct_kind *kind;
	struct ct_ia *ia;
	DAT_HANDLE handle;
	DAT_PZ_HANDLE pz;
	DAT_EVD_HANDLE evd;
	DAT_EP_HANDLE ep;
	struct ct_mem mem;
	struct ct_ia peer_ia; /* of a connection request: who made it */
	struct ct_end peer;
};

struct ct_kind {
	const char *name;
	DAT_HANDLE_TYPE type;
	DAT_RETURN subtype; /* of DAT_INVALID_HANDLE */
	/* Makes the object; false: the provider does not support the kind. */
	bool (*make)(struct ct_object *object);
	/* The call that destroys it. */
	DAT_RETURN (*destroy)(DAT_HANDLE handle);
};

/* Every kind but the adapter itself; ends with a null name. */
extern const struct ct_kind ct_kinds[];

/* Makes an object of a kind; false: the provider does not support it. */
bool ct_object_make(struct ct_object *object, const struct ct_kind *kind, struct ct_ia *ia);
/* Destroys the object, unless that was done, and then what it stands on; every call must succeed.
 */
void ct_object_destroy(struct ct_object *object);
void ct_object_cleanup(struct ct_object *object);

#endif
