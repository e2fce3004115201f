/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a user is told of objects that cannot be freed because of others. */
#ifndef DAPL_USERS_H
#define DAPL_USERS_H

#include "dapl/object/ia.h"

/* Which objects of the IA refer to obj, which is of that class. No lock held. */
void dapl_say_users(struct dapl_ia *ia, const struct dapl_object *obj,
		    const struct dapl_class *class);
/* What stands in the way of a graceful close. No lock held. */
void dapl_say_left(struct dapl_ia *ia);

#endif
