/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The control command "settings" (dat/dats.h): the module's tunables and where they come from. */
#ifndef DAPL_SETTINGS_COMMAND_H
#define DAPL_SETTINGS_COMMAND_H

/* Hands what dapl.conf says about the trace to libdat2. */
void dapl_settings_trace(void);

/*
 * Adds the command. Its answer is a line per tunable, with tabs between: the IA whose own section
 * decides or "-", section, name, value, origin ("default", "FILE:LINE" or "environment"), type,
 * unit, range ("LEAST..MOST", "ONE|OTHER" or empty), default, environment variable, help. And adds
 * to the command "points" the module's own.
 */
void dapl_settings_offer(void);

#endif
