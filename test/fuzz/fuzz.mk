# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# Builds the harnesses, for fuzz.sh: make -f fuzz.mk CC=clang TOP=... BUILD=... [COVERAGE=1] TARGET. Objects are shared
# between the targets and stay for the next time. FUZZ_CFLAGS: -O1.
#
# A target has a harness, the files under fuzz and what those need. Also for fuzz.sh: max_len.
loop = test/unit/soft_loop.c test/unit/soft_util.c dapl/base/fd.c dapl/base/fork.c dapl/base/lock.c dapl/unsupported.c trace/limit.c
files = $(patsubst $(TOP)/%,%,$(shell find $(addprefix $(TOP)/,$(1)) -name '*.c'))
soft := $(call files,providers/soft)
core := $(call files,dapl trace)
dat := $(call files,dat)

targets = conf stream shm dapl_conf control private_data scm_wire ucm_wire ud

conf_under = dat/conf.c
conf_max_len = 1024

stream_under = $(addprefix providers/soft/,wire/ddp.c link/tcp.c wire/mpa.c engine/place.c engine/response.c engine/untagged.c wire/rdmap.c engine/rx.c)
stream_needs = test/fuzz/watch.c test/fuzz/soft_attacked.c $(soft) $(loop)
stream_max_len = 1500

shm_under = providers/soft/link/shm.c providers/soft/link/shm_start.c
shm_needs = test/fuzz/watch.c test/fuzz/soft_attacked.c $(soft) $(loop)
shm_max_len = 1500

dapl_conf_under = dapl/base/config.c dapl/base/dapl_conf.c
dapl_conf_needs = dapl/base/old_variables.c $(soft) dapl/base/fd.c dapl/base/fork.c dapl/base/lock.c dapl/unsupported.c trace/limit.c dapl/base/loop.c dapl/base/thread.c dapl/base/timers.c
dapl_conf_max_len = 1024

control_under = trace/control.c dapl/adapter/inspect.c dapl/adapter/settings_command.c
control_needs = test/fuzz/watch.c $(dat) $(core) $(soft)
control_max_len = 512

private_data_under = providers/verbs/cm/rdma_event.c providers/verbs/cm/rdma_ib.c \
	providers/verbs/cm/rdma_iwarp.c providers/verbs/cm/private_data.c
private_data_needs = providers/verbs/fork.c dapl/base/fork.c providers/verbs/cm/rdma_map.c trace/limit.c
private_data_max_len = 300

scm_wire_under = providers/verbs/cm/scm_wire.c providers/verbs/cm/exchange_wire.c
scm_wire_max_len = 300

ucm_wire_under = providers/verbs/cm/ucm_wire.c providers/verbs/cm/exchange_wire.c
ucm_wire_max_len = 300

ud_under = providers/soft/wire/ud.c
ud_max_len = 700

sanitizers = -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined
coverage = $(if $(COVERAGE),-fprofile-instr-generate -fcoverage-mapping)
objects = $(if $(COVERAGE),coverage,objects)
flags = -std=gnu11 -D_GNU_SOURCE -gline-tables-only $(or $(FUZZ_CFLAGS),-O1) -pthread $(sanitizers) $(coverage) \
	-DUDAPL_SYSCONFDIR='"/nonexistent"' -I$(BUILD) -I$(TOP) -I$(TOP)/include
libs = -lcmocka -lconfuse -lisal -lpthread -ldl

all: $(addprefix $(objects)/,$(targets))

$(objects)/%.o: $(TOP)/%.c $(TOP)/test/fuzz/fuzz.mk
	@mkdir -p $(@D)
	$(CC) $(flags) -MMD -MP -c $< -o $@

define target
$(1)_objects = $(sort $(patsubst %.c,$(objects)/%.o,test/fuzz/$(1)_fuzz.c $($(1)_under) $($(1)_needs)))
$(objects)/$(1): $$($(1)_objects)
	$(CC) -pthread -fsanitize=fuzzer,address,undefined $(coverage) $$^ $(libs) -o $$@
-include $$($(1)_objects:.o=.d)
.PHONY: $(1)-max_len $(1)-under
$(1)-max_len:
	@echo $($(1)_max_len)
$(1)-under:
	@echo $(addprefix $(TOP)/,$($(1)_under))
endef
$(foreach name,$(targets),$(eval $(call target,$(name))))

.PHONY: all names
names:
	@echo $(targets)
