/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef VERBS_QP_BIND_H
#define VERBS_QP_BIND_H

#include "providers/verbs/qp.h"

extern const struct dapl_mw_ops vrb_mw_ops;

#endif
